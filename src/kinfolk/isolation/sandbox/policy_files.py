"""The files that belong to a policy, found without running any of its code.

A policy sees its own module, or the whole folder if that is a package, and nothing beside it: what lies
in the same folder may be the policy of somebody else.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from kinfolk.core.errors import require
from kinfolk.core.imports import find_top_module
from kinfolk.isolation.sandbox.bubblewrap import trusted_import_paths
from kinfolk.policies.build import ResolvedPolicy

CODE_SETTINGS = ("module", "transform", "catalog")  # may name code to import
# Libraries that the fork server imports before it forks agents, if the policy imports them.
PRELOADED_LIBRARIES = ("numba", "pandas", "scipy", "sklearn", "torch")
_IMPORT = re.compile(
    rb"^(?:from|import)[ \t]+((?:kinfolk|%s)\b[\w.]*)" % "|".join(PRELOADED_LIBRARIES).encode(),
    re.MULTILINE,
)
_MAX_SOURCES, _MAX_SOURCE_BYTES, _MAX_ENTRIES = 64, 2**20, 4096
_OWN_PACKAGE = "kinfolk."


@dataclass(frozen=True)
class PolicyFiles:
    """What a policy needs from the file system.

    Attributes:
        paths: Its own files and folders.
        import_paths: Folders from which its modules are imported.
        preload: Names of trusted modules that it imports.
    """

    paths: tuple[Path, ...] = ()
    import_paths: tuple[str, ...] = ()
    preload: tuple[str, ...] = ()


def find_policy_files(resolved: ResolvedPolicy, readable: Iterable[str] = ()) -> PolicyFiles:
    """Find the files of a policy, and the libraries that it imports.

    Args:
        resolved: Class and settings of the policy; nothing of it is imported.
        readable: Further files and folders that it may read, or import from.

    Raises:
        SettingsError: One of `readable` does not exist.
    """
    names = [resolved.class_path]
    if resolved.class_path.startswith(_OWN_PACKAGE):  # a stranger's settings mean what he likes
        names += list_named_code(resolved)
    if resolved.is_from_file:  # and so do those in a file of his
        names = []
    extra = [Path(os.path.abspath(os.path.expanduser(path))) for path in readable]
    for place in extra:
        require(place.exists(), f"sandbox_read names {place}, which does not exist.")
    paths, folders = list[Path](), [str(path if path.is_dir() else path.parent) for path in extra]
    for name in names:
        by_path = _locate_file(name)  # imported by its path, so that it hides no other module
        path, folder = by_path or _locate_module(name.replace(":", "."))
        if path is not None and _lies_in(path, folder) and not _is_trusted(path):
            paths.append(path)
            if by_path is None:
                folders.insert(0, folder)
    return PolicyFiles(
        tuple(dict.fromkeys([*paths, *extra])),
        tuple(dict.fromkeys(folders)),
        tuple(sorted({name for path in paths for name in _list_preloads(path)})),
    )


def split_readable(entry: str) -> tuple[str, str]:
    """Return the slot and the path of an entry of `sandbox_read`; no slot means all of them.

    >>> split_readable("pack=maps/a=1.json"), split_readable("maps/a=1.json")
    (('pack', 'maps/a=1.json'), ('', 'maps/a=1.json'))
    """
    slot, _, path = entry.partition("=")
    return (slot, path) if path and os.sep not in slot else ("", entry)


def list_readable(entries: Iterable[str], slot: str) -> list[str]:
    """Return the paths of `sandbox_read` that are for a slot or for all slots."""
    return [path for owner, path in map(split_readable, entries) if owner in ("", slot)]


def digest_policy(resolved: ResolvedPolicy) -> str:
    """Return a digest of a policy: of its class, settings and weights, and of its module or package.

    Of each file the beginning and the size count.
    """
    digest = hashlib.sha256(resolved.sha256.encode())
    for path in find_policy_files(resolved).paths:
        for name in sorted(_iter_files(path)):
            size = os.path.getsize(name) if os.path.isfile(name) else 0
            digest.update(f"\n{os.path.relpath(name, path.parent)} {size}\n".encode())
            digest.update(_read_beginning(name))
    return digest.hexdigest()


def list_named_code(resolved: ResolvedPolicy) -> list[str]:
    """Return the import paths that the settings of a policy name."""
    values = [str(resolved.settings.get(name) or "") for name in CODE_SETTINGS]
    return [value for value in values if "." in value or ":" in value]


def _lies_in(path: Path, folder: str) -> bool:
    """Return whether a module really lies in its folder, and is no link to anything else."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def _locate_file(name: str) -> tuple[Path, str] | None:
    """Find the file of `FILE.py:Class`, or the folder of its package, and the folder around it."""
    file, colon, _ = name.rpartition(":")
    if not colon or not file.endswith(".py"):
        return None
    path = Path(file)
    path = path.parent if path.name == "__init__.py" else path
    return path, str(path.parent)


def _locate_module(name: str) -> tuple[Path | None, str]:
    """Find the file of a module, or the folder of the package that contains it.

    Args:
        name: Dotted name of the module and perhaps of a class in it.

    Returns:
        The path, None if it is not found, and the folder on `sys.path` in which it lies.
    """
    top, *parts = name.split(".")
    spec = find_top_module(top)
    if spec is None:
        return None, ""
    if spec.origin is not None and os.path.isabs(spec.origin):
        path = Path(spec.origin)
        path = path.parent if spec.submodule_search_locations else path
        return path, str(path.parent)
    for place in spec.submodule_search_locations or ():  # a folder without __init__.py
        folder = Path(place)
        for part in parts:
            if (folder / f"{part}.py").is_file():
                return folder / f"{part}.py", str(Path(place).parent)
            folder /= part
            if (folder / "__init__.py").is_file():
                return folder, str(Path(place).parent)
    return None, ""


def _is_trusted(path: Path) -> bool:
    """Return whether a module is part of Python, of an installed package or of kinfolk."""
    *libraries, package_parent = trusted_import_paths()
    places = [*libraries, os.path.join(package_parent, "kinfolk")]
    return any(str(path) == place or str(path).startswith(f"{place}{os.sep}") for place in places)


def _list_preloads(path: Path) -> Iterator[str]:
    """Yield the trusted modules that a module or package of a policy always imports.

    Its text is searched, not parsed: Python's own parser is no defence against hostile text.
    """
    for source in islice(_iter_files(path, ".py"), _MAX_SOURCES):
        for match in _IMPORT.finditer(_read_beginning(source)):
            name = match[1].decode("ascii")
            yield name if name.startswith("kinfolk") else name.partition(".")[0]


def _iter_files(path: Path, ending: str = "") -> Iterator[str]:
    """Yield the files of a module or package that end so, from a bounded number of entries."""
    if not path.is_dir():
        yield str(path)
        return
    folders, n_entries = [str(path)], 0
    while folders and n_entries < _MAX_ENTRIES:
        with suppress(OSError), os.scandir(folders.pop()) as entries:
            for entry in islice(entries, _MAX_ENTRIES - n_entries):
                n_entries += 1
                if entry.is_dir(follow_symlinks=False):
                    folders += [entry.path] if entry.name != "__pycache__" else []
                elif entry.name.endswith(ending):
                    yield entry.path


def _read_beginning(path: str) -> bytes:
    """Return the beginning of a regular file; nothing of anything else, which might never end."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return b""  # the agent reports it when it imports the module
    try:
        return os.read(fd, _MAX_SOURCE_BYTES) if stat.S_ISREG(os.fstat(fd).st_mode) else b""
    finally:
        os.close(fd)
