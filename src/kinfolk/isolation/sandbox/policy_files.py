"""The files that belong to a policy, found without running any of its code.

A policy sees its own module, or the whole folder if that is a package, and nothing beside it: what lies
in the same folder may be the policy of somebody else.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from kinfolk.isolation.sandbox.bubblewrap import trusted_import_paths
from kinfolk.policies.build import ResolvedPolicy

CODE_SETTINGS = ("module", "transform", "catalog")  # may name code to import
# Libraries that the fork server imports before it forks agents, if the policy imports them.
PRELOADED_LIBRARIES = ("numba", "pandas", "scipy", "sklearn", "torch")
_IMPORT = re.compile(
    rb"^(?:from|import)[ \t]+((?:kinfolk|%s)\b[\w.]*)"
    % "|".join(PRELOADED_LIBRARIES).encode(),
    re.MULTILINE,
)
_MAX_SOURCES, _MAX_SOURCE_BYTES = 64, 2**20


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
    """
    settings = [str(resolved.settings.get(name) or "") for name in CODE_SETTINGS]
    names = [resolved.class_path, *(text for text in settings if "." in text or ":" in text)]
    extra = [Path(os.path.abspath(os.path.expanduser(path))) for path in readable]
    paths, folders = list[Path](), [str(path if path.is_dir() else path.parent) for path in extra]
    for name in names:
        path, folder = _locate_module(name.replace(":", "."))
        if path is not None and not _is_trusted(path):
            paths.append(path)
            folders.insert(0, folder)
    return PolicyFiles(
        tuple(dict.fromkeys([*paths, *extra])),
        tuple(dict.fromkeys(folders)),
        tuple(sorted({name for path in paths for name in _list_preloads(path)})),
    )


def _locate_module(name: str) -> tuple[Path | None, str]:
    """Find the file of a module, or the folder of the package that contains it.

    Args:
        name: Dotted name of the module and perhaps of a class in it.

    Returns:
        The path, None if it is not found, and the folder on `sys.path` in which it lies.
    """
    top, *parts = name.split(".")
    try:
        spec = find_spec(top)  # imports nothing for a name without dots
    except (ImportError, ValueError, AttributeError):
        spec = None
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


def _list_preloads(path: Path) -> Iterable[str]:
    """Yield the trusted modules that a module or package of a policy always imports.

    Its text is searched, not parsed: Python's own parser is no defence against hostile text.
    """
    sources = sorted(path.rglob("*.py"))[:_MAX_SOURCES] if path.is_dir() else [path]
    for source in sources:
        try:
            with source.open("rb") as file:
                text = file.read(_MAX_SOURCE_BYTES)
        except OSError:
            continue  # the agent reports it when it imports the module
        for match in _IMPORT.finditer(text):
            name = match[1].decode("ascii")
            yield name if name.startswith("kinfolk") else name.partition(".")[0]
