"""Pack a finished study into its capsule, after its files were checked against what the study stored."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from kinfolk.core.errors import DamagedRunError
from kinfolk.core.settings import validate_settings
from kinfolk.jobs.capsules import pack_capsule, read_capsule
from kinfolk.jobs.studies.job import list_runs, name_policy_file
from kinfolk.jobs.studies.outputs import MARKDOWN_FILE, TABLE_FILE, write_outputs
from kinfolk.jobs.studies.report import CAPSULE_FILE
from kinfolk.jobs.studies.results import summarize_study
from kinfolk.jobs.studies.settings import Study
from kinfolk.store.arrays import POLICY_FOLDER
from kinfolk.store.checkpoints import load_snapshot
from kinfolk.store.files import read_bytes, write_atomic
from kinfolk.store.integrity import advising, verify
from kinfolk.store.run import Run
from kinfolk.store.run_list import list_result_files

_PACKED = (TABLE_FILE, MARKDOWN_FILE)  # files of a study that its capsule holds, beside policies


def render_study(run: Run) -> dict[str, bytes]:
    """Return the report, the table and the figures of a finished study, from the results that it stored.

    Args:
        run: The run of the study.
    """
    settings = validate_settings(Study, run.config["settings"])
    results = [e["values"] for e in run.events() if e["kind"] == "study_point_done"]
    runs = list_runs(settings.plan, settings.quick)
    done = summarize_study(settings, settings.plan, runs, results)
    return {c.path: bytes(c.data) for c in write_outputs(settings, settings.plan, done)}


def pack_study(run: Run, was_done: bool = False) -> list[str]:
    """Write the capsule of a finished study beside its report, unless it is there.

    Files that are not what the study stored (a report that was edited, a policy that was damaged) are written
    again: from the capsule, or, before there is one, from the results and the last checkpoint.

    Args:
        run: The run of the study.
        was_done: Whether its report was written earlier, so that it may have been changed since.

    Returns:
        Paths of the files that were written again, in the run folder.

    Raises:
        DamagedRunError: The capsule is damaged, or a policy, of which there is no copy.
    """
    path = run.folder / CAPSULE_FILE
    if not path.exists():
        stored = render_study(run) if was_done else {}
        restored = _restore(run.folder, stored | _find_policies(run))
        pack_capsule(run, path)
        return restored
    with advising(lambda: f"Remove {path} to have it written again."):
        contents = read_capsule(path)[0]
    names = [n for n in contents if n in _PACKED or n.startswith(f"{POLICY_FOLDER}/")]
    stored = {name: contents[name] for name in names}
    rendered = render_study(run)
    if rendered[MARKDOWN_FILE] == stored.get(MARKDOWN_FILE):  # written by this version
        stored = rendered | stored
    return _restore(run.folder, stored)


def _find_policies(run: Run) -> dict[str, bytes]:
    """Return the files of the policies that a study made, from its checkpoints that are intact.

    Raises:
        DamagedRunError: A policy is damaged that no such checkpoint holds.
    """
    stored: dict[str, bytes] = {}
    for checkpoint in run.checkpoints():  # the newest is the last
        with suppress(DamagedRunError):
            arrays = load_snapshot(checkpoint)[0].arrays
            stored |= {name_policy_file(name): array.tobytes() for name, array in arrays.items()}
    names = [n for n in list_result_files(run.folder) if n.startswith(f"{POLICY_FOLDER}/")]
    with advising(lambda: "No checkpoint of the study holds a copy of it: run the study again."):
        for name in names:
            if name not in stored:
                verify(read_bytes(run.folder / name), str(run.folder / name))
    return stored


def _restore(folder: Path, stored: Mapping[str, bytes]) -> list[str]:
    """Write the files again that are missing or not what was stored, and return their paths.

    Args:
        folder: Folder of the run.
        stored: What was stored, by path in the folder.
    """
    restored = []
    for name, data in stored.items():
        path = folder / name
        if not path.is_file() or read_bytes(path) != data:
            write_atomic(path, data)
            restored.append(name)
    return restored
