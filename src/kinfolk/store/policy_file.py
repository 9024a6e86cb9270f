"""Policies on disk: one safetensors file each, its class and settings as JSON in the header.

A run keeps those of its slots at `policies/SLOT/STEP.safetensors`; a file `best` beside them holds
the step of the best one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from kinfolk.core.arrays import Arrays
from kinfolk.core.errors import UsageError, suggestion
from kinfolk.core.events import Artefact
from kinfolk.store.arrays import described, read_described, write_described
from kinfolk.store.files import read_bytes, write_atomic

_HEADER = "policy"
_BEST = "best"
RUNS = Path("runs")


class PolicyFile(NamedTuple):
    """All that makes a policy."""

    class_path: str
    settings: Mapping[str, Any]
    arrays: Arrays


def write_policy(path: Path, policy: PolicyFile) -> None:
    """Keep a policy in a file that `file:` names."""
    write_described(path, policy.arrays, _about(policy))


def policy_artefacts(
    slot: str, step: int, policy: PolicyFile, best: bool = False
) -> Iterator[Artefact]:
    """What `keep_policy` writes, as files for the run of a job that opens none."""
    folder = f"policies/{slot}"
    data = described(policy.arrays, _about(policy))
    yield Artefact(name=f"{folder}/{step:08d}.safetensors", data=data)
    if best:
        yield Artefact(name=f"{folder}/{_BEST}", data=f"{step}\n".encode())


def _about(policy: PolicyFile) -> dict[str, Any]:
    return {_HEADER: {"class_path": policy.class_path, "settings": dict(policy.settings)}}


def read_policy(path: Path) -> PolicyFile:
    """The policy in a file.

    Raises:
        UsageError: There is no such file, it is damaged, or it holds weights without a policy.
    """
    arrays, about = read_described(path, _HEADER)
    return PolicyFile(about["class_path"], about["settings"], arrays)


def keep_policy(run: Path, slot: str, step: int, policy: PolicyFile, best: bool = False) -> Path:
    """Keep a slot's policy of some step in a run; `best` marks it as the best so far."""
    path = run / "policies" / slot / f"{step:08d}.safetensors"
    write_policy(path, policy)
    if best:
        write_atomic(path.parent / _BEST, f"{step}\n".encode())
    return path


def find_policy(text: str) -> Path:
    """The file that `RUN[/SLOT][@best|@latest|@STEP]` names; without a step, the latest.

    Raises:
        UsageError: There is no such run, slot or step.
    """
    name, _, moment = text.partition("@")
    run, slot = _split(Path(name))
    folder = run / "policies"
    slots = sorted(p.name for p in folder.iterdir()) if folder.is_dir() else []
    if not slots:
        raise UsageError(f"The run {run} keeps no policies.")
    if slot is None and len(slots) > 1:
        raise UsageError(f"The run {run} has several slots; write run:{run}/{slots[0]} or another.")
    slot = slot or slots[0]
    if slot not in slots:
        raise UsageError(f"The run {run} has no slot '{slot}'.{suggestion(slot, slots)}")
    steps = {int(p.stem): p for p in sorted((folder / slot).glob("*.safetensors"))}
    if moment == _BEST and (folder / slot / _BEST).exists():
        moment = read_bytes(folder / slot / _BEST).decode().strip()
    if moment in ("", "latest", _BEST) and steps:
        return steps[max(steps)]
    if not moment.isdecimal() or int(moment) not in steps:
        known = [str(step) for step in sorted(steps)]
        raise UsageError(
            f"Slot '{slot}' of {run} has no step '{moment}'.{suggestion(moment, known)}"
        )
    return steps[int(moment)]


def _split(path: Path) -> tuple[Path, str | None]:
    """The run's folder, as given or under `runs`, and the slot behind it if one is named."""
    for base in (path, RUNS / path):
        if (base / "settings.json").exists():
            return base, None
        if (base.parent / "settings.json").exists():
            return base.parent, base.name
    known = sorted(p.parent.name for p in RUNS.glob("*/settings.json")) if RUNS.is_dir() else []
    raise UsageError(f"There is no run {path}.{suggestion(path.name, known)}")
