"""Packages whose public names are typed for checkers and imported when they are used."""

from __future__ import annotations

import ast
import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any


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
            return import_module(f"{module}.{attribute}")
        return getattr(import_module(module), attribute)

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
