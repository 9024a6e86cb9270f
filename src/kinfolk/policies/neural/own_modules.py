"""Networks that a user brings: a module class, a function that makes a module, or an instance.

What can be imported is named by its path and works in every process; anything else (a lambda, a class
of a notebook, an instance) is kept here, in this process only.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from kinfolk.core.errors import SettingsError, require
from kinfolk.core.imports import import_object, optional_import
from kinfolk.core.local_objects import LOCAL_PREFIX, LocalObjects
from kinfolk.policies.neural.encoding import NetShape

with optional_import("A neural policy"):
    from torch import nn

_local_sources = LocalObjects()


def register_module(module: Any) -> str:
    """Return a name of a network of the user's own, for the setting `module` of `kin://net`.

    Args:
        module: A `torch.nn.Module` class made as `Net(shape, **settings)`, a function that is called
            likewise and returns a module, or an instance, of which every policy gets a copy.

    Raises:
        SettingsError: It is none of these.
    """
    is_module = isinstance(module, nn.Module)
    require(
        not hasattr(module, "apply_selection"),
        f"{type(module).__name__} is a population, which gradients do not train. Of ModuleNets give a "
        f"member, nets.module(member).",
    )
    require(
        is_module or callable(module),
        f"A net is a torch.nn.Module, its class or a function that makes one, not {module!r}.",
    )
    return _local_sources.register(module, is_module)


def make_own_module(path: str, shape: NetShape, settings: Mapping[str, Any]) -> nn.Module:
    """Make a network of the user's own.

    Args:
        path: Import path of a class or function, or a name that `register_module` returned.
        shape: Input and output sizes, its first argument.
        settings: Its keyword arguments.

    Raises:
        SettingsError: The path names no module, class or function, or what it makes is no module.
    """
    source = _find_source(path)
    if isinstance(source, nn.Module):
        require(
            not settings, f"{path} is an instance and takes no settings. Pass its class instead."
        )
        return copy.deepcopy(source)
    is_class = isinstance(source, type)
    if not callable(source) or (is_class and not issubclass(source, nn.Module)):
        raise SettingsError(f"{path} is not a torch.nn.Module.")
    try:
        inspect.signature(source).bind(shape, **settings)
    except TypeError as error:
        raise SettingsError(
            f"{path} must take the shape of the net as its only positional argument, and settings by "
            f"name: {error} ({locate_source(source)})."
        ) from None
    module = source(shape, **settings)
    require(
        isinstance(module, nn.Module),
        f"{path} must return a torch.nn.Module, not one {type(module).__name__} "
        f"({locate_source(source)}).",
    )
    made: nn.Module = module
    return made


def _find_source(path: str) -> Any:
    """Return the class, function or instance that a path names."""
    if not path.startswith(LOCAL_PREFIX):
        return import_object(path)
    require(
        path in _local_sources,
        f"The net {path} was made in another process. Pass it to kf.train again or, for --engine "
        f"processes and for later evaluations, use a class or function that can be imported.",
    )
    return _local_sources[path]


def locate_source(source: Any) -> str:
    """Return file and line where a function or class is defined, as `mine.py:14`."""
    try:
        file = inspect.getsourcefile(source)
        return f"{PurePath(str(file)).name}:{inspect.getsourcelines(source)[1]}"
    except (OSError, TypeError):
        return "source unknown"
