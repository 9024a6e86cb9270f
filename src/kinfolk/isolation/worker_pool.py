"""A bounded pool of worker processes, reused by the content of their policy."""

from __future__ import annotations

import atexit
from collections.abc import Iterator
from contextlib import contextmanager

from kinfolk.core.spaces import WorldSpec
from kinfolk.isolation.failures import IsolationSettings
from kinfolk.isolation.forkserver import ForkServerClient, ProcessLimitError, WorkerPayload
from kinfolk.isolation.worker import Worker
from kinfolk.policies.resolve import ResolvedPolicy

_MAX_PAYLOADS = 16


class WorkerPool:
    """Starts workers and takes them back; a worker plays many episodes, one after another.

    Args:
        settings: Limits of the workers and of their number.
    """

    def __init__(self, settings: IsolationSettings) -> None:
        self._settings = settings
        self.forkserver = ForkServerClient(minimal_env=settings.sandbox)
        self._payloads: dict[tuple[str, WorldSpec], WorkerPayload] = {}
        self._idle: list[Worker] = []
        self._in_use: set[Worker] = set()
        self.n_started = 0

    def acquire(
        self, resolved: ResolvedPolicy, spec: WorldSpec, capacity: int, inherits_memory: bool
    ) -> tuple[Worker, bool]:
        """Return an idle worker with this policy, or start one.

        Args:
            resolved: Class, settings and weights of the policy.
            spec: Spec of the world.
            capacity: Largest number of agents in a request.
            inherits_memory: Whether it plays a single agent that inherits its parents' memory.

        Returns:
            The worker, and whether it is new, so that its first reply must be awaited.

        Raises:
            ProcessLimitError: All processes are in use, or the system cannot start another.
        """
        payload = self._get_payload(resolved, spec)
        key = (payload, capacity, inherits_memory)
        for worker in self._idle:
            if (worker.payload, worker.capacity, worker.inherits_memory) == key:
                self._idle.remove(worker)
                self._in_use.add(worker)
                worker.reset_stats()
                return worker, False
        limit = self._settings.max_processes
        if len(self._in_use) >= limit:
            raise ProcessLimitError(f"All {limit} worker processes (--max-processes) are in use.")
        while self._idle and len(self._in_use) + len(self._idle) >= limit:
            self._idle.pop(0).close(graceful=True)
        if resolved.class_path.startswith("kinfolk."):
            # Only policies of this package may be loaded outside the sandbox.
            self.forkserver.preload(payload)
        worker = Worker(self.forkserver, payload, capacity, self._settings, inherits_memory)
        self.n_started += 1
        self._in_use.add(worker)
        return worker, True

    def release(self, worker: Worker, reusable: bool = True) -> None:
        """Take a worker back for reuse, or end it if it is not `reusable`."""
        self._in_use.discard(worker)
        if reusable and not worker.closed:
            self._idle.append(worker)
        else:
            worker.close()

    def close(self) -> None:
        """End all workers and the fork server; may be called twice."""
        for worker in [*self._idle, *self._in_use]:
            worker.close()
        self._idle.clear()
        self._in_use.clear()
        while self._payloads:
            self._drop_oldest_payload()
        self.forkserver.close()

    def _get_payload(self, resolved: ResolvedPolicy, spec: WorldSpec) -> WorkerPayload:
        """Return the payload of a policy from a small cache, or make it."""
        key = (resolved.sha256, spec)
        if key not in self._payloads:
            while len(self._payloads) >= _MAX_PAYLOADS:
                self._drop_oldest_payload()
            self._payloads[key] = WorkerPayload(resolved, spec)
        return self._payloads[key]

    def _drop_oldest_payload(self) -> None:
        """Free the oldest payload and end the idle workers that have loaded it."""
        payload = self._payloads.pop(next(iter(self._payloads)))
        for worker in [worker for worker in self._idle if worker.payload is payload]:
            self._idle.remove(worker)
            worker.close(graceful=True)
        payload.close()


_pools: dict[IsolationSettings, WorkerPool] = {}  # of this process, which runs many tasks


def get_pool(settings: IsolationSettings) -> WorkerPool:
    """Return the pool of this process for workers with these settings."""
    if not _pools:
        atexit.register(close_pools)
    if settings not in _pools:
        _pools[settings] = WorkerPool(settings)
    return _pools[settings]


def close_pools() -> None:
    """End all worker processes that this process has started."""
    while _pools:
        _pools.popitem()[1].close()


@contextmanager
def closing_pools() -> Iterator[None]:
    """Close all pools of this process when the context exits."""
    try:
        yield
    finally:
        close_pools()
