"""Policies' processes, kept for reuse: by content, with a bound, one pool for each host."""

from __future__ import annotations

import atexit
from collections.abc import Iterator
from contextlib import contextmanager

from kinfolk.core.spaces import WorldSpec
from kinfolk.isolation.forkserver import ForkServerClient, ProcessLimitError
from kinfolk.isolation.settings import IsolationSettings
from kinfolk.isolation.worker import Worker, WorkerPayload
from kinfolk.policies.resolve import ResolvedPolicy

_MAX_PAYLOADS = 16


class WorkerPool:
    """Starts guests and takes them back. A guest plays any number of episodes, one after another."""

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
        """A guest that plays this policy, and whether it is fresh and has to start first.

        Raises:
            NoMoreProcessesError: The bound is reached, or the system refuses.
        """
        payload = self._get_payload(resolved, spec)
        for guest in self._idle:
            if (
                guest.payload is payload
                and guest.capacity == capacity
                and guest.inherits_memory == inherits_memory
            ):
                self._idle.remove(guest)
                self._in_use.add(guest)
                guest.reset_stats()
                return guest, False
        if len(self._in_use) >= self._settings.max_processes:
            raise ProcessLimitError(
                f"All {self._settings.max_processes} processes of --max-processes are in use."
            )
        while self._idle and len(self._in_use) + len(self._idle) >= self._settings.max_processes:
            self._idle.pop(0).close(graceful=True)
        if resolved.class_path.startswith("kinfolk."):
            # Ours, so that it may be loaded before the process is shut in; a stranger's may not.
            self.forkserver.preload(resolved.sha256, payload.fd, payload.size)
        guest = Worker(self.forkserver, payload, capacity, self._settings, inherits_memory)
        self.n_started += 1
        self._in_use.add(guest)
        return guest, True

    def release(self, worker: Worker, reusable: bool = True) -> None:
        """Keep a guest for the next who needs one; one that has failed is ended."""
        self._in_use.discard(worker)
        if reusable and not worker.closed:
            self._idle.append(worker)
        else:
            worker.close()

    def close(self) -> None:
        """End all guests and the process that starts them. May be called twice."""
        for guest in [*self._idle, *self._in_use]:
            guest.close()
        self._idle.clear()
        self._in_use.clear()
        for payload in self._payloads.values():
            payload.close()
        self._payloads.clear()
        self.forkserver.close()

    def _get_payload(self, resolved: ResolvedPolicy, spec: WorldSpec) -> WorkerPayload:
        key = (resolved.sha256, spec)
        if key not in self._payloads:
            while len(self._payloads) >= _MAX_PAYLOADS:
                self._drop_payload(next(iter(self._payloads)))
            self._payloads[key] = WorkerPayload(resolved, spec)
        return self._payloads[key]

    def _drop_payload(self, key: tuple[str, WorldSpec]) -> None:
        payload = self._payloads.pop(key)
        for guest in [guest for guest in self._idle if guest.payload is payload]:
            self._idle.remove(guest)
            guest.close(graceful=True)
        payload.close()


_pools: dict[IsolationSettings, WorkerPool] = {}  # of this process; a worker plays many matches


def get_pool(settings: IsolationSettings) -> WorkerPool:
    """The pool of this process for guests that are kept so."""
    if not _pools:
        atexit.register(close_pools)
    if settings not in _pools:
        _pools[settings] = WorkerPool(settings)
    return _pools[settings]


def close_pools() -> None:
    """End every policy's process that this process has started."""
    while _pools:
        _pools.popitem()[1].close()


@contextmanager
def closing_pools() -> Iterator[None]:
    """Whatever happens within, afterwards no policy's process of this host is left."""
    try:
        yield
    finally:
        close_pools()
