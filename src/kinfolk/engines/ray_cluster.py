"""Run tasks on a Ray cluster, which is joined if one exists and started here otherwise."""

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
from kinfolk.core.imports import make_missing_library_error
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

ADDRESS_VARIABLE = "RAY_ADDRESS"  # the environment variable that Ray itself reads
_MAX_ATTEMPTS = 3  # how often a task is run that loses its worker
_PING_TIMEOUT = 5.0  # seconds
_BATCHES_PER_JOB = 2  # batches submitted ahead, so that no worker waits for its next one
_BATCH_SECONDS = 0.2  # a remote call costs 1 to 6 ms, so its overhead stays at a few per cent
_MAX_BATCH = 64
_STORE_BYTES = 512 * 2**20


@dataclass(frozen=True)
class RayRef(Generic[Value]):
    """A reference to a value in the cluster's object store."""

    reference: Any

    def get(self) -> Value:
        """Fetch the value; Ray transfers it to each node once."""
        import ray

        value: Value = ray.get(self.reference)
        return value


@dataclass
class _TaskBatch:
    """Items of `RayEngine.map` that are sent to a worker together."""

    items: list[Any]
    reference: Any = None  # Ray's reference to the result; None until it is submitted


class RayEngine:
    """Runs tasks on a Ray cluster.

    It uses the cluster that this process is already connected to, else joins the one at `address`,
    else starts one on this machine with `jobs` workers, which `close` shuts down and removes. Small
    tasks are sent in batches. Tasks of a lost worker or node run again; after three workers lost
    while running alone, a task is given up.

    Args:
        jobs: How many batches run at once; also the number of workers of a cluster started here.
        address: Address of a cluster; by default the value of `RAY_ADDRESS`, if it is set.
    """

    def __init__(self, jobs: int = 2, address: str | None = None) -> None:
        self._jobs, self._address = validate_jobs(jobs), address or os.environ.get(ADDRESS_VARIABLE)
        self._ray: Any = None
        self._remote_run_batch: Any = None
        self._connected_here = False
        self._cluster_folder: TemporaryFolder | None = None  # of a cluster that was started here
        self._worker_folder: TemporaryFolder | None = None  # parent of local workers' own ones
        self._seconds_per_task = _BATCH_SECONDS  # estimate; at first one task fills a batch

    @property
    def jobs(self) -> int:
        """Number of batches that run at once; the cluster decides where."""
        return self._jobs

    def map(self, task: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Run tasks on the cluster; only a few more batches than jobs are in memory."""
        self._connect()
        folder = str(self._worker_folder.folder) if self._worker_folder is not None else ""
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
                for batch in pending:
                    if batch.reference is None:
                        arguments = (carry_trust(task), batch.items, folder)
                        batch.reference = self._remote_run_batch.remote(*arguments)
                head = pending.popleft()
                try:
                    results, error, seconds = self._ray.get(head.reference)
                except self._ray.exceptions.RayError as lost:
                    if len(head.items) == 1:
                        raise make_lost_worker_error(task, head.items[0], _MAX_ATTEMPTS) from lost
                    # It lost its workers three times: run its tasks one by one to find the cause.
                    pending.extendleft(_TaskBatch([item]) for item in reversed(head.items))
                    continue
                if results:
                    seconds_per_task = seconds / len(results)
                    self._seconds_per_task = 0.5 * (self._seconds_per_task + seconds_per_task)
                yield from results
                if error is not None:
                    raise error
        finally:
            for batch in pending:
                if batch.reference is not None:
                    self._ray.cancel(batch.reference, force=True)

    def share(self, value: Value) -> ObjectRef[Value]:
        """Put the value into the cluster's object store."""
        self._connect()
        return RayRef(self._ray.put(value))

    def close(self) -> None:
        """Disconnect from the cluster; one that was started here is shut down and removed."""
        if self._connected_here:
            self._ray.shutdown()
            self._connected_here = False
        self._ray = self._remote_run_batch = None
        for folder in (self._cluster_folder, self._worker_folder):
            if folder is not None:
                folder.remove()
        self._cluster_folder = self._worker_folder = None

    def _batch_size(self) -> int:
        """Return how many tasks the next batch should have, by the time that recent ones took."""
        return max(1, min(_MAX_BATCH, int(_BATCH_SECONDS / max(self._seconds_per_task, 1e-6))))

    def _connect(self) -> None:
        """Join or start a cluster, unless this engine is connected already."""
        if self._ray is not None:
            return
        ray = import_ray()
        if not ray.is_initialized():
            handler = signal.getsignal(signal.SIGTERM)
            try:
                ray.init(**self._init_arguments())
                if threading.current_thread() is threading.main_thread():
                    signal.signal(signal.SIGTERM, handler)  # Ray's handler exits without `close`
            except EngineError:
                raise
            except Exception as error:
                self.close()
                action = f"join the cluster at {self._address}" if self._address else "start here"
                raise EngineError(f"Ray could not {action}: {error}") from error
            self._connected_here = True
        self._ray, self._worker_folder = ray, TemporaryFolder("jobs-")
        self._remote_run_batch = ray.remote(num_cpus=1, max_retries=_MAX_ATTEMPTS - 1)(run_batch)

    def _init_arguments(self) -> dict[str, Any]:
        """Return the arguments of `ray.init` that join the cluster, or start one here."""
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
    """Run a task on every item of a batch, in a worker, until one raises.

    Args:
        task: The function to call.
        items: Its arguments.
        temporary_folder: Parent of the worker's temporary folders, used if it exists on this
            machine; elsewhere the worker creates its own.

    Returns:
        The results before the first error, that error or None, and the seconds it took.
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
    """Check that something listens at an address, because Ray ends the whole process otherwise.

    Raises:
        EngineError: The connection failed.
    """
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon:
        return  # a keyword of Ray, such as "auto"
    try:
        socket.create_connection((host, int(port)), timeout=_PING_TIMEOUT).close()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise EngineError(f"There is no Ray cluster at {address}: {reason.lower()}.") from None


def import_ray() -> Any:
    """Import and return the library Ray.

    Raises:
        MissingLibraryError: It is not installed; the message has the command to install it.
    """
    try:
        import ray
    except ImportError:
        raise make_missing_library_error("The engine ray", "ray") from None
    return ray
