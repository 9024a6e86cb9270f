"""CogsGuard as a batch of worlds that fulfils the contract of `kinfolk.worlds.base`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kinfolk.core.arrays import Arrays, Bytes, Floats, Ints
from kinfolk.core.errors import ContractError, SettingsError
from kinfolk.worlds.base import WorldEvent, check_actions, load_snapshot, take_snapshot
from kinfolk.worlds.batched import BatchedWorld, check_batch_size
from kinfolk.worlds.cogsguard import observe, render, reset, spec
from kinfolk.worlds.cogsguard.codes import ELEMENTS, GEARS, STATISTICS, TEAM_STATISTICS
from kinfolk.worlds.cogsguard.events import (
    BIRTH,
    DEPOSIT,
    EVENT_KINDS,
    EXHAUSTED,
    EXTRACTOR_EMPTIED,
    GEAR_CHANGE,
    MINE,
    allocate_event_buffer,
)
from kinfolk.worlds.cogsguard.map.config import allocate_map_scratch, make_map_config
from kinfolk.worlds.cogsguard.metrics import compute_metrics
from kinfolk.worlds.cogsguard.presets import DESCRIPTIONS, PRESETS
from kinfolk.worlds.cogsguard.rules import make_rules
from kinfolk.worlds.cogsguard.settings import Cogsguard
from kinfolk.worlds.cogsguard.state import CogsguardState, allocate_state
from kinfolk.worlds.cogsguard.step import phases
from kinfolk.worlds.render import RenderFrame, RenderSpec

# Worlds that run the phases of a tick together: few enough to stay in the cache of one core.
_WORLDS_PER_BLOCK = 64


class CogsguardWorld(BatchedWorld):
    """A batch of games; they are done until their first reset.

    Args:
        settings: Rules, map and teams.
        n_worlds: Number of games in the batch.
        threads: Threads that share the worlds; results are the same for any number.
    """

    settings_type = Cogsguard
    presets = PRESETS
    preset_descriptions = DESCRIPTIONS
    compute_metrics = staticmethod(compute_metrics)

    def __init__(self, settings: Cogsguard, n_worlds: int = 1, threads: int = 1) -> None:
        check_batch_size(n_worlds, threads)
        self.settings = settings
        self._rules = make_rules(settings)
        self._state = allocate_state(settings, self._rules, n_worlds)
        self._map_config = make_map_config(settings, self._rules)
        super().__init__(spec.make_spec(settings), self._state, threads)
        self._facts_offset = self._spec.groups[0].offsets["facts"]
        self._event_buffer = self._allocate_event_buffer(enabled=False)
        self._map_scratch = [allocate_map_scratch(settings, self._rules) for _ in range(threads)]
        for map_scratch in self._map_scratch:
            reset.load_parsed_map(map_scratch, settings, self._rules)
        self._spawn_pads = self._map_scratch[0].pads.copy()
        parsed_map = settings.parsed_map
        self._pad_counts = np.array(
            [len(pads) for pads in parsed_map.spawn_pads[: settings.teams]]
            if parsed_map is not None
            else [self._spawn_pads.shape[1]] * settings.teams,
            dtype=np.int64,
        )
        self._order = np.zeros((threads, self._spec.rows), dtype=np.int64)

    def reset(self, keys: Ints, worlds: Ints | None = None) -> None:
        """Start episodes, each on a map of its own unless the map was given as text.

        Raises:
            SettingsError: No map has room for all objects that the settings require.
        """
        indices = (
            self._all_worlds if worlds is None else np.ascontiguousarray(worlds, dtype=np.int64)
        )
        if len(keys) != len(indices):
            raise ContractError(f"{len(indices)} worlds need as many keys, not {len(keys)}.")
        keys = np.ascontiguousarray(keys, dtype=np.int64)
        reset.clear_worlds(self._state, indices)
        self._event_buffer[indices, 0] = 0
        has_fixed_map = self.settings.map_text is not None

        def run_part(first: int, last: int, thread: int) -> int:
            map_scratch, pads, counts = (
                self._map_scratch[thread],
                self._spawn_pads,
                self._pad_counts,
            )
            return reset.reset_worlds(
                self._state, self._rules, self._map_config, map_scratch, pads, counts, has_fixed_map, indices, keys,
                first, last,
            )  # fmt: skip

        if max(self._run_in_threads(len(indices), run_part)) >= 0:
            self._state.done[indices] = True
            height, width = self.settings.map_shape
            raise SettingsError(
                f"No map of {height} x {width} cells with junctions {self.settings.junctions} and "
                f"extractors {self.settings.extractors} of each element at their gaps could be "
                "generated. Use a larger map, fewer objects or smaller gaps."
            )

    def step(self, actions: Ints) -> None:
        """Advance every world that is not done by one tick."""
        check_actions(self, actions)

        def run_part(first: int, last: int, thread: int) -> None:
            for start in range(first, last, _WORLDS_PER_BLOCK):
                stop = min(start + _WORLDS_PER_BLOCK, last)
                self._act(actions, thread, start, stop)
                self._run_upkeep(start, stop)

        self._run_in_threads(self.n_worlds, run_part)

    def _act(self, actions: Ints, thread: int, first: int, last: int) -> None:
        """Run the actions of agents and then of the clips in worlds `first` to `last`.

        Args:
            actions: `[W * N, 2]`.
            thread: Index of the calling thread, which has scratch of its own.
            first: First world.
            last: End of the range of worlds, exclusive.
        """
        s, r, events = self._state, self._rules, self._event_buffer
        phases.step_agents(s, r, events, actions, self._order[thread], first, last)
        if r.territory:
            phases.step_clips_ships(s, r, events, first, last)
        elif r.clips:
            phases.step_clips_events(s, r, events, first, last)

    def _run_upkeep(self, first: int, last: int) -> None:
        """Run upkeep, births and the end of the tick in worlds `first` to `last`."""
        s, r, events = self._state, self._rules, self._event_buffer
        phases.step_upkeep(s, r, events, first, last)
        if r.temple:
            phases.step_births(s, r, events, first, last)
        phases.finish_tick(s, r, first, last)

    def kernels(self) -> Sequence[Callable[..., Any]]:
        """Return the kernels that take most of the compile time with these settings."""
        births = (phases.step_births,) if self._rules.temple else ()
        clips = phases.step_clips_ships if self._rules.territory else phases.step_clips_events
        return reset.reset_worlds, phases.step_agents, clips, *births

    def compile(self, part: int) -> None:
        """Compile one half of the kernels by calling them on zero worlds."""
        if part == 0:
            actions = np.zeros((self.n_worlds * self._spec.rows, 2), dtype=np.int64)
            self._act(actions, 0, 0, 0)
        else:
            self.reset(self._all_worlds[:0], self._all_worlds[:0])
            self._run_upkeep(0, 0)
            rows = np.zeros((self.n_worlds * self._spec.rows, self._spec.row_bytes), np.uint8)
            self.observe(rows, self._all_worlds[:0])

    def observe(self, out: Bytes, worlds: Ints | None = None) -> None:
        """Write observations, one row of bytes per batch row."""
        indices = (
            self._all_worlds if worlds is None else np.ascontiguousarray(worlds, dtype=np.int64)
        )
        s, r, facts_offset, buffer = self._state, self._rules, self._facts_offset, out.reshape(-1)
        inputs = (s.team_view, s.uid, s.body, s.store, s.tick, r, facts_offset, indices)
        views = (buffer, buffer.view(np.uint16), buffer.view(np.float32))
        self._run_in_threads(
            len(indices), lambda a, b, _: observe.write_observations(*inputs, a, b, *views)
        )

    def statistics(self) -> dict[str, Ints]:
        """Return `[W, N]` copies of what was counted for each agent, by name."""
        return {name: self._state.stats[:, :, i].copy() for i, name in enumerate(STATISTICS)}

    def counters(self) -> dict[str, Ints | Floats]:
        """Return sums over agents, in total and by team, and the counters of teams and the clips."""
        s, teams = self._state, self.settings.teams
        by_team = s.stats.reshape(self.n_worlds, teams, -1, len(STATISTICS)).sum(axis=2)
        counters: dict[str, Ints | Floats] = {}
        for i, name in enumerate(STATISTICS):
            counters[name] = by_team[:, :, i].sum(axis=1)
            counters |= {f"{name}_team_{team}": by_team[:, team, i].copy() for team in range(teams)}
        for i, name in enumerate(TEAM_STATISTICS):
            for team in range(teams):
                counters[f"{name}_team_{team}"] = s.teams[:, team, i].copy()
            if name != "births":
                counters[f"{name}_clips"] = s.teams[:, teams, i].copy()
        return counters

    def record_events(self, on: bool) -> None:
        """Start or stop recording events."""
        self._event_buffer = self._allocate_event_buffer(on)

    def _allocate_event_buffer(self, enabled: bool) -> Ints:
        junctions = self._state.junction.shape[1]
        return allocate_event_buffer(self.n_worlds, self._spec.rows, junctions, enabled)

    def events(self) -> list[WorldEvent]:
        """Return the events of the last step; the note names an element or a gear."""
        buffer, s = self._event_buffer, self._state
        return [
            _to_world_event(w, int(s.tick[w]), s.uid[w], entry)
            for w in np.flatnonzero(buffer[:, 0, 0]).tolist()
            for entry in buffer[w, 1 : 1 + buffer[w, 0, 0]].tolist()
        ]

    def render_text(self, world: int) -> str:
        """Return one world as text, in the symbols of `map.text`."""
        return render.render_text(self._state, self._rules, world)

    @property
    def render_spec(self) -> RenderSpec:
        """Return the description of this world's frames."""
        return render.make_render_spec(
            self.settings, tuple(group.name for group in self._spec.groups)
        )

    def render_frame(self, world: int) -> RenderFrame:
        """Return the current frame of one world."""
        return render.render_frame(self._state, self._rules, world)

    def snapshot(self) -> dict[str, Any]:
        """Return a copy of the whole state."""
        return take_snapshot(self._state)

    def restore(
        self, snapshot: Arrays, source: Ints | None = None, keys: Ints | None = None
    ) -> None:
        """Restore a snapshot: world `i` becomes a copy of the snapshot's world `source[i]`."""
        load_snapshot(self._state, snapshot, source)
        self._event_buffer[:, 0] = 0
        if keys is not None:
            self._state.key[:] = keys

    @property
    def _arrays(self) -> CogsguardState:
        """Return the state, for tests of this world."""
        return self._state


def _to_world_event(world: int, tick: int, uid: Ints, entry: list[int]) -> WorldEvent:
    """Convert an entry of the event buffer, with uids in place of rows.

    Args:
        world: World of the batch.
        tick: Its tick.
        uid: `[N]`, uid of each row.
        entry: Kind, row, other and value.
    """
    kind, row, other, value = entry
    note = ""
    if kind in (MINE, DEPOSIT, EXTRACTOR_EMPTIED):
        note = ELEMENTS[other]
    elif kind == GEAR_CHANGE:
        note = GEARS[value]
    elif kind == EXHAUSTED:
        note = GEARS[other]
    elif kind == BIRTH:
        other, value = int(uid[other]), int(uid[value])
    row = int(uid[row]) if row >= 0 else -1
    return WorldEvent(world, tick, EVENT_KINDS[kind], row, other, float(value), note)
