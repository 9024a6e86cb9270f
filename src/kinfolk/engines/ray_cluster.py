"""Tasks run on a Ray cluster: one that is there, or one that is started here."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Generic

from kinfolk.core.errors import EngineError
from kinfolk.core.optional_dependencies import make_missing_library_error
from kinfolk.core.temporary_folder import TemporaryFolder, use_parent_folder
from kinfolk.engines.base import Item, ObjectRef, Result, Value, validate_jobs

ADDRESS_VARIABLE = "RAY_ADDRESS"  # the variable in which Ray itself looks for a cluster
_MAX_ATTEMPTS = 3
_PING_TIMEOUT = 5.0
_BATCHES_PER_JOB = 2  # batches handed out per job, so that no worker waits for the next
_BATCH_SECONDS = 0.2  # a call costs 1 to 6 ms, so this keeps it below a few per cent
_MAX_BATCH = 64
_STORE_BYTES = 512 * 2**20


@dataclass(frozen=True)
class RayRef(Generic[Value]):
    """A value in the cluster's object store."""

    reference: Any

    def get(self) -> Value:
        """Fetch it; a node fetches it once."""
        import ray

        found: Value = ray.get(self.reference)
        return found


@dataclass
class _TaskBatch:
    items: list[Any]
    reference: Any = None


class RayEngine:
    """Runs tasks on Ray.

    It uses the cluster that this process is connected to already, else joins the one at `address`
    (or `RAY_ADDRESS`), else starts one on this machine with `jobs` workers, which `close` ends and
    clears away. Small tasks are sent in batches. Tasks of a lost worker or node run again; one that
    loses three workers by itself is given up.
    """

    def __init__(self, jobs: int = 2, address: str | None = None) -> None:
        self._jobs, self._address = validate_jobs(jobs), address or os.environ.get(ADDRESS_VARIABLE)
        self._ray: Any = None
        self._remote_run_batch: Any = None
        self._connected_here = False
        self._cluster_folder: TemporaryFolder | None = None  # of a cluster that was started here
        self._worker_folder: TemporaryFolder | None = (
            None  # in which workers here make their folders
        )
        self._seconds_per_task = _BATCH_SECONDS  # what a task takes; at first taken for long

    @property
    def jobs(self) -> int:
        """Batches under way at once; the cluster decides where."""
        return self._jobs

    def map(self, task: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Run tasks on the cluster; only a few batches more than jobs are in memory."""
        self._connect()
        source = iter(items)
        pending: deque[_TaskBatch] = deque()
        try:
            while True:
                while len(pending) < self._jobs * _BATCHES_PER_JOB:
                    batch = _TaskBatch(list(islice(source, self._batch_size())))
                    if not batch.items:
                        break
                    pending.append(batch)
                if not pending:
                    return
                for one in pending:
                    one.reference = one.reference or self._remote_run_batch.remote(
                        task, one.items, self._shared_folder
                    )
                head = pending.popleft()
                found = self._fetch(task, head)
                if found is None:  # lost thrice as a batch: whose fault it was shows one by one
                    pending.extendleft(_TaskBatch([item]) for item in reversed(head.items))
                    continue
                results, error = found
                yield from results
                if error is not None:
                    raise error
        finally:
            for one in pending:
                if one.reference is not None:
                    self._ray.cancel(one.reference, force=True)

    def share(self, value: Value) -> ObjectRef[Value]:
        """Put it into the cluster's object store."""
        self._connect()
        return RayRef(self._ray.put(value))

    def close(self) -> None:
        """Leave the cluster; one that was started here ends, and its files go."""
        if self._connected_here:
            self._ray.shutdown()
            self._connected_here = False
        self._ray = self._remote_run_batch = None
        for folder in (self._cluster_folder, self._worker_folder):
            if folder is not None:
                folder.remove()
        self._cluster_folder = self._worker_folder = None

    @property
    def _shared_folder(self) -> str:
        return str(self._worker_folder.folder) if self._worker_folder is not None else ""

    def _batch_size(self) -> int:
        return max(1, min(_MAX_BATCH, int(_BATCH_SECONDS / max(self._seconds_per_task, 1e-6))))

    def _fetch(
        self, task: Callable[[Any], Any], batch: _TaskBatch
    ) -> tuple[list[Any], BaseException | None] | None:
        """What a batch came to: its results, and what was raised behind them."""
        try:
            results, error, seconds = self._ray.get(batch.reference)
        except self._ray.exceptions.RayError as lost:
            if len(batch.items) > 1:
                return None
            raise EngineError(
                f"{getattr(task, '__name__', task)} lost its worker {_MAX_ATTEMPTS} times and was given "
                f"up; its item was {str(batch.items[0])[:80]}."
            ) from lost
        if results:
            self._seconds_per_task = 0.5 * self._seconds_per_task + 0.5 * seconds / len(results)
        return results, error

    def _connect(self) -> None:
        if self._ray is not None:
            return
        ray = import_ray()
        if not ray.is_initialized():
            handler = signal.getsignal(signal.SIGTERM)
            try:
                ray.init(**self._init_arguments())
                if threading.current_thread() is threading.main_thread():
                    signal.signal(signal.SIGTERM, handler)  # Ray's own ends us without closing
            except EngineError:
                raise
            except Exception as error:
                self.close()
                place = f"join the cluster at {self._address}" if self._address else "start here"
                raise EngineError(f"Ray could not {place}: {error}") from error
            self._connected_here = True
        self._ray, self._worker_folder = ray, TemporaryFolder("jobs-")
        self._remote_run_batch = ray.remote(num_cpus=1, max_retries=_MAX_ATTEMPTS - 1)(run_batch)

    def _init_arguments(self) -> dict[str, Any]:
        quiet = {"log_to_driver": False, "logging_level": "ERROR", "configure_logging": False}
        if self._address:
            ping(self._address)
            return {"address": self._address, **quiet}
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        self._cluster_folder = TemporaryFolder("ray-")
        return {
            "num_cpus": self._jobs,
            "include_dashboard": False,
            "object_store_memory": _STORE_BYTES,
            "_temp_dir": str(self._cluster_folder.folder),
            **quiet,
        }


def run_batch(
    task: Callable[[Any], Any], items: list[Any], temporary_folder: str = ""
) -> tuple[list[Any], BaseException | None, float]:
    """Run the tasks of a batch, in a worker.

    Args:
        task: What is to be done.
        items: With each of these.
        temporary_folder: Where folders are made, if this machine has it; on others a worker makes its own.

    Returns:
        Results as far as they go, what was raised then, and how long it took.
    """
    use_parent_folder(temporary_folder)
    start = time.perf_counter()
    results: list[Any] = []
    error: BaseException | None = None
    try:
        for item in items:
            results.append(task(item))
    except Exception as raised:
        error = raised
    return results, error, time.perf_counter() - start


def ping(address: str) -> None:
    """See that somebody is there: Ray itself ends the whole process where nobody is.

    Raises:
        EngineError: Nobody is.
    """
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon:
        return  # a word that Ray knows, such as "auto"
    try:
        socket.create_connection((host, int(port)), timeout=_PING_TIMEOUT).close()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise EngineError(f"There is no Ray cluster at {address}: {why.lower()}.") from None


def import_ray() -> Any:
    """The library, or how to get it."""
    try:
        import ray
    except ImportError:
        raise make_missing_library_error("The engine ray", "ray") from None
    return ray
