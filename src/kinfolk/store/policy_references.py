"""Find the policy file that a `run:` URI refers to, and write those of a run's archive or hall."""

from __future__ import annotations

from pathlib import Path

from kinfolk.core.errors import DamagedRunError, UsageError, format_suggestion
from kinfolk.core.events import FileChunk
from kinfolk.store.arrays import (
    BEST,
    POLICY_FOLDER,
    RUNS_FOLDER,
    PolicyFile,
    make_policy_chunk,
)
from kinfolk.store.event_log import read_events

MEMBER_FOLDERS = {
    "archive": "elite",
    "role-archive": "elite",
    "hall": "champion",
    "league": "member",
}


def make_member_chunk(folder: str, name: str, policy: PolicyFile) -> FileChunk:
    """Return the file of one of many policies of a run, which `run:RUN@FOLDER/NAME` plays.

    Args:
        folder: One of `MEMBER_FOLDERS`.
        name: Name of the policy in the folder.
        policy: The policy.
    """
    chunk = make_policy_chunk(folder, name, policy)
    return FileChunk(path=chunk.path.removeprefix(f"{POLICY_FOLDER}/"), data=chunk.data)


def _find_member(run: Path, reference: str) -> Path:
    """Return the file of an elite of the run's archive, or of a champion of its hall of fame.

    Raises:
        UsageError: The run has none of that name.
    """
    folder, _, name = reference.partition("/")
    if folder not in MEMBER_FOLDERS:
        hint = format_suggestion(folder, MEMBER_FOLDERS)
        raise UsageError(f"A run has no policies '@{folder}/'.{hint}")
    files = {path.stem: path for path in (run / folder).glob("*.safetensors")}
    member = MEMBER_FOLDERS[folder]
    if not files:
        raise UsageError(
            f"The run {run} stores no {member} of its {folder} as a policy. It plays as run:{run}."
        )
    if name not in files:
        hint = format_suggestion(name, files)
        raise UsageError(f"The {folder} of {run} has no {member} '{name}'.{hint}")
    return files[name]


def list_policies(run: Path) -> list[str]:
    """Return the names of the slots or populations whose policies a run folder holds."""
    folder = run / POLICY_FOLDER
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


def find_policy(reference: str) -> Path:
    """Return the policy file that `RUN[/SLOT][@best|@latest|@STEP|@archive/CELL]` refers to.

    Without a version it is the best one, or the latest of a run that evaluated none.

    Raises:
        UsageError: There is no such run, slot or version.
    """
    run, slot, version = split_reference(reference)
    if "/" in version and slot is None:
        return _find_member(run, version)
    slots = list_policies(run)
    if not slots:
        raise UsageError(f"The run {run} has no policies.")
    if slot is None and len(slots) > 1:
        names = ", ".join(slots)
        raise UsageError(f"The run {run} has several policies: {names}. Write run:{run}/NAME.")
    slot = slot or slots[0]
    if slot not in slots:
        raise UsageError(f"The run {run} has no policy '{slot}'.{format_suggestion(slot, slots)}")
    return _find_version(run, slot, version)


def split_reference(reference: str) -> tuple[Path, str | None, str]:
    """Split `RUN[/SLOT][@VERSION]` into run folder, slot and version, "" if none is given.

    Raises:
        UsageError: There is no such run.
    """
    name, _, version = reference.partition("@")
    return (*_split_run_and_slot(Path(name)), version)


def _find_version(run: Path, slot: str, version: str) -> Path:
    """Return one of the policy files of a slot.

    Args:
        run: The run folder.
        slot: Id of a slot of the run.
        version: `best`, `latest`, a step, or empty for the best.

    Raises:
        UsageError: The slot has no such version.
    """
    files = {path.stem: path for path in (run / POLICY_FOLDER / slot).glob("*.safetensors")}
    steps = {int(stem): path for stem, path in files.items() if stem.isdecimal()}
    if version in ("", BEST) and BEST in files:
        return files[BEST]
    if version in ("", BEST) and steps:
        _check_none_was_best(run, slot)
    if version in ("", "latest") and steps:
        return steps[max(steps)]
    if not version.isdecimal() or int(version) not in steps:
        named = [f"@{BEST}"] * (BEST in files) + ["@latest"] * bool(steps)
        known = ", ".join([*named, *(f"@{step}" for step in sorted(steps))]) or "none"
        problem = f"Policy '{slot}' of {run} has no version '@{version}'"
        raise UsageError(f"{problem}. It has: {known}.")
    return steps[int(version)]


def _check_none_was_best(run: Path, slot: str) -> None:
    """Check that a run without a best policy has evaluated none.

    Raises:
        DamagedRunError: It has; the file was removed.
    """
    best_step = None
    for event in read_events(run):
        if event.get("is_best"):
            best_step = event["step"]
        best_step = event.get("best_step", best_step)
    if best_step is not None:
        file = run / POLICY_FOLDER / slot / f"{BEST}.safetensors"
        raise DamagedRunError(
            f"{file} is missing, the best policy, of step {best_step}. Write @latest or @STEP for another."
        )


def _split_run_and_slot(path: Path) -> tuple[Path, str | None]:
    """Split `RUN[/SLOT]` into the run folder, as given or below `runs`, and the slot, if any."""
    for base in (path, RUNS_FOLDER / path):
        if (base / "settings.json").exists():
            return base, None
        if (base.parent / "settings.json").exists():
            return base.parent, base.name
    known = sorted(p.parent.name for p in RUNS_FOLDER.glob("*/settings.json"))
    raise UsageError(f"There is no run {path}.{format_suggestion(path.name, known)}")
