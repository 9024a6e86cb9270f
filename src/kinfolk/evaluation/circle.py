"""Guests that are asked together: all are asked first, then all answers are gathered."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from select import POLLIN, poll

from kinfolk.evaluation.guest import Guest, Trouble
from kinfolk.evaluation.nursery import Nursery


class Circle:
    """Waits for many guests at once."""

    def __init__(self, nursery: Nursery) -> None:
        self._nursery, self._poll = nursery, poll()
        self._guests: dict[int, Guest] = {}
        self._lost: set[Guest] = set()  # have hung up; whoever asks them is told
        self._control = -1
        self.waited: list[float] = []  # seconds from question to answer

    def add(self, guest: Guest) -> None:
        """Wait for this one too."""
        self._guests[guest.fileno()] = guest
        self._poll.register(guest.fileno(), POLLIN)
        if self._control < 0:
            self._control = self._nursery.fileno()
            self._poll.register(self._control, POLLIN)

    def remove(self, guest: Guest) -> None:
        """Before it is closed."""
        if self._guests.pop(guest.fileno(), None) is not None:
            self._poll.unregister(guest.fileno())
        self._lost.discard(guest)

    def gather(
        self, asked: Iterable[Guest], seconds: float, grace: float = 0.0
    ) -> Iterator[tuple[Guest, Trouble | str]]:
        """What each says to what it was asked last: trouble, a fault, or "" for an answer.

        They come as they answer. Whoever says nothing for `seconds` is in trouble; a process that
        has not played yet has `grace` instead, because libraries load and compile then.
        """
        pending = dict.fromkeys(asked)
        if grace and any(not guest.has_played for guest in pending):
            seconds = max(seconds, grace)
        for guest in [guest for guest in pending if guest in self._lost]:
            del pending[guest]
            yield guest, guest.died()
        end = time.monotonic() + seconds
        while pending:
            left = end - time.monotonic()
            if left <= 0:
                break
            ready = self._poll.poll(1000.0 * left)
            for handle, _ in ready:
                if handle == self._control:
                    continue
                guest = self._guests[handle]
                said = guest.listen()
                if guest in pending and said is not None:
                    del pending[guest]
                    self.waited.append(time.perf_counter() - guest.posted)
                    yield guest, said
                elif isinstance(said, Trouble) and said.cause == "died":
                    self._lost.add(guest)
                    self._poll.unregister(handle)
                    del self._guests[handle]
            if any(handle == self._control for handle, _ in ready):
                for guest in [guest for guest in pending if guest.has_died()]:
                    del pending[guest]
                    yield guest, guest.died()
        for guest in pending:
            yield guest, Trouble("hung", f"{seconds:g}")
