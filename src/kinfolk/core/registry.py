"""Tables of names. Nothing is imported until it is asked for, so listing them costs nothing."""

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
    """One row of a registry: where the thing lives and what it is, in a line."""

    import_path: str
    description: str


@dataclass
class Registry:
    """Names of one kind of thing, each with the import path `module:attribute` behind it.

    Other packages add theirs through the entry-point group `kinfolk.<plural>`.
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
        """The row named `name`.

        Raises:
            UnknownNameError: There is none; the message suggests the nearest.
        """
        if name in self.entries:
            return self.entries[name]
        if name in self._load_plugins():
            return self._load_plugins()[name]
        raise UnknownNameError(f"No {self.kind} is named '{name}'.{format_suggestion(name, self)}")

    def load(self, name: str) -> Any:
        """Import and return the thing named `name`."""
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
    """Import `module:attribute` (or `module.attribute`).

    Raises:
        UsageError: The module or the attribute is not there, or importing it raised something.
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
    except Exception as error:  # whatever the module does when it is imported
        what, where, _ = summarize_error(error)
        raise UsageError(f"'{path}' cannot be imported: {what} ({where}).") from error
    try:
        return getattr(module, attribute)
    except AttributeError:
        raise UsageError(
            f"The module {module_name} has no {attribute}.{format_suggestion(attribute, _list_names(module))}"
        ) from None


def _list_names(module: Any) -> list[str]:
    """Names that a module may be asked for: its own classes and functions, and classes it imports."""
    return [
        name
        for name, thing in vars(module).items()
        if name[0].isupper()
        or (name[0] != "_" and getattr(thing, "__module__", "") == module.__name__)
    ]
