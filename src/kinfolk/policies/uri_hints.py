"""What somebody may have meant who wrote something that is no policy's URI.

Python files are read as text: nothing of theirs is imported.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

from kinfolk.core.errors import format_suggestion
from kinfolk.store.json_files import read_text

_FILE = re.compile(r"(?:class:|file:)?(?P<path>[^?]*\.py)(?::(?P<name>\w+))?(?:\?.*)?$")
_DOTTED = re.compile(r"[A-Za-z_]\w*(\.\w+)+$")


def suggest_policy_uri(uri: str, policy_names: Iterable[str]) -> str:
    """Say what may have been meant, ready to be appended to a sentence.

    Args:
        uri: What was written.
        policy_names: Names of policies that are written `kin://NAME`.

    Returns:
        One or two sentences with a blank before them, or nothing.
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
    if _DOTTED.match(body) and find_spec(body.partition(".")[0]) is not None:
        return f" Did you mean 'class:{uri}'?"
    return ""


def _hint_for_file(path: Path, name: str | None) -> str:
    """How the classes of a Python file are written."""
    if not path.exists():
        return f" There is no file {path}."
    try:
        classes = find_policy_classes(read_text(path))
    except SyntaxError as error:
        return f" {path} is not valid Python: line {error.lineno}, {error.msg}."
    if not classes:
        return f" {path} holds no class; a policy is a class."
    here = path.resolve()
    inside = here.is_relative_to(Path.cwd())
    parts = here.relative_to(Path.cwd() if inside else here.parent).with_suffix("").parts
    module = ".".join(parts)
    where = "" if inside else f", and run kinfolk in {here.parent}"
    if name in classes:
        return f" Did you mean 'class:{module}.{name}'{where}?"
    if len(classes) == 1 and name is None:
        return f" Did you mean 'class:{module}.{classes[0]}'{where}?"
    if name is not None:
        return f" {path} has no class {name}.{format_suggestion(name, classes)}"
    written = ", ".join(f"class:{module}.{one}" for one in classes)
    return f" {path} has several classes; write one of {written}{where}."


def find_policy_classes(source: str) -> list[str]:
    r"""Names of the classes in a source that look like policies, or of all public ones.

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
    bases = [ast.unparse(base).rpartition(".")[2] for base in node.bases]
    methods = {one.name for one in node.body if isinstance(one, ast.FunctionDef)}
    named = any(base.endswith("Policy") and base != "AgentPolicy" for base in bases)
    return named or "agent_policy" in methods or {"act_async", "act_wait"} <= methods
