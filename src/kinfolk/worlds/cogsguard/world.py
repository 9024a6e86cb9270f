"""CogsGuard: a batch of games that keep the contract of `kinfolk.worlds.base`."""

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
from kinfolk.worlds.cogsguard.map import generator
from kinfolk.worlds.cogsguard.metrics import compute_metrics
from kinfolk.worlds.cogsguard.presets import DESCRIPTIONS, PRESETS
from kinfolk.worlds.cogsguard.rules import make_rules
from kinfolk.worlds.cogsguard.settings import Cogsguard
from kinfolk.worlds.cogsguard.state import CogsguardState, allocate_state
from kinfolk.worlds.cogsguard.step import phases
from kinfolk.worlds.render import RenderFrame, RenderSpec

# Worlds that go through the phases of a tick together: they should stay in a core's cache.
_WORLDS_PER_BLOCK = 64


class CogsguardWorld(BatchedWorld):
    """A batch of games. They are done, and wait for a reset, until they get one.

    `threads` share the worlds among them; the results are the same for any number.
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
        self._map_config = generator.make_map_config(settings, self._rules)
        super().__init__(spec.make_spec(settings), self._state, threads)
        self._facts_offset = self._spec.groups[0].offsets["facts"]
        self._event_buffer = self._allocate_event_buffer(enabled=False)
        self._map_scratch = [
            generator.allocate_map_scratch(settings, self._rules) for _ in range(threads)
        ]
        for sheet in self._map_scratch:
            reset.load_parsed_map(sheet, settings, self._rules)
        self._spawn_pads = self._map_scratch[0].pads.copy()
        drawing = settings.parsed_map
        self._pad_counts = np.array(
            [len(own) for own in drawing.spawn_pads[: settings.teams]]
            if drawing is not None
            else [self._spawn_pads.shape[1]] * settings.teams,
            dtype=np.int64,
        )
        self._order = np.zeros((threads, self._spec.rows), dtype=np.int64)

    def reset(self, keys: Ints, worlds: Ints | None = None) -> None:
        """Begin episodes, each on a map of its own unless the map was drawn as text.

        Raises:
            SettingsError: No map has room for all that the settings ask for.
        """
        which = self._all_worlds if worlds is None else np.ascontiguousarray(worlds, dtype=np.int64)
        if len(keys) != len(which):
            raise ContractError(f"{len(which)} worlds need as many keys, not {len(keys)}.")
        keys = np.ascontiguousarray(keys, dtype=np.int64)
        reset.clear_worlds(self._state, which)
        self._event_buffer[which, 0] = 0
        drawn = self.settings.map_text is not None

        def part(first: int, last: int, thread: int) -> int:
            sheet, pads, counts = self._map_scratch[thread], self._spawn_pads, self._pad_counts
            return reset.reset_worlds(
                self._state, self._rules, self._map_config, sheet, pads, counts, drawn, which, keys,
                first, last,
            )  # fmt: skip

        if max(self._run_in_threads(len(which), part)) >= 0:
            self._state.done[which] = True
            h, w = self.settings.map_shape
            raise SettingsError(
                f"No map of {h} x {w} cells was found with room for junctions {self.settings.junctions} "
                f"and extractors {self.settings.extractors} of each element at their gaps."
            )

    def step(self, actions: Ints) -> None:
        """Advance every world that is not done by one tick."""
        check_actions(self, actions)

        def part(first: int, last: int, thread: int) -> None:
            for a in range(first, last, _WORLDS_PER_BLOCK):
                b = min(a + _WORLDS_PER_BLOCK, last)
                self._act(actions, thread, a, b)
                self._run_upkeep(a, b)

        self._run_in_threads(self.n_worlds, part)

    def _act(self, actions: Ints, thread: int, first: int, last: int) -> None:
        """Agents take their turns, then the clips theirs."""
        s, r, log = self._state, self._rules, self._event_buffer
        phases.step_agents(s, r, log, actions, self._order[thread], first, last)
        if r.territory:
            phases.step_clips_ships(s, r, log, first, last)
        elif r.clips:
            phases.step_clips_events(s, r, log, first, last)

    def _run_upkeep(self, first: int, last: int) -> None:
        """Upkeep, births, endings."""
        s, r, log = self._state, self._rules, self._event_buffer
        phases.step_upkeep(s, r, log, first, last)
        if r.temple:
            phases.step_births(s, r, log, first, last)
        phases.finish_tick(s, r, first, last)

    def kernels(self) -> Sequence[Callable[..., Any]]:
        """Drawing maps and taking turns are most of the compiling; births are a setting."""
        births = (phases.step_births,) if self._rules.temple else ()
        clips = phases.step_clips_ships if self._rules.territory else phases.step_clips_events
        return reset.reset_worlds, phases.step_agents, clips, *births

    def compile(self, part: int) -> None:
        """Call kernels on no world at all: they compile, and nothing happens."""
        if part == 0:
            actions = np.zeros((self.n_worlds * self._spec.rows, 2), dtype=np.int64)
            self._act(actions, 0, 0, 0)
        else:
            self.reset(self._all_worlds[:0], self._all_worlds[:0])
            self._run_upkeep(0, 0)
            rows = np.zeros((self.n_worlds * self._spec.rows, self._spec.row_bytes), np.uint8)
            self.observe(rows, self._all_worlds[:0])

    def observe(self, out: Bytes, worlds: Ints | None = None) -> None:
        """Write observations, one row of bytes per place."""
        which = self._all_worlds if worlds is None else np.ascontiguousarray(worlds, dtype=np.int64)
        s, r, at, flat = self._state, self._rules, self._facts_offset, out.reshape(-1)
        seen = (s.team_view, s.uid, s.body, s.store, s.tick, r, at, which)
        forms = (flat, flat.view(np.uint16), flat.view(np.float32))
        self._run_in_threads(
            len(which), lambda a, b, _: observe.write_observations(*seen, a, b, *forms)
        )

    def statistics(self) -> dict[str, Ints]:
        """`[W, N]` copies of what was counted for each life, by name."""
        return {name: self._state.stats[:, :, i].copy() for i, name in enumerate(STATISTICS)}

    def counters(self) -> dict[str, Ints | Floats]:
        """Sums over agents, whole and by team, and what was counted for teams and the clips."""
        s, teams = self._state, self.settings.teams
        by_team = s.stats.reshape(self.n_worlds, teams, -1, len(STATISTICS)).sum(axis=2)
        found: dict[str, Ints | Floats] = {}
        for i, name in enumerate(STATISTICS):
            found[name] = by_team[:, :, i].sum(axis=1)
            found |= {f"{name}_team_{team}": by_team[:, team, i].copy() for team in range(teams)}
        for i, name in enumerate(TEAM_STATISTICS):
            for team in range(teams):
                found[f"{name}_team_{team}"] = s.teams[:, team, i].copy()
            if name != "births":
                found[f"{name}_clips"] = s.teams[:, teams, i].copy()
        return found

    def record_events(self, on: bool) -> None:
        """Keep happenings, or stop."""
        self._event_buffer = self._allocate_event_buffer(on)

    def _allocate_event_buffer(self, enabled: bool) -> Ints:
        junctions = self._state.junction.shape[1]
        return allocate_event_buffer(self.n_worlds, self._spec.rows, junctions, enabled)

    def events(self) -> list[WorldEvent]:
        """What took place in the last step; the note names an element or a gear."""
        log, s = self._event_buffer, self._state
        return [
            _to_world_event(w, int(s.tick[w]), s.uid[w], entry)
            for w in np.flatnonzero(log[:, 0, 0]).tolist()
            for entry in log[w, 1 : 1 + log[w, 0, 0]].tolist()
        ]

    def render_text(self, world: int) -> str:
        """One world as text, with the symbols of drawn maps."""
        return render.render_text(self._state, self._rules, world)

    @property
    def render_spec(self) -> RenderSpec:
        """What `show` shows."""
        return render.make_render_spec(
            self.settings, tuple(group.name for group in self._spec.groups)
        )

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
        load_snapshot(self._state, snapshot, source)
        self._event_buffer[:, 0] = 0
        if keys is not None:
            self._state.key[:] = keys

    @property
    def _arrays(self) -> CogsguardState:
        """The private arrays, for tests of this world."""
        return self._state


def _to_world_event(world: int, tick: int, uid: Ints, entry: list[int]) -> WorldEvent:
    """A happening as kept by kernels, with uids in place of rows."""
    kind, who, whom, value = entry
    note = ""
    if kind in (MINE, DEPOSIT, EXTRACTOR_EMPTIED):
        note = ELEMENTS[whom]
    elif kind == GEAR_CHANGE:
        note = GEARS[value]
    elif kind == EXHAUSTED:
        note = GEARS[whom]
    elif kind == BIRTH:
        whom, value = int(uid[whom]), int(uid[value])
    who = int(uid[who]) if who >= 0 else -1
    return WorldEvent(world, tick, EVENT_KINDS[kind], who, whom, float(value), note)
