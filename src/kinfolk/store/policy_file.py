"""Policy files: safetensors with the policy's class and settings as JSON in the header.

A run has those of its slots at `policies/SLOT/STEP.safetensors`, and the best so far as
`policies/SLOT/best.safetensors`. Each of them can also be used by itself, as `file:PATH`.
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
    """Content of a policy file."""

    class_path: str  # import path of the policy's class
    settings: Mapping[str, Any]  # keyword arguments of its constructor
    arrays: Arrays  # weights and other state, by name


def write_policy(path: Path, policy: PolicyFile) -> None:
    """Write a policy file, to be used as `file:PATH`."""
    write_arrays(path, policy.arrays, _policy_metadata(policy))


def iter_policy_chunks(
    slot: str, step: int, policy: PolicyFile, is_best: bool = False
) -> Iterator[FileChunk]:
    """Yield the files that a job stores for the policy of a slot.

    Args:
        slot: Id of the slot.
        step: Step of the job at which the policy was saved.
        policy: The policy.
        is_best: Whether it is also the best one so far.
    """
    yield make_policy_chunk(slot, f"{step:08d}", policy)
    if is_best:
        yield make_policy_chunk(slot, BEST, policy)


def make_policy_chunk(slot: str, version: str, policy: PolicyFile) -> FileChunk:
    """Return a policy file of a run as a file chunk.

    Args:
        slot: Id of the slot.
        version: A step in eight digits, or `BEST`.
        policy: The policy.
    """
    data = serialize_arrays(policy.arrays, _policy_metadata(policy))
    return FileChunk(path=f"policies/{slot}/{version}.safetensors", data=data)


def _policy_metadata(policy: PolicyFile) -> dict[str, Any]:
    return {_HEADER: {"class_path": policy.class_path, "settings": dict(policy.settings)}}


def read_policy(path: Path) -> PolicyFile:
    """Read a policy from its file.

    Raises:
        UsageError: There is no such file, it is damaged, or it holds arrays without a policy.
    """
    arrays, entry = read_arrays_and_metadata(path, _HEADER)
    fields = entry if isinstance(entry, dict) else {}
    class_path, settings = fields.get("class_path"), fields.get("settings")
    if not isinstance(class_path, str) or not isinstance(settings, dict):
        raise UsageError(f"{path} is damaged: its header names no class with its settings.")
    return PolicyFile(class_path, settings, arrays)


def find_policy(reference: str) -> Path:
    """Return the policy file that `RUN[/SLOT][@best|@latest|@STEP]` refers to.

    Without a version it is the best one, or the latest of a run that evaluated none.

    Raises:
        UsageError: There is no such run, slot or version.
    """
    name, _, version = reference.partition("@")
    run, slot = _split_run_and_slot(Path(name))
    folder = run / "policies"
    slots = sorted(p.name for p in folder.iterdir()) if folder.is_dir() else []
    if not slots:
        raise UsageError(f"The run {run} has no policies.")
    if slot is None and len(slots) > 1:
        names = ", ".join(slots)
        raise UsageError(f"The run {run} has several policies: {names}. Write run:{run}/NAME.")
    slot = slot or slots[0]
    if slot not in slots:
        raise UsageError(f"The run {run} has no policy '{slot}'.{format_suggestion(slot, slots)}")
    return _find_version(run, slot, version)


def _find_version(run: Path, slot: str, version: str) -> Path:
    """Return one of the policy files of a slot.

    Args:
        run: The run folder.
        slot: Id of a slot of the run.
        version: `best`, `latest`, a step, or empty for the best.

    Raises:
        UsageError: The slot has no such version.
    """
    files = {path.stem: path for path in (run / "policies" / slot).glob("*.safetensors")}
    steps = {int(stem): path for stem, path in files.items() if stem.isdecimal()}
    if version in ("", BEST) and BEST in files:
        return files[BEST]
    if version in ("", BEST, "latest") and steps:
        return steps[max(steps)]
    if not version.isdecimal() or int(version) not in steps:
        known = ", ".join(f"@{step}" for step in sorted(steps))
        problem = f"Policy '{slot}' of {run} has no version '@{version}'"
        raise UsageError(f"{problem}. It has: @best, @latest, {known}.")
    return steps[int(version)]


def _split_run_and_slot(path: Path) -> tuple[Path, str | None]:
    """Split `RUN[/SLOT]` into the run folder, as given or below `runs`, and the slot, if any."""
    for base in (path, RUNS_FOLDER / path):
        if (base / "settings.json").exists():
            return base, None
        if (base.parent / "settings.json").exists():
            return base.parent, base.name
    known = sorted(p.parent.name for p in RUNS_FOLDER.glob("*/settings.json"))
    raise UsageError(f"There is no run {path}.{format_suggestion(path.name, known)}")
