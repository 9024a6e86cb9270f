"""Suggest what was meant by a text that is not a policy URI.

Python files are only parsed, never imported.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from pathlib import Path

from kinfolk.core.errors import format_suggestion
from kinfolk.core.imports import find_top_module
from kinfolk.store.files import read_text

_FILE = re.compile(r"(?:class:|file:)?(?P<path>[^?]*\.py)(?::(?P<name>\w+))?(?:\?.*)?$")
_DOTTED = re.compile(r"[A-Za-z_]\w*(\.\w+)+$")


def suggest_policy_uri(uri: str, policy_names: Iterable[str]) -> str:
    """Return a hint to append to an error message about a wrong policy URI.

    Args:
        uri: The text that was given.
        policy_names: Names of registered policies, which are written `kin://NAME`.

    Returns:
        One or two sentences that begin with a space, or an empty string.
    """
    body, mark, query = uri.partition("?")
    file = _FILE.match(uri)
    if file is not None:
        return _hint_for_file(Path(file["path"]), file["name"])
    if body in policy_names:
        return f" Did you mean 'kin://{body}{mark}{query}'?"
    if body.endswith(".safetensors"):
        return f" Did you mean 'file:{uri}'?"
    if (Path(body) / "settings.json").exists():
        return f" Did you mean 'run:{uri}'?"
    if _DOTTED.match(body) and find_top_module(body.partition(".")[0]) is not None:
        return f" Did you mean 'class:{uri}'?"
    return ""


def _hint_for_file(path: Path, name: str | None) -> str:
    """Return the hint for a Python file, with the class URIs of the policies in it."""
    if not path.exists():
        return f" There is no file {path}."
    try:
        classes = find_policy_classes(read_text(path))
    except SyntaxError as error:
        return f" {path} is not valid Python: line {error.lineno}, {error.msg}."
    except (ValueError, RecursionError, MemoryError):  # what else the parser raises
        return f" {path} is not valid Python."
    if not classes:
        return f" {path} holds no class; a policy is a class."
    absolute = path.resolve()
    inside = absolute.is_relative_to(Path.cwd())
    parts = absolute.relative_to(Path.cwd() if inside else absolute.parent).with_suffix("").parts
    module = ".".join(parts)
    folder_hint = "" if inside else f", and run kinfolk in {absolute.parent}"
    likely = classes[0] if name is None and len(classes) == 1 else name
    if likely in classes:
        return f" Did you mean 'class:{module}.{likely}'{folder_hint}?"
    if name is not None:
        return f" {path} has no class {name}.{format_suggestion(name, classes)}"
    uris = ", ".join(f"class:{module}.{class_name}" for class_name in classes)
    return f" {path} has several classes; write one of {uris}{folder_hint}."


def find_policy_classes(source: str) -> list[str]:
    r"""Return the names of classes in `source` that look like policies, else of all public ones.

    >>> find_policy_classes("class Mine(MultiAgentPolicy): ...\nclass Table: ...")
    ['Mine']
    >>> find_policy_classes("class Mine(Base): ...\nclass _Table: ...")
    ['Mine']
    """
    nodes = [node for node in ast.parse(source).body if isinstance(node, ast.ClassDef)]
    public = [node for node in nodes if not node.name.startswith("_")]
    likely = [node.name for node in public if _looks_like_policy(node)]
    return likely or [node.name for node in public]


def _looks_like_policy(node: ast.ClassDef) -> bool:
    """Return whether a class has a base named `...Policy`, or the methods of a policy."""
    bases = [ast.unparse(base).rpartition(".")[2] for base in node.bases]
    methods = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
    named = any(base.endswith("Policy") and base != "AgentPolicy" for base in bases)
    return named or "agent_policy" in methods or {"act_async", "act_wait"} <= methods
