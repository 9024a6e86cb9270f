"""CogsGuard as a batch of worlds that fulfils the contract of `kinfolk.worlds.base`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays, Bytes, Floats, Ints
from kinfolk.core.errors import SettingsError, UsageError
from kinfolk.core.jit import get_kernel_address
from kinfolk.worlds.base import (
    BatchedWorld,
    StepStatistics,
    WorldEvent,
    check_actions,
    check_batch_size,
)
from kinfolk.worlds.cogsguard import codes, render, reset, spec
from kinfolk.worlds.cogsguard.mapgen.config import allocate_map_scratch, make_map_config
from kinfolk.worlds.cogsguard.metric_definitions import METRIC_DEFINITIONS
from kinfolk.worlds.cogsguard.presets import DESCRIPTIONS, FORMER_RULES, PRESETS
from kinfolk.worlds.cogsguard.rules import make_rules
from kinfolk.worlds.cogsguard.settings import Cogsguard
from kinfolk.worlds.cogsguard.state import (
    CogsguardState,
    allocate_event_buffer,
    allocate_state,
    get_game_arrays,
)
from kinfolk.worlds.cogsguard.step import calls, phases
from kinfolk.worlds.render import RenderFrame, RenderSpec

_TEAM_METRICS = {  # metric: counter of a team
    "junction_ticks_held": "junction_ticks",
    "junctions_aligned": "aligned",
    "junctions_scrambled": "scrambled",
    "hearts_made": "hearts_made",
    "hearts_spent": "hearts_spent",
    "elements_deposited": "deposited",
}
# Worlds that run the phases of a tick together: few enough to stay in the cache of one core.
_WORLDS_PER_BLOCK = 64


class CogsguardWorld(BatchedWorld):
    """A batch of games; they are done until their first reset.

    Args:
        settings: Rules, map and teams.
        n_worlds: Number of games in the batch.
        threads: Threads that share the worlds; results are the same for any number.
        keep_books: Whether to keep the books that `ledger` returns; games then run slower.
    """

    settings_type = Cogsguard
    presets = PRESETS
    preset_descriptions = DESCRIPTIONS
    metric_definitions = METRIC_DEFINITIONS
    # 1: before the rules were those of the original engine; 2: networks of edition A by owner alone
    rules_version = 4

    def __init__(
        self, settings: Cogsguard, n_worlds: int = 1, threads: int = 1, keep_books: bool = False
    ) -> None:
        check_batch_size(n_worlds, threads)
        self.settings = settings
        self._rules = make_rules(settings)
        self._state = allocate_state(settings, self._rules, n_worlds, keep_books)
        self._stats_before = self._state.stats.copy()
        self._game_arrays = get_game_arrays(self._state)
        self._map_config = make_map_config(settings, self._rules)
        super().__init__(spec.make_spec(settings), self._state, threads)
        self._facts_offset = self._spec.groups[0].offsets["facts"]
        self._event_buffer = allocate_event_buffer(self._state, enabled=False)
        self._map_scratch = [
            allocate_map_scratch(settings, self._rules, self._map_config) for _ in range(threads)
        ]
        self._order = np.zeros((threads, self._spec.rows), dtype=np.int64)

    def reset(self, keys: Ints, worlds: Ints | None = None) -> None:
        """Start episodes, each on a map of its own unless the map was given as text.

        Raises:
            SettingsError: No map has room for all objects that the settings require.
        """
        indices = self._select_worlds(worlds, keys)
        reset.clear_worlds(self._state, indices)
        self._state.key[indices] = keys
        self._event_buffer[indices, 0] = 0

        def run_part(first: int, last: int, thread: int) -> int:
            scratch, part = self._map_scratch[thread], indices[first:last]
            return reset.reset_worlds(self._state, self._rules, self._map_config, scratch, part)

        if max(self._run_in_threads(len(indices), run_part)) >= 0:
            self._state.done[indices] = True
            height, width = self.settings.map_shape
            raise SettingsError(
                f"No map of {height} x {width} cells could be generated on which all of "
                f"{self.settings.junctions} junctions and {self.settings.extractors} extractors can "
                "be reached. Use a larger map or fewer objects."
            )

    def step(self, actions: Ints) -> None:
        """Advance every world that is not done by one tick."""
        check_actions(self, actions)
        self._stats_before[...] = self._state.stats
        self._stats_before[self._state.tick == 0] = (
            0  # the first step counts what is seen at the start
        )

        def run_part(first: int, last: int, thread: int) -> None:
            for start in range(first, last, _WORLDS_PER_BLOCK):
                stop = min(start + _WORLDS_PER_BLOCK, last)
                self._act(actions, thread, start, stop)
                self._run_upkeep(start, stop)

        self._run_in_threads(self.n_worlds, run_part)

    def _act(self, actions: Ints, thread: int, first: int, last: int) -> None:
        """Run the actions of agents and of the clips, who act first in edition F, of some worlds.

        Args:
            actions: `[W * N, 2]`.
            thread: Index of the calling thread, which has scratch of its own.
            first: First world.
            last: End of the range of worlds, exclusive.
        """
        s, r, events = self._state, self._rules, self._event_buffer
        if r.clips and not r.territory:
            phases.step_clips_events(s, r, events, first, last)
        phases.step_agents(s, r, events, actions, self._order[thread], first, last)
        if r.territory:
            phases.step_clips_ships(s, r, events, first, last)

    def _run_upkeep(self, first: int, last: int) -> None:
        """Run upkeep, births and the end of the tick in worlds `first` to `last`."""
        s, r, events = self._state, self._rules, self._event_buffer
        phases.step_upkeep(s, r, events, first, last)
        if r.temple:
            phases.step_births(s, r, events, first, last)
        phases.finish_tick(s, r, first, last)

    def get_step_calls(self, actions: Ints, observations: Bytes) -> calls.StepCalls:
        """Return what another kernel needs to step single worlds of a batch without births.

        It must not be used after `record_events`, which replaces the buffer of events.

        Args:
            actions: `[W * N, 2]`, the actions that it will write.
            observations: `[W * N, row_bytes]`, the observations that it will read.

        Returns:
            The arguments of the kernels, without their addresses; see `find_step_addresses`.
        """
        return calls.StepCalls(
            addresses=np.full(calls.N_CALLS, -1, dtype=np.int64),
            state=self._state,
            game=self._game_arrays,
            rules=self._rules,
            events=self._event_buffer,
            actions=actions,
            order=self._order[0],
            world=np.arange(self.n_worlds).reshape(-1, 1),
            facts_offset=self._facts_offset,
            observations=observations.reshape(-1),
        )

    def find_step_addresses(self, step: calls.StepCalls) -> None:
        """Write the addresses of the kernels of a tick, compiling what is not compiled yet."""
        s, r, events, w, offset = self._state, self._rules, step.events, 0, step.facts_offset
        clips = phases.step_clips_ships if r.territory else phases.step_clips_events
        observed = (step.game, s.tick, r, offset, step.world[0], step.observations)
        arguments: dict[Callable[..., Any], tuple[Any, ...]] = {
            phases.step_agents: (s, r, events, step.actions, step.order, w, w),
            clips: (s, r, events, w, w),
            phases.step_upkeep: (s, r, events, w, w),
            phases.finish_tick: (s, r, w, w),
            spec.write_observations: observed,
        }
        addresses = [get_kernel_address(kernel, *given) for kernel, given in arguments.items()]
        step.addresses[:] = addresses
        if not (r.territory or r.clips):
            step.addresses[calls.CLIPS_CALL] = -1

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
        indices, flat_out, tick = self._select_worlds(worlds), out.reshape(-1), self._state.tick

        def run_part(first: int, last: int, _: int) -> None:
            game, rules, part = self._game_arrays, self._rules, indices[first:last]
            spec.write_observations(game, tick, rules, self._facts_offset, part, flat_out)

        self._run_in_threads(len(indices), run_part)

    def statistics(self) -> dict[str, Ints]:
        """Return copies of the statistics of each agent, `[W, N]` each, by name."""
        return {name: self._state.stats[:, :, i].copy() for i, name in enumerate(codes.STATISTICS)}

    def step_statistics(self) -> StepStatistics:
        """Return by how much the last step raised the statistics of each agent."""
        raised = self._state.stats - self._stats_before
        return StepStatistics(codes.STATISTICS, raised.reshape(-1, len(codes.STATISTICS)))

    def counters(self) -> dict[str, Ints | Floats]:
        """Return `[W]` counters by name.

        `NAME` is the sum over agents, `NAME_team_T` is for one team, `NAME_clips` for the clips.
        """
        s, teams = self._state, self.settings.teams
        by_team = s.stats.reshape(self.n_worlds, teams, -1, len(codes.STATISTICS)).sum(axis=2)
        counters: dict[str, Ints | Floats] = {}
        for i, name in enumerate(codes.STATISTICS):
            counters[name] = by_team[:, :, i].sum(axis=1)
            counters |= {f"{name}_team_{team}": by_team[:, team, i].copy() for team in range(teams)}
        for i, name in enumerate(codes.TEAM_STATISTICS):
            for team in range(teams):
                counters[f"{name}_team_{team}"] = s.teams[:, team, i].copy()
            if name != "births":
                counters[f"{name}_clips"] = s.teams[:, teams, i].copy()
        return counters

    def ledger(self) -> dict[str, Ints]:
        """Return the books by name: `[W, N]` of what agents hold, `[W, T]` of what is in stores.

        The entries of a resource, from `hp_start` to `hp_limit`, add up to what an agent holds now.

        Raises:
            UsageError: The world was made without `keep_books`.
        """
        if self._state.ledger.shape[1] == 0:
            raise UsageError("The world keeps no books; make it with keep_books=True.")
        s = self._state
        books = {name: s.ledger[:, :, i].copy() for i, name in enumerate(codes.LEDGER)}
        stores = {name: s.team_ledger[:, :, i].copy() for i, name in enumerate(codes.TEAM_LEDGER)}
        return books | stores

    def record_events(self, on: bool) -> None:
        """Start or stop recording events."""
        self._event_buffer = allocate_event_buffer(self._state, on)

    def events(self) -> list[WorldEvent]:
        """Return the events of the last step; the note names an element or a gear."""
        buffer, s = self._event_buffer, self._state
        return [
            _to_world_event(w, int(s.tick[w]), s.uid[w], entry)
            for w in np.flatnonzero(buffer[:, 0, 0]).tolist()
            for entry in buffer[w, 1 : 1 + buffer[w, 0, 0]].tolist()
        ]

    def render_text(self, world: int) -> str:
        """Return one world as text, in the symbols of `maps`."""
        return render.render_text(self._state, self._rules, world)

    @property
    def render_spec(self) -> RenderSpec:
        """Description of this world's frames."""
        groups = tuple(group.name for group in self._spec.groups)
        return render.make_render_spec(self.settings, groups)

    def render_frame(self, world: int) -> RenderFrame:
        """Return the current frame of one world."""
        return render.render_frame(self._state, self._rules, world)

    def snapshot(self) -> dict[str, Any]:
        """Return a copy of the whole state, with the version of the rules, `[W]`."""
        version = np.full(self.n_worlds, self.rules_version, dtype=np.int64)
        return super().snapshot() | {"rules_version": version}

    def restore(
        self, snapshot: Arrays, source: Ints | None = None, keys: Ints | None = None
    ) -> None:
        """Restore a snapshot: world `i` becomes a copy of the snapshot's world `source[i]`.

        Raises:
            UsageError: The snapshot was made under the former rules.
        """
        former = 2 if "ledger" in snapshot else 1  # snapshots without a number
        version = int(snapshot["rules_version"][0]) if "rules_version" in snapshot else former
        if "junction" in snapshot and version != self.rules_version:
            raise UsageError(
                f"The snapshot was made by rules version {version} of CogsGuard, and this is version "
                f"{self.rules_version}. {FORMER_RULES}. Start anew."
            )
        super().restore(snapshot, source, keys)
        self._event_buffer[:, 0] = 0

    @staticmethod
    def compute_metrics(
        full_length: AnyArray, values: Mapping[str, AnyArray]
    ) -> dict[str, AnyArray]:
        """Compute metrics of junctions, hearts and elements, by team if there are several.

        Args:
            full_length: `[episodes]`, True where the time limit was reached.
            values: `[episodes]` each: the world's counters.

        Returns:
            `[episodes]` for each metric, NaN for episodes that did not reach the time limit.
        """
        prefix = "junction_ticks_team_"
        teams = sorted(name.removeprefix(prefix) for name in values if name.startswith(prefix))
        metrics: dict[str, AnyArray] = {}
        for team in teams:
            suffix = "" if len(teams) == 1 else f"_team_{team}"
            for metric, counter in _TEAM_METRICS.items():
                metrics[f"{metric}{suffix}"] = values[f"{counter}_team_{team}"]
            mined = [values[f"{element}_mined_team_{team}"] for element in codes.ELEMENTS]
            metrics[f"elements_mined{suffix}"] = np.sum(mined, axis=0)
        metrics["junction_ticks_held_clips"] = values["junction_ticks_clips"]
        return {name: np.where(full_length, value, np.nan) for name, value in metrics.items()}

    @property
    def _arrays(self) -> CogsguardState:
        """Arrays of the whole batch, for tests of this world."""
        return self._state


def _to_world_event(world: int, tick: int, uid: Ints, entry: list[int]) -> WorldEvent:
    """Convert an entry of the event buffer, with uids in place of rows.

    Args:
        world: Index of the world in the batch.
        tick: Tick of the world.
        uid: `[N]`, uid of each row.
        entry: Kind, row, other and value.
    """
    kind, row, other, value = entry
    note = ""
    if kind in (codes.MINE_EVENT, codes.DEPOSIT_EVENT, codes.EMPTIED_EVENT):
        note = codes.ELEMENTS[other]
    elif kind == codes.GEAR_EVENT:
        note = codes.GEARS[value]
    elif kind == codes.EXHAUSTED_EVENT:
        note = codes.GEARS[other]
    elif kind == codes.BIRTH_EVENT:
        other, value = int(uid[other]), int(uid[value])
    row = int(uid[row]) if row >= 0 else -1
    return WorldEvent(world, tick, codes.EVENT_KINDS[kind], row, other, float(value), note)
