"""Policies as Python files: which class of a file is the policy, found without running any of it.

A file may be a stranger's. Its text is searched, not parsed: Python's own parser is no defence against
hostile text.
"""

from __future__ import annotations

import re
from pathlib import Path

from kinfolk.core.errors import UsageError, format_suggestion
from kinfolk.store.files import read_beginning

PACKAGE_FILE = "__init__.py"
_CLASS = re.compile(r"^class[ \t]+([A-Za-z]\w*)[ \t]*(?:\(([^()]*)\))?[ \t]*:", re.MULTILINE)
_NEXT_STATEMENT = re.compile(r"^[^\s#)\]}]", re.MULTILINE)
_MAX_BYTES = 2**20  # of a file that are searched


def find_policy_class(path: Path, name: str | None = None) -> str:
    """Return the class path `FILE.py:Class` of the policy in a Python file or package.

    Args:
        path: A Python file, or the folder of a package, whose `__init__.py` is searched.
        name: Name of the class; None if the file has a single policy.

    Returns:
        The absolute path of the file and the name of the class, as `core.imports` imports it.

    Raises:
        UsageError: There is no such file, or no such class in it, or several could be meant.
    """
    file = path / PACKAGE_FILE if path.is_dir() else path
    if not file.is_file():
        raise UsageError(f"There is no file {file}.")
    classes = _list_policy_classes(read_beginning(file, _MAX_BYTES).decode("utf-8", "replace"))
    if not classes:
        raise UsageError(f"{file} holds no class; a policy is a class.")
    if name is not None and name not in classes:
        raise UsageError(f"{file} has no class {name}.{format_suggestion(name, classes)}")
    if name is None and len(classes) > 1:
        names = ", ".join(f"file:{path}:{each}" for each in classes)
        raise UsageError(
            f"{file} has several classes that could be the policy; write one of {names}."
        )
    return f"{file.absolute()}:{name or classes[0]}"


def split_code_file(text: str) -> tuple[Path, str | None] | None:
    """Split `FILE.py` or `FILE.py:Class` into path and name of the class; None if it is no such text.

    >>> split_code_file("mine.py:Mine"), split_code_file("net.safetensors")
    ((PosixPath('mine.py'), 'Mine'), None)
    """
    match = re.fullmatch(r"(.*\.py)(?::(\w+))?", text)
    return None if match is None else (Path(match[1]), match[2])


def _list_policy_classes(source: str) -> list[str]:
    """Return the classes whose base is named `...Policy` or that have its methods, else all of them."""
    matches = list(_CLASS.finditer(source))
    likely = []
    for match in matches:
        end = _NEXT_STATEMENT.search(source, match.end())
        body = source[match.end() : end.start() if end else None]
        bases = [base.strip().rpartition(".")[2] for base in (match[2] or "").split(",")]
        is_named = any(base.endswith("Policy") and base != "AgentPolicy" for base in bases)
        is_batched = "def act_async(" in body and "def act_wait(" in body
        if is_named or is_batched or "def agent_policy(" in body:
            likely.append(match[1])
    return likely or [match[1] for match in matches]
