"""Policies on disk: one safetensors file each, its class and settings as JSON in the header.

A run keeps those of its slots at `policies/SLOT/STEP.safetensors`, and the best so far as
`policies/SLOT/best.safetensors`. Each of these files can also be named by itself, with `file:`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from kinfolk.core.arrays import Arrays
from kinfolk.core.errors import UsageError, suggestion
from kinfolk.core.events import Artefact
from kinfolk.store.arrays import described, read_described, write_described

_HEADER = "policy"
BEST = "best"
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
    """A slot's policy of some step, for the run of a job that opens no file."""
    yield policy_artefact(slot, f"{step:08d}", policy)
    if best:
        yield policy_artefact(slot, BEST, policy)


def policy_artefact(slot: str, moment: str, policy: PolicyFile) -> Artefact:
    """One file of a run: `moment` is a step in eight digits, or BEST."""
    data = described(policy.arrays, _about(policy))
    return Artefact(name=f"policies/{slot}/{moment}.safetensors", data=data)


def _about(policy: PolicyFile) -> dict[str, Any]:
    return {_HEADER: {"class_path": policy.class_path, "settings": dict(policy.settings)}}


def read_policy(path: Path) -> PolicyFile:
    """The policy in a file.

    Raises:
        UsageError: There is no such file, it is damaged, or it holds weights without a policy.
    """
    arrays, about = read_described(path, _HEADER)
    found = about if isinstance(about, dict) else {}
    class_path, settings = found.get("class_path"), found.get("settings")
    if not isinstance(class_path, str) or not isinstance(settings, dict):
        raise UsageError(f"{path} is damaged: its header names no class with its settings.")
    return PolicyFile(class_path, settings, arrays)


def find_policy(text: str) -> Path:
    """The file that `RUN[/SLOT][@best|@latest|@STEP]` names.

    Without a moment it is the best one, or the latest of a run that judged none.

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
        raise UsageError(
            f"The run {run} has several policies: {', '.join(slots)}. Write run:{run}/NAME."
        )
    slot = slot or slots[0]
    if slot not in slots:
        raise UsageError(f"The run {run} has no policy '{slot}'.{suggestion(slot, slots)}")
    return _at(run, slot, moment)


def _at(run: Path, slot: str, moment: str) -> Path:
    kept = {path.stem: path for path in (run / "policies" / slot).glob("*.safetensors")}
    steps = {int(stem): path for stem, path in kept.items() if stem.isdecimal()}
    if moment in ("", BEST) and BEST in kept:
        return kept[BEST]
    if moment in ("", BEST, "latest") and steps:
        return steps[max(steps)]
    if not moment.isdecimal() or int(moment) not in steps:
        known = ", ".join(f"@{step}" for step in sorted(steps))
        raise UsageError(
            f"Policy '{slot}' of {run} has no moment '@{moment}'. It has: @best, @latest, {known}."
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
