"""Slots whose policies live in processes of their own: one for all of its agents, or one each."""

from __future__ import annotations

import time

from kinfolk.core.arrays import AnyArray, Bytes, Ints
from kinfolk.core.spaces import WorldSpec
from kinfolk.evaluation.care import Care
from kinfolk.evaluation.failures import Ledger
from kinfolk.evaluation.guest import Guest, Trouble
from kinfolk.evaluation.household import PLACE, Counts, Household, Unit
from kinfolk.evaluation.kept import Clock, Spoilt
from kinfolk.evaluation.lives import begin_again, begin_lives
from kinfolk.evaluation.pool import Pool
from kinfolk.evaluation.round import Round
from kinfolk.evaluation.table import Table
from kinfolk.evaluation.wire import WireShape, lay_rows, mark_of
from kinfolk.policies.base import Memory, MemoryLayout, Rows
from kinfolk.policies.resolve import ResolvedPolicy


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
        self._house = house = Household(
            self.ledger, resolved, spec, pool, care, tick, places, by_agent=by_agent, alone=alone
        )
        shape = WireShape(house.capacity, spec.row_bytes, spec.heads)
        self._table = Table(shape, places if by_agent else 1)
        self._seated: dict[int, Guest] = {}
        self._rows: Rows | None = None
        self._order = self._mark = b""  # places of the agents asked last; all that is told of them
        self._asked: dict[Guest, tuple[Unit, slice]] = {}
        self._asked_rows = 0  # agents of those who are asked
        self.steps, self.seconds = 0, 0.0

    @property
    def memory(self) -> MemoryLayout:
        """Nothing that the loop would have to keep."""
        return {}

    @property
    def counts(self) -> Counts:
        """What was counted of all its processes so far."""
        return self._house.counts

    @property
    def restarts(self) -> int:
        """How often a process was started again."""
        return self._house.restarts

    @property
    def processes(self) -> int:
        """The most that there were at once."""
        return self._house.processes

    @property
    def waited(self) -> AnyArray:
        """Seconds from each question to its answer."""
        return self._house.circle.waited

    def start_episode(self) -> None:
        """Begin an episode."""
        self._house.start_episode()

    def begin(self, rows: Rows, memory: Memory, keys: Ints) -> None:
        """Forward to every process that has lives to begin, and wait for all of them."""
        self._house.break_up()
        begin_lives(self._house, lay_rows(rows, keys))

    def ask(self, observations: Bytes, rows: Rows, memory: Memory, keys: Ints) -> None:
        """Ask every process and come back at once."""
        start = time.perf_counter()
        house, mark, self._rows = self._house, mark_of(rows), rows
        if house.round is None or mark != self._mark:
            block = lay_rows(rows, keys)
            order = block[:, PLACE].tobytes()
            if house.round is None or order != self._order:
                self._order, house.round = order, self._arranged(block)
            if house.by_agent:
                block[:, PLACE] = 0
            self._mark = mark
            house.round.lay(block)
        house.round.ask(keys, observations)
        self.steps += len(keys)
        self.seconds += time.perf_counter() - start

    def answer(self) -> Ints:
        """Gather the answers; what agents do that do nothing, where there is none."""
        asked, circle, rows = self._house.round, self._house.circle, self._rows
        assert rows is not None  # it was asked
        assert asked is not None
        start = time.perf_counter()
        late = asked.hear(circle)
        actions = asked.take(circle, late, lambda: self.ledger.still(rows))
        silent = self._wait_for(late, actions, asked.age) if late else 0
        sound = self.ledger.sound(actions, rows, self._asked_rows - silent)
        if self.ledger.faults and not self._house.alone:
            raise Spoilt(f"Slot '{self.ledger.slot}' gave an answer that is no action.")
        self.seconds += time.perf_counter() - start
        return sound

    def _wait_for(self, late: list[Guest], actions: Ints, spent: float) -> int:
        """Take the answers of the others, one by one; for how many agents there was none."""
        failed, silent = [], 0
        assert self._rows is not None
        circle, care = self._house.circle, self._house.care
        for guest, said in circle.gather(late, care.step_timeout, care.start_timeout, spent):
            unit, part = self._asked[guest]
            silent += (part.stop - part.start) if said else 0
            if isinstance(said, Trouble):
                failed.append((part.start, unit, part, said))
                continue
            guest.has_played = True
            if said:
                self.ledger.faults[said] += 1
            else:
                actions[part] = guest.wire.actions[: part.stop - part.start]
        for _, unit, part, trouble in sorted(failed, key=lambda one: one[0]):
            self._house.fail(unit, trouble, "ask", self._rows.uid[part])
        return silent

    def close(self) -> None:
        """Give the processes back for the next match."""
        self._house.close()
        self._table.close()

    def _arranged(self, block: AnyArray) -> Round:
        """Who is to be asked; who has failed and may go on, is started again."""
        house = self._house
        parts = list(house.parts(block))
        begin_again(house, parts, block)
        if house.by_agent:
            house.dismiss_the_dead(block)
        playing = [(unit.guest, unit, part) for unit, part in parts if unit.guest is not None]
        self._asked = {guest: (unit, part) for guest, unit, part in playing}
        seats = [int(block[part.start, PLACE]) if house.by_agent else 0 for _, _, part in playing]
        for (guest, _, _), seat in zip(playing, seats, strict=True):
            if self._seated.get(seat) is not guest:
                self._table.sit(seat, guest.handle)
                self._seated[seat] = guest
        rows = [row for _, _, part in playing for row in range(part.start, part.stop)]
        self._asked_rows = len(rows)
        return Round(self._table, list(self._asked), seats, rows)
