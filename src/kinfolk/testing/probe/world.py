"""The probe world: the contract of `kinfolk.worlds.base`, kept with the fewest rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kinfolk.core.arrays import Arrays, Bytes, Floats, Ints
from kinfolk.core.errors import require
from kinfolk.testing.probe import observe, rules
from kinfolk.testing.probe.state import EVENT_KINDS, GRAZER, HUNTER, Probe, empty_state
from kinfolk.worlds.base import WorldEvent, check_actions, load_snapshot, take_snapshot
from kinfolk.worlds.batched import BatchedWorld, check_batch_size
from kinfolk.worlds.render import AgentAttribute, CellLayer, RenderFrame, RenderSpec

COUNTERS = ("births", "deaths", "blocked", "grown", "spent", "lost")
MAX_FOOD_SHOWN = 15  # meals on a cell that can be told apart when looking


class ProbeWorld(BatchedWorld):
    """A batch of probe worlds. They are done, and wait for a reset, until they get one."""

    settings_type = Probe

    def __init__(self, settings: Probe, n_worlds: int = 1) -> None:
        founders = settings.grazers + settings.hunters
        check_batch_size(n_worlds)
        require(
            founders <= settings.rows,
            f"Probe.rows must hold all {founders} founders, not {settings.rows}.",
        )
        self.settings = settings
        self._state = empty_state(settings, n_worlds)
        self._numbers = rules.ProbeParams(
            **{k: getattr(settings, k) for k in rules.ProbeParams._fields}
        )
        super().__init__(observe.build_spec(settings), self._state)
        self._body_at = np.array(
            [g.offsets["body"] // 4 for g in self._spec.groups], dtype=np.int64
        )
        self._watching = False

    def kernels(self) -> Sequence[Callable[..., Any]]:
        """The two that take long to compile."""
        return rules.reset, rules.step

    def compile(self, part: int) -> None:
        """Call them on a batch of no worlds: they compile, and nothing happens."""
        if part == 0:
            self.reset(self._all_worlds[:0], self._all_worlds[:0])

    def reset(self, keys: Ints, worlds: Ints | None = None) -> None:
        """Begin episodes."""
        rules.reset(
            self._state, self._numbers, self._all_worlds if worlds is None else worlds, keys
        )

    def step(self, actions: Ints) -> None:
        """Advance every world that is not done by one tick."""
        check_actions(self, actions)
        rules.step(self._state, self._numbers, actions, self._watching)

    def observe(self, out: Bytes, worlds: Ints | None = None) -> None:
        """Write observations, one row of bytes per place."""
        which = self._all_worlds if worlds is None else worlds
        words = out.view(np.float32)
        observe.observe(self._state, which, self._body_at, self.settings.max_ticks, out, words)

    def counters(self) -> dict[str, Ints | Floats]:
        """Births, deaths and the energy accounts."""
        return {name: getattr(self._state, name).copy() for name in COUNTERS}

    def total_energy(self) -> Ints:
        """`[W]`: energy in all living bodies and meals."""
        s = self._state
        held: Ints = (s.energy * s.alive).sum(axis=1) + s.food.sum(axis=1) * self.settings.meal
        return held

    def record_events(self, on: bool) -> None:
        """Keep happenings, or stop."""
        self._watching = on
        if not on:
            self._state.logged[:] = 0

    def events(self) -> list[WorldEvent]:
        """What took place in the last step."""
        s = self._state
        return [
            WorldEvent(w, int(s.tick[w]), EVENT_KINDS[kind], int(uid), int(other), float(value))
            for w in np.flatnonzero(s.logged).tolist()
            for kind, uid, other, value in s.log[w, : s.logged[w]]
        ]

    def render_text(self, world: int) -> str:
        """The ring unrolled: hunters above, grazers below, food beneath."""
        s = self._state
        lines = []
        for group in (HUNTER, GRAZER):
            here = s.cell[world][s.alive[world] & (s.group[world] == group)]
            counts = np.bincount(here, minlength=self.settings.cells)
            lines.append("".join(str(min(n, 9)) if n else " " for n in counts))
        lines.append("".join("*" if meal else "." for meal in s.food[world]))
        return "\n".join(lines)

    @property
    def render_spec(self) -> RenderSpec:
        """The ring unrolled into one line."""
        return RenderSpec(
            height=1,
            width=self.settings.cells,
            layers=(
                CellLayer("kind", "code", ("ground", "grass")),
                CellLayer("amount", "amount", max_value=MAX_FOOD_SHOWN),
            ),
            attributes=(
                AgentAttribute("energy", max_value=self.settings.birth_energy),
                AgentAttribute("age"),
            ),
            view_radius=observe.RADIUS,
            series=("meals/food",),
        )

    def render_frame(self, world: int) -> RenderFrame:
        """One ring as it is now."""
        s = self._state
        food = np.minimum(s.food[world], MAX_FOOD_SHOWN)
        cells = np.stack([food > 0, food]).astype(np.uint8)
        traits = np.stack([s.energy[world], s.age[world]])
        return RenderFrame(cells, s.cell[world].copy(), traits, np.array([float(food.sum())]))

    def snapshot(self) -> dict[str, Any]:
        """The whole state, copied."""
        return take_snapshot(self._state)

    def restore(
        self, snapshot: Arrays, source: Ints | None = None, keys: Ints | None = None
    ) -> None:
        """Go back, or branch: world `i` becomes the snapshot's world `source[i]`."""
        load_snapshot(self._state, snapshot, source)
        if keys is not None:
            self._state.key[:] = keys
