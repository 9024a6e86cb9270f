"""The savanna: a batch of worlds that keep the contract of `kinfolk.worlds.base`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kinfolk.core.arrays import Arrays, Bytes, Floats, Ints
from kinfolk.core.errors import ContractError
from kinfolk.worlds.base import Happening, check_actions, put_snapshot, take_snapshot
from kinfolk.worlds.batch import Batch, check_batch
from kinfolk.worlds.savanna import episode, founding, layout, observe, scene
from kinfolk.worlds.savanna.log import HAPPENINGS, empty_log
from kinfolk.worlds.savanna.measures import measures
from kinfolk.worlds.savanna.presets import DESCRIPTIONS, PRESETS
from kinfolk.worlds.savanna.rules import rules_of
from kinfolk.worlds.savanna.settings import Savanna
from kinfolk.worlds.savanna.state import (
    ACCOUNTS,
    BY_LIFE,
    CAUSES,
    COUNTERS,
    Rows,
    State,
    empty_state,
    with_room,
)
from kinfolk.worlds.scene import Scene, Shown


class SavannaWorld(Batch):
    """A batch of savannas. They are done, and wait for a reset, until they get one.

    `threads` share the worlds among them; the results are the same for any number.
    """

    settings_type = Savanna
    presets = PRESETS
    preset_notes = DESCRIPTIONS
    measures = staticmethod(measures)

    def __init__(self, settings: Savanna, worlds: int = 1, threads: int = 1) -> None:
        check_batch(worlds, threads)
        self.settings = settings
        self._state = empty_state(settings, worlds)
        self._rules = rules_of(settings)
        super().__init__(layout.spec_of(settings), self._state, threads)
        self._scene = observe.scene_of(self._state)
        self._windows = layout.windows_of(settings, self._rules, threads)
        self._founders = np.array(settings.founders, dtype=np.int64)
        self._free_cells = np.flatnonzero(~self._rules.wall)
        self._choices = np.ascontiguousarray(self._spec.choices[:, 0])
        self._log = empty_log(worlds, settings.rows, watching=False)
        self._no_cells = np.zeros((worlds, 0), dtype=np.int64)
        self._buffer: Bytes | None = None
        self._written = observe.Written(
            np.zeros(worlds, dtype=np.bool_),
            np.zeros((worlds, settings.rows), dtype=np.int64),
            np.zeros(worlds, dtype=np.int64),
        )
        self._helpers = np.zeros((threads, settings.rows), dtype=np.uint32)
        self._near = np.zeros((threads, (settings.grid_size + 2) ** 2 + 1), dtype=np.int64)

    def reset(self, keys: Ints, worlds: Ints | None = None) -> None:
        """Begin episodes. With published placement, a key is the seed of numpy's generator."""
        if self.settings.quirks.published_placement:
            self.reset_published([int(key) for key in keys], worlds)
            return
        which = self._all if worlds is None else worlds
        cells = np.empty((len(which), self._needed), dtype=np.int64)
        founding.draw_cells(self._free_cells, self._free_cells.copy(), keys, cells)
        self._begin(which, keys, cells)

    def reset_published(self, seeds: Sequence[int], worlds: Ints | None = None) -> None:
        """Begin episodes with founders where the published code puts them for these seeds."""
        which = self._all if worlds is None else worlds
        cells = np.empty((len(which), self._needed), dtype=np.int64)
        for i, seed in enumerate(seeds):
            draw = np.random.default_rng(seed).choice(self._free_cells, self._needed, replace=False)
            cells[i] = draw
        keys = np.array([seed & 0x7FFFFFFFFFFFFFFF for seed in seeds], dtype=np.int64)
        self._begin(which, keys, cells)

    @property
    def _needed(self) -> int:
        return int(self._founders.sum()) + self.settings.initial_num_grass

    def _begin(self, worlds: Ints, keys: Ints, cells: Ints) -> None:
        if len(keys) != len(worlds):
            raise ContractError(f"{len(worlds)} worlds need as many keys, not {len(keys)}.")
        self._make_room(int(self._founders.sum()))
        keys = np.ascontiguousarray(keys, dtype=np.int64)
        worlds = np.ascontiguousarray(worlds, dtype=np.int64)
        founding.begin(self._state, self._rules, self._founders, worlds, keys, cells)
        self._log.kept[worlds] = 0

    def _make_room(self, uids: int) -> None:
        """Births of one step are at most as many as rows: see that their uids fit."""
        room = self._state.parent.shape[1]
        if uids + self.settings.rows > room:
            self._state = with_room(self._state, max(2 * room, uids + self.settings.rows))

    def step(self, actions: Ints) -> None:
        """Advance every world that is not done by one tick."""
        s = self._state
        self._step(actions, s.herd, s.length, self._no_cells)

    def _step(self, actions: Ints, acting: Rows, acting_count: Ints, cells: Ints) -> None:
        """A step in which `acting` says who moves, and when; a replay names newborns' `cells`."""
        places = (self.worlds * self.settings.rows, 1)
        if actions.shape != places or actions.dtype != np.int64 or not actions.flags.c_contiguous:
            check_actions(self, actions)
        s, r = self._state, self._rules
        bad = episode.first_bad_action(s.done, s.length, s.herd, s.group, self._choices, actions)
        if bad >= 0:
            check_actions(self, actions)

        def part(first: int, last: int, thread: int) -> int:
            self._act(actions, acting, acting_count, first, last, thread)
            return episode.renew(s, r, self._log, cells, first, last)

        self._make_room(max(self._share(self.worlds, part)))

    def _act(
        self, actions: Ints, acting: Rows, counts: Ints, first: int, last: int, thread: int
    ) -> None:
        s = self._state
        given = (s, self._rules, self._log, actions, acting, counts, acting is s.herd)
        if self.settings.team_capture_enabled:
            scratch = self._helpers[thread], self._near[thread]
            episode.act_in_teams(*given, *scratch, first, last)
        else:
            episode.act_alone(*given, first, last)

    def kernels(self) -> Sequence[Callable[..., Any]]:
        """Two make a step, one an observation; which ones, the settings say."""
        in_teams, planes = self.settings.team_capture_enabled, self.settings.observation
        act: Callable[..., Any] = episode.act_in_teams if in_teams else episode.act_alone
        look = observe.observe_planes if planes == "float32" else observe.observe_words
        return act, episode.renew, look

    def compile(self, part: int) -> None:
        """Call kernels on no world at all: they compile, and nothing happens."""
        s = self._state
        if part == 0:
            nothing = np.zeros((self.worlds * self.settings.rows, 1), dtype=np.int64)
            self._act(nothing, s.herd, s.length, 0, 0, 0)
            rows = np.zeros((self.worlds * self.settings.rows, self._spec.row_bytes), np.uint8)
            self.observe(rows, self._all[:0])
        else:
            episode.renew(s, self._rules, self._log, self._no_cells, 0, 0)

    def observe(self, out: Bytes, worlds: Ints | None = None) -> None:
        """Write observations, one row of bytes per place."""
        which = self._all if worlds is None else np.ascontiguousarray(worlds, dtype=np.int64)
        if not self._is_same(out):
            self._buffer = out
            self._written.known[:] = False
        s, v = self._scene, self._windows
        words, floats = out.view(np.uint32), out.reshape(-1).view(np.float32)
        if self.settings.observation == "float32":
            self._share(
                len(which),
                lambda a, b, _: observe.observe_planes(
                    s, v, self._written, which, a, b, words, floats
                ),
            )
        else:
            self._share(
                len(which),
                lambda a, b, i: observe.observe_words(s, v, self._written, which, a, b, words, i),
            )

    def _is_same(self, out: Bytes) -> bool:
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
            name: s.tally[:, i].copy() for i, name in enumerate(COUNTERS)
        }
        found |= {name: s.accounts[:, i].copy() for i, name in enumerate(ACCOUNTS)}
        alone = found["team_capture_successes"] - found["team_capture_coop_successes"]
        found["team_capture_coop_helper_total"] = found["team_capture_helper_total"] - alone
        found["active_num_predators"] = s.active[:, 0].copy()
        found["active_num_prey"] = s.active[:, 1].copy()
        return found

    def energy(self) -> Floats:
        """`[W]`: energy in all living bodies, carcasses and grass."""
        s = self._state
        total: Floats = (s.energy * s.alive).sum(axis=1) + s.grass.sum(axis=1)
        return total

    def watch(self, on: bool) -> None:
        """Keep happenings, or stop."""
        self._log = empty_log(self.worlds, self.settings.rows, on)

    def happenings(self) -> list[Happening]:
        """What took place in the last step."""
        log, found = self._log, []
        for w in np.flatnonzero(log.kept).tolist():
            tick = int(self._state.tick[w])
            for kind, who, whom, value in log.entries[w, : log.kept[w]].tolist():
                name = HAPPENINGS[int(kind)]
                note = CAUSES[int(value)] if name == "death" else ""
                found.append(Happening(w, tick, name, int(who), int(whom), value, note))
        return found

    def picture(self, world: int) -> str:
        """The grid as text, x downwards: P predators, a shared cell X, o prey, x carcasses."""
        s, size = self._state, self.settings.grid_size
        cells = np.full(size * size, ".", dtype="<U1")
        cells[s.patch_cell[world][s.grass[world] > 0]] = '"'
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
    def scene(self) -> Scene:
        """What `show` shows."""
        return scene.scene_of(self.settings, layout.kinds_of(self.settings))

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
        saved = dict(snapshot)
        if "parent" in saved and saved["parent"].ndim == 2:
            lives = max(saved["parent"].shape[1], self._state.parent.shape[1])
            self._state = with_room(self._state, lives)
            for name in BY_LIFE:  # the snapshot may come from before there was more room
                if name in saved:
                    missing = lives - saved[name].shape[1]
                    saved[name] = np.pad(saved[name], ((0, 0), (0, missing)))
        put_snapshot(self._state, saved, source)
        self._log.kept[:] = 0
        if keys is not None:
            self._state.key[:] = keys

    @property
    def _arrays(self) -> State:
        """The private arrays, for replays and tests of this world."""
        return self._state
