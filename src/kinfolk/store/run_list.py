"""List the runs in a folder, including damaged ones."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from kinfolk.core.errors import KinfolkError
from kinfolk.store.event_log import COMPRESSED_EVENTS_FILE, EVENTS_FILE
from kinfolk.store.files import as_store_error
from kinfolk.store.run import Run, open_run

# A folder that has none of these is not a run, and is not listed.
_RUN_FILES = ("settings.json", EVENTS_FILE, COMPRESSED_EVENTS_FILE, "checkpoints")

COMMAND_FILE = "command.txt"  # the command line that made the run, for people
# Files that follow from the settings; others hold times, or serve to watch and to resume.
_RESULT_FILES = ("policies/**/*", "role_history.json", "*.csv", "tournament.json", "crossplay.json")


class DamagedRun(NamedTuple):
    """A run folder that cannot be opened."""

    folder: Path
    problem: str  # error message that says what is wrong with it

    @property
    def name(self) -> str:
        """Name of its folder; bytes that are not UTF-8 are escaped."""
        return os.fsencode(self.folder.name).decode(errors="backslashreplace")


def list_runs(root: Path) -> Iterator[Run | DamagedRun]:
    """Yield the runs in a folder, newest first; folders that are not runs are skipped.

    Raises:
        StoreError: The folder cannot be read.
    """
    with as_store_error(f"{root} could not be read"):
        folders = {path.parent for name in _RUN_FILES for path in root.glob(f"*/{name}")}
        newest_first = sorted(folders, key=lambda p: (creation_time(p), p), reverse=True)
    for folder in newest_first:
        try:
            folder.name.encode()
            run = open_run(folder)
            _ = run.status  # raises for folders that are damaged in other ways
        except UnicodeEncodeError:
            yield DamagedRun(folder, "Its name is not text in UTF-8. Rename the folder.")
        except KinfolkError as error:
            yield DamagedRun(folder, str(error))
        else:
            yield run


def creation_time(folder: Path) -> int:
    """Return when a run was created, or last changed if it has no settings, in nanoseconds."""
    path = folder / "settings.json"
    return (path if path.exists() else folder).stat().st_mtime_ns


def list_result_files(folder: Path) -> list[str]:
    """Return the paths of files in a run folder that follow from its settings, beside its events."""
    with as_store_error(f"{folder} could not be read"):
        paths = {p for pattern in _RESULT_FILES for p in folder.glob(pattern) if p.is_file()}
    return sorted(str(path.relative_to(folder)) for path in paths)
