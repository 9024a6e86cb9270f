"""The processes that a slot lives in: started, counted, given back, and what is done when one fails."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from kinfolk.core.arrays import AnyArray, Ints
from kinfolk.core.spaces import WorldSpec
from kinfolk.evaluation.care import Care
from kinfolk.evaluation.circle import Circle
from kinfolk.evaluation.failures import WHOLE_SLOT, Ledger, abort
from kinfolk.evaluation.guest import Guest, Trouble
from kinfolk.evaluation.kept import Clock, Spoilt
from kinfolk.evaluation.pool import Pool
from kinfolk.evaluation.round import Round
from kinfolk.policies.resolve import ResolvedPolicy

PLACE, UID, PARENT_PLACES = 1, 4, slice(9, 11)  # columns of a block of rows


@dataclass
class Unit:
    """Agents that share a process."""

    guest: Guest | None = None
    restarts: int = 0
    down: bool = False  # has failed, and does nothing until the episode or the life ends
    lives: dict[int, AnyArray] = field(default_factory=dict)  # by place, as they began


class Counts(NamedTuple):
    """Of guests: answers to old questions, characters printed, the most memory one has held."""

    stale: int = 0
    printed: int = 0
    peak_megabytes: float = 0.0

    def with_guest(self, guest: Guest) -> Counts:
        """One more."""
        peak = max(self.peak_megabytes, guest.peak_megabytes)
        return Counts(self.stale + guest.stale, self.printed + guest.printed, peak)


class Household:
    """One process for all agents of a slot, or one each.

    Args:
        ledger: Where failures are noted.
        resolved: The policy that every process makes.
        spec: Of the world.
        pool: Where processes come from, and go back to.
        care: How long to wait, and what to do when one fails.
        tick: Tells the time of a failure.
        places: Agents that may live at once.
        by_agent: Whether each has a process of its own.
        alone: Whether no other match is played beside it, that a failure would spoil.
    """

    def __init__(
        self,
        ledger: Ledger,
        resolved: ResolvedPolicy,
        spec: WorldSpec,
        pool: Pool,
        care: Care,
        tick: Clock,
        places: int,
        *,
        by_agent: bool,
        alone: bool,
    ) -> None:
        self.ledger, self.care, self.by_agent, self.alone = ledger, care, by_agent, alone
        self.circle = Circle(pool.nursery)
        self._resolved, self._spec, self._pool, self._tick = resolved, spec, pool, tick
        self.capacity = 1 if by_agent else places  # agents of a process
        self.round: Round | None = None  # of those who are asked together at present
        self._units: dict[int, Unit] = {}
        self.restarts = self.processes = 0  # all of them; the most at once
        self._counts = Counts()

    @property
    def counts(self) -> Counts:
        """What was counted of all its processes so far."""
        counts = self._counts
        for unit in self._units.values():
            counts = counts.with_guest(unit.guest) if unit.guest is not None else counts
        return counts

    def start_episode(self) -> None:
        """Whoever failed may try again."""
        self.ledger.start_episode()
        for unit in self._units.values():
            unit.restarts, unit.down = 0, False
            unit.lives.clear()

    def parts(self, block: AnyArray) -> Iterator[tuple[Unit, slice]]:
        """Who sits with whom, and where in the block."""
        if not self.by_agent:
            yield self._units.setdefault(0, Unit()), slice(0, len(block))
            return
        for i, place in enumerate(block[:, PLACE].tolist()):
            unit = self._units.get(place)
            if unit is None:
                unit = self._units[place] = Unit()
            yield unit, slice(i, i + 1)

    def guest_at(self, place: int) -> Guest | None:
        """The process of the agent at a place, if it has one of its own."""
        return self._units[place].guest if place in self._units else None

    def make_ready(self, units: list[Unit]) -> None:
        """Start what has to be started, all at once."""
        fresh: dict[Guest, Unit] = {}
        for unit in units:
            if unit.guest is None:
                unit.guest, starts = self._pool.take(
                    self._resolved, self._spec, self.capacity, heirs=self.by_agent
                )
                self.circle.add(unit.guest)
                self.processes = max(self.processes, self._count())
                if starts:
                    fresh[unit.guest] = unit
        if not fresh:
            return
        failed = []
        for guest, said in self.circle.gather(fresh, self.care.start_timeout):
            if isinstance(said, Trouble):
                failed.append((fresh[guest], said))
            else:
                guest.share_heirlooms()
        for unit, trouble in sorted(failed, key=lambda one: units.index(one[0])):
            uids = np.array([row[UID] for row in unit.lives.values()], dtype=np.int64)
            self.fail(unit, trouble, "start", uids)

    def fail(self, unit: Unit, trouble: Trouble, method: str, uids: Ints) -> None:
        """Note that a process failed, end it, and see whether it may be started again."""
        self._release(unit, sound=False)
        what = trouble.told(method)
        if not self.alone:
            raise Spoilt(f"Slot '{self.ledger.slot}': {what}.")
        again = self.care.on_failure == "restart" and unit.restarts < self.care.max_restarts
        unit.restarts += again
        self.restarts += again
        unit.down = not again
        agent = int(uids[0]) if self.by_agent else WHOLE_SLOT
        note = self.ledger.note(agent, self._tick(), trouble.cause, what, trouble.explained, again)
        if self.care.on_failure == "abort":
            raise abort(note)

    def dismiss_the_dead(self, block: AnyArray) -> None:
        """Give back the processes of lives that have ended; their children have begun by now."""
        if len(self._units) == len(block):
            return
        living = set(block[:, PLACE].tolist())
        for place in [place for place in self._units if place not in living]:
            self._release(self._units.pop(place), sound=True)

    def close(self) -> None:
        """Give all processes back for the next match."""
        for unit in self._units.values():
            self._release(unit, sound=True)
        self._units.clear()

    def break_up(self) -> None:
        """End the round: somebody begins or leaves, and the next one is asked anew."""
        broken, self.round = self.round, None
        if broken is not None:
            broken.break_up()

    def _count(self) -> int:
        return sum(unit.guest is not None for unit in self._units.values())

    def _release(self, unit: Unit, sound: bool) -> None:
        guest, unit.guest = unit.guest, None
        if guest is None:
            return
        self.break_up()
        self.circle.remove(guest)
        self._counts = self._counts.with_guest(guest)
        self._pool.give_back(guest, sound and not guest.awaited)
