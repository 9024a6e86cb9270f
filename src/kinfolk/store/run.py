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

from kinfolk.core.errors import DamagedRunError, KinfolkError, StoreError, UsageError, suggestion
from kinfolk.core.events import Artefact, Event, Measured, Snapshot
from kinfolk.store.checkpoint import load_snapshot, save_snapshot
from kinfolk.store.documents import parse_json, write_kept
from kinfolk.store.files import UNFINISHED, saying, write_atomic
from kinfolk.store.journal import PACKED, PLAIN, read_events
from kinfolk.store.timings import TIMINGS, Timings, read_timings

FORMAT = 1
KEPT_CHECKPOINTS = 3
_SIGNS = ("settings.json", PLAIN, PACKED, "checkpoints")  # what tells a run from another folder
LOCK_PATIENCE = 0.5  # seconds; whoever looks at `status` holds the lock for a moment


class Run:
    """One run folder. Made by `create` or `open_run`."""

    def __init__(self, folder: Path, about: Mapping[str, Any]) -> None:
        self.folder, self.about = folder, about
        self._file: IO[bytes] | None = None
        self._lock: IO[bytes] | None = None
        self._events = 0

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.folder.name

    @property
    def status(self) -> str:
        """`done`, `running` (somebody holds its lock) or `stopped` (it can be resumed)."""
        if (self.folder / PACKED).exists():
            return "done"
        path = self.folder / "lock"
        if not path.exists():
            return "stopped"
        mode = "r+b" if os.access(path, os.W_OK) else "rb"  # NFS locks only what can be written
        with saying(f"{path} could not be read"), path.open(mode) as lock:
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
                with saying(f"{path} could not be removed"):
                    path.unlink()
        return dropped

    def start(self) -> Snapshot | None:
        """Lock the run for writing and cut it back to its last checkpoint.

        Returns:
            The snapshot to resume from; None to begin at the beginning.

        Raises:
            StoreError: Another process is writing it.
            DamagedRunError: The checkpoint or the events before it are damaged.
        """
        self._take_lock()
        self._sweep()
        found = self.checkpoints()
        snapshot, events, size = None, 0, 0
        if found:
            snapshot, beside = load_snapshot(found[-1])
            events, size = beside["events"], beside["event_bytes"]
        path = self.folder / PLAIN
        with saying(f"{path} could not be opened"):
            self._file = path.open("ab")
            if path.stat().st_size < size:
                raise DamagedRunError(
                    f"{path} is cut short: it has {path.stat().st_size} bytes, "
                    f"and the checkpoint {found[-1].name} was written after {size}."
                )
            self._file.truncate(size)
        self._events = events
        return snapshot

    def append(self, event: Event) -> None:
        """Write an event; others can read it at once."""
        with saying(f"{self.folder / PLAIN} could not be written", "The run can be resumed."):
            self._writing().write(event.to_line().encode() + b"\n")
            self._writing().flush()
        self._events += 1

    def measure(self, event: Measured) -> None:
        """Write down how long something took, beside the events and never among them."""
        with saying(f"{self.folder / TIMINGS} could not be written"):
            self._writing()  # only who holds the run may
            with (self.folder / TIMINGS).open("ab") as file:
                file.write(event.to_line().encode() + b"\n")

    def timings(self) -> Timings:
        """What was measured, also before the run was last resumed."""
        return read_timings(self.folder / TIMINGS)

    def checkpoint(self, snapshot: Snapshot) -> None:
        """Write a snapshot; a run resumed from it repeats nothing and skips nothing."""
        file = self._writing()
        with saying(f"{self.folder / PLAIN} could not be written", "The run can be resumed."):
            os.fsync(file.fileno())
            size = os.fstat(file.fileno()).st_size
        path = self.folder / "checkpoints" / f"{snapshot.step:08d}.safetensors"
        save_snapshot(path, snapshot, self._events, size)
        with saying(f"Old checkpoints of {self.folder} could not be removed"):
            for old in self.checkpoints()[:-KEPT_CHECKPOINTS]:
                old.unlink()

    def keep_artefact(self, piece: Artefact) -> None:
        """Write a file of the run, or the next piece of one; others can read it at once."""
        self._writing()
        path = self.folder / piece.name
        if not path.resolve().is_relative_to(self.folder.resolve()):
            raise StoreError(f"An artefact must lie in its run; '{piece.name}' does not.")
        if not piece.more:
            write_kept(path, piece.data, piece.kept)
            return
        with (
            saying(f"{path} could not be written", "The run can be resumed."),
            path.open("ab") as file,
        ):
            file.write(piece.data)

    def finish(self) -> None:
        """Pack the events: the run is done.

        It is let go of last: whoever looked in between would take it for one that was stopped.
        """
        plain, packed = self.folder / PLAIN, self.folder / PACKED
        file, self._file = self._file, None
        try:
            if file is not None:
                with saying(f"{plain} could not be written", "The run can be resumed."):
                    file.close()
            with saying(f"{plain} could not be packed"):
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

    def abandon(self) -> None:
        """Let go of the folder after an error, which is not hidden by one of closing."""
        with contextlib.suppress(OSError):
            self.close()

    def _take_lock(self) -> None:
        with saying(f"{self.folder} could not be locked"):
            self._lock = (self.folder / "lock").open("ab")
            until = time.monotonic() + LOCK_PATIENCE
            while True:
                try:
                    fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    return
                except BlockingIOError:
                    if time.monotonic() > until:
                        break
                time.sleep(0.01)
        self.abandon()
        raise StoreError(f"The run {self.folder} is being written by another process.")

    def _sweep(self) -> None:
        """Remove what a writer that was killed left half-written. Only with the lock held."""
        with saying(f"{self.folder} could not be swept"):
            for left in self.folder.rglob(f"{UNFINISHED}*"):
                left.unlink()

    def _writing(self) -> IO[bytes]:
        if self._file is None:
            raise StoreError(f"The run {self.folder} was not started for writing.")
        return self._file


def create(folder: Path, job: str, settings: Mapping[str, Any]) -> Run:
    """Make a run folder.

    Raises:
        UsageError: The folder exists already.
        StoreError: It cannot be looked at or written.
    """
    with saying(f"{folder} could not be made"):
        exists = folder.exists()
    if exists:
        raise UsageError(f"{folder} exists already. Choose another --out, or go on with --resume.")
    about = {"format": FORMAT, "job": job, "kinfolk": version("kinfolk"), "settings": settings}
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
        raise UsageError(f"There is no run {folder}.{_other_runs(folder)}")
    if not path.exists():
        raise DamagedRunError(f"{folder} is not a run: it has no settings.json.")
    with saying(f"{path} could not be read"):
        data = path.read_bytes()
    try:
        about = parse_json(data)
    except ValueError as error:
        raise DamagedRunError(f"{path} is damaged: {error}.") from None
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        found = about.get("format") if isinstance(about, dict) else None
        raise DamagedRunError(f"{path} has format {found}; this kinfolk reads {FORMAT}.")
    if not isinstance(about.get("job"), str) or not isinstance(about.get("settings"), dict):
        raise DamagedRunError(f"{path} is damaged: it names no job with its settings.")
    return Run(folder, about)


def _other_runs(folder: Path) -> str:
    """The runs beside one that is not there; or, by its bare name, those in `runs`."""
    others = sorted(p.parent.name for p in folder.parent.glob("*/settings.json"))
    if others or len(folder.parts) != 1:
        return suggestion(folder.name, others)
    kept = sorted(str(p.parent) for p in Path("runs").glob("*/settings.json"))
    return suggestion(str("runs" / folder), kept)


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
    with saying(f"{root} could not be read"):
        folders = {path.parent for name in _SIGNS for path in root.glob(f"*/{name}")}
        found = sorted(folders, key=lambda p: (_made_at(p), p), reverse=True)
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


def _made_at(folder: Path) -> int:
    """When a run was made, in nanoseconds; of one without settings, when it last changed."""
    path = folder / "settings.json"
    return (path if path.exists() else folder).stat().st_mtime_ns
