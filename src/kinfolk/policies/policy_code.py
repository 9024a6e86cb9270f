"""Policies as Python files: which class of a file is the policy, and which files belong to it.

A file may be a stranger's. Nothing of it is run. Its text is searched, not parsed: Python's own parser is
no defence against hostile text.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from pathlib import Path

from kinfolk.core.errors import UsageError, format_suggestion
from kinfolk.store.files import as_store_error, read_beginning

PACKAGE_FILE = "__init__.py"
# Possessive, so that the time is linear in the length of the text.
_CLASS = re.compile(r"^class[ \t]++([A-Za-z]\w*+)[ \t]*+(?:\(([^()]*+)\)[ \t]*+)?:", re.MULTILINE)
_NEXT_STATEMENT = re.compile(r"^[^\s#)\]}]", re.MULTILINE)
_MAX_BYTES = 2**20  # of a file that are searched
_MAX_ENTRIES, _MAX_DEPTH, _MAX_TOTAL_BYTES = 4096, 32, 2**30  # of a package
_CHUNK_BYTES = 2**20


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
    match = re.fullmatch(r"(.*\.py)(?::(\w+))?", text, re.DOTALL)
    return None if match is None else (Path(match[1]), match[2])


def list_own_files(path: Path) -> list[Path]:
    """Return the files of a stranger's policy: the file itself, or all that a package holds.

    Args:
        path: A file, or the folder of a package.

    Raises:
        UsageError: It is too large, or holds a link, a sparse file, or what is no file.
        StoreError: It cannot be read.
    """
    files: list[Path] = []
    n_bytes = 0
    unread = [path]
    for n_entries, entry in enumerate(unread):  # which grows
        name = entry.relative_to(path.parent)
        if n_entries > _MAX_ENTRIES:
            raise UsageError(f"{path.name} holds more than {_MAX_ENTRIES:,} files and folders.")
        if len(name.parts) > _MAX_DEPTH:
            raise UsageError(f"{path.name} has folders nested more than {_MAX_DEPTH} deep.")
        with as_store_error(f"{name} could not be read"):
            status = entry.lstat()
            if stat.S_ISDIR(status.st_mode):
                # One more than is allowed: the rest of a huge folder is not read.
                with os.scandir(entry) as inside:
                    unread += [Path(each) for each, _ in zip(inside, range(_MAX_ENTRIES + 1))]  # noqa: B905
                continue
            n_bytes += status.st_size
            if n_bytes > _MAX_TOTAL_BYTES:
                raise UsageError(f"{path.name} is larger than {_MAX_TOTAL_BYTES:,} bytes in all.")
            _check_file(entry, name)
        files.append(entry)
    return sorted(files)


def _check_file(path: Path, name: Path) -> None:
    """Check that a file is stored once, as a whole, under its own name.

    Raises:
        UsageError: It is not.
        OSError: It cannot be read.
    """
    status = path.lstat()
    if stat.S_ISLNK(status.st_mode):
        raise UsageError(f"{name} is a link; a submission holds its files itself.")
    if not stat.S_ISREG(status.st_mode):
        raise UsageError(f"{name} is neither a file nor a folder.")
    if status.st_nlink > 1:
        problem = f"{name} has {status.st_nlink} names (hard links)"
        raise UsageError(f"{problem}; a submission's files have one.")
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        is_sparse = status.st_size > 0 and os.lseek(handle, 0, os.SEEK_HOLE) < status.st_size
    finally:
        os.close(handle)
    if is_sparse:
        raise UsageError(f"{name} is a sparse file: it says to be larger than what it holds.")


def digest_own_files(path: Path) -> str:
    """Return the SHA-256 of the names and bytes of all files of a policy, as `list_own_files` lists them."""
    digest = hashlib.sha256()
    for file in list_own_files(path):
        name = os.fsencode(file.relative_to(path.parent if file == path else path))
        with as_store_error(f"{file} could not be read"), file.open("rb") as content:
            digest.update(b"%s\0%d\0" % (name, os.fstat(content.fileno()).st_size))
            while chunk := content.read(_CHUNK_BYTES):
                digest.update(chunk)
    return digest.hexdigest()


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
