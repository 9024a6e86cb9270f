"""Tables of names. Nothing is imported until it is asked for, so listing them costs nothing."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import Any

from kinfolk.core.errors import UnknownNameError, UsageError, suggestion
from kinfolk.core.tracebacks import explain


@dataclass(frozen=True)
class Entry:
    """One row of a registry: where the thing lives and what it is, in a line."""

    path: str
    about: str


@dataclass
class Registry:
    """Names of one kind of thing, each with the import path `module:attribute` behind it.

    Other packages add theirs through the entry-point group `kinfolk.<plural>`.
    """

    kind: str
    plural: str
    table: Mapping[str, Entry]
    _plugins: dict[str, Entry] | None = field(default=None, repr=False)

    def __iter__(self) -> Iterator[str]:
        yield from self.table
        yield from (name for name in self._found() if name not in self.table)

    def __contains__(self, name: object) -> bool:
        return name in self.table or name in self._found()

    def entry(self, name: str) -> Entry:
        """The row named `name`.

        Raises:
            UnknownNameError: There is none; the message suggests the nearest.
        """
        if name in self.table:
            return self.table[name]
        if name in self._found():
            return self._found()[name]
        raise UnknownNameError(f"No {self.kind} is named '{name}'.{suggestion(name, self)}")

    def load(self, name: str) -> Any:
        """Import and return the thing named `name`."""
        return load_path(self.entry(name).path)

    def _found(self) -> dict[str, Entry]:
        if self._plugins is None:
            self._plugins = {
                point.name: Entry(point.value, f"from {point.dist.name if point.dist else '?'}")
                for point in entry_points(group=f"kinfolk.{self.plural}")
            }
        return self._plugins


def load_path(path: str) -> Any:
    """Import `module:attribute` (or `module.attribute`).

    Raises:
        UsageError: The module or the attribute is not there, or importing it raised something.
    """
    module_name, _, attribute = path.partition(":") if ":" in path else path.rpartition(".")
    if not module_name or not attribute:
        raise UsageError(f"'{path}' is not an import path. Write package.module.Class.")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise UsageError(
            f"'{path}' cannot be imported: there is no module {error.name}."
        ) from error
    except Exception as error:  # whatever the module does when it is imported
        what, where, _ = explain(error)
        raise UsageError(f"'{path}' cannot be imported: {what} ({where}).") from error
    try:
        return getattr(module, attribute)
    except AttributeError:
        raise UsageError(
            f"The module {module_name} has no {attribute}."
            f"{suggestion(attribute, [name for name in vars(module) if name[0].isupper()])}"
        ) from None
