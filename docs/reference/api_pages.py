"""The reference pages of Python names in the site: a directive of autodoc for every public name."""

import importlib
import inspect
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kinfolk.core.settings import Settings

PAGES: dict[str, Any] = tomllib.loads(Path(__file__).with_name("pages.toml").read_text())
# Ancestors whose members are not repeated.
FOREIGN = "object,ndarray,tuple,list,dict,str,int,Exception,Generic,Protocol"


def page_names(page: str) -> Iterator[tuple[str, str, Any]]:
    """Yield module, name and object of every entry of a page."""
    for module, names in PAGES[page]["modules"].items():
        exporting = load_module(module)
        for name in names or sorted(exporting.__all__, key=str.lower):
            yield module, name, getattr(exporting, name)


def load_module(name: str) -> Any:
    """Return a module; `kinfolk.stats` is one by its attribute only."""
    package, _, attribute = name.rpartition(".")
    found = getattr(importlib.import_module(package), attribute, None) if package else None
    return found if inspect.ismodule(found) else importlib.import_module(name)


def api_page(page: str) -> str:
    """Return a page with the directives of its entries."""
    parts = [f"# {PAGES[page]['title']}\n", f"{PAGES[page]['about']}\n"]
    module_of_section = ""
    for module, name, value in page_names(page):
        if module != module_of_section and module not in ("kinfolk", "kinfolk.stats"):
            lines = [f".. automodule:: {module}", "   :no-members:", "   :no-index:"]
            parts.append(_rst([f"`{module}`", "-" * (len(module) + 2), "", *lines]))
        module_of_section = module
        parts.append(_rst(_directive(f"{module}.{name}", value)))
    return "\n".join(parts)


def _rst(lines: list[str]) -> str:
    return "\n".join(["```{eval-rst}", *lines, "```", ""])


def _directive(path: str, value: Any) -> list[str]:
    """Return the lines of the directive that documents an object."""
    if not (inspect.isclass(value) or callable(value)):
        return [f".. autodata:: {path}", "   :no-value:"]
    if not inspect.isclass(value):
        return [f".. autofunction:: {path}{short_signature(value)}"]
    if issubclass(value, Settings):
        return [f".. autoclass:: {path}", "   :no-members:"]
    if value.__module__.startswith("kinfolk.testing"):
        return [f".. autoclass:: {path}", "   :members:", "   :undoc-members:"]
    return [f".. autoclass:: {path}", "   :members:", f"   :inherited-members: {FOREIGN}"]


def short_signature(function: Any) -> str:
    """Return the signature of a function that takes settings without naming every setting."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None or not code.co_flags & inspect.CO_VARKEYWORDS:
        return ""
    n_named = code.co_argcount + code.co_kwonlyargcount
    has_rest = bool(code.co_flags & inspect.CO_VARARGS)
    positional, keyword = (
        code.co_varnames[: code.co_argcount],
        code.co_varnames[code.co_argcount : n_named],
    )
    rest = code.co_varnames[n_named : n_named + 1 + has_rest]
    parameters = inspect.signature(function).parameters

    def show(name: str) -> str:
        default = parameters[name].default if name in parameters else inspect.Parameter.empty
        return name if default is inspect.Parameter.empty else f"{name}={default!r}"

    star = [f"*{rest[0]}"] if has_rest else ["*"] if keyword else []
    words = [*map(show, positional), *star, *map(show, keyword), f"**{rest[-1]}"]
    return f"({', '.join(words)})"
