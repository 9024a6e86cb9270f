"""Capsules: one file with the settings, results and hashes of a run, which others can verify."""

from __future__ import annotations

import hashlib
import io
import json
import platform
import zipfile
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path, PurePosixPath
from typing import Any

from kinfolk.core.errors import DamagedRunError, UsageError
from kinfolk.jobs.outside_policies import (
    find_outside_policies,
    hash_source,
    read_policy_bytes,
)
from kinfolk.jobs.reruns import require_done
from kinfolk.store.event_log import COMPRESSED_EVENTS_FILE
from kinfolk.store.files import read_bytes, write_atomic
from kinfolk.store.integrity import hash_code
from kinfolk.store.run import Run, open_run
from kinfolk.store.run_list import COMMAND_FILE, list_result_files
from kinfolk.store.settings_file import SETTINGS_FILE

MANIFEST_FILE, OUTSIDE_FOLDER = "manifest.json", "outside"
CAPSULE_FORMAT = 2
_LIBRARIES = ("numpy", "scipy", "numba", "llvmlite", "torch", "cmaes", "ribs")
_PACKAGE = Path(__file__).parents[1]
_FIXED_TIME = (1980, 1, 1, 0, 0, 0)  # of all entries, so that the same run gives the same bytes
EXACT = "exact: versions and processor are those of the capsule, so every number must be equal"
ROUNDING = (
    "exact for scripted policies and worlds; networks may differ in their last digits, because {}"
)
NOTHING = "none: {}, and another version may compute other numbers"


def describe_machine() -> dict[str, Any]:
    """Return what equality of numbers depends on: versions of libraries, and the processor."""
    # An edited checkout has the version of the release, so the code itself counts too.
    release = f"{version('kinfolk')} (code {hash_code(_PACKAGE)[:12]})"
    versions = {"python": platform.python_version(), "kinfolk": release}
    for name in _LIBRARIES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return {"versions": versions, "system": platform.system(), "processor": platform.machine()}


def pack_capsule(run: Run, path: Path) -> dict[str, Any]:
    """Write a capsule of a run, and return its manifest.

    Args:
        run: A run that is done.
        path: File to write.

    Raises:
        UsageError: The run is not done, or of a job that cannot be repeated.
        StoreError: The file could not be written.
    """
    require_done(run)
    names = [SETTINGS_FILE, COMPRESSED_EVENTS_FILE, *list_result_files(run.folder)]
    contents = {name: read_bytes(run.folder / name) for name in names}
    outside = find_outside_policies(run.config["settings"])
    packed = {uri: f"{OUTSIDE_FOLDER}/{i}.safetensors" for i, uri in enumerate(outside)}
    packed = {uri: name for uri, name in packed.items() if not uri.startswith("class:")}
    contents |= {name: read_policy_bytes(uri) for uri, name in packed.items()}
    sources = {uri: hash_source(uri) for uri in outside if uri.startswith("class:")}
    manifest = {
        "format": CAPSULE_FORMAT,
        "job": run.config["job"],
        "name": run.name,
        "policies": packed,
        "sources": sources,
        "command": _read_command(run.folder),
        **describe_machine(),
        "sha256": {name: hashlib.sha256(data).hexdigest() for name, data in contents.items()},
    }
    text = json.dumps(manifest, indent=2, sort_keys=True) + "\n"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in {MANIFEST_FILE: text.encode(), **contents}.items():
            entry = zipfile.ZipInfo(name, _FIXED_TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    write_atomic(path, buffer.getvalue())
    return manifest


def _read_command(folder: Path) -> str | None:
    """Return the command line that made a run; None if it was made from Python."""
    path = folder / COMMAND_FILE
    return read_bytes(path).decode().strip() if path.is_file() else None


def check_sources(path: Path, manifest: Mapping[str, Any]) -> None:
    """Check that the classes of policies, which no capsule holds, are those that played.

    Args:
        path: The capsule, for error messages.
        manifest: Its manifest.

    Raises:
        UsageError: A class is not here.
        DamagedRunError: The file of a class has other bytes.
    """
    for uri, expected in manifest["sources"].items():
        if hash_source(uri) != expected:
            raise DamagedRunError(
                f"{path} is refused: the file of the policy {uri} is not the one that played. Its SHA-256 "
                f"should be {expected}."
            )


def locate_policies(manifest: Mapping[str, Any], folder: Path) -> dict[str, str]:
    """Return the URIs of unpacked policies, by the URIs under which they played."""
    return {uri: f"file:{folder / name}" for uri, name in manifest["policies"].items()}


def unpack_capsule(path: Path, folder: Path) -> tuple[Run, dict[str, Any]]:
    """Check the hashes of a capsule, and unpack its run into a folder.

    Args:
        path: The capsule.
        folder: Folder to write, which must not exist.

    Returns:
        The run, and the manifest of the capsule.

    Raises:
        UsageError: There is no such file.
        DamagedRunError: It is no capsule, or a file in it was changed; the message names it.
    """
    contents, manifest = read_capsule(path)
    for name, data in contents.items():
        write_atomic(folder / name, data)
    return open_run(folder), manifest


def read_capsule(path: Path) -> tuple[dict[str, bytes], dict[str, Any]]:
    """Return the files of a capsule by name, whose hashes are checked, and its manifest.

    Raises:
        UsageError: There is no such file.
        DamagedRunError: It is no capsule, or a file in it was changed; the message names it.
    """
    if not path.is_file():
        raise UsageError(f"There is no capsule {path}.")
    try:
        with zipfile.ZipFile(io.BytesIO(read_bytes(path))) as archive:
            contents = {entry.filename: archive.read(entry) for entry in archive.infolist()}
        manifest = json.loads(contents.pop(MANIFEST_FILE))
        known = manifest["format"] == CAPSULE_FORMAT
        parts = ("sha256", "policies", "sources") if known else ()
        hashes = [dict(manifest[name]) for name in parts][:1]
    except (zipfile.BadZipFile, KeyError, ValueError, TypeError) as error:
        raise DamagedRunError(f"{path} is not a capsule, or it is damaged: {error}.") from None
    if not known:
        raise DamagedRunError(
            f"{path} has format {manifest['format']}; this kinfolk reads {CAPSULE_FORMAT}."
        )
    [expected_hashes] = hashes
    for name in sorted({*expected_hashes, *contents}):
        if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
            raise DamagedRunError(f"{path} is refused: '{name}' leads out of the capsule.")
        actual = hashlib.sha256(contents[name]).hexdigest() if name in contents else "missing"
        expected = expected_hashes.get(name)
        if actual != expected:
            raise DamagedRunError(
                f"{path} is refused: {name} was changed. Its SHA-256 should be {expected}, but it is "
                f"{actual}."
            )
    return contents, manifest


def describe_equality(manifest: Mapping[str, Any]) -> str:
    """Return which tier of equality this machine can promise for a capsule, in words."""
    here = describe_machine()
    there, versions = manifest.get("versions", {}), here["versions"]
    changed = [
        f"{name} is {versions.get(name, 'not installed')} here and {value} there"
        for name, value in there.items()
        if versions.get(name) != value and name != "python"
    ]
    if versions["kinfolk"] != there.get("kinfolk"):
        return NOTHING.format(changed[0] if changed else "kinfolk is of another version")
    if here["processor"] != manifest.get("processor"):
        changed.append(f"the processor is {here['processor']} here")
    return ROUNDING.format("; ".join(changed)) if changed else EXACT
