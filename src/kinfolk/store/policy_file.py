"""Policies on disk: one safetensors file each, its class and settings as JSON in the header.

A run keeps those of its slots at `policies/SLOT/STEP.safetensors`, and the best so far as
`policies/SLOT/best.safetensors`. Each of these files can also be named by itself, with `file:`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from kinfolk.core.arrays import Arrays
from kinfolk.core.errors import UsageError, format_suggestion
from kinfolk.core.events import FileChunk
from kinfolk.store.arrays import read_arrays_and_metadata, serialize_arrays, write_arrays

_HEADER = "policy"
BEST = "best"
RUNS_FOLDER = Path("runs")


class PolicyFile(NamedTuple):
    """All that makes a policy."""

    class_path: str
    settings: Mapping[str, Any]
    arrays: Arrays


def write_policy(path: Path, policy: PolicyFile) -> None:
    """Keep a policy in a file that `file:` names."""
    write_arrays(path, policy.arrays, _policy_metadata(policy))


def iter_policy_chunks(
    slot: str, step: int, policy: PolicyFile, is_best: bool = False
) -> Iterator[FileChunk]:
    """A slot's policy of some step, for the run of a job that opens no file."""
    yield make_policy_chunk(slot, f"{step:08d}", policy)
    if is_best:
        yield make_policy_chunk(slot, BEST, policy)


def make_policy_chunk(slot: str, version: str, policy: PolicyFile) -> FileChunk:
    """One file of a run: `version` is a step in eight digits, or BEST."""
    data = serialize_arrays(policy.arrays, _policy_metadata(policy))
    return FileChunk(path=f"policies/{slot}/{version}.safetensors", data=data)


def _policy_metadata(policy: PolicyFile) -> dict[str, Any]:
    return {_HEADER: {"class_path": policy.class_path, "settings": dict(policy.settings)}}


def read_policy(path: Path) -> PolicyFile:
    """The policy in a file.

    Raises:
        UsageError: There is no such file, it is damaged, or it holds weights without a policy.
    """
    arrays, about = read_arrays_and_metadata(path, _HEADER)
    found = about if isinstance(about, dict) else {}
    class_path, settings = found.get("class_path"), found.get("settings")
    if not isinstance(class_path, str) or not isinstance(settings, dict):
        raise UsageError(f"{path} is damaged: its header names no class with its settings.")
    return PolicyFile(class_path, settings, arrays)


def find_policy(reference: str) -> Path:
    """The file that `RUN[/SLOT][@best|@latest|@STEP]` names.

    Without a moment it is the best one, or the latest of a run that judged none.

    Raises:
        UsageError: There is no such run, slot or step.
    """
    name, _, moment = reference.partition("@")
    run, slot = _split_run_and_slot(Path(name))
    folder = run / "policies"
    slots = sorted(p.name for p in folder.iterdir()) if folder.is_dir() else []
    if not slots:
        raise UsageError(f"The run {run} keeps no policies.")
    if slot is None and len(slots) > 1:
        raise UsageError(
            f"The run {run} has several policies: {', '.join(slots)}. Write run:{run}/NAME."
        )
    slot = slot or slots[0]
    if slot not in slots:
        raise UsageError(f"The run {run} has no policy '{slot}'.{format_suggestion(slot, slots)}")
    return _find_version(run, slot, moment)


def _find_version(run: Path, slot: str, version: str) -> Path:
    kept = {path.stem: path for path in (run / "policies" / slot).glob("*.safetensors")}
    steps = {int(stem): path for stem, path in kept.items() if stem.isdecimal()}
    if version in ("", BEST) and BEST in kept:
        return kept[BEST]
    if version in ("", BEST, "latest") and steps:
        return steps[max(steps)]
    if not version.isdecimal() or int(version) not in steps:
        known = ", ".join(f"@{step}" for step in sorted(steps))
        raise UsageError(
            f"Policy '{slot}' of {run} has no moment '@{version}'. It has: @best, @latest, {known}."
        )
    return steps[int(version)]


def _split_run_and_slot(path: Path) -> tuple[Path, str | None]:
    """The run's folder, as given or under `runs`, and the slot behind it if one is named."""
    for base in (path, RUNS_FOLDER / path):
        if (base / "settings.json").exists():
            return base, None
        if (base.parent / "settings.json").exists():
            return base.parent, base.name
    known = (
        sorted(p.parent.name for p in RUNS_FOLDER.glob("*/settings.json"))
        if RUNS_FOLDER.is_dir()
        else []
    )
    raise UsageError(f"There is no run {path}.{format_suggestion(path.name, known)}")
