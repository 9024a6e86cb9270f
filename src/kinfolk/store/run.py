"""A run: a folder that holds all that came of one job.

`settings.json` says what was asked, `events.jsonl` what happened, `checkpoints/` where it can go
on. The folder is locked while it is written, so that two writers never meet.
"""

from __future__ import annotations

import contextlib
import fcntl
import gzip
import json
import os
import time
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any, NamedTuple

from kinfolk.core.errors import (
    DamagedRunError,
    KinfolkError,
    StoreError,
    UsageError,
    format_suggestion,
)
from kinfolk.core.events import Event, FileChunk, Snapshot, TimingEvent
from kinfolk.store.checkpoint import load_snapshot, save_snapshot
from kinfolk.store.event_log import (
    COMPRESSED_EVENTS_FILE,
    EVENTS_FILE,
    TIMINGS_FILE,
    TimingLog,
    read_events,
    read_timings,
)
from kinfolk.store.files import PARTIAL_PREFIX, as_store_error, write_atomic
from kinfolk.store.json_files import parse_json, write_with_backups

FORMAT_VERSION = 1
MAX_CHECKPOINTS = 3
_RUN_FILES = (
    "settings.json",
    EVENTS_FILE,
    COMPRESSED_EVENTS_FILE,
    "checkpoints",
)  # what tells a run from another folder
LOCK_TIMEOUT = 0.5  # seconds; whoever looks at `status` holds the lock for a moment


class Run:
    """One run folder. Made by `create` or `open_run`."""

    def __init__(self, folder: Path, config: Mapping[str, Any]) -> None:
        self.folder, self.config = folder, config
        self._file: IO[bytes] | None = None
        self._lock: IO[bytes] | None = None
        self._n_events = 0

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.folder.name

    @property
    def status(self) -> str:
        """`done`, `running` (somebody holds its lock) or `stopped` (it can be resumed)."""
        if (self.folder / COMPRESSED_EVENTS_FILE).exists():
            return "done"
        path = self.folder / "lock"
        if not path.exists():
            return "stopped"
        mode = "r+b" if os.access(path, os.W_OK) else "rb"  # NFS locks only what can be written
        with as_store_error(f"{path} could not be read"), path.open(mode) as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return "running"
        return "stopped"

    def events(self) -> Iterator[dict[str, Any]]:
        """What happened, from the beginning."""
        return read_events(self.folder)

    def checkpoints(self) -> list[Path]:
        """Checkpoint files, oldest first."""
        return sorted((self.folder / "checkpoints").glob("*.safetensors"))

    def drop_damaged_checkpoints(self) -> list[str]:
        """Remove the last checkpoints as far as they are damaged, so that the one before is used.

        Only when asked: what came after the one before is lost.
        """
        dropped: list[str] = []
        for path in reversed(self.checkpoints()):
            try:
                load_snapshot(path)
                break
            except DamagedRunError:
                dropped.append(path.name)
                with as_store_error(f"{path} could not be removed"):
                    path.unlink()
        return dropped

    def open_for_writing(self) -> Snapshot | None:
        """Lock the run for writing and cut it back to its last checkpoint.

        Returns:
            The snapshot to resume from; None to begin at the beginning.

        Raises:
            StoreError: Another process is writing it.
            DamagedRunError: The checkpoint or the events before it are damaged.
        """
        self._acquire_lock()
        self._remove_partial_files()
        found = self.checkpoints()
        snapshot, events, size = None, 0, 0
        if found:
            snapshot, beside = load_snapshot(found[-1])
            events, size = beside["events"], beside["event_bytes"]
        path = self.folder / EVENTS_FILE
        with as_store_error(f"{path} could not be opened"):
            self._file = path.open("ab")
            if path.stat().st_size < size:
                raise DamagedRunError(
                    f"{path} is cut short: it has {path.stat().st_size} bytes, "
                    f"and the checkpoint {found[-1].name} was written after {size}."
                )
            self._file.truncate(size)
        self._n_events = events
        return snapshot

    def append(self, event: Event) -> None:
        """Write an event; others can read it at once."""
        with as_store_error(
            f"{self.folder / EVENTS_FILE} could not be written", "The run can be resumed."
        ):
            self._get_open_file().write(event.to_json_line().encode() + b"\n")
            self._get_open_file().flush()
        self._n_events += 1

    def append_timing(self, event: TimingEvent) -> None:
        """Write down how long something took, beside the events and never among them."""
        with as_store_error(f"{self.folder / TIMINGS_FILE} could not be written"):
            self._get_open_file()  # only who holds the run may
            with (self.folder / TIMINGS_FILE).open("ab") as file:
                file.write(event.to_json_line().encode() + b"\n")

    def timings(self) -> TimingLog:
        """What was measured, also before the run was last resumed."""
        return read_timings(self.folder / TIMINGS_FILE)

    def checkpoint(self, snapshot: Snapshot) -> None:
        """Write a snapshot; a run resumed from it repeats nothing and skips nothing."""
        file = self._get_open_file()
        with as_store_error(
            f"{self.folder / EVENTS_FILE} could not be written", "The run can be resumed."
        ):
            os.fsync(file.fileno())
            size = os.fstat(file.fileno()).st_size
        path = self.folder / "checkpoints" / f"{snapshot.step:08d}.safetensors"
        save_snapshot(path, snapshot, self._n_events, size)
        with as_store_error(f"Old checkpoints of {self.folder} could not be removed"):
            for old in self.checkpoints()[:-MAX_CHECKPOINTS]:
                old.unlink()

    def write_file_chunk(self, chunk: FileChunk) -> None:
        """Write a file of the run, or the next piece of one; others can read it at once."""
        self._get_open_file()
        path = self.folder / chunk.path
        if not path.resolve().is_relative_to(self.folder.resolve()):
            raise StoreError(f"An artefact must lie in its run; '{chunk.path}' does not.")
        if not chunk.append:
            write_with_backups(path, chunk.data, chunk.n_backups)
            return
        with (
            as_store_error(f"{path} could not be written", "The run can be resumed."),
            path.open("ab") as file,
        ):
            file.write(chunk.data)

    def finish(self) -> None:
        """Pack the events: the run is done.

        It is let go of last: whoever looked in between would take it for one that was stopped.
        """
        plain, packed = self.folder / EVENTS_FILE, self.folder / COMPRESSED_EVENTS_FILE
        file, self._file = self._file, None
        try:
            if file is not None:
                with as_store_error(f"{plain} could not be written", "The run can be resumed."):
                    file.close()
            with as_store_error(f"{plain} could not be packed"):
                write_atomic(packed, gzip.compress(plain.read_bytes(), mtime=0))
                plain.unlink()
        finally:
            self.close()

    def close(self) -> None:
        """Let go of the folder. May be called twice.

        Raises:
            OSError: What was not written yet could not be; the folder is let go of nevertheless.
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
        """Let go of the folder after an error, which is not hidden by one of closing."""
        with contextlib.suppress(OSError):
            self.close()

    def _acquire_lock(self) -> None:
        with as_store_error(f"{self.folder} could not be locked"):
            self._lock = (self.folder / "lock").open("ab")
            until = time.monotonic() + LOCK_TIMEOUT
            while True:
                try:
                    fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    return
                except BlockingIOError:
                    if time.monotonic() > until:
                        break
                time.sleep(0.01)
        self.close_after_error()
        raise StoreError(f"The run {self.folder} is being written by another process.")

    def _remove_partial_files(self) -> None:
        """Remove what a writer that was killed left half-written. Only with the lock held."""
        with as_store_error(f"{self.folder} could not be swept"):
            for left in self.folder.rglob(f"{PARTIAL_PREFIX}*"):
                left.unlink()

    def _get_open_file(self) -> IO[bytes]:
        if self._file is None:
            raise StoreError(f"The run {self.folder} was not started for writing.")
        return self._file


def create_run(folder: Path, job: str, settings: Mapping[str, Any]) -> Run:
    """Make a run folder.

    Raises:
        UsageError: The folder exists already.
        StoreError: It cannot be looked at or written.
    """
    with as_store_error(f"{folder} could not be made"):
        exists = folder.exists()
    if exists:
        raise UsageError(f"{folder} exists already. Choose another --out, or go on with --resume.")
    about = {
        "format": FORMAT_VERSION,
        "job": job,
        "kinfolk": version("kinfolk"),
        "settings": settings,
    }
    # In the order they were given: the order of slots is that of the columns of a checkpoint.
    text = json.dumps(about, indent=2) + "\n"
    write_atomic(folder / "settings.json", text.encode())
    return Run(folder, about)


def open_run(folder: Path) -> Run:
    """An existing run.

    Raises:
        UsageError: There is none.
        DamagedRunError: The folder is not a whole run.
    """
    path = folder / "settings.json"
    if not folder.is_dir():
        raise UsageError(f"There is no run {folder}.{_suggest_runs(folder)}")
    if not path.exists():
        raise DamagedRunError(f"{folder} is not a run: it has no settings.json.")
    with as_store_error(f"{path} could not be read"):
        data = path.read_bytes()
    try:
        about = parse_json(data)
    except ValueError as error:
        raise DamagedRunError(f"{path} is damaged: {error}.") from None
    if not isinstance(about, dict) or about.get("format") != FORMAT_VERSION:
        found = about.get("format") if isinstance(about, dict) else None
        raise DamagedRunError(f"{path} has format {found}; this kinfolk reads {FORMAT_VERSION}.")
    if not isinstance(about.get("job"), str) or not isinstance(about.get("settings"), dict):
        raise DamagedRunError(f"{path} is damaged: it names no job with its settings.")
    return Run(folder, about)


def _suggest_runs(folder: Path) -> str:
    """The runs beside one that is not there; or, by its bare name, those in `runs`."""
    others = sorted(p.parent.name for p in folder.parent.glob("*/settings.json"))
    if others or len(folder.parts) != 1:
        return format_suggestion(folder.name, others)
    kept = sorted(str(p.parent) for p in Path("runs").glob("*/settings.json"))
    return format_suggestion(str("runs" / folder), kept)


class DamagedRun(NamedTuple):
    """A folder that was a run, and what is wrong with it."""

    folder: Path
    problem: str

    @property
    def name(self) -> str:
        """The name of its folder, as far as it is text."""
        return os.fsencode(self.folder.name).decode(errors="backslashreplace")


def list_runs(root: Path) -> Iterator[Run | DamagedRun]:
    """The runs in a folder, newest first; a damaged one hides no other.

    Folders that have nothing of a run are passed over.
    """
    with as_store_error(f"{root} could not be read"):
        folders = {path.parent for name in _RUN_FILES for path in root.glob(f"*/{name}")}
        found = sorted(folders, key=lambda p: (_creation_time(p), p), reverse=True)
    for folder in found:
        try:
            folder.name.encode()
            run = open_run(folder)
            _ = run.status  # cannot be told of a folder that is damaged in other ways
        except UnicodeEncodeError:
            yield DamagedRun(folder, "Its name is not text in UTF-8. Rename the folder.")
        except KinfolkError as error:
            yield DamagedRun(folder, str(error))
        else:
            yield run


def _creation_time(folder: Path) -> int:
    """When a run was made, in nanoseconds; of one without settings, when it last changed."""
    path = folder / "settings.json"
    return (path if path.exists() else folder).stat().st_mtime_ns
