"""The probe world: the contract of `kinfolk.worlds.base` for a minimal game."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kinfolk.core.arrays import Arrays, Bytes, Floats, Ints
from kinfolk.core.errors import require
from kinfolk.testing.probe import rules, state
from kinfolk.testing.probe.observe import VIEW_RADIUS, build_spec, write_observations
from kinfolk.testing.probe.state import METRIC_DEFINITIONS, Probe, empty_state
from kinfolk.worlds.base import (
    BatchedWorld,
    WorldEvent,
    check_actions,
    check_batch_size,
    load_snapshot,
    take_snapshot,
)
from kinfolk.worlds.render import AgentAttribute, CellLayer, RenderFrame, RenderSpec, Symbol

MAX_FOOD_SHOWN = 15  # meals of a cell that a replay distinguishes


class ProbeWorld(BatchedWorld):
    """A batch of probe worlds, which are done until their first reset.

    Args:
        settings: Settings of all worlds.
        n_worlds: Size of the batch.

    Raises:
        SettingsError: There are more founders than rows.
    """

    settings_type = Probe
    metric_definitions = METRIC_DEFINITIONS

    def __init__(self, settings: Probe, n_worlds: int = 1) -> None:
        founders = settings.grazers + settings.hunters
        check_batch_size(n_worlds)
        message = f"Probe.rows must hold all {founders} founders, not {settings.rows}."
        require(founders <= settings.rows, message)
        self.settings = settings
        self._state = empty_state(settings, n_worlds)
        self._params = rules.ProbeParams(*(getattr(settings, n) for n in rules.ProbeParams._fields))
        super().__init__(build_spec(settings), self._state)
        offsets = [group.offsets["body"] // 4 for group in self._spec.groups]
        self._body_offset = np.array(offsets, dtype=np.int64)
        self._records_events = False

    def kernels(self) -> Sequence[Callable[..., Any]]:
        """Return the kernels that take long to compile."""
        return rules.reset, rules.step

    def compile(self, part: int) -> None:
        """Compile the kernels by calling them on no worlds."""
        if part == 0:
            self.reset(self._all_worlds[:0], self._all_worlds[:0])

    def reset(self, keys: Ints, worlds: Ints | None = None) -> None:
        """Start episodes in all worlds, or in those of `worlds`."""
        rules.reset(self._state, self._params, self._all_worlds if worlds is None else worlds, keys)

    def step(self, actions: Ints) -> None:
        """Advance every world that is not done by one tick."""
        check_actions(self, actions)
        rules.step(self._state, self._params, actions, self._records_events)

    def observe(self, out: Bytes, worlds: Ints | None = None) -> None:
        """Write the observations of all worlds, or of those of `worlds`, one row of bytes per agent."""
        worlds = self._all_worlds if worlds is None else worlds
        max_ticks, floats = self.settings.max_ticks, out.view(np.float32)
        write_observations(self._state, worlds, self._body_offset, max_ticks, out, floats)

    def counters(self) -> dict[str, Ints | Floats]:
        """Return births, deaths and the flows of energy, `[W]` each."""
        return {name: getattr(self._state, name).copy() for name in state.COUNTERS}

    def total_energy(self) -> Ints:
        """Return the energy of all living agents and meals, `[W]`."""
        s = self._state
        total: Ints = (s.energy * s.alive).sum(axis=1) + s.food.sum(axis=1) * self.settings.meal
        return total

    def record_events(self, on: bool) -> None:
        """Start or stop recording events."""
        self._records_events = on
        if not on:
            self._state.logged[:] = 0

    def events(self) -> list[WorldEvent]:
        """Return the events of the last step, if they are recorded."""
        s, events = self._state, []
        for w in np.flatnonzero(s.logged).tolist():
            for code, uid, other, value in s.log[w, : s.logged[w]].tolist():
                kind = state.EVENT_KINDS[code]
                events.append(WorldEvent(w, int(s.tick[w]), kind, uid, other, float(value)))
        return events

    def render_text(self, world: int) -> str:
        """Return three lines: numbers of hunters, numbers of grazers, and food, by cell."""
        s = self._state
        lines = []
        for group in (state.HUNTER, state.GRAZER):
            cells = s.cell[world][s.alive[world] & (s.group[world] == group)]
            counts = np.bincount(cells, minlength=self.settings.cells)
            lines.append("".join(str(min(n, 9)) if n else " " for n in counts))
        lines.append("".join("*" if meal else "." for meal in s.food[world]))
        return "\n".join(lines)

    @property
    def render_spec(self) -> RenderSpec:
        """Layers, attributes and series of a frame; the ring is drawn as one line of cells."""
        kind = CellLayer("kind", "code", ("ground", "grass"))
        amount = CellLayer("amount", "amount", max_value=MAX_FOOD_SHOWN)
        energy = AgentAttribute("energy", max_value=self.settings.birth_energy, drawn_as="size")
        symbols = (
            Symbol("grazer", "blue", "circle"),
            Symbol("hunter", "vermillion", "triangle"),
            Symbol("ground", shape="ground"),
            Symbol("grass", "grass", "amount", label="food"),
        )
        return RenderSpec(
            height=1,
            width=self.settings.cells,
            layers=(kind, amount),
            attributes=(energy, AgentAttribute("age")),
            view_radius=VIEW_RADIUS,
            series=("meals/food",),
            symbols=symbols,
            main_events=("birth", "death"),
            pair_events=("birth", "bite"),
        )

    def render_frame(self, world: int) -> RenderFrame:
        """Return the current frame of one world."""
        s = self._state
        food = np.minimum(s.food[world], MAX_FOOD_SHOWN)
        cells = np.stack([food > 0, food]).astype(np.uint8)
        attributes = np.stack([s.energy[world], s.age[world]])
        return RenderFrame(cells, s.cell[world].copy(), attributes, np.array([float(food.sum())]))

    def snapshot(self) -> dict[str, Any]:
        """Return a copy of the whole state."""
        return take_snapshot(self._state)

    def restore(
        self, snapshot: Arrays, source: Ints | None = None, keys: Ints | None = None
    ) -> None:
        """Restore a snapshot: world `i` becomes its world `source[i]`, with new random keys if given."""
        load_snapshot(self._state, snapshot, source)
        if keys is not None:
            self._state.key[:] = keys
