"""Policies that a run made: `run:RUN[/slot][@best|@latest|@step]`.

A checkpoint names them in its notes, under `policies`: for each slot, and each of `best` and
`latest` that there is, a class path, its settings, and the prefix of its arrays in the checkpoint.
So a run's policy can be played as soon as its first checkpoint is written, and needs no second copy.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from kinfolk.core.arrays import Arrays
from kinfolk.core.errors import UsageError, suggestion
from kinfolk.store.checkpoint import load_snapshot
from kinfolk.store.run import Run, open_run

RUNS = Path("runs")
NOTE = "policies"


class Made(NamedTuple):
    """What a name in a run stands for."""

    class_path: str
    settings: dict[str, Any]
    arrays: Arrays


def note_policy(class_path: str, settings: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """An entry of a checkpoint's note: its arrays begin with `prefix`."""
    return {"class": class_path, "settings": dict(settings), "prefix": prefix}


def read_run(name: str) -> Made:
    """What `RUN[/slot][@best|@latest|@step]` stands for; RUN is a folder, or the name of one in runs.

    Raises:
        UsageError: There is no such run, checkpoint, slot or moment; the message says what there is.
    """
    where, _, moment = name.partition("@")
    run, slot = _find(where)
    snapshot, _ = load_snapshot(_checkpoint(run, moment))
    slots: Mapping[str, Any] = snapshot.notes.get(NOTE, {})
    if not slots:
        raise UsageError(f"The run {run.folder} of {run.about['job']} has made no policies.")
    if slot is None and len(slots) > 1:
        raise UsageError(
            f"The run {run.folder} has several policies: {', '.join(slots)}. Write run:{where}/NAME."
        )
    chosen = next(iter(slots)) if slot is None else slot
    if chosen not in slots:
        hint = suggestion(chosen, slots)
        raise UsageError(f"The run {run.folder} has no policy '{chosen}'.{hint}")
    moments = slots[chosen]
    wanted = moment if moment in ("best", "latest") else ("latest" if moment else "best")
    found = moments.get(wanted) or moments.get("latest")
    prefix = found["prefix"]
    arrays = {k.removeprefix(prefix): v for k, v in snapshot.arrays.items() if k.startswith(prefix)}
    return Made(found["class"], dict(found["settings"]), arrays)


def _find(where: str) -> tuple[Run, str | None]:
    """The run, and the slot if one is named behind it."""
    path = Path(where)
    for folder, slot in ((path, None), (path.parent, path.name)):
        for base in (folder, RUNS / folder):
            if (base / "settings.json").exists():
                return open_run(base), slot
    return open_run(path if path.exists() else RUNS / where), None


def _checkpoint(run: Run, moment: str) -> Path:
    found = {int(path.stem): path for path in run.checkpoints()}
    if not found:
        raise UsageError(f"The run {run.folder} has no checkpoint yet.")
    if moment in ("", "best", "latest"):
        return found[max(found)]
    if not moment.isdecimal() or int(moment) not in found:
        raise UsageError(
            f"The run {run.folder} has no checkpoint '@{moment}'. "
            f"It has: @best, @latest, {', '.join(f'@{step}' for step in sorted(found))}."
        )
    return found[int(moment)]
