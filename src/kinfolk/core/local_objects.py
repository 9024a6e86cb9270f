"""Objects that a user brings, by name: what can be imported by its path, the rest in this process."""

from __future__ import annotations

import sys
from typing import Any

LOCAL_PREFIX = "local/"  # of names that are valid in this process only
_names: set[str] = set()  # of all objects that are kept in this process


def is_local_object(name: str) -> bool:
    """Return whether a name is that of an object which this process keeps."""
    return name in _names


class LocalObjects:
    """Keeps a user's classes, functions and instances that no other process can import."""

    def __init__(self) -> None:
        self._objects: dict[str, Any] = {}  # by name

    def __contains__(self, name: object) -> bool:
        return name in self._objects

    def __getitem__(self, name: str) -> Any:
        return self._objects[name]

    def register(self, source: Any, is_instance: bool) -> str:
        """Return the name of an object, the same each time.

        Args:
            source: A class, a function or an instance.
            is_instance: Whether it is an instance, which is named after its class.

        Returns:
            `MODULE:NAME` of a class or function that other processes can import, else `local/NAME-N`.
        """
        if not is_instance:
            module, name = (
                str(getattr(source, "__module__", "")),
                getattr(source, "__qualname__", ""),
            )
            if module != "__main__" and getattr(sys.modules.get(module), str(name), None) is source:
                return f"{module}:{name}"
        for known, stored in self._objects.items():
            if stored is source:
                return known
        kind = type(source).__name__
        label = kind if is_instance else str(getattr(source, "__name__", kind))
        name = f"{LOCAL_PREFIX}{label.strip('<>')}-{len(self._objects) + 1}"
        self._objects[name] = source
        _names.add(name)
        return name
