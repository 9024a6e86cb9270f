"""CogsGuard: a batch of games that keep the contract of `kinfolk.worlds.base`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kinfolk.core.arrays import Arrays, Bytes, Floats, Ints
from kinfolk.core.errors import ContractError, SettingsError
from kinfolk.worlds.base import Happening, check_actions, put_snapshot, take_snapshot
from kinfolk.worlds.batch import Batch, check_batch
from kinfolk.worlds.cogsguard import episode, founding, layout, maps, observe, picture, scene
from kinfolk.worlds.cogsguard.codes import ELEMENTS, GEARS, STATISTICS, TEAM_STATISTICS
from kinfolk.worlds.cogsguard.log import (
    BIRTH,
    DEPOSIT,
    EXHAUSTED,
    EXTRACTOR_EMPTIED,
    GEAR_CHANGE,
    HAPPENINGS,
    MINE,
    empty_log,
)
from kinfolk.worlds.cogsguard.measures import measures
from kinfolk.worlds.cogsguard.presets import DESCRIPTIONS, PRESETS
from kinfolk.worlds.cogsguard.rules import rules_of
from kinfolk.worlds.cogsguard.settings import Cogsguard
from kinfolk.worlds.cogsguard.state import State, empty_state
from kinfolk.worlds.scene import Scene, Shown

# Worlds that go through the phases of a tick together: they should stay in a core's cache.
_BLOCK = 64


class CogsguardWorld(Batch):
    """A batch of games. They are done, and wait for a reset, until they get one.

    `threads` share the worlds among them; the results are the same for any number.
    """

    settings_type = Cogsguard
    presets = PRESETS
    preset_notes = DESCRIPTIONS
    measures = staticmethod(measures)

    def __init__(self, settings: Cogsguard, worlds: int = 1, threads: int = 1) -> None:
        check_batch(worlds, threads)
        self.settings = settings
        self._rules = rules_of(settings)
        self._state = empty_state(settings, self._rules, worlds)
        self._plan = maps.plan_of(settings, self._rules)
        super().__init__(layout.spec_of(settings), self._state, threads)
        self._facts_at = self._spec.groups[0].offsets["facts"]
        self._log = self._new_log(watching=False)
        self._sheets = [maps.empty_sheet(settings, self._rules) for _ in range(threads)]
        for sheet in self._sheets:
            founding.fill_from_drawing(sheet, settings, self._rules)
        self._pads = self._sheets[0].pads.copy()
        drawing = settings.drawing
        self._pad_counts = np.array(
            [len(own) for own in drawing.pads[: settings.teams]]
            if drawing is not None
            else [self._pads.shape[1]] * settings.teams,
            dtype=np.int64,
        )
        self._order = np.zeros((threads, self._spec.rows), dtype=np.int64)

    def reset(self, keys: Ints, worlds: Ints | None = None) -> None:
        """Begin episodes, each on a map of its own unless the map was drawn as text.

        Raises:
            SettingsError: No map has room for all that the settings ask for.
        """
        which = self._all if worlds is None else np.ascontiguousarray(worlds, dtype=np.int64)
        if len(keys) != len(which):
            raise ContractError(f"{len(which)} worlds need as many keys, not {len(keys)}.")
        keys = np.ascontiguousarray(keys, dtype=np.int64)
        founding.clear(self._state, which)
        self._log[which, 0] = 0
        drawn = self.settings.map_text is not None

        def part(first: int, last: int, thread: int) -> int:
            sheet, pads, counts = self._sheets[thread], self._pads, self._pad_counts
            return founding.begin(
                self._state, self._rules, self._plan, sheet, pads, counts, drawn, which, keys,
                first, last,
            )  # fmt: skip

        if max(self._share(len(which), part)) >= 0:
            self._state.done[which] = True
            h, w = self.settings.shape
            raise SettingsError(
                f"No map of {h} x {w} cells was found with room for junctions {self.settings.junctions} "
                f"and extractors {self.settings.extractors} of each element at their gaps."
            )

    def step(self, actions: Ints) -> None:
        """Advance every world that is not done by one tick."""
        check_actions(self, actions)

        def part(first: int, last: int, thread: int) -> None:
            for a in range(first, last, _BLOCK):
                b = min(a + _BLOCK, last)
                self._act(actions, thread, a, b)
                self._live_on(a, b)

        self._share(self.worlds, part)

    def _act(self, actions: Ints, thread: int, first: int, last: int) -> None:
        """Agents take their turns, then the clips theirs."""
        s, r, log = self._state, self._rules, self._log
        episode.act_all(s, r, log, actions, self._order[thread], first, last)
        if r.territory:
            episode.send_clips(s, r, log, first, last)
        elif r.clips:
            episode.spread_clips(s, r, log, first, last)

    def _live_on(self, first: int, last: int) -> None:
        """Upkeep, births, endings."""
        s, r, log = self._state, self._rules, self._log
        episode.live_on(s, r, log, first, last)
        if r.temple:
            episode.breed_all(s, r, log, first, last)
        episode.finish(s, r, first, last)

    def kernels(self) -> Sequence[Callable[..., Any]]:
        """Drawing maps and taking turns are most of the compiling; births are a setting."""
        births = (episode.breed_all,) if self._rules.temple else ()
        clips = episode.send_clips if self._rules.territory else episode.spread_clips
        return founding.begin, episode.act_all, clips, *births

    def compile(self, part: int) -> None:
        """Call kernels on no world at all: they compile, and nothing happens."""
        if part == 0:
            actions = np.zeros((self.worlds * self._spec.rows, 2), dtype=np.int64)
            self._act(actions, 0, 0, 0)
        else:
            self.reset(self._all[:0], self._all[:0])
            self._live_on(0, 0)
            rows = np.zeros((self.worlds * self._spec.rows, self._spec.row_bytes), np.uint8)
            self.observe(rows, self._all[:0])

    def observe(self, out: Bytes, worlds: Ints | None = None) -> None:
        """Write observations, one row of bytes per place."""
        which = self._all if worlds is None else np.ascontiguousarray(worlds, dtype=np.int64)
        s, r, at, flat = self._state, self._rules, self._facts_at, out.reshape(-1)
        seen = (s.shown, s.uid, s.body, s.store, s.tick, r, at, which)
        forms = (flat, flat.view(np.uint16), flat.view(np.float32))
        self._share(len(which), lambda a, b, _: observe.observe(*seen, a, b, *forms))

    def statistics(self) -> dict[str, Ints]:
        """`[W, N]` copies of what was counted for each life, by name."""
        return {name: self._state.stats[:, :, i].copy() for i, name in enumerate(STATISTICS)}

    def counters(self) -> dict[str, Ints | Floats]:
        """Sums over agents, whole and by team, and what was counted for teams and the clips."""
        s, teams = self._state, self.settings.teams
        by_team = s.stats.reshape(self.worlds, teams, -1, len(STATISTICS)).sum(axis=2)
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

    def watch(self, on: bool) -> None:
        """Keep happenings, or stop."""
        self._log = self._new_log(on)

    def _new_log(self, watching: bool) -> Ints:
        junctions = self._state.junction.shape[1]
        return empty_log(self.worlds, self._spec.rows, junctions, watching)

    def happenings(self) -> list[Happening]:
        """What took place in the last step; the note names an element or a gear."""
        log, s = self._log, self._state
        return [
            _told(w, int(s.tick[w]), s.uid[w], entry)
            for w in np.flatnonzero(log[:, 0, 0]).tolist()
            for entry in log[w, 1 : 1 + log[w, 0, 0]].tolist()
        ]

    def picture(self, world: int) -> str:
        """One world as text, with the symbols of drawn maps."""
        return picture.picture(self._state, self._rules, world)

    @property
    def scene(self) -> Scene:
        """What `show` shows."""
        return scene.scene_of(self.settings, tuple(group.name for group in self._spec.groups))

    def show(self, world: int) -> Shown:
        """One world as it is now, to be looked at."""
        return scene.show(self._state, self._rules, world)

    def snapshot(self) -> dict[str, Any]:
        """The whole state, copied."""
        return take_snapshot(self._state)

    def restore(
        self, snapshot: Arrays, source: Ints | None = None, keys: Ints | None = None
    ) -> None:
        """Go back, or branch: world `i` becomes the snapshot's world `source[i]`."""
        put_snapshot(self._state, snapshot, source)
        self._log[:, 0] = 0
        if keys is not None:
            self._state.key[:] = keys

    @property
    def _arrays(self) -> State:
        """The private arrays, for tests of this world."""
        return self._state


def _told(world: int, tick: int, uid: Ints, entry: list[int]) -> Happening:
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
    return Happening(world, tick, HAPPENINGS[kind], who, whom, float(value), note)
