"""The savanna as a batch of worlds that fulfils the contract of `kinfolk.worlds.base`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite
from typing import Any

import numpy as np

from kinfolk.core.arrays import Arrays, Bools, Bytes, Floats, Ints
from kinfolk.core.errors import ContractError
from kinfolk.worlds.base import (
    BatchedWorld,
    StepStatistics,
    WorldEvent,
    check_actions,
    check_batch_size,
    load_snapshot,
    take_snapshot,
)
from kinfolk.worlds.render import RenderFrame, RenderSpec
from kinfolk.worlds.savanna import render, spec, state
from kinfolk.worlds.savanna.codes import (
    ATE,
    COUNTERS,
    DEATH_CAUSES,
    EATEN,
    ENERGY_ACCOUNTS,
    EVENT_KINDS,
    MOVE,
)
from kinfolk.worlds.savanna.metric_definitions import METRIC_DEFINITIONS, MISSING_VALUES
from kinfolk.worlds.savanna.metrics import compute_metrics, compute_trait_statistics
from kinfolk.worlds.savanna.presets import DESCRIPTIONS, PRESETS
from kinfolk.worlds.savanna.rules import make_rules
from kinfolk.worlds.savanna.settings import Savanna
from kinfolk.worlds.savanna.sight import on_demand
from kinfolk.worlds.savanna.sight.writer import WindowWriter
from kinfolk.worlds.savanna.state import PER_UID_FIELDS, RowIndices, SavannaState
from kinfolk.worlds.savanna.step import inheritance
from kinfolk.worlds.savanna.step.births import NewbornValues
from kinfolk.worlds.savanna.step.context import StepActions
from kinfolk.worlds.savanna.step.runner import StepRunner

_ALL_EVENTS: Bools = np.arange(len(EVENT_KINDS)) < MOVE


class SavannaWorld(BatchedWorld):
    """A batch of savannas; they are done until their first reset.

    Args:
        settings: Rules, grid and observation format.
        n_worlds: Number of worlds in the batch.
        threads: Threads that share the worlds; results are the same for any number.
    """

    settings_type = Savanna
    presets = PRESETS
    preset_descriptions = DESCRIPTIONS
    compute_metrics = staticmethod(compute_metrics)
    metric_definitions = METRIC_DEFINITIONS
    missing_values = MISSING_VALUES

    def __init__(self, settings: Savanna, n_worlds: int = 1, threads: int = 1) -> None:
        check_batch_size(n_worlds, threads)
        self.settings = settings
        self._state = state.allocate_state(settings, n_worlds)
        self._rules = make_rules(settings)
        super().__init__(spec.make_spec(settings), self._state, threads)
        self._runner = StepRunner(settings, self._rules, n_worlds, self._team)
        self._windows = WindowWriter(
            settings, self._rules, self._state, self._team, self._spec.row_bytes
        )
        self._founder_counts = np.array(settings.founder_counts, dtype=np.int64)
        self._free_cells = np.flatnonzero(~self._rules.wall)
        self._choices = np.ascontiguousarray(self._spec.n_choices)
        self._action_shape = (n_worlds * settings.rows, self._choices.shape[1])
        self._event_buffer = state.allocate_event_buffer(n_worlds, settings.rows, enabled=False)
        self._leaves_carcasses = settings.leave_carcass and isfinite(
            settings.max_energy_gain_per_prey
        )
        self._drawn_newborns = self._runner.draw_newborns()

    def reset(self, keys: Ints, worlds: Ints | None = None) -> None:
        """Start episodes with founders and grass on random cells.

        With the quirk `published_placement` a key is the seed of numpy's generator.
        """
        if self.settings.quirks.published_placement:
            self.reset_published([int(key) for key in keys], worlds)
            return
        indices = self._all_worlds if worlds is None else worlds
        cells = np.empty((len(indices), self._n_start_cells), dtype=np.int64)
        state.draw_cells(self._free_cells, self._free_cells.copy(), keys, cells)
        self._begin(indices, keys, cells)

    def reset_published(self, seeds: Sequence[int], worlds: Ints | None = None) -> None:
        """Start episodes with founders where the PredPreyGrass code places them for these seeds."""
        indices = self._all_worlds if worlds is None else worlds
        cells = np.empty((len(indices), self._n_start_cells), dtype=np.int64)
        for i, seed in enumerate(seeds):
            generator = np.random.default_rng(seed)
            cells[i] = generator.choice(self._free_cells, self._n_start_cells, replace=False)
        keys = np.array([seed & 0x7FFFFFFFFFFFFFFF for seed in seeds], dtype=np.int64)
        self._begin(indices, keys, cells)

    @property
    def _n_start_cells(self) -> int:
        """Number of cells that founders and grass take at the start of an episode."""
        return int(self._founder_counts.sum()) + self.settings.initial_num_grass

    def _begin(self, worlds: Ints, keys: Ints, cells: Ints) -> None:
        """Check the keys and start episodes on the given cells.

        Args:
            worlds: Indices of the worlds to reset.
            keys: One random key per world.
            cells: `[worlds, founders + grass]`, cells of founders and grass.
        """
        if len(keys) != len(worlds):
            raise ContractError(f"{len(worlds)} worlds need as many keys, not {len(keys)}.")
        self._reserve_uids(int(self._founder_counts.sum()))
        keys = np.ascontiguousarray(keys, dtype=np.int64)
        worlds = np.ascontiguousarray(worlds, dtype=np.int64)
        state.reset_worlds(self._state, self._rules, self._founder_counts, worlds, keys, cells)
        inheritance.draw_founder_traits(self._state, self._rules, worlds, self._founder_counts)
        if self.settings.forward_view:
            inheritance.draw_headings(self._state, worlds)
        self._event_buffer.n_events[worlds] = 0
        self._windows.forget_grid()

    def _reserve_uids(self, uids: int) -> None:
        """Grow the per-uid arrays so that the births of one step, at most one per row, fit."""
        capacity, needed = self._state.parent.shape[1], uids + self._spec.rows
        if needed > capacity:
            self._state = state.grow_uid_capacity(self._state, max(2 * capacity, needed))

    def step(self, actions: Ints) -> None:
        """Advance every world that is not done by one step."""
        s = self._state
        self._step(actions, s.alive_rows, s.n_alive, self._drawn_newborns)

    def _step(
        self,
        actions: Ints,
        acting_rows: RowIndices,
        n_acting: Ints,
        newborns: NewbornValues | Callable[[], NewbornValues],
    ) -> None:
        """Advance by one step with a given order of moves, as replays of golden traces need it.

        Args:
            actions: `[W * N, heads]`, int64.
            acting_rows: `[W, 2, N]`, rows of each species that move, in order.
            n_acting: `[W, 2]`, how many of them.
            newborns: Cells and traits of newborns that are not drawn at random, or a function that
                returns them when all but births is done.
        """
        is_valid = actions.shape == self._action_shape and actions.dtype == np.int64
        if not (is_valid and actions.flags.carray):
            check_actions(self, actions)
            actions = np.require(actions, np.int64, ["C", "A", "W"])
        s = self._state
        if self._runner.has_invalid_action(s, self._choices, actions):
            check_actions(self, actions)
        moves = StepActions(actions, acting_rows, n_acting, acting_rows is s.alive_rows)

        self._windows.forget_grid()
        self._reserve_uids(self._runner.run(s, self._event_buffer, moves, newborns))

    def kernels(self) -> Sequence[Callable[..., Any]]:
        """Return the kernels of a step and the one of observations that the settings select."""
        return *self._runner.kernels, self._windows.kernel

    def compile(self, part: int) -> None:
        """Compile one half of the kernels by calling them on zero worlds."""
        self._runner.compile(self._state, self._event_buffer, part, self._choices.shape[1])
        if part == 1:
            rows = np.zeros((self.n_worlds * self.settings.rows, self._spec.row_bytes), np.uint8)
            self.observe(rows, self._all_worlds[:0])

    def observe(self, out: Bytes, worlds: Ints | None = None) -> None:
        """Write observations, one row of bytes per batch row."""
        self._windows.write(out, self._select_worlds(worlds))

    def observe_rows(self, rows: Ints, out: Bytes) -> None:
        """Write the observations of some batch rows only, for agents whose windows are read.

        Args:
            rows: `[n]` batch rows.
            out: `[n, row_bytes]`, uint8; those of empty rows are set to zero.

        Raises:
            ContractError: `out` has another shape or type, or a row does not exist.
        """
        self._windows.write_rows(rows, out)

    def list_rows_by_cell(self) -> Ints:
        """Return the batch rows of all living agents, world by world, in the order of their cells.

        Neighbours follow each other, so that their windows are read from the same memory.
        """
        worlds = range(self.n_worlds)
        parts = [on_demand.list_rows_by_cell(self._state, w, self._team) for w in worlds]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def step_statistics(self) -> StepStatistics:
        """Return whether each agent ate in the last step; a predator eats of prey or a carcass."""
        ate = (self._state.step_event == ATE).astype(np.int64)
        return StepStatistics(("meals",), ate.reshape(-1, 1))

    def counters(self) -> dict[str, Ints | Floats]:
        """Return `[W]` counters under the names of PredPreyGrass, and the energy accounts.

        Co-operation can be counted per kill (`team_capture_coop_successes`) or per predator that ate
        (`team_capture_coop_helper_total`); `metrics` says which is compared with publications.
        """
        s = self._state
        counters: dict[str, Ints | Floats] = {
            name: s.counters[:, i].copy() for i, name in enumerate(COUNTERS)
        }
        counters |= {name: s.energy_accounts[:, i].copy() for i, name in enumerate(ENERGY_ACCOUNTS)}
        successes, helpers = (
            counters["team_capture_successes"],
            counters["team_capture_helper_total"],
        )
        solo_successes = successes - counters["team_capture_coop_successes"]
        counters["team_capture_coop_helper_total"] = helpers - solo_successes
        counters |= compute_trait_statistics(s, tuple(self.settings.traits), self._founder_counts)
        counters["active_num_predators"] = s.active[:, 0].copy()
        counters["active_num_prey"] = s.active[:, 1].copy()
        if self.settings.has_lineage_rewards:
            for k, species in enumerate(("predator", "prey")):
                counters[f"lineage_reward_total_{species}"] = s.lineage_rewards[:, k].copy()
        if not self.settings.has_fertility_caps:
            for species in ("predator", "prey"):
                del counters[f"fertility_expired_{species}"]
        return counters

    @property
    def living(self) -> Bools:
        """`[W * N]`: rows of agents that are alive; prey of which a carcass is left are not."""
        if not self._leaves_carcasses:
            return self._columns.alive
        return self._columns.alive & ~self._state.carcass.reshape(-1)

    def energy(self) -> Floats:
        """Return `[W]`: the energy in all living agents, carcasses and grass."""
        s = self._state
        total: Floats = (s.energy * s.alive).sum(axis=1) + s.grass_energy.sum(axis=1)
        return total

    def record_events(self, on: bool) -> None:
        """Start or stop recording events."""
        self._event_buffer = state.allocate_event_buffer(self.n_worlds, self.settings.rows, on)

    def events(self) -> list[WorldEvent]:
        """Return the events of the last step; the note of a death, or of a carcass, is its cause."""
        return self.select_events(_ALL_EVENTS)

    def select_events(self, kinds: Bools) -> list[WorldEvent]:
        """Return the events of the last step of some kinds: `[EVENT_KINDS]`, True for those."""
        buffer, events = self._event_buffer, []
        for w in buffer.n_events.nonzero()[0].tolist():
            entries = buffer.entries[w, : buffer.n_events[w]]
            (selected,) = kinds[entries[:, 0].astype(np.int64)].nonzero()
            if not len(selected):
                continue
            tick = int(self._state.tick[w])
            for kind, uid, other, value in entries[selected, :4].tolist():
                name = EVENT_KINDS[int(kind)]
                note = ""
                if name == "death":
                    note = DEATH_CAUSES[int(value)]
                elif name == "carcass":
                    note = DEATH_CAUSES[EATEN]
                events.append(WorldEvent(w, tick, name, int(uid), int(other), value, note))
        return events

    def event_entries(self, world: int) -> Floats:
        """Return a copy of one world's events of the last step, `[events, EVENT_COLUMNS]`."""
        buffer = self._event_buffer
        return buffer.entries[world, : buffer.n_events[world]].copy()

    def render_text(self, world: int) -> str:
        """Return the grid as text, x downwards: P predators, o prey, x carcasses, X both on one cell."""
        s, size = self._state, self.settings.grid_size
        cells = np.full(size * size, ".", dtype="<U1")
        cells[s.patch_cell[world][s.grass_energy[world] > 0]] = '"'
        cells[self._rules.wall.reshape(-1)] = "#"
        for row in np.flatnonzero(s.alive[world]):
            cell = int(s.x[world, row]) * size + int(s.y[world, row])
            if self._spec.groups[int(s.group[world, row])].name.endswith("predator"):
                cells[cell] = "X" if cells[cell] in "ox" else "P"
            else:
                mark = "x" if s.carcass[world, row] else "o"
                cells[cell] = "X" if cells[cell] == "P" else mark
        return "\n".join("".join(line) for line in cells.reshape(size, size))

    @property
    def render_spec(self) -> RenderSpec:
        """Description of this world's frames."""
        return render.make_render_spec(self.settings, spec.get_group_names(self.settings))

    def render_frame(self, world: int) -> RenderFrame:
        """Return the current frame of one world."""
        return render.render_frame(self._state, self._rules, world)

    def snapshot(self) -> dict[str, Any]:
        """Return a copy of the whole state."""
        return take_snapshot(self._state)

    def restore(
        self, snapshot: Arrays, source: Ints | None = None, keys: Ints | None = None
    ) -> None:
        """Replace the whole state by that of a snapshot.

        Args:
            snapshot: As `snapshot` returns it; it may have room for fewer uids.
            source: World `i` becomes a copy of the snapshot's world `source[i]`; None copies each.
            keys: New random key of each world; None keeps those of the snapshot.
        """
        saved = dict(snapshot)
        if "parent" in saved and saved["parent"].ndim == 2:
            capacity = max(saved["parent"].shape[1], self._state.parent.shape[1])
            self._state = state.grow_uid_capacity(self._state, capacity)
            for name in PER_UID_FIELDS:  # the snapshot may have a smaller capacity
                if name in saved:
                    missing = capacity - saved[name].shape[1]
                    saved[name] = np.pad(saved[name], ((0, 0), (0, missing)))
        load_snapshot(self._state, saved, source)
        self._event_buffer.n_events[:] = 0
        self._windows.forget_grid()
        if keys is not None:
            self._state.key[:] = keys

    @property
    def _arrays(self) -> SavannaState:
        """Arrays of the whole batch, for replays and tests of this world."""
        return self._state
