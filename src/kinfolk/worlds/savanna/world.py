"""The savanna: a batch of worlds that keep the contract of `kinfolk.worlds.base`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kinfolk.core.arrays import Arrays, Bytes, Floats, Ints
from kinfolk.core.errors import ContractError
from kinfolk.worlds.base import WorldEvent, check_actions, load_snapshot, take_snapshot
from kinfolk.worlds.batched import BatchedWorld, check_batch_size
from kinfolk.worlds.render import RenderFrame, RenderSpec
from kinfolk.worlds.savanna import observe, render, reset, spec
from kinfolk.worlds.savanna.events import EVENT_KINDS, allocate_event_buffer
from kinfolk.worlds.savanna.metrics import compute_metrics
from kinfolk.worlds.savanna.presets import DESCRIPTIONS, PRESETS
from kinfolk.worlds.savanna.rules import make_rules
from kinfolk.worlds.savanna.settings import Savanna
from kinfolk.worlds.savanna.state import (
    COUNTERS,
    DEATH_CAUSES,
    ENERGY_ACCOUNTS,
    PER_UID_FIELDS,
    RowIndices,
    SavannaState,
    allocate_state,
    grow_uid_capacity,
)
from kinfolk.worlds.savanna.step import phases


class SavannaWorld(BatchedWorld):
    """A batch of savannas. They are done, and wait for a reset, until they get one.

    `threads` share the worlds among them; the results are the same for any number.
    """

    settings_type = Savanna
    presets = PRESETS
    preset_descriptions = DESCRIPTIONS
    compute_metrics = staticmethod(compute_metrics)

    def __init__(self, settings: Savanna, n_worlds: int = 1, threads: int = 1) -> None:
        check_batch_size(n_worlds, threads)
        self.settings = settings
        self._state = allocate_state(settings, n_worlds)
        self._rules = make_rules(settings)
        super().__init__(spec.make_spec(settings), self._state, threads)
        self._visible_arrays = observe.get_visible_arrays(self._state)
        self._observation_tables = spec.make_observation_tables(settings, self._rules, threads)
        self._founder_counts = np.array(settings.founder_counts, dtype=np.int64)
        self._free_cells = np.flatnonzero(~self._rules.wall)
        self._choices = np.ascontiguousarray(self._spec.n_choices[:, 0])
        self._event_buffer = allocate_event_buffer(n_worlds, settings.rows, enabled=False)
        self._no_cells = np.zeros((n_worlds, 0), dtype=np.int64)
        self._buffer: Bytes | None = None
        self._written_rows = observe.WrittenRows(
            np.zeros(n_worlds, dtype=np.bool_),
            np.zeros((n_worlds, settings.rows), dtype=np.int64),
            np.zeros(n_worlds, dtype=np.int64),
        )
        self._helpers = np.zeros((threads, settings.rows), dtype=np.uint32)
        self._reach_stamps = np.zeros((threads, (settings.grid_size + 2) ** 2 + 1), dtype=np.int64)

    def reset(self, keys: Ints, worlds: Ints | None = None) -> None:
        """Begin episodes. With published placement, a key is the seed of numpy's generator."""
        if self.settings.quirks.published_placement:
            self.reset_published([int(key) for key in keys], worlds)
            return
        which = self._all_worlds if worlds is None else worlds
        cells = np.empty((len(which), self._n_start_cells), dtype=np.int64)
        reset.draw_cells(self._free_cells, self._free_cells.copy(), keys, cells)
        self._begin(which, keys, cells)

    def reset_published(self, seeds: Sequence[int], worlds: Ints | None = None) -> None:
        """Begin episodes with founders where the published code puts them for these seeds."""
        which = self._all_worlds if worlds is None else worlds
        cells = np.empty((len(which), self._n_start_cells), dtype=np.int64)
        for i, seed in enumerate(seeds):
            draw = np.random.default_rng(seed).choice(
                self._free_cells, self._n_start_cells, replace=False
            )
            cells[i] = draw
        keys = np.array([seed & 0x7FFFFFFFFFFFFFFF for seed in seeds], dtype=np.int64)
        self._begin(which, keys, cells)

    @property
    def _n_start_cells(self) -> int:
        return int(self._founder_counts.sum()) + self.settings.initial_num_grass

    def _begin(self, worlds: Ints, keys: Ints, cells: Ints) -> None:
        if len(keys) != len(worlds):
            raise ContractError(f"{len(worlds)} worlds need as many keys, not {len(keys)}.")
        self._reserve_uids(int(self._founder_counts.sum()))
        keys = np.ascontiguousarray(keys, dtype=np.int64)
        worlds = np.ascontiguousarray(worlds, dtype=np.int64)
        reset.reset_worlds(self._state, self._rules, self._founder_counts, worlds, keys, cells)
        self._event_buffer.n_events[worlds] = 0

    def _reserve_uids(self, uids: int) -> None:
        """Births of one step are at most as many as rows: see that their uids fit."""
        room = self._state.parent.shape[1]
        if uids + self.settings.rows > room:
            self._state = grow_uid_capacity(self._state, max(2 * room, uids + self.settings.rows))

    def step(self, actions: Ints) -> None:
        """Advance every world that is not done by one tick."""
        s = self._state
        self._step(actions, s.alive_rows, s.n_alive, self._no_cells)

    def _step(
        self, actions: Ints, acting_rows: RowIndices, n_acting: Ints, newborn_cells: Ints
    ) -> None:
        """A step in which `acting_rows` says who moves, and when; a replay names newborns' `newborn_cells`."""
        places = (self.n_worlds * self.settings.rows, 1)
        if actions.shape != places or actions.dtype != np.int64 or not actions.flags.c_contiguous:
            check_actions(self, actions)
        s, r = self._state, self._rules
        bad = phases.find_invalid_action(
            s.done, s.n_alive, s.alive_rows, s.group, self._choices, actions
        )
        if bad >= 0:
            check_actions(self, actions)

        def part(first: int, last: int, thread: int) -> int:
            self._act(actions, acting_rows, n_acting, first, last, thread)
            return phases.step_births_and_end(s, r, self._event_buffer, newborn_cells, first, last)

        self._reserve_uids(max(self._run_in_threads(self.n_worlds, part)))

    def _act(
        self,
        actions: Ints,
        acting_rows: RowIndices,
        n_acting: Ints,
        first: int,
        last: int,
        thread: int,
    ) -> None:
        s = self._state
        given = (
            s,
            self._rules,
            self._event_buffer,
            actions,
            acting_rows,
            n_acting,
            acting_rows is s.alive_rows,
        )
        if self.settings.team_capture_enabled:
            scratch = self._helpers[thread], self._reach_stamps[thread]
            phases.step_with_team_capture(*given, *scratch, first, last)
        else:
            phases.step_with_solo_predation(*given, first, last)

    def kernels(self) -> Sequence[Callable[..., Any]]:
        """Two make a step, one an observation; which ones, the settings say."""
        in_teams, planes = self.settings.team_capture_enabled, self.settings.observation
        act: Callable[..., Any] = (
            phases.step_with_team_capture if in_teams else phases.step_with_solo_predation
        )
        look = observe.observe_planes if planes == "float32" else observe.observe_words
        return act, phases.step_births_and_end, look

    def compile(self, part: int) -> None:
        """Call kernels on no world at all: they compile, and nothing happens."""
        s = self._state
        if part == 0:
            nothing = np.zeros((self.n_worlds * self.settings.rows, 1), dtype=np.int64)
            self._act(nothing, s.alive_rows, s.n_alive, 0, 0, 0)
        else:
            phases.step_births_and_end(s, self._rules, self._event_buffer, self._no_cells, 0, 0)
            rows = np.zeros((self.n_worlds * self.settings.rows, self._spec.row_bytes), np.uint8)
            self.observe(rows, self._all_worlds[:0])

    def observe(self, out: Bytes, worlds: Ints | None = None) -> None:
        """Write observations, one row of bytes per place."""
        which = self._all_worlds if worlds is None else np.ascontiguousarray(worlds, dtype=np.int64)
        if not self._is_same_buffer(out):
            self._buffer = out
            self._written_rows.is_known[:] = False
        s, v = self._visible_arrays, self._observation_tables
        words, floats = out.view(np.uint32), out.reshape(-1).view(np.float32)
        if self.settings.observation == "float32":
            self._run_in_threads(
                len(which),
                lambda a, b, _: observe.observe_planes(
                    s, v, self._written_rows, which, a, b, words, floats
                ),
            )
        else:
            self._run_in_threads(
                len(which),
                lambda a, b, i: observe.observe_words(
                    s, v, self._written_rows, which, a, b, words, i
                ),
            )

    def _is_same_buffer(self, out: Bytes) -> bool:
        """Whether `out` is the memory written last time; it is held, so nobody else can get it."""
        last = self._buffer
        return last is not None and last.ctypes.data == out.ctypes.data and last.shape == out.shape

    def counters(self) -> dict[str, Ints | Floats]:
        """All that was counted, under the published names, and the energy accounts.

        Shares of co-operation can be told per kill (`team_capture_coop_successes`) or per predator
        that ate (`team_capture_coop_helper_total`); see `measures` for which we compare.
        """
        s = self._state
        found: dict[str, Ints | Floats] = {
            name: s.counters[:, i].copy() for i, name in enumerate(COUNTERS)
        }
        found |= {name: s.energy_accounts[:, i].copy() for i, name in enumerate(ENERGY_ACCOUNTS)}
        alone = found["team_capture_successes"] - found["team_capture_coop_successes"]
        found["team_capture_coop_helper_total"] = found["team_capture_helper_total"] - alone
        found["active_num_predators"] = s.active[:, 0].copy()
        found["active_num_prey"] = s.active[:, 1].copy()
        return found

    def energy(self) -> Floats:
        """`[W]`: energy in all living bodies, carcasses and grass."""
        s = self._state
        total: Floats = (s.energy * s.alive).sum(axis=1) + s.grass_energy.sum(axis=1)
        return total

    def record_events(self, on: bool) -> None:
        """Keep happenings, or stop."""
        self._event_buffer = allocate_event_buffer(self.n_worlds, self.settings.rows, on)

    def events(self) -> list[WorldEvent]:
        """What took place in the last step."""
        log, found = self._event_buffer, []
        for w in np.flatnonzero(log.n_events).tolist():
            tick = int(self._state.tick[w])
            for kind, who, whom, value in log.entries[w, : log.n_events[w]].tolist():
                name = EVENT_KINDS[int(kind)]
                note = DEATH_CAUSES[int(value)] if name == "death" else ""
                found.append(WorldEvent(w, tick, name, int(who), int(whom), value, note))
        return found

    def render_text(self, world: int) -> str:
        """The grid as text, x downwards: P predators, a shared cell X, o prey, x carcasses."""
        s, size = self._state, self.settings.grid_size
        cells = np.full(size * size, ".", dtype="<U1")
        cells[s.patch_cell[world][s.grass_energy[world] > 0]] = '"'
        cells[self._rules.wall.reshape(-1)] = "#"
        for row in np.flatnonzero(s.alive[world]):
            at = int(s.x[world, row]) * size + int(s.y[world, row])
            if self._spec.groups[int(s.group[world, row])].name.endswith("predator"):
                cells[at] = "X" if cells[at] in "ox" else "P"
            else:
                mark = "x" if s.carcass[world, row] else "o"
                cells[at] = "X" if cells[at] == "P" else mark
        return "\n".join("".join(line) for line in cells.reshape(size, size))

    @property
    def render_spec(self) -> RenderSpec:
        """What `show` shows."""
        return render.make_render_spec(self.settings, spec.get_group_names(self.settings))

    def render_frame(self, world: int) -> RenderFrame:
        """One world as it is now, to be looked at."""
        return render.render_frame(self._state, self._rules, world)

    def snapshot(self) -> dict[str, Any]:
        """The whole state, copied."""
        return take_snapshot(self._state)

    def restore(
        self, snapshot: Arrays, source: Ints | None = None, keys: Ints | None = None
    ) -> None:
        """Go back, or branch: world `i` becomes the snapshot's world `source[i]`."""
        saved = dict(snapshot)
        if "parent" in saved and saved["parent"].ndim == 2:
            lives = max(saved["parent"].shape[1], self._state.parent.shape[1])
            self._state = grow_uid_capacity(self._state, lives)
            for name in PER_UID_FIELDS:  # the snapshot may come from before there was more room
                if name in saved:
                    missing = lives - saved[name].shape[1]
                    saved[name] = np.pad(saved[name], ((0, 0), (0, missing)))
        load_snapshot(self._state, saved, source)
        self._event_buffer.n_events[:] = 0
        if keys is not None:
            self._state.key[:] = keys

    @property
    def _arrays(self) -> SavannaState:
        """The private arrays, for replays and tests of this world."""
        return self._state
