"""Slots whose policies live in processes of their own: one for all of its agents, or one each."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from kinfolk.core.arrays import AnyArray, Bytes, Ints
from kinfolk.core.spaces import WorldSpec
from kinfolk.evaluation.care import Care
from kinfolk.evaluation.circle import Circle
from kinfolk.evaluation.failures import WHOLE_SLOT, Ledger, abort
from kinfolk.evaluation.guest import Guest, Trouble
from kinfolk.evaluation.kept import Clock, Spoilt
from kinfolk.evaluation.pool import Pool
from kinfolk.evaluation.round import Round
from kinfolk.evaluation.table import Table
from kinfolk.evaluation.wire import BEGIN, EXPORT, WireShape, lay_rows, mark_of, raw
from kinfolk.policies.base import Memory, MemoryLayout, Rows
from kinfolk.policies.resolve import ResolvedPolicy

PLACE, UID, PARENT_PLACES = 1, 4, slice(9, 11)  # columns of a block of rows


@dataclass
class _Unit:
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


class Apart:
    """A slot in processes of its own. What it remembers lives there too."""

    def __init__(
        self,
        slot: str,
        resolved: ResolvedPolicy,
        spec: WorldSpec,
        pool: Pool,
        care: Care,
        tick: Clock,
        places: int,
        by_agent: bool,
        alone: bool,
    ) -> None:
        self.ledger = Ledger(slot, resolved.class_path, spec)
        self._resolved, self._spec, self._pool, self._care = resolved, spec, pool, care
        self._tick, self._places, self._by_agent, self._alone = tick, places, by_agent, alone
        self._units: dict[int, _Unit] = {}
        self._circle = Circle(pool.nursery)
        capacity, seats = (1, places) if by_agent else (places, 1)
        self._table = Table(WireShape(capacity, spec.row_bytes, spec.heads), seats)
        self._seated: dict[int, Guest] = {}
        self._rows: Rows | None = None
        self._order = self._mark = b""  # places of the agents asked last; all that is told of them
        self._round: Round | None = None  # of the same agents
        self._asked: dict[Guest, tuple[_Unit, slice]] = {}
        self.restarts = self.steps = self.processes = 0
        self.seconds = 0.0
        self._counts = Counts()

    @property
    def memory(self) -> MemoryLayout:
        """Nothing that the loop would have to keep."""
        return {}

    @property
    def counts(self) -> Counts:
        """What was counted of all its processes so far."""
        counts = self._counts
        for unit in self._units.values():
            counts = counts.with_guest(unit.guest) if unit.guest is not None else counts
        return counts

    @property
    def waited(self) -> AnyArray:
        """Seconds from each question to its answer."""
        return self._circle.waited

    def start_episode(self) -> None:
        """Begin an episode."""
        self.ledger.start_episode()
        for unit in self._units.values():
            unit.restarts, unit.down = 0, False
            unit.lives.clear()

    def begin(self, rows: Rows, memory: Memory, keys: Ints) -> None:
        """Forward to every process that has lives to begin, and wait for all of them."""
        self._break_up()
        block = lay_rows(rows, keys)
        parts = list(self._parts(block))
        if self._by_agent:  # another agent sits here now, and has failed in nothing
            for unit, _ in parts:
                unit.down, unit.restarts = False, 0
                unit.lives.clear()
        for unit, part in parts:
            unit.lives |= {int(row[PLACE]): row.copy() for row in block[part]}
        self._ready([unit for unit, _ in parts if not unit.down])
        if self._by_agent:
            self._inherit([(unit, block[part][0]) for unit, part in parts])
        self._tell_of_lives([(unit, block[part]) for unit, part in parts])

    def ask(self, observations: Bytes, rows: Rows, memory: Memory, keys: Ints) -> None:
        """Ask every process and come back at once."""
        start = time.perf_counter()
        self._rows, mark = rows, mark_of(rows)
        if self._round is None or mark != self._mark:
            block = lay_rows(rows, keys)
            order = block[:, PLACE].tobytes()
            if self._round is None or order != self._order:
                self._order, self._round = order, self._arranged(block)
            if self._by_agent:
                block[:, PLACE] = 0
            self._mark = mark
            self._round.lay(block)
        self._round.ask(keys, observations)
        self.steps += len(keys)
        self.seconds += time.perf_counter() - start

    def answer(self) -> Ints:
        """Gather the answers; what agents do that do nothing, where there is none."""
        assert self._rows is not None  # it was asked
        assert self._round is not None
        start = time.perf_counter()
        late = self._round.hear(self._circle)
        rows = self._rows
        actions = self._round.take(self._circle, late, lambda: self.ledger.still(rows))
        if late:
            self._wait_for(late, actions, self._round.age)
        sound = self.ledger.sound(actions, self._rows)
        if self.ledger.faults and not self._alone:
            raise Spoilt(f"Slot '{self.ledger.slot}' gave an answer that is no action.")
        self.seconds += time.perf_counter() - start
        return sound

    def _wait_for(self, late: list[Guest], actions: Ints, spent: float) -> None:
        """What the others say, one by one."""
        failed = []
        assert self._rows is not None
        care = self._care
        for guest, said in self._circle.gather(late, care.step_timeout, care.start_timeout, spent):
            unit, part = self._asked[guest]
            if isinstance(said, Trouble):
                failed.append((part.start, unit, part, said))
                continue
            guest.has_played = True
            if said:
                self.ledger.faults[said] += 1
            else:
                actions[part] = guest.wire.actions[: part.stop - part.start]
        for _, unit, part, trouble in sorted(failed, key=lambda one: one[0]):
            self._fail(unit, trouble, "ask", self._rows.uid[part])

    def close(self) -> None:
        """Give the processes back for the next match."""
        for unit in self._units.values():
            self._release(unit, sound=True)
        self._units.clear()
        self._table.close()

    def _arranged(self, block: AnyArray) -> Round:
        """Who is to be asked; who has failed and may go on, is started again."""
        parts = list(self._parts(block))
        self._restart(parts, block)
        if self._by_agent:
            self._dismiss_the_dead(block)
        playing = [(unit.guest, unit, part) for unit, part in parts if unit.guest is not None]
        self._asked = {guest: (unit, part) for guest, unit, part in playing}
        seats = [int(block[part.start, PLACE]) if self._by_agent else 0 for _, _, part in playing]
        for (guest, _, _), seat in zip(playing, seats, strict=True):
            if self._seated.get(seat) is not guest:
                self._table.sit(seat, guest.handle)
                self._seated[seat] = guest
        rows = [row for _, _, part in playing for row in range(part.start, part.stop)]
        return Round(self._table, list(self._asked), seats, rows)

    def _parts(self, block: AnyArray) -> Iterable[tuple[_Unit, slice]]:
        """Who sits with whom, and where in the block."""
        if not self._by_agent:
            yield self._units.setdefault(0, _Unit()), slice(0, len(block))
            return
        for i, place in enumerate(block[:, PLACE].tolist()):
            unit = self._units.get(place)
            if unit is None:
                unit = self._units[place] = _Unit()
            yield unit, slice(i, i + 1)

    def _ready(self, units: list[_Unit]) -> None:
        """Start what has to be started, all at once."""
        fresh: dict[Guest, _Unit] = {}
        for unit in units:
            if unit.guest is None:
                capacity = 1 if self._by_agent else self._places
                unit.guest, starts = self._pool.take(
                    self._resolved, self._spec, capacity, heirs=self._by_agent
                )
                self._circle.add(unit.guest)
                self.processes = max(self.processes, self._count())
                if starts:
                    fresh[unit.guest] = unit
        if not fresh:
            return
        failed = []
        for guest, said in self._circle.gather(fresh, self._care.start_timeout):
            if isinstance(said, Trouble):
                failed.append((fresh[guest], said))
            else:
                guest.share_heirlooms()
        for unit, trouble in sorted(failed, key=lambda one: units.index(one[0])):
            uids = np.array([row[UID] for row in unit.lives.values()], dtype=np.int64)
            self._fail(unit, trouble, "start", uids)

    def _tell_of_lives(self, parts: list[tuple[_Unit, AnyArray]]) -> None:
        """Send the beginnings of lives, and wait until they have been heard."""
        care = self._care
        where = {}
        for unit, block in parts:
            if unit.guest is None:
                continue
            if self._by_agent:
                block = block.copy()
                block[:, PLACE] = 0
            unit.guest.post(BEGIN, raw(block))
            where[unit.guest] = unit, block[:, UID]
        failed = [
            (where[guest], said)
            for guest, said in self._circle.gather(where, care.step_timeout, care.start_timeout)
            if isinstance(said, Trouble)
        ]
        for (unit, uids), trouble in sorted(failed, key=lambda one: int(one[0][1][0])):
            self._fail(unit, trouble, "begin", uids)

    def _inherit(self, parts: list[tuple[_Unit, AnyArray]]) -> None:
        """Carry what parents remember from their processes to their children's."""
        wanted = sorted({p for _, row in parts for p in row[PARENT_PLACES].tolist() if p >= 0})
        givers = {p: guest for p in wanted if (guest := self._guest_at(p)) is not None}
        for guest in givers.values():
            guest.post(EXPORT)
        for guest, said in self._circle.gather(givers.values(), self._care.step_timeout):
            if isinstance(said, Trouble):  # its own agent will meet the same at its next question
                givers = {p: other for p, other in givers.items() if other is not guest}
        left = {
            p: guest.heirlooms[0].copy()
            for p, guest in givers.items()
            if guest.heirlooms is not None
        }
        for unit, row in parts:
            for side, parent in enumerate(row[PARENT_PLACES].tolist()):
                row[PARENT_PLACES.start + side] = 1 + side if parent in givers else -1
                if parent in left and unit.guest is not None and unit.guest.heirlooms is not None:
                    unit.guest.heirlooms[1 + side] = left[parent]

    def _count(self) -> int:
        return sum(unit.guest is not None for unit in self._units.values())

    def _guest_at(self, place: int) -> Guest | None:
        return self._units[place].guest if place in self._units else None

    def _restart(self, parts: list[tuple[_Unit, slice]], block: AnyArray) -> None:
        """Processes that failed and may go on: made anew, told of their lives, all else lost."""
        again = [(unit, part) for unit, part in parts if unit.guest is None and not unit.down]
        if not again:
            return
        self._ready([unit for unit, _ in again])
        told = []
        for unit, part in again:
            lives = np.array([unit.lives[place] for place in block[part, PLACE].tolist()])
            lives[:, PARENT_PLACES] = -1
            told.append((unit, lives))
        self._tell_of_lives(told)

    def _fail(self, unit: _Unit, trouble: Trouble, method: str, uids: Ints) -> None:
        self._release(unit, sound=False)
        what = trouble.told(method)
        if not self._alone:
            raise Spoilt(f"Slot '{self.ledger.slot}': {what}.")
        again = self._care.on_failure == "restart" and unit.restarts < self._care.max_restarts
        unit.restarts += again
        self.restarts += again
        unit.down = not again
        agent = int(uids[0]) if self._by_agent else WHOLE_SLOT
        note = self.ledger.note(agent, self._tick(), trouble.cause, what, trouble.trace, again)
        if self._care.on_failure == "abort":
            raise abort(note)

    def _dismiss_the_dead(self, block: AnyArray) -> None:
        """Give back the processes of lives that have ended; their children have begun by now."""
        if len(self._units) == len(block):
            return
        living = set(block[:, PLACE].tolist())
        for place in [place for place in self._units if place not in living]:
            self._release(self._units.pop(place), sound=True)

    def _release(self, unit: _Unit, sound: bool) -> None:
        guest, unit.guest = unit.guest, None
        if guest is None:
            return
        self._break_up()
        self._circle.remove(guest)
        self._counts = self._counts.with_guest(guest)
        self._pool.give_back(guest, sound and not guest.awaited)

    def _break_up(self) -> None:
        broken, self._round = self._round, None
        if broken is not None:
            broken.break_up()
