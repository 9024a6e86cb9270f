"""Policies that a user brings as objects: a class, a function that makes one, or an instance.

What can be imported is named by its path and works in every process. Anything else (a class of a
notebook's cell, a lambda, an instance) is kept here, in this process only, as `object:local/NAME`.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from kinfolk.core.errors import SettingsError, require
from kinfolk.core.imports import import_object
from kinfolk.core.local_objects import LocalObjects, is_local_object

OBJECT_SCHEME = "object:"
_local_policies = LocalObjects()


def register_policy(policy: Any) -> str:
    """Return a URI of a policy of your own, for the slots of an evaluation or a comparison.

    Args:
        policy: A class made as `Policy(spec)`, a function that is called likewise, an instance that
            fulfils the policy contract, or a torch module or its class, as `kf.train` takes them.

    Returns:
        `class:MODULE:NAME` for what other processes can import, else a name that is valid in this
        process only; of a torch module `kin://net?module=NAME`.

    Raises:
        SettingsError: It is none of these.
    """
    if _is_torch_module(policy):
        register_module = import_object("kinfolk.policies.neural.own_modules:register_module")
        return f"kin://net?module={register_module(policy)}"
    is_instance = _is_instance(policy)
    require(
        not _is_population(policy),
        f"{type(policy).__name__} is a population of nets, not a policy. Nets of `kinfolk evolve nets` "
        f"play as run:RUN; call others in a policy class of your own.",
    )
    require(
        is_instance or callable(policy),
        f"A policy is a URI, a class, a function that makes a policy, or an instance of a policy class, "
        f"not {policy!r}.",
    )
    name = _local_policies.register(policy, is_instance)
    return f"{OBJECT_SCHEME}{name}" if name in _local_policies else f"class:{name}"


def find_own_policy(name: str) -> Any:
    """Return what makes a policy that `register_policy` keeps: called as `make(spec, **settings)`.

    Raises:
        SettingsError: It is kept by another process.
    """
    if name not in _local_policies:
        raise make_other_process_error(f"{OBJECT_SCHEME}{name}")
    source = _local_policies[name]
    return _InstanceSource(source) if _is_instance(source) else source


def make_other_process_error(uri: str) -> SettingsError:
    """Return the error for a policy that does not exist in the process that is to play it."""
    return SettingsError(
        f"The policy {uri} is an object of one process: a class of a notebook's cell, a function or an "
        "instance. It plays with engine='local' and without isolation. For other engines, for isolate, "
        "and to run it again later, put its class into a file and import it."
    )


def find_object_uris(settings: Any) -> Iterator[str]:
    """Yield the URIs in settings, as plain values, that are valid in this process only."""
    if isinstance(settings, str):
        if settings.startswith(OBJECT_SCHEME) or is_local_object(settings.rpartition("=")[2]):
            yield settings
    elif isinstance(settings, Mapping):
        for value in settings.values():
            yield from find_object_uris(value)
    elif isinstance(settings, list | tuple):
        for value in settings:
            yield from find_object_uris(value)


def name_policies(slots: Any) -> Any:
    """Return a table of slots with classes, functions and instances replaced by their URIs.

    Args:
        slots: As settings take them; a torch module is short for a table of the slot `main`, and
            anything else that is no table is returned unchanged.
    """
    if _is_torch_module(slots):
        slots = {"main": slots}
    if not isinstance(slots, Mapping):
        return slots
    return {
        slot: register_policy(value)
        if _is_instance(value) or callable(value) or _is_population(value)
        else value
        for slot, value in slots.items()
    }


def _is_population(policy: Any) -> bool:
    """Return whether an object is a `BaseNets` or a `BasePop`."""
    return not inspect.isclass(policy) and hasattr(policy, "apply_selection")


def _is_instance(policy: Any) -> bool:
    """Return whether an object is an instance of a policy class."""
    return not inspect.isclass(policy) and hasattr(policy, "act_async")


def _is_torch_module(source: Any) -> bool:
    """Return whether an object is a torch module or the class of one, without importing torch."""
    torch = sys.modules.get("torch")
    if torch is None:
        return False
    is_class = inspect.isclass(source) and issubclass(source, torch.nn.Module)
    return is_class or isinstance(source, torch.nn.Module)


class _InstanceSource:
    """Gives out an instance of the user's where a class is expected."""

    def __init__(self, policy: Any) -> None:
        self._policy = policy

    def __call__(self, spec: Any) -> Any:  # noqa: ARG002, the contract of a policy class
        """Return the instance that the user made."""
        return self._policy
