"""The probe world: observations, and the contract of `kinfolk.worlds.base` for a minimal game."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from kinfolk.core.arrays import Arrays, Bytes, Floats, Ints
from kinfolk.core.errors import require
from kinfolk.core.jit import kernel
from kinfolk.core.spaces import ActionHead, AgentGroup, ObservationField, WorldSpec
from kinfolk.testing.probe import rules, state
from kinfolk.testing.probe.state import Probe, ProbeState, empty_state
from kinfolk.worlds.base import (
    BatchedWorld,
    WorldEvent,
    check_actions,
    check_batch_size,
    load_snapshot,
    take_snapshot,
)
from kinfolk.worlds.render import AgentAttribute, CellLayer, RenderFrame, RenderSpec

VIEW_RADIUS = (2, 1)  # of grazers and hunters, in cells to each side
BODY_SIZE = 4  # energy, age, calling agents in view, fraction of the episode that is over


def build_spec(settings: Probe) -> WorldSpec:
    """Return observations and actions of a probe world with these settings."""
    heads = (ActionHead("move", ("left", "stay", "right")), ActionHead("voice", ("quiet", "call")))
    groups = []
    for name, radius in zip(("grazer", "hunter"), VIEW_RADIUS, strict=True):
        window = ObservationField("window", (2 * radius + 1, 3), "uint8")
        body = ObservationField("body", (BODY_SIZE,), "float32")
        groups.append(AgentGroup(name, (window, body), heads))
    return WorldSpec("probe", settings.rows, tuple(groups), settings.max_ticks)


@kernel
def write_observations(
    s: ProbeState,
    worlds: Ints,
    body_offset: Ints,
    max_ticks: int,
    out: Bytes,
    out_floats: npt.NDArray[np.float32],
) -> None:
    """Write the observations of some worlds.

    Args:
        s: State of all worlds; read only.
        worlds: Indices of the worlds to observe.
        body_offset: `[groups]`, where the body starts in a row of `out_floats`.
        max_ticks: Length of an episode.
        out: `[worlds * rows, bytes]`, observations to write; 0 for empty rows.
        out_floats: The same memory as float32.
    """
    rows, cells = s.uid.shape[1], s.food.shape[1]
    for i in range(worlds.shape[0]):
        w = worlds[i]
        for row in range(rows):
            index = w * rows + row
            out[index] = 0
            if s.uid[w, row] < 0:
                continue
            group = s.group[w, row]
            radius = 2 if group == state.GRAZER else 1
            callers = 0
            for offset in range(2 * radius + 1):
                cell = (s.cell[w, row] + offset - radius + cells) % cells
                out[index, 3 * offset] = s.food[w, cell]
            for j in range(s.living[w]):
                other = s.order[w, j]
                other_offset = (s.cell[w, other] - s.cell[w, row] + radius + cells) % cells
                if other_offset <= 2 * radius:
                    out[index, 3 * other_offset + 1 + s.group[w, other]] += 1
                    if s.calling[w, other]:
                        callers += 1
            start = body_offset[group]
            out_floats[index, start] = s.energy[w, row]
            out_floats[index, start + 1] = s.age[w, row]
            out_floats[index, start + 2] = callers
            out_floats[index, start + 3] = s.tick[w] / max_ticks


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
        energy = AgentAttribute("energy", max_value=self.settings.birth_energy)
        return RenderSpec(
            height=1,
            width=self.settings.cells,
            layers=(kind, amount),
            attributes=(energy, AgentAttribute("age")),
            view_radius=VIEW_RADIUS,
            series=("meals/food",),
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
