"""What the reference says of the fields of a class: their comments in the source, or their descriptions."""

import ast
import dataclasses
import inspect
import textwrap
from typing import Any

from kinfolk.core.settings import Settings


def describe_fields(cls: type) -> dict[str, str]:
    """Return what is said of the fields of a dataclass, a named tuple or a settings model, by name."""
    if issubclass(cls, Settings):
        shown = {name: info.description or "" for name, info in cls.model_fields.items()}
    elif dataclasses.is_dataclass(cls):
        shown = {field.name: "" for field in dataclasses.fields(cls)}
    elif issubclass(cls, tuple) and hasattr(cls, "_fields"):
        shown = dict.fromkeys(cls._fields, "")
    else:
        return {}
    for base in reversed(cls.__mro__):
        if base.__module__.startswith("kinfolk"):
            comments = read_comments(base)
            shown |= {name: text for name, text in comments.items() if text and name in shown}
    return {name: text for name, text in shown.items() if text}


def read_comments(cls: Any) -> dict[str, str]:
    """Return the comments behind the fields of a class, or in the lines above them, by name."""
    lines = textwrap.dedent(inspect.getsource(cls)).splitlines()
    body = ast.parse("\n".join(lines)).body[0]
    comments = {}
    for node in getattr(body, "body", []):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            rest = lines[node.end_lineno - 1].encode()[node.end_col_offset :].decode()
            text = rest.partition("# ")[2]
            above = lines[node.lineno - 2].strip()
            if not text and above.startswith("# "):
                text = above[2:]
            comments[node.target.id] = text[:1].upper() + text[1:]
    return comments
