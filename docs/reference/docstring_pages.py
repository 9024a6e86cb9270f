"""The pages of Python names as they are read in the repository: docstrings as Markdown.

The site replaces them by the directives of `api_pages.py` when it is built.
"""

import inspect
import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from api_pages import PAGES, page_names, short_signature
from field_docs import describe_fields

from kinfolk.core.settings import Settings

_SECTION = re.compile(r"(Args|Returns|Raises|Attributes|Warns|Yields):")
_ENTRY = re.compile(r"([\w*]+(?: \([^)]*\))?): ?(.*)")
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def docstring_page(page: str) -> str:
    """Return a page with the signature and the docstring of its entries."""
    parts = [f"# {PAGES[page]['title']}", PAGES[page]["about"].strip()]
    for module, name, value in page_names(page):
        parts.append(f"## `{module}.{name}`")
        if inspect.isclass(value):
            parts += _describe_class(name, value)
        elif callable(value):
            parts += [_show_signature(name, value), *to_markdown(inspect.getdoc(value) or "")]
        else:
            parts += to_markdown(inspect.getdoc(value) or "")
    return "\n\n".join(parts) + "\n"


def _describe_class(name: str, cls: type) -> Iterator[str]:
    """Yield the parts about a class: its docstring, fields and members; inherited ones in a line each."""
    text = inspect.getdoc(cls) or ""
    yield _show_signature(name, cls)
    yield from to_markdown(text)
    if issubclass(cls, Settings):
        yield "Its fields are in [Settings](../settings.md)."
        return
    fields = {} if "Attributes:" in text else describe_fields(cls)
    if fields:
        yield "Attributes:"
        yield "\n".join(f"* `{field}`: {says}" for field, says in fields.items())
    inherited: dict[str, str] = {}
    for member, base, value in _list_members(cls, {*fields}):
        function = _unwrap(value)
        doc = inspect.getdoc(function) or ""
        if base is not cls:
            inherited[member] = " ".join(doc.partition("\n\n")[0].split())
            continue
        yield f"### `{name}.{member}`"
        if inspect.isfunction(function) and not isinstance(value, property | cached_property):
            yield _show_signature(member, function)
        yield from to_markdown(doc)
    if inherited:
        yield "Inherited:"
        yield "\n".join(f"* `{member}`: {summary}" for member, summary in inherited.items())
    tests = [member for member in dir(cls) if member.startswith("test_")]
    if tests:
        yield f"Tests: {', '.join(f'`{test}`' for test in tests)}."


def _list_members(cls: type, left_out: set[str]) -> Iterator[tuple[str, type, Any]]:
    """Yield name, class and value of the documented public members of a class and its ancestors.

    Args:
        cls: The class.
        left_out: Names that are not members.
    """
    seen = set(left_out)
    for base in cls.__mro__:
        for member, value in vars(base).items() if base.__module__.startswith("kinfolk") else ():
            if not member.startswith(("_", "test_")) and member not in seen:
                seen.add(member)
                if _has_docstring(_unwrap(value)):
                    yield member, base, value


def _unwrap(value: Any) -> Any:
    """Return the function of a property, a class method, a fixture or a decorated function."""
    for name in ("fget", "func", "__func__", "_fixture_function"):
        value = getattr(value, name, None) or value
    return inspect.unwrap(value) if callable(value) else value


def _has_docstring(value: Any) -> bool:
    """Return whether a member of a class is documented in itself, and not by its type."""
    return (inspect.isfunction(value) or inspect.isclass(value)) and bool(value.__doc__)


def _show_signature(name: str, value: Any) -> str:
    """Return the signature of a function or class as a block of code, without annotations."""
    text = short_signature(value) if inspect.isfunction(value) else ""
    if not text:
        try:
            signature = inspect.signature(value)
        except ValueError:  # classes of the standard library
            return f"```py\n{name}\n```"
        parameters = [each for name, each in signature.parameters.items() if name != "self"]
        bare = [each.replace(annotation=each.empty) for each in parameters]
        text = str(signature.replace(parameters=bare, return_annotation=signature.empty))
    return f"```py\n{name}{_ADDRESS.sub('', text)}\n```"


def to_markdown(doc: str) -> Iterator[str]:
    """Yield the parts of a Google docstring as Markdown, to be joined by empty lines."""
    for paragraph in re.split(r"\n\s*\n", doc.strip("\n")):
        lines = paragraph.splitlines()
        section = _SECTION.fullmatch(lines[0])
        if section and len(lines) > 1:
            body = [line[4:] for line in lines[1:]]
            if section[1] in ("Returns", "Yields"):
                yield f"{section[0]} {' '.join(line.strip() for line in body)}"
                continue
            yield section[0]
            yield "\n".join(_list_entries(body))
        elif lines[0].lstrip().startswith(">>>"):
            yield "\n".join(["```pycon", *(line.strip() for line in lines), "```"])
        elif lines[0].startswith("    "):
            yield "\n".join(["```text", *(line[4:] for line in lines), "```"])
        else:
            yield paragraph


def _list_entries(lines: list[str]) -> Iterator[str]:
    """Yield a line of a list for each entry of a section; further lines of an entry are indented."""
    entries: list[str] = []
    for line in lines:
        entry = None if line.startswith(" ") else _ENTRY.fullmatch(line)
        if entry is not None:
            entries.append(f"* `{entry[1]}`: {entry[2]}")
        else:
            entries.append(f"{entries.pop() if entries else '*'} {line.strip()}")
    yield from entries


def docstring_index() -> str:
    """Return the page that lists the pages of Python names."""
    rows = []
    for page, entry in PAGES.items():
        names = ", ".join(f"`{name}`" for _, name, _ in page_names(page))
        rows.append(f"| [{entry['title']}]({page}.md) | {names} |")
    table = "\n".join(["| page | names |", "|---|---|", *rows])
    toctree = "\n".join(["```{toctree}", ":hidden:", "", *PAGES, "```"])
    about = (
        "Every public name, from its docstring. `help(kf.evaluate)` in Python and `python -m pydoc kinfolk.evaluate` "
        "in a shell show the same text, also without this folder."
    )
    return f"# Python\n\n{about}\n\n{table}\n\n{toctree}\n"


def docstring_pages() -> dict[str, str]:
    """Return the pages of Python names by their path in the repository."""
    folder = "docs/reference/python"
    pages = {f"{folder}/{page}.md": docstring_page(page) for page in PAGES}
    return {f"{folder}/index.md": docstring_index(), **pages}
