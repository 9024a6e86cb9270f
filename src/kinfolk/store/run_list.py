"""List the runs in a folder, including damaged ones."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from kinfolk.core.errors import KinfolkError
from kinfolk.store.arrays import POLICY_FOLDER
from kinfolk.store.event_log import COMPRESSED_EVENTS_FILE, EVENTS_FILE
from kinfolk.store.files import as_store_error
from kinfolk.store.run import Run, open_run
from kinfolk.store.settings_file import SETTINGS_FILE

# A folder that has none of these is not a run, and is not listed.
_RUN_FILES = (SETTINGS_FILE, EVENTS_FILE, COMPRESSED_EVENTS_FILE, "checkpoints")

COMMAND_FILE = "command.txt"  # the command line that made the run, for people
TAGS_FILE = "tags.txt"  # words by which people find the run again; they write it, kinfolk reads it
_MAX_TAGS, _MAX_TAG_BYTES = 20, 4096  # of a run
# Files that follow from the settings; others hold times, or serve to watch and to resume.
_RESULT_FILES = ("role_history.json", "tournament.json", "crossplay.json", "report.md")


class DamagedRun(NamedTuple):
    """A run folder that cannot be opened."""

    folder: Path
    problem: str  # error message that says what is wrong with it

    @property
    def name(self) -> str:
        """Name of its folder; bytes that are not UTF-8 are escaped."""
        return escape_name(self.folder.name)


def escape_name(name: str) -> str:
    """Return the name of a folder as text; bytes that are not UTF-8 are escaped."""
    return os.fsencode(name).decode(errors="backslashreplace")


def list_runs(root: Path) -> Iterator[Run | DamagedRun]:
    """Yield the runs in a folder, newest first; folders that are not runs are skipped.

    Raises:
        StoreError: The folder cannot be read.
    """
    for folder in list_run_folders(root):
        yield open_listed_run(folder)


def list_run_folders(root: Path) -> list[Path]:
    """Return the folders of the runs in a folder, newest first, without opening them.

    Raises:
        StoreError: The folder cannot be read.
    """
    return [root / seen.entry.name for seen in scan_run_folders(root)]


class FoundRun(NamedTuple):
    """A run folder that was seen in another folder."""

    created: int  # as `creation_time`
    entry: os.DirEntry[str]


def scan_run_folders(root: Path) -> list[FoundRun]:
    """Return the folders of the runs in a folder, newest first, with the time of their creation.

    Raises:
        StoreError: The folder cannot be read.
    """
    if not root.is_dir():
        return []
    with as_store_error(f"{root} could not be read"), os.scandir(root) as entries:
        times = [(_find_creation_time(entry.path), entry) for entry in entries if entry.is_dir()]
    runs = [FoundRun(time, entry) for time, entry in times if time is not None]
    return sorted(runs, key=lambda found: (found.created, found.entry.name), reverse=True)


def _find_creation_time(folder: str) -> int | None:
    """Return when the run in a folder was created, as `creation_time` does; None if it is no run."""
    for name in _RUN_FILES:  # system calls on text: a folder may hold thousands of runs
        try:
            status = os.stat(os.path.join(folder, name))
        except OSError:
            continue
        return (status if name == SETTINGS_FILE else os.stat(folder)).st_mtime_ns
    return None


def open_listed_run(folder: Path) -> Run | DamagedRun:
    """Open a run for reading; one that cannot be opened is returned with the reason."""
    try:
        folder.name.encode()
        run = open_run(folder)
        _ = run.status  # raises for folders that are damaged in other ways
    except UnicodeEncodeError:
        return DamagedRun(folder, "Its name is not text in UTF-8. Rename the folder.")
    except KinfolkError as error:
        return DamagedRun(folder, str(error))
    return run


def creation_time(folder: Path) -> int:
    """Return when a run was created, or last changed if it has no settings, in nanoseconds."""
    path = folder / SETTINGS_FILE
    return (path if path.exists() else folder).stat().st_mtime_ns


def list_result_files(folder: Path) -> list[str]:
    """Return the paths of files in a run folder that follow from its settings, beside its events."""
    with as_store_error(f"{folder} could not be read"):
        paths = [*folder.iterdir(), *(folder / POLICY_FOLDER).glob("**/*")]
        names = [str(path.relative_to(folder)) for path in paths if path.is_file()]
    return sorted(name for name in names if is_result_file(name))


def is_result_file(name: str) -> bool:
    """Return whether a path in a run folder is one of those that `list_result_files` lists.

    >>> is_result_file("policies/all/best.safetensors"), is_result_file("policies/../lock.csv")
    (True, False)
    """
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or str(path) != name:
        return False
    if path.parts[0] == POLICY_FOLDER:
        return path.suffix == ".safetensors"
    return len(path.parts) == 1 and (path.suffix == ".csv" or name in _RESULT_FILES)


def read_tags(folder: Path) -> list[str]:
    """Return the words of a run's `tags.txt`, each once, in their order; none without the file."""
    path = folder / TAGS_FILE
    if not path.is_file():
        return []
    with as_store_error(f"{path} could not be read"), path.open("rb") as file:
        text = file.read(_MAX_TAG_BYTES).decode(errors="replace")
    return list(dict.fromkeys(text.replace(",", " ").split()))[:_MAX_TAGS]
