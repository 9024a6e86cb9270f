"""Policies' processes, kept for reuse: by content, with a bound, one pool for each host."""

from __future__ import annotations

import atexit
from collections.abc import Iterator
from contextlib import contextmanager

from kinfolk.core.spaces import WorldSpec
from kinfolk.evaluation.care import Care
from kinfolk.evaluation.guest import Guest, Payload
from kinfolk.evaluation.nursery import NoMoreProcessesError, Nursery
from kinfolk.policies.resolve import ResolvedPolicy

_KEPT_PAYLOADS = 16


class Pool:
    """Starts guests and takes them back. A guest plays any number of episodes, one after another."""

    def __init__(self, care: Care) -> None:
        self._care = care
        self.nursery = Nursery(bare=care.sandbox)
        self._payloads: dict[tuple[str, WorldSpec], Payload] = {}
        self._idle: list[Guest] = []
        self._out: set[Guest] = set()
        self.started = 0

    def take(
        self, resolved: ResolvedPolicy, spec: WorldSpec, capacity: int, heirs: bool
    ) -> tuple[Guest, bool]:
        """A guest that plays this policy, and whether it is fresh and has to start first.

        Raises:
            NoMoreProcessesError: The bound is reached, or the system refuses.
        """
        payload = self._payload(resolved, spec)
        for guest in self._idle:
            if guest.payload is payload and guest.capacity == capacity and guest.heirs == heirs:
                self._idle.remove(guest)
                self._out.add(guest)
                guest.forget_counts()
                return guest, False
        if len(self._out) >= self._care.max_processes:
            raise NoMoreProcessesError(
                f"All {self._care.max_processes} processes of --max-processes are in use."
            )
        while self._idle and len(self._out) + len(self._idle) >= self._care.max_processes:
            self._idle.pop(0).close(politely=True)
        if resolved.class_path.startswith("kinfolk."):
            # Ours, so that it may be loaded before the process is shut in; a stranger's may not.
            self.nursery.warm(resolved.sha256, payload.handle, payload.size)
        guest = Guest(self.nursery, payload, capacity, self._care, heirs)
        self.started += 1
        self._out.add(guest)
        return guest, True

    def give_back(self, guest: Guest, sound: bool = True) -> None:
        """Keep a guest for the next who needs one; one that has failed is ended."""
        self._out.discard(guest)
        if sound and not guest.closed:
            self._idle.append(guest)
        else:
            guest.close()

    def close(self) -> None:
        """End all guests and the process that starts them. May be called twice."""
        for guest in [*self._idle, *self._out]:
            guest.close()
        self._idle.clear()
        self._out.clear()
        for payload in self._payloads.values():
            payload.close()
        self._payloads.clear()
        self.nursery.close()

    def _payload(self, resolved: ResolvedPolicy, spec: WorldSpec) -> Payload:
        key = (resolved.sha256, spec)
        if key not in self._payloads:
            while len(self._payloads) >= _KEPT_PAYLOADS:
                self._drop(next(iter(self._payloads)))
            self._payloads[key] = Payload(resolved, spec)
        return self._payloads[key]

    def _drop(self, key: tuple[str, WorldSpec]) -> None:
        payload = self._payloads.pop(key)
        for guest in [guest for guest in self._idle if guest.payload is payload]:
            self._idle.remove(guest)
            guest.close(politely=True)
        payload.close()


_pools: dict[Care, Pool] = {}  # of this process; a worker plays many matches


def pool_for(care: Care) -> Pool:
    """The pool of this process for guests that are kept so."""
    if not _pools:
        atexit.register(close_pools)
    if care not in _pools:
        _pools[care] = Pool(care)
    return _pools[care]


def close_pools() -> None:
    """End every policy's process that this process has started."""
    while _pools:
        _pools.popitem()[1].close()


@contextmanager
def no_guests_left() -> Iterator[None]:
    """Whatever happens within, afterwards no policy's process of this host is left."""
    try:
        yield
    finally:
        close_pools()
