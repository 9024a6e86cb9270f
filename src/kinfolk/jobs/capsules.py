"""Capsules: one file with the settings, results and hashes of a run, which others can verify.

A capsule may come from anybody. Its sizes are bounded before anything is unpacked, its manifest is
checked against a model, and it holds nothing but the files of a run and `outside/N.safetensors`.
"""

from __future__ import annotations

import hashlib
import io
import json
import platform
import re
import struct
import zipfile
import zlib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError, model_validator

from kinfolk.core.errors import DamagedRunError, UsageError, escape_text
from kinfolk.jobs.outside_policies import (
    find_outside_policies,
    hash_source,
    is_source,
    read_policy_bytes,
)
from kinfolk.jobs.reruns import require_done
from kinfolk.store.event_log import COMPRESSED_EVENTS_FILE
from kinfolk.store.files import MAX_TEXT_BYTES, parse_json, read_bytes, write_atomic
from kinfolk.store.integrity import hash_code
from kinfolk.store.run import Run, open_run
from kinfolk.store.run_list import COMMAND_FILE, is_result_file, list_result_files
from kinfolk.store.settings_file import SETTINGS_FILE

MANIFEST_FILE = "manifest.json"
CAPSULE_FORMAT = 2
# Bytes that a capsule may unpack to. Texts are the only files in it that are compressed, and shrink to a
# fifth or less; a zip bomb unpacks to a thousand times its size.
MIN_SIZE_LIMIT, MAX_RATIO = MAX_TEXT_BYTES, 20
_MAX_ENTRIES = 100_000
_LIBRARIES = ("numpy", "scipy", "numba", "llvmlite", "torch", "cmaes", "ribs")
_PACKAGE = Path(__file__).parents[1]
_FIXED_TIME = (1980, 1, 1, 0, 0, 0)  # of all entries, so that the same run gives the same bytes
_PACKED_POLICY = re.compile(r"outside/[0-9]{1,6}\.safetensors")
_STORED_SUFFIXES = (".safetensors", ".gz")  # hardly become smaller
_ENCRYPTED = 0x1  # flag of an entry of a zip file
_READ_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# What Python raises for zip files that are damaged, or of a kind that it does not read.
_ZIP_ERRORS = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, LookupError, ValueError,
               OSError, RuntimeError)  # fmt: skip
EXACT = "exact: versions and processor are those of the capsule, so every number must be equal"
ROUNDING = (
    "exact for scripted policies and worlds; networks may differ in their last digits, because {}"
)
NOTHING = "none: {}, and another version may compute other numbers"

_Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class Machine(BaseModel):
    """What equality of numbers depends on: versions of libraries, and the processor."""

    model_config = ConfigDict(frozen=True, strict=True)

    versions: dict[str, str]
    system: str
    processor: str


class Manifest(Machine):
    """What a capsule says of its content and of where it was made."""

    format: int
    job: str
    name: str
    policies: dict[str, str]  # file in the capsule of each `file:` and `run:` URI of the settings
    sources: dict[str, _Sha256]  # hash of the file of each policy that is Python code
    command: str | None
    sha256: dict[str, _Sha256]  # of every other file in the capsule, by its name

    @model_validator(mode="after")
    def _check_files(self) -> Manifest:
        """Check that the capsule lists files of a run and weights of its policies, and no others."""
        packed = set(self.policies.values())
        for name in packed:
            if not _PACKED_POLICY.fullmatch(name):
                raise ValueError(
                    f"the policy '{escape_text(name)}' is not named outside/N.safetensors"
                )
        for name in self.sha256:
            is_run_file = name in (SETTINGS_FILE, COMPRESSED_EVENTS_FILE) or is_result_file(name)
            if name not in packed and not is_run_file:
                raise ValueError(f"'{escape_text(name)}' is no file of a run or of its policies")
        missing = {SETTINGS_FILE, COMPRESSED_EVENTS_FILE, *packed} - self.sha256.keys()
        if missing:
            raise ValueError(f"it lists no {min(missing)}")
        return self


def describe_machine() -> Machine:
    """Return the versions and the processor of this machine."""
    # An edited checkout has the version of the release, so the code itself counts too.
    release = f"{version('kinfolk')} (code {hash_code(_PACKAGE)[:12]})"
    versions = {"python": platform.python_version(), "kinfolk": release}
    for name in _LIBRARIES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return Machine(versions=versions, system=platform.system(), processor=platform.machine())


def pack_capsule(run: Run, path: Path) -> Manifest:
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
    packed: dict[str, str] = {}
    sources: dict[str, str] = {}
    for number, uri in enumerate(find_outside_policies(run.config["settings"])):
        if is_source(uri):
            sources[uri] = hash_source(uri)
        else:
            packed[uri] = f"outside/{number}.safetensors"
            contents[packed[uri]] = read_policy_bytes(uri)
    manifest = Manifest(
        format=CAPSULE_FORMAT,
        job=run.config["job"],
        name=run.name,
        policies=packed,
        sources=sources,
        command=_read_command(run.folder),
        **describe_machine().model_dump(),
        sha256={name: hashlib.sha256(data).hexdigest() for name, data in contents.items()},
    )
    text = json.dumps(manifest.model_dump(), indent=2, sort_keys=True) + "\n"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in {MANIFEST_FILE: text.encode(), **contents}.items():
            entry = zipfile.ZipInfo(name, _FIXED_TIME)
            if not name.endswith(_STORED_SUFFIXES):
                entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    write_atomic(path, buffer.getvalue())
    return manifest


def _read_command(folder: Path) -> str | None:
    """Return the command line that made a run; None if it was made from Python."""
    path = folder / COMMAND_FILE
    return read_bytes(path).decode().strip() if path.is_file() else None


def check_sources(path: Path, manifest: Manifest) -> None:
    """Check that the code of policies, which no capsule holds, is what played; nothing is imported.

    Args:
        path: The capsule, for error messages.
        manifest: Its manifest.

    Raises:
        UsageError: A file of code is not here.
        DamagedRunError: A file of code has other bytes.
    """
    for uri, expected in manifest.sources.items():
        if hash_source(uri) != expected:
            raise DamagedRunError(
                f"{path} is refused: the file of the policy {uri} is not the one that played. Its SHA-256 "
                f"should be {expected}."
            )


def locate_policies(manifest: Manifest, folder: Path) -> dict[str, str]:
    """Return the URIs of unpacked policies, by the URIs under which they played."""
    return {uri: f"file:{folder / name}" for uri, name in manifest.policies.items()}


def unpack_capsule(path: Path, folder: Path) -> tuple[Run, Manifest]:
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


def read_capsule(path: Path) -> tuple[dict[str, bytes], Manifest]:
    """Return the files of a capsule by name, whose hashes are checked, and its manifest.

    Raises:
        UsageError: There is no such file.
        DamagedRunError: It is no capsule, unpacks to too much, or a file in it was changed; the message
            names it.
    """
    if not path.is_file():
        raise UsageError(f"There is no capsule {path}.")
    contents = _read_archive(path, read_bytes(path))
    manifest = _parse_manifest(path, contents.pop(MANIFEST_FILE, b""))
    for name in contents:
        if name not in manifest.sha256:
            raise DamagedRunError(
                f"{path} is refused: it holds '{escape_text(name)}', which its manifest does not list."
            )
    for name, expected in sorted(manifest.sha256.items()):
        actual = hashlib.sha256(contents[name]).hexdigest() if name in contents else "missing"
        if actual != expected:
            raise DamagedRunError(
                f"{path} is refused: {escape_text(name)} was changed. Its SHA-256 should be {expected}, but "
                f"it is {actual}."
            )
    return contents, manifest


def _read_archive(path: Path, data: bytes) -> dict[str, bytes]:
    """Return the files in a zip file by name; sizes are added up before anything is unpacked.

    Raises:
        DamagedRunError: It is no zip file as `pack_capsule` writes it, or unpacks to too much.
    """
    limit = max(MIN_SIZE_LIMIT, MAX_RATIO * len(data))
    contents: dict[str, bytes] = {}
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
            n_bytes = sum(entry.file_size for entry in entries)
            if n_bytes > limit or len(entries) > _MAX_ENTRIES:
                raise ValueError(
                    f"its {len(data):,} bytes would unpack to {n_bytes:,} in {len(entries):,} files; at most "
                    f"{limit:,} in {_MAX_ENTRIES:,} are read"
                )
            for entry in entries:
                name = escape_text(entry.filename)
                if entry.flag_bits & _ENCRYPTED or entry.compress_type not in _READ_METHODS:
                    raise ValueError(
                        f"{name} is encrypted, or packed in a way that capsules are not"
                    )
                if entry.filename in contents:
                    raise ValueError(f"it holds {name} twice")
                contents[entry.filename] = archive.read(entry)  # no more than its declared size
    except _ZIP_ERRORS as error:
        raise _make_damaged_error(path, str(error)) from None
    return contents


def _parse_manifest(path: Path, data: bytes) -> Manifest:
    """Return the manifest of a capsule.

    Raises:
        DamagedRunError: It is missing, of another format, or not what `pack_capsule` writes.
    """
    try:
        content = parse_json(data)
    except ValueError as error:
        raise _make_damaged_error(path, f"{MANIFEST_FILE}: {error}") from None
    found = content.get("format") if isinstance(content, dict) else None
    if isinstance(found, int) and found != CAPSULE_FORMAT:
        raise DamagedRunError(f"{path} has format {found}; this kinfolk reads {CAPSULE_FORMAT}.")
    try:
        return Manifest.model_validate(content)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        reason = problem["msg"].removeprefix("Value error, ")
        place = ".".join(map(str, (MANIFEST_FILE, *problem["loc"])))
        raise _make_damaged_error(path, f"{place}: {reason}") from None


def _make_damaged_error(path: Path, reason: str) -> DamagedRunError:
    """Return the error for a file that cannot be read as a capsule."""
    return DamagedRunError(
        f"{path} is not a capsule, or it is damaged: {escape_text(reason.rstrip('.'))}."
    )


def describe_equality(there: Machine) -> str:
    """Return which tier of equality this machine can promise for a capsule, in words."""
    here = describe_machine()
    versions = here.versions
    changed = [
        f"{name} is {versions.get(name, 'not installed')} here and {escape_text(value)} there"
        for name, value in there.versions.items()
        if versions.get(name) != value and name != "python"
    ]
    if versions["kinfolk"] != there.versions.get("kinfolk"):
        return NOTHING.format(changed[0] if changed else "kinfolk is of another version")
    if here.processor != there.processor:
        changed.append(f"the processor is {here.processor} here")
    return ROUNDING.format("; ".join(changed)) if changed else EXACT
