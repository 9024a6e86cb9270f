"""One question to many guests at once, and the answers of those that gave a sound one in time.

What is asked from step to step, mostly of the same guests, is written and read for all of them in a
few operations. Whoever is late, has failed or answered nonsense is left to `Circle.gather`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray, Bytes, Ints
from kinfolk.evaluation.circle import Circle
from kinfolk.evaluation.guest import Guest, draw_question, rouse
from kinfolk.evaluation.table import Table
from kinfolk.evaluation.wire import (
    ANSWERED,
    ANSWERED_NS,
    ASK,
    AWAKE_NS,
    KIND,
    NAPS,
    OUTCOME,
    QUESTION,
    READY,
    ROWS,
    VERSION,
    fence,
    new_version,
)


class Round:
    """Guests at a table who are asked together, as long as the same agents play.

    Either each of them plays one row, or there is one guest, who plays all.

    Args:
        table: Where they sit.
        guests: Who is asked.
        seats: Where each of them sits.
        rows: Which rows of the batch they play.
    """

    def __init__(
        self, table: Table, guests: Sequence[Guest], seats: Sequence[int], rows: Sequence[int]
    ) -> None:
        self._table, self.guests = table, guests
        self._seats, self._rows = _compact(seats), _compact(rows)
        alone = len(guests) == 1
        self._at = (seats[0], slice(len(rows))) if alone else (self._seats, 0)
        table.header[self._seats, ROWS] = len(rows) if alone else 1
        table.header[self._seats, KIND] = ASK
        self._bells, self._keys_at = [guest.bell for guest in guests], (*self._at, 0)
        self._question = self._posted = self._naps = 0
        self._awaited = self._all_have_played = self._is_whole = False

    def lay(self, block: AnyArray) -> None:
        """Tell who the agents are; said again when more has changed than their keys.

        Args:
            block: The rows of the whole batch, as `lay_rows` makes them.
        """
        # An array when some in between are not asked; it compares with a slice item by item.
        rows = self._rows
        self._is_whole = isinstance(rows, slice) and rows == slice(0, len(block))
        self._table.rows[self._at] = block[self._rows]
        self._table.header[self._seats, VERSION] = new_version()

    def ask(self, keys: Ints, seen: Bytes) -> None:
        """Ask all, and come back at once.

        Args:
            keys: Of the whole batch.
            seen: What it sees.
        """
        table, seats = self._table, self._seats
        table.rows[self._keys_at] = keys[self._rows]
        table.seen[self._at] = seen[self._rows]
        self._question, self._posted = draw_question(), time.perf_counter_ns()
        self._awaited = True
        fence()
        table.header[seats, QUESTION] = self._question
        rouse(self._bells)

    def hear(self, circle: Circle) -> list[Guest]:
        """Wait until all have answered, or something else happens; who gave no sound answer."""
        seats, header, question = self._seats, self._table.header, self._question
        many = naps_left = len(self.guests)
        end = 0 if self._naps else time.perf_counter_ns() + AWAKE_NS
        self._naps = max(0, self._naps - 1)
        answered = header[seats, ANSWERED].tolist()
        while answered.count(question) < many:
            if time.perf_counter_ns() < end:
                os.sched_yield()
            else:
                if end:
                    self._naps, end = NAPS, 0
                # Who was asked last is waited for first: when it has answered, most others have
                # too. So the host is woken once or twice, not once for each of them.
                last = max(i for i, number in enumerate(answered) if number != question)
                self._expect(self.guests[last])
                naps_left -= 1  # one for each at most: a guest may take its answer back
                if not circle.nap(self.guests[last]) or not naps_left:
                    break
                self.guests[last].awaited = False
            answered = header[seats, ANSWERED].tolist()
        fence()
        outcomes = header[seats, OUTCOME].tolist()
        self._awaited = False
        if answered.count(question) == outcomes.count(READY) == many:
            return []
        late = [
            guest
            for guest, number, outcome in zip(self.guests, answered, outcomes, strict=True)
            if number != question or outcome != READY
        ]
        for guest in late:
            self._expect(guest)
        return late

    def take(self, circle: Circle, late: Sequence[Guest], still: Callable[[], Ints]) -> Ints:
        """The actions of the whole batch; of `late` and of who is not asked, what `still` gives."""
        actions, told = self._table.actions[self._at], self._table.header[self._seats, ANSWERED_NS]
        if late:
            sound = np.array([guest not in late for guest in self.guests])
            out, told = still(), told[sound]
            if len(sound) == len(actions):
                out[np.arange(len(out))[self._rows][sound]] = actions[sound]
        elif self._is_whole:
            out = actions.copy()
        else:
            out = still()
            out[self._rows] = actions
        if not self._all_have_played:
            for guest in self.guests:
                guest.has_played = guest.has_played or guest not in late
            self._all_have_played = not late
        circle.note_times(told.copy(), self._posted, time.perf_counter_ns())
        return out

    @property
    def age(self) -> float:
        """Seconds since they were asked."""
        return 1e-9 * (time.perf_counter_ns() - self._posted)

    def break_up(self) -> None:
        """They are asked together no more; who has not been heard is awaited still."""
        if self._awaited:
            for guest in self.guests:
                self._expect(guest)

    def _expect(self, guest: Guest) -> None:
        if guest.question != self._question:
            guest.expect(self._question, self._posted)
        guest.awaited = True


def _compact(numbers: Sequence[int]) -> Any:
    """An index for these numbers: a slice where they follow each other, which is quicker."""
    first, many = (numbers[0], len(numbers)) if numbers else (0, 0)
    if list(numbers) == list(range(first, first + many)):
        return slice(first, first + many)
    return np.array(numbers, dtype=np.int64)
