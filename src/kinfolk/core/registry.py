"""Registries of names and import paths. Entries are imported only when they are loaded."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import Any

from kinfolk.core.errors import UnknownNameError, UsageError, format_suggestion
from kinfolk.core.optional_dependencies import MissingLibraryError, optional_import
from kinfolk.core.tracebacks import summarize_error


@dataclass(frozen=True)
class RegistryEntry:
    """What a registry knows of one name.

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
            UnknownNameError: There is none; the message suggests the most similar name.
        """
        if name in self.entries:
            return self.entries[name]
        if name in self._load_plugins():
            return self._load_plugins()[name]
        raise UnknownNameError(f"No {self.kind} is named '{name}'.{format_suggestion(name, self)}")

    def load(self, name: str) -> Any:
        """Import and return the object named `name`."""
        return import_object(self.get_entry(name).import_path)

    def _load_plugins(self) -> dict[str, RegistryEntry]:
        if self._plugins is None:
            self._plugins = {
                point.name: RegistryEntry(
                    point.value, f"from {point.dist.name if point.dist else '?'}"
                )
                for point in entry_points(group=f"kinfolk.{self.entry_point_group}")
            }
        return self._plugins


def import_object(path: str) -> Any:
    """Import and return the object at `module:attribute` or `module.attribute`.

    Raises:
        UsageError: The module or the attribute does not exist, or importing it raised an error.
    """
    module_name, _, attribute = path.partition(":") if ":" in path else path.rpartition(".")
    if not module_name or not attribute:
        raise UsageError(f"'{path}' is not an import path. Write package.module.Class.")
    try:
        with optional_import(f"'{path}'"):
            module = importlib.import_module(module_name)
    except MissingLibraryError:
        raise
    except ModuleNotFoundError as error:
        raise UsageError(
            f"'{path}' cannot be imported: there is no module {error.name}."
        ) from error
    except Exception as error:  # a user's module may raise anything when it is imported
        message, location, _ = summarize_error(error)
        raise UsageError(f"'{path}' cannot be imported: {message} ({location}).") from error
    try:
        return getattr(module, attribute)
    except AttributeError:
        hint = format_suggestion(attribute, _list_names(module))
        raise UsageError(f"The module {module_name} has no {attribute}.{hint}") from None


def _list_names(module: Any) -> list[str]:
    """List what a user may mean: the module's classes and functions, and classes it imports."""
    return [
        name
        for name, value in vars(module).items()
        if name[0].isupper()
        or (name[0] != "_" and getattr(value, "__module__", "") == module.__name__)
    ]
