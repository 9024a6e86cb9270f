"""A run: a folder with the settings, events, checkpoints and files of one job.

`settings.json` holds the job and its settings, `events.jsonl` its events, `checkpoints/` the
snapshots to resume from. The folder is locked while it is written, so that it has one writer.
"""

from __future__ import annotations

import contextlib
import fcntl
import gzip
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from datetime import datetime
from itertools import chain, count
from pathlib import Path
from typing import IO, Any

from kinfolk.core.errors import (
    DamagedRunError,
    StoreError,
    UsageError,
    escape_text,
    format_suggestion,
)
from kinfolk.core.events import Event, FileChunk, Snapshot, TimingEvent
from kinfolk.core.trust import get_trust
from kinfolk.store import event_log
from kinfolk.store.backups import write_with_backups
from kinfolk.store.checkpoints import (
    NO_INTACT_CHECKPOINT,
    LogPosition,
    list_checkpoints,
    load_snapshot,
    save_snapshot,
)
from kinfolk.store.files import PARTIAL_PREFIX, as_store_error, write_atomic
from kinfolk.store.integrity import advising, seal_line
from kinfolk.store.settings_file import SETTINGS_FILE, read_run_settings, write_run_settings

MAX_CHECKPOINTS = 3
LOCK_TIMEOUT = 0.5  # seconds; reading `status` holds the lock for a moment
_MAX_LISTED = 8  # runs that an error message names
_made_here: set[Path] = set()  # folders of runs that this process has made by words of the user


class Run:
    """One run folder. Use `create_run` or `open_run` to get one.

    Args:
        folder: The folder.
        config: Content of `settings.json`: job, version of kinfolk, settings.
    """

    def __init__(self, folder: Path, config: Mapping[str, Any]) -> None:
        self.folder, self.config = folder, config
        self._log_path = folder / event_log.EVENTS_FILE
        self._file: IO[bytes] | None = None
        self._lock: IO[bytes] | None = None
        self._position = LogPosition()

    @property
    def name(self) -> str:
        """Name of the run's folder."""
        return self.folder.name

    @property
    def status(self) -> str:
        """`done`, `running` (a process holds the lock) or `stopped` (it can be resumed)."""
        if (self.folder / event_log.COMPRESSED_EVENTS_FILE).exists():
            return "done"
        path = self.folder / "lock"
        if not path.exists():
            return "stopped"
        mode = "r+b" if os.access(path, os.W_OK) else "rb"  # NFS locks only writable files
        with as_store_error(f"{path} could not be read"), path.open(mode) as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return "running"
        return "stopped"

    def events(self) -> Iterator[dict[str, Any]]:
        """Yield all events of the run, as JSON values."""
        return event_log.read_events(self.folder)

    def last_event(self) -> dict[str, Any] | None:
        """Return the last event of the run, None if it has none; quicker than reading all."""
        return event_log.read_last_event(self.folder)

    def checkpoints(self) -> list[Path]:
        """Return the checkpoint files, oldest first."""
        return list_checkpoints(self.folder)

    def drop_damaged_checkpoints(self) -> list[str]:
        """Remove the newest checkpoints that are damaged, so that an older one is used.

        The events after the older one are lost when the run is resumed.

        Returns:
            Names of the removed files.
        """
        dropped: list[str] = []
        for path in reversed(self.checkpoints()):
            try:
                self._load_checkpoint(path)
                break
            except DamagedRunError:
                dropped.append(path.name)
                with as_store_error(f"{path} could not be removed"):
                    path.unlink()
        return dropped

    def open_for_writing(self) -> Snapshot | None:
        """Lock the run for writing and truncate its events to the last checkpoint.

        Nothing is changed if it raises an error.

        Returns:
            The snapshot to resume from; None if there is no checkpoint.

        Raises:
            StoreError: Another process is writing it.
            DamagedRunError: The checkpoint or the events before it are damaged.
        """
        self._acquire_lock()
        checkpoints = self.checkpoints()
        snapshot, self._position = None, LogPosition()
        if checkpoints:
            with advising(lambda: self._advise_older_checkpoint(checkpoints)):
                snapshot, self._position = self._load_checkpoint(checkpoints[-1])
        self._remove_partial_files()
        with as_store_error(f"{self._log_path} could not be opened"):
            self._file = self._log_path.open("ab")
            self._file.truncate(self._position.n_bytes)
        return snapshot

    def _load_checkpoint(self, path: Path) -> tuple[Snapshot, LogPosition]:
        """Return the snapshot of a checkpoint and its position in the log, whose lines are checked.

        Raises:
            DamagedRunError: The checkpoint or the events before it are damaged.
        """
        snapshot, position = load_snapshot(path)
        event_log.verify_log(self._log_path, position)
        return snapshot, position

    def _advise_older_checkpoint(self, checkpoints: list[Path]) -> str:
        """Return what to do about a damaged last checkpoint, as a sentence."""
        for index in range(len(checkpoints) - 2, -1, -1):
            with contextlib.suppress(DamagedRunError):
                self._load_checkpoint(checkpoints[index])
                removed = ", ".join(map(str, checkpoints[index + 1 :]))
                return f"To resume from the intact {checkpoints[index].name}, remove {removed}."
        return NO_INTACT_CHECKPOINT

    def append(self, event: Event) -> None:
        """Append an event to the log, where readers see it at once."""
        with self._writing(self._log_path):
            file = self._get_open_file()
            line, checksum = seal_line(event.to_json_line(), self._position.checksum)
            file.write(line)
            file.flush()
        n_events, n_bytes, _ = self._position
        self._position = LogPosition(n_events + 1, n_bytes + len(line), checksum)

    def append_timing(self, event: TimingEvent) -> None:
        """Append a timing to its own log, so that the event log is reproducible."""
        self._get_open_file()  # raises unless the run is open for writing
        path = self.folder / event_log.TIMINGS_FILE
        with as_store_error(f"{path} could not be written"), path.open("ab") as file:
            file.write(seal_line(event.to_json_line())[0])

    def timings(self) -> event_log.TimingLog:
        """Return all timings, including those from before the run was last resumed."""
        return event_log.read_timings(self.folder / event_log.TIMINGS_FILE)

    def checkpoint(self, snapshot: Snapshot) -> None:
        """Write a snapshot with the position in the event log, and remove old checkpoints."""
        file = self._get_open_file()
        with self._writing(self._log_path):
            os.fsync(file.fileno())
        path = self.folder / "checkpoints" / f"{snapshot.step:08d}.safetensors"
        save_snapshot(path, snapshot, self._position)
        with as_store_error(f"Old checkpoints of {self.folder} could not be removed"):
            for old in self.checkpoints()[:-MAX_CHECKPOINTS]:
                old.unlink()

    def write_file_chunk(self, chunk: FileChunk) -> None:
        """Write a file of the run, or append to one; readers see it at once.

        Raises:
            StoreError: Its path leads out of the run, or it could not be written.
        """
        self._get_open_file()
        path = self.folder / chunk.path
        if not path.resolve().is_relative_to(self.folder.resolve()):
            raise StoreError(f"The file '{chunk.path}' must lie in the run folder {self.folder}.")
        if not chunk.append:
            write_with_backups(path, chunk.data, chunk.n_backups)
            return
        with self._writing(path), path.open("ab") as file:
            file.write(chunk.data)

    def finish(self) -> None:
        """Compress the events, which marks the run as done.

        The lock is released last: in between, readers would take the run for a stopped one.
        """
        plain = self._log_path
        compressed = plain.with_name(event_log.COMPRESSED_EVENTS_FILE)
        file, self._file = self._file, None
        try:
            if file is not None:
                with self._writing(plain):
                    file.close()
            with as_store_error(f"{plain} could not be compressed"):
                write_atomic(compressed, gzip.compress(plain.read_bytes(), mtime=0))
                plain.unlink()
        finally:
            self.close()

    def close(self) -> None:
        """Release the lock and close the event log. May be called twice.

        Raises:
            OSError: Buffered events could not be written; the lock is released nevertheless.
        """
        file, lock = self._file, self._lock
        self._file = self._lock = None
        try:
            if file is not None:
                file.close()
        finally:
            if lock is not None:
                lock.close()

    def close_after_error(self) -> None:
        """Close without raising, so that the error that is being handled is not hidden."""
        with contextlib.suppress(OSError):
            self.close()

    def _acquire_lock(self) -> None:
        """Lock the run for this process, waiting at most `LOCK_TIMEOUT` seconds.

        Raises:
            StoreError: Another process holds the lock.
        """
        with as_store_error(f"{self.folder} could not be locked"):
            self._lock = (self.folder / "lock").open("ab")
            deadline = time.monotonic() + LOCK_TIMEOUT
            while True:
                try:
                    fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    return
                except BlockingIOError:
                    if time.monotonic() > deadline:
                        break
                time.sleep(0.01)
        self.close_after_error()
        raise StoreError(f"The run {self.folder} is being written by another process.")

    def _remove_partial_files(self) -> None:
        """Remove what a killed writer left half-written. Only with the lock held."""
        with as_store_error(f"Partial files of {self.folder} could not be removed"):
            for path in self.folder.rglob(f"{PARTIAL_PREFIX}*"):
                path.unlink()

    def _get_open_file(self) -> IO[bytes]:
        """Return the open event log.

        Raises:
            StoreError: The run is not open for writing.
        """
        if self._file is None:
            hint = "call open_for_writing first"
            raise StoreError(f"The run {self.folder} is not open for writing; {hint}.")
        return self._file

    @staticmethod
    def _writing(path: Path) -> AbstractContextManager[None]:
        """Return a context in which an `OSError` is reported as a failure to write the file."""
        return as_store_error(f"{path} could not be written", "The run can be resumed.")


def create_run(
    folder: Path,
    job: str,
    settings: Mapping[str, Any],
    may_rename: bool = False,
    policies: Mapping[str, str] | None = None,
) -> Run:
    """Create a run folder with its `settings.json`.

    Args:
        folder: The folder, which must not exist.
        job: Name of the job.
        settings: Settings of the job, as JSON values.
        may_rename: Whether a folder that exists is left alone and a number is added to the name, such
            as for `new_run_folder`, whose name another job of the same second may have.
        policies: Digests of the policies, which are compared when the run is resumed.

    Raises:
        UsageError: The folder exists already.
        StoreError: It cannot be accessed or written.
    """
    for path in chain([folder], _iter_numbered(folder) if may_rename else ()):
        with as_store_error(f"{path} could not be made"):
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                path.mkdir()  # fails for all but one of the jobs that try at the same time
            except FileExistsError:
                continue
            (path / event_log.EVENTS_FILE).touch()  # first: without settings it is no run yet
        if get_trust().source is None:
            _made_here.add(path.resolve())
        return Run(path, write_run_settings(path, job, settings, policies))
    hint = "Choose another --out, or continue it with --resume."
    raise UsageError(f"{folder} exists already. {hint}")


def find_author(path: Path) -> Path | None:
    """Return a run, or a file in it, as `core.trust.untrusted` takes it.

    Returns:
        The path itself, which may be a stranger's; None if this process has made the run, and so
        everything in it follows from what the user said.
    """
    absolute = path.resolve()
    is_made_here = any(folder in _made_here for folder in (absolute, *absolute.parents))
    return None if is_made_here else path


def _iter_numbered(folder: Path) -> Iterator[Path]:
    """Yield folders beside a folder, with 2, 3, ... added to its name."""
    return (folder.with_name(f"{folder.name}-{number}") for number in count(2))


def open_run(folder: Path) -> Run:
    """Open an existing run for reading; `Run.open_for_writing` resumes it.

    Raises:
        UsageError: There is no such folder.
        DamagedRunError: The folder is not a run, holds a link, or its `settings.json` is damaged.
    """
    if not folder.is_dir():
        raise UsageError(f"There is no run {folder}.{_suggest_runs(folder)}")
    if not (folder / SETTINGS_FILE).exists():
        inner = sorted(p.parent.name for p in folder.glob("*/settings.json"))[:_MAX_LISTED]
        hint = f" Runs in it: {', '.join(inner)}." if inner else ""
        raise DamagedRunError(f"{folder} is not a run: it has no settings.json.{hint}")
    _refuse_links(folder)
    return Run(folder, read_run_settings(folder))


def _refuse_links(folder: Path) -> None:
    """Check that a run holds files and folders: what is written to a link may be any file of the user.

    Raises:
        DamagedRunError: It holds a link, a pipe or a device.
    """
    with as_store_error(f"{folder} could not be read"), os.scandir(folder) as entries:
        for entry in entries:
            if not entry.is_file(follow_symlinks=False) and not entry.is_dir(follow_symlinks=False):
                raise DamagedRunError(
                    f"{folder} is not a run as kinfolk writes it: '{escape_text(entry.name)}' in it is a link, "
                    "a pipe or a device. Put the file or folder itself there."
                )


def _suggest_runs(folder: Path) -> str:
    """Suggest runs beside a missing one; for a bare name without any, those in `runs`."""
    others = sorted(p.parent.name for p in folder.parent.glob("*/settings.json"))
    if others or len(folder.parts) != 1:
        return format_suggestion(folder.name, others)
    known = sorted(str(p.parent) for p in Path("runs").glob("*/settings.json"))
    return format_suggestion(str("runs" / folder), known)


def new_run_folder(job: str) -> Path:
    """Return a folder in `runs` that does not exist yet, named after the job and the time.

    Give it to `create_run` with `may_rename`: another job may choose the same name meanwhile.
    """
    stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
    folder = Path("runs") / f"{job.replace('_', '-')}-{stamp}"
    return next(path for path in chain([folder], _iter_numbered(folder)) if not path.exists())
