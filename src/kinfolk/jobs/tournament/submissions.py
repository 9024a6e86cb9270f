"""Read the policies of a tournament from folders, files, URIs and classes; none of them is run.

A folder holds one policy per Python file, per package (a folder with `__init__.py`) and per
`.safetensors` file, named after it. Any other folder in it is named after a side of the world, such as
`predator`, and its policies play that side only.

Each entry of a folder is a submission of its own, whatever the others are called: one that cannot be
admitted is refused, with the reason, and the others play.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from kinfolk.core.errors import KinfolkError, UsageError, escape_text
from kinfolk.core.settings import shorten_repr
from kinfolk.isolation.sandbox.policy_files import digest_policy
from kinfolk.policies.build import ResolvedPolicy
from kinfolk.policies.policy_code import (
    PACKAGE_FILE,
    digest_own_files,
    find_policy_class,
    list_own_files,
    split_code_file,
)
from kinfolk.policies.policy_source import find_class_path
from kinfolk.store.files import list_folder, read_settings_file
from kinfolk.store.policy_references import split_reference

# URI of a policy by its name; of a policy of one side, in the side's table.
PolicyTable: TypeAlias = dict[str, Any]

_SUFFIXES = (".py", ".safetensors")
_SETTINGS_SUFFIXES = (".toml", ".json")
_SCHEME = re.compile(r"^(?:kin://|class:|file:|run:)")


def read_submissions(sources: Iterable[Any]) -> dict[str, Any]:
    """Return the settings that folders, files, URIs and classes of policies stand for.

    Args:
        sources: Each a folder; a `.toml` or `.json` file of settings with a table `policies`; a policy
            file; a URI, `NAME=URI`, or `SIDE/NAME=URI` for one side; a class; or a table of these by name.

    Returns:
        Settings: the table `policies`, `refused` with what folders hold that cannot be admitted, and
        those of the settings files.

    Raises:
        UsageError: A folder holds no policy, two policies have one name, or a file or source is wrong.
    """
    settings: dict[str, Any] = {}
    policies: PolicyTable = {}
    for source in sources:
        table = _read_source(source, settings)
        for name, policy in table.items():
            add_policy(policies, name, policy)
    return {**settings, "policies": policies}


def _read_source(source: Any, settings: dict[str, Any]) -> PolicyTable:
    """Return the policies of one source; other settings of a file are put into `settings`."""
    if isinstance(source, Mapping):
        return {str(name): _to_uri(value, Path.cwd()) for name, value in source.items()}
    if isinstance(source, type):
        return {source.__name__: _to_uri(source, Path.cwd())}
    if not isinstance(source, str | Path):
        raise UsageError(
            f"Policies are given one by one, each a folder, a file, a URI, a class, or a table of these by "
            f"name, not as {type(source).__name__}: {shorten_repr(source)}. Write "
            f"tournament(a, b) or tournament(*policies)."
        )
    text = str(source)
    path = Path(text)
    if path.suffix in _SETTINGS_SUFFIXES:
        table = read_settings_file(path)
        policies = table.pop("policies", {})
        if not isinstance(policies, Mapping) or not policies:
            raise UsageError(f"{path} has no table [policies], with a policy URI or file by name.")
        settings |= table
        return {name: _to_uri(value, path.parent) for name, value in policies.items()}
    if path.is_dir():
        refused = settings.setdefault("refused", {})
        policies = read_folder(path, refused)
        if not refused:
            del settings["refused"]
        return policies
    side, name, uri = _split_name(text)
    if not _SCHEME.match(uri) and re.search(r"[\\/]|\.\w+$", uri) and not _exists(uri):
        raise UsageError(
            f"There is no folder or file {uri.partition('?')[0]}, of policies or of one."
            f"{_suggest_run(uri)}"
        )
    table = {name or _name_of(uri): _to_uri(uri, Path.cwd())}
    return {side: table} if side else table


def _split_name(text: str) -> tuple[str, str, str]:
    """Split `[SIDE/][NAME=]URI` into side, name and URI, with "" for what is not given.

    >>> _split_name("prey/last=run:a/prey"), _split_name("still=kin://noop")
    (('prey', 'last', 'run:a/prey'), ('', 'still', 'kin://noop'))
    """
    written = re.fullmatch(r"(?:([\w.-]+)/)?([\w.-]+)=(.*)", text, re.DOTALL)
    if written is None or (written[1] and _exists(text)):
        return "", "", text
    return written[1] or "", written[2], written[3]


def _suggest_run(uri: str) -> str:
    """Return a hint for a policy of a run that is written without `run:`; "" for anything else."""
    try:
        split_reference(uri)
    except UsageError:
        return ""
    return f" The policy of a run is written run:{uri}."


def read_folder(folder: Path, refused: dict[str, str], side: str = "") -> PolicyTable:
    """Return the policies in a folder by their names; a subfolder is a side with policies of its own.

    Args:
        folder: The folder.
        refused: Why an entry was not admitted, by its name; added to.
        side: Name of the side whose folder it is, in which no further sides are searched.

    Raises:
        UsageError: It holds no policy.
    """
    policies: PolicyTable = {}
    reasons: dict[str, str] = {}
    entries = list_folder(folder)
    for path in entries:
        if path.name.startswith(".") or path.name == "__pycache__":
            continue
        if not _is_policy(path) and not path.is_symlink():
            if not side and path.is_dir() and any(map(_is_policy, list_folder(path))):
                policies[path.name] = read_folder(path, refused, path.name)
            continue
        try:
            _check_name(path)
            uri = _file_uri(path, None)
        except KinfolkError as error:
            name = escape_text(f"{side}/{path.name}" if side else path.name)
            reasons[name] = escape_text(str(error).replace(f"{folder}/", "").removesuffix("."))
        else:
            policies[_choose_name(path, entries)] = uri
    refused |= reasons
    if not policies:
        found = "".join(f" {name} is refused: {reason}." for name, reason in reasons.items())
        hint = "A policy is a Python file, a package or a .safetensors file."
        if PACKAGE_FILE in reasons:
            hint += f" Enter a package itself as NAME={folder}."
        raise UsageError(f"{folder} holds no policy.{found} {hint}")
    return policies


def _choose_name(path: Path, entries: Sequence[Path]) -> str:
    """Return the name of a submission: without its suffix, unless another entry is called so too."""
    if path.is_dir():
        return path.name
    for entry in entries:
        is_rival = entry != path and (entry.is_dir() or _is_policy(entry))
        if is_rival and path.stem in (entry.name, entry.name if entry.is_dir() else entry.stem):
            return path.name
    return path.stem


def _check_name(path: Path) -> None:
    """Check the name of an entry, which tables, files and pages of the tournament show.

    Raises:
        UsageError: It does not print as it is, or would mean something to Python.
    """
    if not path.name.isprintable():
        raise UsageError("its name has characters that do not print as they are.")
    if path.name.startswith("__"):
        raise UsageError("names that begin with __ mean something to Python.")


def add_policy(policies: PolicyTable, name: str, policy: Any) -> None:
    """Add a policy, or the policies of a side, to a table.

    Args:
        policies: The table; changed.
        name: Name of the policy or of the side.
        policy: URI, or table of URIs.

    Raises:
        UsageError: The name is taken.
    """
    present = policies.get(name)
    if isinstance(present, Mapping) and isinstance(policy, Mapping):
        merged = dict(present)
        for each, uri in policy.items():
            add_policy(merged, each, uri)
        policies[name] = merged
        return
    if present is not None:
        places = " and ".join(sorted(_describe(each) for each in (present, policy)))
        raise UsageError(f"Two policies are called '{name}': {places}. Rename one of them.")
    policies[name] = policy


def _describe(policy: Any) -> str:
    """Return where a policy comes from, for an error message."""
    if isinstance(policy, Mapping):
        return "the side of that name"
    return str(policy).removeprefix("file:")


def _exists(uri: str) -> bool:
    """Return whether the file of a policy, which may name a class and parameters, is there."""
    body = uri.partition("?")[0]
    code = split_code_file(body)
    return (Path(body) if code is None else code[0]).exists()


def _is_policy(path: Path) -> bool:
    """Return whether a file or folder looks like a policy by its name."""
    if path.is_dir():
        return os.path.isfile(path / PACKAGE_FILE)  # False where nobody may look
    return path.suffix in _SUFFIXES


def _to_uri(value: Any, folder: Path) -> Any:
    """Return the URI of a policy that is given as a URI, a file, a class, or a table of these.

    Args:
        value: What was given.
        folder: Folder that relative paths start from.
    """
    if isinstance(value, Mapping):
        return {str(name): _to_uri(each, folder) for name, each in value.items()}
    if isinstance(value, type):
        return f"class:{find_class_path(value)}"
    text = str(value)
    body, mark, query = text.removeprefix("file:").partition("?")
    code = split_code_file(body)
    if text.startswith(("kin://", "class:", "run:")):
        return text
    if code is not None:
        return _file_uri(folder / code[0], code[1]) + mark + query
    path = folder / body
    if path.suffix == ".safetensors" or (path / PACKAGE_FILE).is_file():
        return _file_uri(path, None) + mark + query
    return text  # `resolve` says what is wrong with it


def _file_uri(path: Path, name: str | None) -> str:
    """Return the URI of a policy file, with the absolute path of the file and its class if it is code.

    Args:
        path: A `.safetensors` file, a Python file, or the folder of a package.
        name: Name of the class; None if the file has a single policy.
    """
    list_own_files(path.parent if path.name == PACKAGE_FILE else path)  # or says what is wrong
    is_weights = path.suffix == ".safetensors"
    place = str(path.absolute()) if is_weights else find_policy_class(path, name)
    return "file:" + place.replace("%", "%25").replace("?", "%3F")


def _name_of(uri: str) -> str:
    """Return a name for a policy that is given without one.

    >>> _name_of("kin://roles?miner=4"), _name_of("class:mine.Own"), _name_of("sub/alice.py:Alice")
    ('roles-miner-4', 'Own', 'alice')
    """
    code = split_code_file(uri.partition("?")[0])
    if code is not None or uri.endswith(".safetensors"):
        path = code[0] if code is not None else Path(uri)
        return path.parent.name if path.name == PACKAGE_FILE else path.stem
    text = _SCHEME.sub("", uri)
    text = text.rpartition(".")[2] if uri.startswith("class:") else text
    return re.sub(r"[^\w.]+", "-", text).strip("-.")


def hash_submission(resolved: ResolvedPolicy) -> str:
    """Return the SHA-256 of all that a submission holds: its files, settings and weights."""
    code = split_code_file(resolved.class_path)
    if code is None:
        return digest_policy(resolved)
    path, name = code
    files = digest_own_files(path.parent if path.name == PACKAGE_FILE else path)
    return replace(resolved, class_path=f"{files}:{name}", sha256="").sha256
