"""Guests that are asked together: all are asked first, then all answers are gathered."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from select import POLLIN, poll

import numpy as np

from kinfolk.core.arrays import AnyArray
from kinfolk.evaluation.guest import Guest, Trouble
from kinfolk.evaluation.nursery import Nursery
from kinfolk.evaluation.wire import ANSWERED_NS

# A wake-up can be missed when both ends go to sleep in the same moment; so neither sleeps longer.
_LOOK_SECONDS = 0.02


class Circle:
    """Waits for many guests."""

    def __init__(self, nursery: Nursery) -> None:
        self._nursery = nursery
        self._ears: dict[Guest, poll] = {}
        # When guests say they answered, when they were asked and when they were heard, in ns.
        self._heard: list[tuple[AnyArray, int, int]] = []

    def add(self, guest: Guest) -> None:
        """Wait for this one too: for its word, and for the news that a process has ended."""
        ear = self._ears[guest] = poll()
        ear.register(guest.fileno(), POLLIN)
        ear.register(self._nursery.fileno(), POLLIN)

    def note_times(self, told: AnyArray, asked: int, heard: int) -> None:
        """Write down when guests answered; reckoned only when somebody wants to know."""
        self._heard.append((told, asked, heard))

    @property
    def waited(self) -> AnyArray:
        """Seconds from each question to its answer.

        By the guests' own watches, which cannot tell of more than has passed.
        """
        spent = [np.clip(told, asked, heard) - asked for told, asked, heard in self._heard]
        return 1e-9 * np.concatenate([np.zeros(0), *spent])

    def remove(self, guest: Guest) -> None:
        """Before it is closed."""
        self._ears.pop(guest, None)

    def gather(
        self, asked: Iterable[Guest], seconds: float, grace: float = 0.0, spent: float = 0.0
    ) -> Iterator[tuple[Guest, Trouble | str]]:
        """What each says to what it was asked last: trouble, a fault, or "" for an answer.

        Whoever says nothing for `seconds` is in trouble; a process that has not played yet has
        `grace` instead, because libraries load and compile then. `spent` of it has passed already.
        """
        pending = list(asked)
        if grace and any(not guest.has_played for guest in pending):
            seconds = max(seconds, grace)
        end = time.monotonic() + seconds - spent
        # Who was asked last is waited for first: when it has answered, most others have too. So
        # the host is woken once or twice, not once for each of them, and takes no core from them.
        for guest in reversed(pending):
            said = self._hear(guest, end)
            if not isinstance(said, Trouble):
                told = np.array([guest.wire.header[ANSWERED_NS]])
                self.note_times(told, guest.posted, time.perf_counter_ns())
            elif said.cause == "hung":
                said = Trouble("hung", f"{seconds:g}")
            yield guest, said

    def nap(self, guest: Guest) -> bool:
        """Sleep until this one has answered; False if something else came, or nothing."""
        guest.doze(True)
        if not guest.has_spoken():
            self._ears[guest].poll(1000.0 * _LOOK_SECONDS)
        guest.doze(False)
        answered = guest.has_spoken()
        guest.hear_rings(answered)
        return answered

    def _hear(self, guest: Guest, end: float) -> Trouble | str:
        said = guest.listen()
        while said is None:
            left = end - time.monotonic()
            if left <= 0:
                return Trouble("hung", "")
            # The pipe of a process that has ended may be held open by a child it left behind.
            if guest.has_died():
                last = guest.listen()  # it may have spoken before
                return guest.died() if last is None else last
            guest.doze(True)
            said = guest.listen()
            if said is None:
                self._ears[guest].poll(1000.0 * min(left, _LOOK_SECONDS))
                said = guest.listen()
            guest.doze(False)
        return said
