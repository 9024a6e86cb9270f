"""Run tasks in a pool of worker processes on this machine."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import secrets
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from multiprocessing.shared_memory import SharedMemory
from typing import Any, Generic, cast

from kinfolk.core.errors import EngineError
from kinfolk.core.temporary_folder import TemporaryFolder, use_parent_folder
from kinfolk.core.trust import carry_trust
from kinfolk.engines.base import (
    Item,
    ObjectRef,
    Result,
    Value,
    make_lost_worker_error,
    validate_jobs,
)
from kinfolk.engines.parent_death import exit_with_parent

_MAX_CACHED = 8  # unpickled values per process; the oldest is dropped first
_cache: dict[str, Any] = {}


@dataclass(frozen=True)
class SharedMemoryRef(Generic[Value]):
    """A reference to a pickled value in a shared-memory segment, which its engine will unlink.

    Attributes:
        name: Name of the segment.
        n_bytes: Size of the pickled value; the segment may be larger.
    """

    name: str
    n_bytes: int

    def get(self) -> Value:
        """Unpickle the value, once per process.

        The segment was written by this process or its parent, so unpickling it is safe.
        """
        if self.name not in _cache:
            segment = SharedMemory(self.name)
            try:
                value = pickle.loads(bytes(segment.buf or b"")[: self.n_bytes])
            finally:
                segment.close()
            while len(_cache) >= _MAX_CACHED:
                _cache.pop(next(iter(_cache)))
            _cache[self.name] = value
        cached: Value = _cache[self.name]
        return cached


_NO_GUARD_EXIT = 97  # exit code of a worker that ran the script of its parent up to its own engine
_MAX_ATTEMPTS = 3  # how often a task is run that loses its worker
_TASKS_PER_WORKER = 3  # tasks submitted ahead, so that no worker waits for its next one


@dataclass
class _PendingTask:
    """An item of `ProcessEngine.map` whose result has not been yielded."""

    item: Any
    future: Future[Any] | None = None  # None until it is submitted
    n_lost_workers: int = 0  # while it ran alone

    @property
    def is_settled(self) -> bool:
        """Whether the task has returned a result or raised an error itself."""
        future = self.future
        if future is None or not future.done() or future.cancelled():
            return False
        return not isinstance(future.exception(), BrokenProcessPool)


def _start_worker(temporary_folder: str) -> None:
    """Set up a worker process: threads, temporary folder, and its end with the parent."""
    # One thread per worker: with two busy threads per core, numpy and torch are three times slower.
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"
    use_parent_folder(temporary_folder)
    exit_with_parent(use_death_signal=False)


def _create_segment(prefix: str, n_bytes: int) -> SharedMemory:
    """Create a segment of shared memory.

    Args:
        prefix: Start of its name.
        n_bytes: Its size.

    Raises:
        EngineError: There is not so much.
    """
    with _explaining_shared_memory():
        segment = SharedMemory(f"{prefix}{secrets.token_hex(4)}", create=True, size=n_bytes)
        if sys.platform == "linux":  # or writing to it would kill this process
            try:
                os.posix_fallocate(cast("Any", segment)._fd, 0, n_bytes)
            except OSError:
                segment.close()
                segment.unlink()
                raise
    return segment


@contextmanager
def _naming_semaphores(prefix: str) -> Iterator[None]:
    """Let the names of semaphores that are created in this block begin so; Python has no public way.

    Raises:
        EngineError: None can be created.
    """
    config: dict[str, Any] = cast("Any", multiprocessing.process.current_process())._config
    before = config["semprefix"]
    config["semprefix"] = f"/{prefix.removesuffix('-')}"
    try:
        with _explaining_shared_memory():
            yield
    finally:
        config["semprefix"] = before


@contextmanager
def _explaining_shared_memory() -> Iterator[None]:
    """Turn an `OSError` within the block into an `EngineError` that says what can be done."""
    try:
        yield
    except OSError as error:
        raise EngineError(
            f"Shared memory (/dev/shm) cannot be used: {error.strerror}. Free or enlarge it, or use "
            f"--engine local."
        ) from error


class ProcessEngine:
    """Runs tasks in worker processes, which are started at the first task and reused.

    Workers are spawned, never forked. When one is lost the pool is restarted and the unfinished
    tasks run again one at a time, so that the task which kills its workers is identified: after
    three workers lost while running alone, a task is given up.

    Args:
        jobs: Number of worker processes.

    Raises:
        EngineError: By `map`, if the script that started the engine has no main guard.
    """

    def __init__(self, jobs: int = 2) -> None:
        # A spawned worker imports its parent's script. If that starts engines without a guard, the
        # worker gets here before it has begun; it ends without a word, and its parent explains.
        if getattr(multiprocessing.process.current_process(), "_inheriting", False):
            os._exit(_NO_GUARD_EXIT)
        self._jobs = validate_jobs(jobs)
        self._segments: list[SharedMemory] = []  # of shared values
        self._segment_folder: TemporaryFolder | None = None  # gives them their names
        self._pool: ProcessPoolExecutor | None = None
        self._temporary_folder: TemporaryFolder | None = None  # parent of the workers' own ones

    @property
    def jobs(self) -> int:
        """Number of worker processes, and so of tasks at once."""
        return self._jobs

    def map(self, task: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Run tasks in parallel; only a few more than there are workers are in memory."""
        source = iter(items)
        pending: deque[_PendingTask] = deque()
        suspects = 0  # tasks at the head of the queue that run alone, after a worker was lost
        try:
            while True:
                n_missing = self._jobs * _TASKS_PER_WORKER - len(pending)
                pending.extend(_PendingTask(item) for item in islice(source, n_missing))
                if not pending:
                    return
                for entry in islice(pending, 1 if suspects else None):
                    entry.future = entry.future or self._submit(task, entry.item)
                head = pending[0]
                assert head.future is not None  # submitted above
                try:
                    result = head.future.result()
                except (BrokenProcessPool, CancelledError):
                    self._stop_lost()
                    if suspects:
                        head.n_lost_workers += 1
                        if head.n_lost_workers == _MAX_ATTEMPTS:
                            raise make_lost_worker_error(task, head.item, _MAX_ATTEMPTS) from None
                    suspects = suspects or len(pending)
                    for entry in pending:
                        entry.future = entry.future if entry.is_settled else None
                    continue
                pending.popleft()
                suspects = max(0, suspects - 1)
                yield result
        finally:
            for entry in pending:
                if entry.future is not None:
                    entry.future.cancel()

    def share(self, value: Value) -> ObjectRef[Value]:
        """Copy the value into shared memory."""
        data = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
        if self._segment_folder is None:
            self._segment_folder = TemporaryFolder("shared-")
        segment = _create_segment(self._segment_folder.shared_prefix, max(1, len(data)))
        assert segment.buf is not None  # it is None only after `close`
        segment.buf[: len(data)] = data
        self._segments.append(segment)
        return SharedMemoryRef(segment.name, len(data))

    def close(self) -> None:
        """Kill the workers; running tasks are dropped, references to shared values become invalid."""
        self._stop()
        while self._segments:
            segment = self._segments.pop()
            segment.close()
            segment.unlink()
        if self._segment_folder is not None:
            self._segment_folder.remove()
            self._segment_folder = None

    def _submit(self, task: Callable[[Any], Any], item: Any) -> Future[Any]:
        """Submit a task to the pool of workers, starting it if needed."""
        for _ in range(_MAX_ATTEMPTS):
            if self._pool is None:
                self._temporary_folder = TemporaryFolder("jobs-")
                with _naming_semaphores(self._temporary_folder.shared_prefix):
                    self._pool = ProcessPoolExecutor(
                        self._jobs,
                        mp_context=multiprocessing.get_context("spawn"),
                        initializer=_start_worker,
                        initargs=(str(self._temporary_folder.folder),),
                    )
            try:
                return self._pool.submit(carry_trust(task), item)
            except BrokenProcessPool:
                self._stop_lost()
        raise EngineError(f"Workers exit as soon as they start; tried {_MAX_ATTEMPTS} times.")

    def _stop_lost(self) -> None:
        """Stop the workers after one was lost.

        Raises:
            EngineError: It was lost because it ran the script that started it.
        """
        if _NO_GUARD_EXIT in self._stop():
            raise EngineError(
                "Worker processes import the script that starts them, and this one starts engines "
                "when it is imported. Put what the script does under `if __name__ == '__main__':`, "
                "or use engine='local'."
            ) from None

    def _stop(self) -> list[int | None]:
        """Kill the workers and remove their temporary folders; the next task starts new ones.

        Returns:
            Exit codes of the workers.
        """
        pool, self._pool = self._pool, None
        if pool is None:
            return []
        # The executor has no public way to kill a busy worker (Python < 3.14).
        workers = list((pool._processes or {}).values())
        for worker in workers:
            worker.kill()
        pool.shutdown(wait=True, cancel_futures=True)
        for worker in workers:
            worker.join()
        if self._temporary_folder is not None:
            self._temporary_folder.remove()
            self._temporary_folder = None
        return [worker.exitcode for worker in workers]
