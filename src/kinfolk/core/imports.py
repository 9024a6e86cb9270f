"""Imports at the time of use: lazy package exports, optional libraries, and registries of names."""

from __future__ import annotations

import ast
import hashlib
import importlib
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from types import ModuleType
from typing import Any

from kinfolk.core.errors import (
    UsageError,
    format_suggestion,
    make_unknown_name_error,
    summarize_error,
)
from kinfolk.core.trust import get_trust, get_untrusted_source, make_untrusted_error


class _LazyPackage(ModuleType):
    """A package that imports its public names when they are asked for.

    A public name goes before a submodule of the same name, which the import system would put in
    its place: `kinfolk.jobs.evaluate` is the job, not the file that it is in.
    """

    _exports: dict[str, tuple[str, str]]

    def __getattribute__(self, name: str) -> Any:
        exports = super().__getattribute__("__dict__").get("_exports", {})
        if name not in exports:
            return super().__getattribute__(name)
        module, attribute = exports[name]
        if module == self.__name__:
            return importlib.import_module(f"{module}.{attribute}")
        return getattr(importlib.import_module(module), attribute)

    def __dir__(self) -> list[str]:
        return sorted({name for name in self.__dict__ if name.startswith("__")} | {*self._exports})


def export_lazily(package: str) -> None:
    """Make the names that a package imports under `if TYPE_CHECKING:` available at run time.

    So each name is written once: type checkers and editors read the import, and nothing is
    imported before it is used.
    """
    module = sys.modules[package]
    spec = find_spec(package)
    source = spec.loader.get_source(package) if spec and spec.loader else None  # type: ignore[attr-defined]
    assert source is not None  # kinfolk is not distributed without its sources
    vars(module)["_exports"] = {
        alias.asname or alias.name: (str(node.module), alias.name)
        for block in ast.parse(source).body
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    module.__class__ = _LazyPackage


# What pip installs for a library, by the name it is imported by. Those of the base are not listed.
_INSTALLED_BY = {
    "torch": "'kinfolk[train]'",
    "optuna": "'kinfolk[search]'",
    "ribs": "'kinfolk[qd]'",
    "ray": "'kinfolk[ray]'",
    "starlette": "'kinfolk[viewer]'",
    "uvicorn": "'kinfolk[viewer]'",
    "websockets": "'kinfolk[viewer]'",
    "PIL": "'kinfolk[plots]'",
    "matplotlib": "'kinfolk[plots]'",
    "pyarrow": "'kinfolk[parquet]'",
    "onnx": "'kinfolk[onnx]'",
    "Box2D": "'kinfolk[box2d]'",
    "pygame": "'kinfolk[box2d]'",
    "tensorboard": "tensorboard",
    "tensordict": "tensordict",
    "wandb": "wandb",
    "stable_baselines3": "stable-baselines3",
}


class MissingLibraryError(UsageError, ModuleNotFoundError):
    """A library that is needed is not installed: exit code 2, like any wrong use.

    It is an ImportError too, for code that asks whether a part of kinfolk can be imported.
    """


def get_install_command(module: str) -> str | None:
    """Return the command that installs a library; None if kinfolk does not know it.

    >>> [get_install_command(name) for name in ("torch.nn", "PIL", "my_package")]
    ["pip install 'kinfolk[train]'", "pip install 'kinfolk[plots]'", None]
    """
    installed_by = _INSTALLED_BY.get(module.partition(".")[0])
    return None if installed_by is None else f"pip install {installed_by}"


def make_missing_library_error(feature: str, module: str) -> MissingLibraryError:
    """Return the error that says who needs a library and how to install it.

    Args:
        feature: What needs it, as the beginning of a sentence: "The viewer".
        module: A module of the library, by the name it is imported by.
    """
    name = module.partition(".")[0]
    problem = f"{feature} needs the library {name}, which is not installed"
    return MissingLibraryError(f"{problem}: {get_install_command(name)}", name=name)


@contextmanager
def optional_import(user: str) -> Iterator[None]:
    """Import libraries of an extra within this context, or say how to install them.

    Args:
        user: What needs them, as the beginning of a sentence.

    Raises:
        MissingLibraryError: A library that kinfolk knows is not installed.
    """
    try:
        yield
    except MissingLibraryError:
        raise
    except ModuleNotFoundError as error:
        if error.name is None or get_install_command(error.name) is None:
            raise
        raise make_missing_library_error(user, error.name) from None


def import_libraries(feature: str, *modules: str) -> None:
    """Import libraries, so that a missing one is reported before any work is done.

    Args:
        feature: What needs them, as the beginning of a sentence.
        modules: The names they are imported by.

    Raises:
        MissingLibraryError: A library is not installed.
    """
    for module in modules:
        with optional_import(feature):
            importlib.import_module(module)


@dataclass(frozen=True)
class RegistryEntry:
    """Import path and description of a registered name.

    Attributes:
        import_path: `module:attribute` of the registered object.
        description: What it is, in one line.
    """

    import_path: str
    description: str


@dataclass
class Registry:
    """Maps names of one kind of object, such as worlds, to import paths.

    Other packages add entries through the entry-point group `kinfolk.<entry_point_group>`.

    Args:
        kind: What is registered, in the singular, for error messages.
        entry_point_group: Last part of the name of the entry-point group.
        entries: Those that come with kinfolk; they take precedence over plugins.
    """

    kind: str
    entry_point_group: str
    entries: Mapping[str, RegistryEntry]
    _plugins: dict[str, RegistryEntry] | None = field(default=None, repr=False)

    def __iter__(self) -> Iterator[str]:
        yield from self.entries
        yield from (name for name in self._load_plugins() if name not in self.entries)

    def __contains__(self, name: object) -> bool:
        return name in self.entries or name in self._load_plugins()

    def get_entry(self, name: str) -> RegistryEntry:
        """Return the entry named `name`.

        Raises:
            UnknownNameError: No entry has this name; the message suggests the most similar name.
        """
        if name in self.entries:
            return self.entries[name]
        if name in self._load_plugins():
            return self._load_plugins()[name]
        raise make_unknown_name_error(f"No {self.kind} is named", name, self)

    def load(self, name: str) -> Any:
        """Import and return the object named `name`."""
        return import_own(self.get_entry(name).import_path)

    def _load_plugins(self) -> dict[str, RegistryEntry]:
        """Return the entries that other packages declare as entry points, read once."""
        if self._plugins is None:
            self._plugins = {}
            metadata = importlib.import_module("importlib.metadata")  # takes 30 ms
            for point in metadata.entry_points(group=f"kinfolk.{self.entry_point_group}"):
                source = f"from {point.dist.name if point.dist else '?'}"
                self._plugins[point.name] = RegistryEntry(point.value, source)
        return self._plugins


_FILE_SUFFIX = ".py"
# What a file may name by an import path: classes of these packages. Others of kinfolk could be told by
# a stranger's settings to write files or to start processes.
_NAMED_BY_FILES = ("kinfolk.policies.", "kinfolk.worlds.", "kinfolk.testing.", "kinfolk.bench.")


def import_object(path: str) -> Any:
    """Import and return the object at an import path that a user or a file names.

    This is the only way to code from outside of kinfolk. While the words of a file are followed that is
    not trusted (`core.trust`), only classes of kinfolk's policies and worlds and what installed packages
    register as entry points can be imported.

    Args:
        path: `module:attribute`, `module.attribute` or `FILE.py:attribute`.

    Raises:
        UntrustedCodeError: A file names the path, and is not trusted; nothing was imported.
        UsageError: The module or the attribute does not exist, or importing it raised an error.
    """
    require_trust(path)
    search_working_folder(_split_path(path)[0])
    found = import_own(path)
    source = get_untrusted_source()
    if source is not None:
        is_ours = isinstance(found, type) and found.__module__.startswith(_NAMED_BY_FILES)
        if not is_ours and not _is_registered(path):
            raise make_untrusted_error(source, path)
    return found


def require_trust(path: str) -> None:
    """Check that an import path may be followed; nothing is imported.

    Raises:
        UntrustedCodeError: A file names it that is not trusted, and it is not part of kinfolk.
    """
    source = get_untrusted_source()
    if source is None:
        return
    module, _ = _split_path(path)
    is_ours = module.startswith(_NAMED_BY_FILES) and not module.endswith(_FILE_SUFFIX)
    if not is_ours and not _is_registered(path):
        raise make_untrusted_error(source, path)


def _split_path(path: str) -> tuple[str, str]:
    """Split an import path into the module, which may be a file, and the attribute."""
    module, _, attribute = path.rpartition(":" if ":" in path else ".")
    return module, attribute


def _is_registered(path: str) -> bool:
    """Return whether an installed package registers an import path as a world or policy of kinfolk."""
    metadata = importlib.import_module("importlib.metadata")  # takes 30 ms
    for group in ("kinfolk.worlds", "kinfolk.policies"):
        if any(point.value == path for point in metadata.entry_points(group=group)):
            return True
    return False


def search_working_folder(module: str) -> None:
    """Let a module that the user names, and what it imports, be imported from the working folder.

    Not before: libraries import whatever packages in `sys.path` declare, and the folder may hold files
    of strangers. For a module that is found elsewhere, or that a file names, nothing changes.

    Args:
        module: Dotted name, or a file.
    """
    folder = get_trust().working_folder
    if folder is None or folder in sys.path or get_untrusted_source() is not None:
        return
    if module.endswith(_FILE_SUFFIX) or _find_installed(module.partition(".")[0]) is None:
        sys.path.append(folder)


def find_top_module(name: str) -> ModuleSpec | None:
    """Find a module without dots in its name, also in the working folder; nothing is imported."""
    folder = get_trust().working_folder
    spec = _find_installed(name)
    if spec is None and folder is not None:
        spec = PathFinder.find_spec(name, [folder])
    return spec


def _find_installed(name: str) -> ModuleSpec | None:
    """Find a module without dots in its name in `sys.path`."""
    try:
        return find_spec(name)
    except (ImportError, ValueError, AttributeError):
        return None


def find_source_file(module: str) -> str | None:
    """Return the file of a module; None if there is none. No package on the way is imported."""
    top, *parts = module.split(".")
    spec = find_top_module(top)
    if spec is None:
        return None
    if not parts:
        return spec.origin
    for folder in spec.submodule_search_locations or ():
        place = os.path.join(folder, *parts)
        for file in (f"{place}.py", os.path.join(place, "__init__.py")):
            if os.path.isfile(file):
                return file
    return None


def import_own(path: str) -> Any:
    """Import and return the object at an import path that kinfolk itself has written down.

    Raises:
        UsageError: The module or the attribute does not exist, or importing it raised an error.
    """
    module_name, attribute = _split_path(path)
    if not module_name or not attribute:
        raise UsageError(f"'{path}' is not an import path. Write package.module.Class.")
    try:
        with optional_import(f"'{path}'"):
            is_file = module_name.endswith(_FILE_SUFFIX)
            module = (_import_file if is_file else importlib.import_module)(module_name)
    except MissingLibraryError:
        raise
    except ModuleNotFoundError as error:
        reason = f"there is no module {error.name}"
        if not f"{module_name}.".startswith(f"{error.name}."):  # the user's module imports it
            reason += f" ({summarize_error(error).location})"
        raise UsageError(f"'{path}' cannot be imported: {reason}.") from error
    except Exception as error:  # a user's module may raise anything when it is imported
        message, location, _ = summarize_error(error)
        raise UsageError(f"'{path}' cannot be imported: {message} ({location}).") from error
    try:
        return getattr(module, attribute)
    except AttributeError:
        if getattr(module, "__file__", None) is None and hasattr(module, "__path__"):
            raise UsageError(_explain_folder(module, attribute)) from None
        hint = format_suggestion(attribute, _list_names(module))
        raise UsageError(f"The module {module_name} has no {attribute}.{hint}") from None


def _import_file(path: str) -> ModuleType:
    """Import a Python file, or a package by its `__init__.py`, wherever it lies and whatever its name.

    Its name in `sys.modules` is made of its path, so that it hides no other module.
    """
    folder, file = os.path.split(path)
    is_package = file == "__init__.py"
    stem = re.sub(r"\W", "_", os.path.basename(folder) if is_package else file.removesuffix(".py"))
    name = f"{stem}_{hashlib.sha256(path.encode()).hexdigest()[:8]}"
    if name in sys.modules:
        return sys.modules[name]
    locations = [folder] if is_package else None
    spec = spec_from_file_location(name, path, submodule_search_locations=locations)
    assert spec is not None  # every file that ends with .py has a loader
    assert spec.loader is not None
    module = sys.modules[name] = module_from_spec(spec)
    writes_bytecode = sys.dont_write_bytecode
    sys.dont_write_bytecode = True  # a policy's digest covers all files of its package
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    finally:
        sys.dont_write_bytecode = writes_bytecode
    return module


def _explain_folder(module: Any, attribute: str) -> str:
    """Return the error message for a name that was looked for in a folder instead of a file in it."""
    files = sorted({f.name for folder in module.__path__ for f in os.scandir(folder)})
    modules = [
        name.removesuffix(".py") for name in files if re.fullmatch(r"(?!test_)\w+\.py", name)
    ]
    example = f": write {module.__name__}.{modules[0]}.{attribute}" if modules else ""
    return (
        f"{module.__name__} is a folder, and has no {attribute} itself. Name a module in it{example}, or change into the "
        f"folder first. Modules in it: {', '.join(modules) or 'none'}."
    )


def _list_names(module: Any) -> list[str]:
    """Return the names a user may mean: the module's classes, functions and imported classes."""
    return [
        name
        for name, value in vars(module).items()
        if name[0].isupper()
        or (name[0] != "_" and getattr(value, "__module__", "") == module.__name__)
    ]
