"""The rows of the list of runs, read once and kept until the files of a run change."""

from __future__ import annotations

import os
import threading
import time
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from kinfolk.core.errors import KinfolkError, UsageError
from kinfolk.evaluation.run_summary import summarize_run
from kinfolk.replay.reader import REPLAY_FOLDER, REPLAY_SUFFIX, list_replays
from kinfolk.store.event_log import COMPRESSED_EVENTS_FILE
from kinfolk.store.files import as_store_error, resolve_inside
from kinfolk.store.run import Run
from kinfolk.store.run_list import (
    TAGS_FILE,
    DamagedRun,
    escape_name,
    open_listed_run,
    read_tags,
    scan_run_folders,
)
from kinfolk.store.settings_file import SETTINGS_FILE

ROLE_HISTORY_FILE = "role_history.json"
READ_SECONDS = 0.1  # of one request for reading runs; the others are answered as pending
_FINAL = ("done", "damaged")  # states of runs that are read again only if they change
# Of a run that is done, only these change: it is tagged, or an episode is recorded again. A file
# that is created or replaced changes the time of the folder.
_KEY_FILES = ("", SETTINGS_FILE, COMPRESSED_EVENTS_FILE, REPLAY_FOLDER, TAGS_FILE)

FileKey = tuple[tuple[int, int] | None, ...]


class _CachedRow(NamedTuple):
    """A row, and the times and sizes of the files that it was made of."""

    key: FileKey
    row: dict[str, Any]


class RunTable:
    """Rows of the runs of one folder. Methods may be called from several threads.

    A folder may hold thousands of runs, and the figure of a run stands at the end of its events:
    one request reads as many as it has time for, and each is read again only if it has changed.

    Args:
        root: Folder that holds the runs.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._rows: dict[str, _CachedRow] = {}
        self._lock = threading.Lock()
        self._spent = 0.0  # seconds of the present call for reading

    def list_rows(self, seconds: float = READ_SECONDS) -> list[dict[str, Any]]:
        """Return a row for each run, newest first, as `make_row` makes it.

        Args:
            seconds: Time for reading runs that are new or have changed; the rest of them have
                `pending` set, with name and date only, and are read by later calls.
        """
        rows: list[dict[str, Any]] = []
        unfinished: list[tuple[int, os.DirEntry[str]]] = []  # with the index of the row
        with self._lock:
            known, self._rows = self._rows, {}
            self._spent = 0.0
            for created, entry in scan_run_folders(self._root):
                if entry.is_symlink() and not _is_inside(self._root, entry.name):
                    continue
                cached = known.get(entry.name)
                # Without time to read a run, its key is not even looked at.
                if cached is None and self._spent > seconds:
                    rows.append(_make_pending_row(created, entry))
                    continue
                key = _make_key(entry.path)
                if cached is None or cached.key != key:
                    if self._spent > seconds:
                        rows.append(_make_pending_row(created, entry))
                        continue
                    cached = self._read(entry, key)
                elif cached.row["status"] not in _FINAL:
                    unfinished.append((len(rows), entry))
                self._rows[entry.name] = cached
                rows.append(cached.row)
            for index, entry in unfinished:  # last: new runs come first, however many these are
                if self._spent > seconds:
                    break
                self._rows[entry.name] = cached = self._read(entry, _make_key(entry.path))
                rows[index] = cached.row
        return rows

    def _read(self, entry: os.DirEntry[str], key: FileKey) -> _CachedRow:
        """Return the row of a run, and count the time: every call of `list_rows` reads something."""
        start = time.monotonic()
        cached = _CachedRow(key, make_row(open_listed_run(self._root / entry.name)))
        self._spent += time.monotonic() - start
        return cached


def make_row(run: Run | DamagedRun) -> dict[str, Any]:
    """Return what the list of runs shows of one, as JSON values.

    Returns:
        `name`, `date`, `job`, `world`, `seed`, `headline` (the figure one would quote, with its
        interval), `status`, `tags`, `replays` (name and bytes of each), `roles` (whether it has a
        role history), `pending` and `problem`, which is empty unless the run is damaged.
    """
    problem = run.problem if isinstance(run, DamagedRun) else ""
    summary = summarize_run(run)
    row = {**summary._asdict(), "status": summary.state, "pending": False, "problem": problem,
           "replays": [], "tags": [], "roles": (run.folder / ROLE_HISTORY_FILE).is_file()}  # fmt: skip
    del row["state"]
    if isinstance(run, Run):
        if row["status"] == "damaged":  # its events only: the rest can be looked at
            row["status"] = run.status
        try:
            row |= {"replays": list_run_replays(run), "tags": read_tags(run.folder)}
        except KinfolkError as error:
            row |= {"status": "damaged", "problem": str(error)}
    return row


def list_run_replays(run: Run) -> list[dict[str, Any]]:
    """Return name and size in bytes of each replay of a run."""
    with as_store_error(f"The replays of {run.folder} could not be read"):
        return [
            {"name": path.name.removesuffix(REPLAY_SUFFIX), "bytes": path.stat().st_size}
            for path in list_replays(run.folder)
        ]


def _make_pending_row(created: int, entry: os.DirEntry[str]) -> dict[str, Any]:
    """Return the row of a run that has not been read yet, from the time of its creation."""
    return {
        "name": escape_name(entry.name), "date": _format_date(created), "job": "", "world": "",
        "seed": None, "headline": "", "status": "", "tags": [], "replays": [], "roles": False,
        "pending": True, "problem": "",
    }  # fmt: skip


def _format_date(created: int) -> str:
    """Return when a run was created, in local time, as `summarize_run` does."""
    return datetime.fromtimestamp(created / 1e9).strftime("%Y-%m-%d %H:%M:%S")


def _is_inside(root: Path, name: str) -> bool:
    """Return whether a link in the root leads to a folder in it, and not to elsewhere."""
    try:
        resolve_inside(root, name)
    except UsageError:
        return False
    return True


def _make_key(folder: str) -> FileKey:
    """Return the times and sizes of the files by which one sees that a run has changed."""
    return tuple(_stat(os.path.join(folder, name)) for name in _KEY_FILES)


def _stat(path: str) -> tuple[int, int] | None:
    """Return the time and the size of a file; None if there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
