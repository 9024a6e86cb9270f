"""Replay recorded scenes of the original CogsGuard and compare every field after every tick.

A scene is played in a batch of worlds with different keys. Where the order of agents or another
draw decides, the scene lists several outcomes, and each world must follow one of them. The recorder
tried a limited number of seeds, so an outcome that is not listed is accepted as long as those seeds
can have missed it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinfolk.core.arrays import Ints
from kinfolk.worlds.cogsguard import codes
from kinfolk.worlds.cogsguard.io.scene_format import (
    SceneError,
    check_scene,
    convert_settings,
    find_last_ticks,
    get_fields,
    number_teams_as_maps_do,
)
from kinfolk.worlds.cogsguard.maps import TEAM_JUNCTION_SYMBOLS
from kinfolk.worlds.cogsguard.world import CogsguardWorld

__all__ = ["SceneDifference", "SceneError", "SceneReplay", "replay_scene"]

REWARD_TOLERANCE = 2e-6  # the original pays differences of a sum in float32
_N_WORLDS, _N_WORLDS_DRAWN = 4, 64  # of scenes with one outcome, and with several
_MISSED_PROBABILITY = 1e-3  # least probability with which the recorder missed an outcome


@dataclass(frozen=True)
class SceneDifference:
    """The first difference between a scene and its replay.

    Attributes:
        scene: Name of the scene.
        tick: Tick after which it shows, 0 for the start.
        agent: Index of the agent, None if it is not about one.
        field: What differs.
        expected: Value in the scene.
        got: Value in the replay.
    """

    scene: str
    tick: int
    agent: int | None
    field: str
    expected: Any
    got: Any

    def __str__(self) -> str:
        """Return the difference as a sentence."""
        agent = "" if self.agent is None else f", agent {self.agent}"
        return (
            f"Scene {self.scene}, tick {self.tick}{agent}: {self.field} should be "
            f"{self.expected!r} and is {self.got!r}."
        )


@dataclass(frozen=True)
class SceneReplay:
    """The result of a replay.

    Attributes:
        steps: Ticks that were equal.
        n_values: Values compared.
        outcomes: Listed outcomes that worlds followed, by index.
        difference: The first difference, None if there is none.
    """

    steps: int
    n_values: int
    outcomes: tuple[int, ...]
    difference: SceneDifference | None

    @property
    def matches(self) -> bool:
        """Whether the replay was equal to the scene."""
        return self.difference is None


def replay_scene(scene: Mapping[str, Any], quirks: Mapping[str, bool] | None = None) -> SceneReplay:
    """Replay a scene and compare all that was recorded.

    Args:
        scene: A scene.
        quirks: Quirks of the rules; by default all of them if the scene shows one, else none.

    Raises:
        SceneError: The scene is incomplete, or has rules that kinfolk does not have.
    """
    check_scene(scene)
    scene = number_teams_as_maps_do(scene)
    outcomes = [scene["ticks"], *scene.get("alternatives", [])]
    replayer = _SceneReplayer(scene, quirks, _N_WORLDS if len(outcomes) == 1 else _N_WORLDS_DRAWN)
    n_worlds = replayer.world.n_worlds
    difference = next(replayer.compare(0, 0, scene["start"], None), None)
    if difference is not None:
        return SceneReplay(0, replayer.n_values, (), difference)
    followed = [set(range(len(outcomes))) for _ in range(n_worlds)]
    ended: dict[int, SceneDifference] = {}  # worlds that follow no listed outcome
    for t, tick in enumerate(scene["ticks"], 1):
        replayer.advance(tick["act"])
        for w in range(n_worlds):
            for k in sorted(followed[w]):
                difference = next(replayer.compare(w, t, outcomes[k][t - 1], tick["act"]), None)
                if difference is not None:
                    followed[w].discard(k)
                    if not followed[w]:
                        ended[w] = difference
        if len(ended) == n_worlds:
            break
    listed = tuple(sorted(set().union(*followed)))
    missed = (1 - len(ended) / n_worlds) ** float(scene.get("seeds", 1))
    if missed >= _MISSED_PROBABILITY and listed and (len(outcomes) > 1 or not ended):
        return SceneReplay(len(scene["ticks"]), replayer.n_values, listed, None)
    first = min(ended.values(), key=lambda found: -found.tick)
    return SceneReplay(first.tick - 1, replayer.n_values, listed, first)


class _SceneReplayer:
    """A batch of worlds that are stepped with the actions of a scene."""

    def __init__(
        self, scene: Mapping[str, Any], quirks: Mapping[str, bool] | None, n_worlds: int
    ) -> None:
        self.scene = scene
        self.fields = get_fields(scene)
        self.world = CogsguardWorld(convert_settings(scene, quirks), n_worlds)
        self.world._rules.timers[:, 2] = find_last_ticks(scene)
        self.world.reset(np.arange(n_worlds))
        self.n_values = 0
        self._keeps_vibe: list[bool] = []  # agents to which the last tick gave the vibe they had
        self._rows = self._find_rows()
        self._junctions = [self._find_cell(y, x) for y, x in scene["junctions"]]
        self._extractors = [self._find_cell(y, x) for y, x, _ in scene["extractors"]]
        self._place_agents()
        s = self.world._arrays
        s.store[:] = np.array(scene["start"]["stores"])
        s.cell_detail[:, self._extractors] = scene["start"]["stock"]

    def _find_rows(self) -> list[int]:
        """Return the row of each agent of the scene: its team's rows in the order of the scene."""
        counts: dict[int, int] = {}
        rows = []
        for team in self.scene["teams"]:
            rows.append(team * self.world._rules.rows_per_team + counts.get(team, 0))
            counts[team] = counts.get(team, 0) + 1
        return rows

    def _find_cell(self, y: int, x: int) -> int:
        """Return the index of a cell of the map."""
        rules = self.world._rules
        return (y + rules.pad) * rules.stride + x + rules.pad

    def _place_agents(self) -> None:
        """Put every agent on its cell, with all that it holds at the start."""
        s = self.world._arrays
        for row, team, values in zip(
            self._rows, self.scene["teams"], self.scene["start"]["agents"], strict=True
        ):
            agent = dict(zip(self.fields, values, strict=True))
            cell = self._find_cell(agent["y"], agent["x"])
            for i, name in enumerate(codes.OBSERVED_COLUMNS):
                labels = {"gear": codes.GEARS, "vibe": codes.VIBES}.get(name)
                value = labels.index(agent[name]) if labels else agent[name]
                s.body[:, row, i] = value
            s.body[:, row, codes.CELL] = cell
            s.cell_detail[:, cell] = row
            gear, vibe = s.body[0, row, codes.GEAR], s.body[0, row, codes.VIBE]
            for viewer in range(self.world.settings.teams):
                mark = codes.OWN if viewer == team else codes.OTHER
                word = codes.AGENT | mark << codes.OWNER_SHIFT
                word |= int(gear) << codes.GEAR_SHIFT | int(vibe) << codes.VIBE_SHIFT
                s.team_view[:, viewer, cell] &= codes.AREA_MASK
                s.team_view[:, viewer, cell] |= np.uint16(word)

    def advance(self, acts: Sequence[str]) -> None:
        """Step all worlds with the actions of a tick; an agent without a vibe keeps its own."""
        s, n_worlds = self.world._arrays, self.world.n_worlds
        actions: Ints = np.zeros((n_worlds, self.world.spec.rows, 2), dtype=np.int64)
        actions[:, :, 1] = s.body[:, :, codes.VIBE]
        self._keeps_vibe = []
        for row, act in zip(self._rows, acts, strict=True):
            move, _, vibe = act.partition("+")
            if move not in codes.MOVES or (vibe and vibe not in codes.VIBES):
                raise SceneError(f"The scene has an unknown action {act!r}.")
            actions[:, row, 0] = codes.MOVES.index(move)
            self._keeps_vibe.append(vibe == codes.VIBES[s.body[0, row, codes.VIBE]])
            if vibe:
                actions[:, row, 1] = codes.VIBES.index(vibe)
        self.world.step(actions.reshape(-1, 2))

    def compare(
        self, w: int, tick: int, state: Mapping[str, Any], acts: Sequence[str] | None
    ) -> Iterator[SceneDifference]:
        """Compare a world with a recorded state.

        Args:
            w: World.
            tick: Tick after which the state was recorded.
            state: The recorded state.
            acts: Actions of the tick, None at the start, where success means nothing.
        """
        name = str(self.scene["name"])
        for i, values in enumerate(state["agents"]):
            got = self._get_agent(w, tick, i, acts)
            for field, value in zip(self.fields, values, strict=True):
                self.n_values += 1
                if field == "ok" and acts is None:
                    continue
                expected = value
                if field == "reward":
                    expected = value + self._find_unpaid_reward(i, state)
                    equal = acts is None or abs(expected - got[field]) <= REWARD_TOLERANCE
                else:
                    equal = value == got[field]
                if not equal:
                    yield SceneDifference(name, tick, i, field, expected, got[field])
        for field, value in self._get_world(w).items():
            if field in state:
                self.n_values += max(1, len(value))
                if state[field] != value:
                    yield SceneDifference(name, tick, None, field, state[field], value)

    def _get_agent(
        self, w: int, tick: int, agent: int, acts: Sequence[str] | None
    ) -> dict[str, Any]:
        """Return the numbers of an agent in a world, by field.

        Args:
            w: World.
            tick: Current tick.
            agent: Index of the agent in the scene.
            acts: Actions of the tick.
        """
        s, rules, row = self.world._arrays, self.world._rules, self._rows[agent]
        body = s.body[w, row].tolist()
        got: dict[str, Any] = dict(zip(codes.OBSERVED_COLUMNS, body, strict=False))
        got["gear"], got["vibe"] = codes.GEARS[got["gear"]], codes.VIBES[got["vibe"]]
        y, x = divmod(body[codes.CELL], rules.stride)
        is_day = tick > 0 and tick % rules.day_period < rules.day_length
        # A recording has the success of the vibe where one is given, and vibes always succeed. In
        # kinfolk only the quirk does that, and only a vibe that changes is known to be given.
        has_vibe = acts is not None and "+" in acts[agent]
        has_vibe = has_vibe and (not rules.vibe_success or self._keeps_vibe[agent])
        return got | {
            "y": y - rules.pad,
            "x": x - rules.pad,
            "solar": rules.solar_day if is_day else rules.solar_night,
            "ok": 1 if has_vibe else body[codes.ACTION_SUCCEEDED],
            "reward": float(s.reward[w, row]),
        }

    def _find_unpaid_reward(self, agent: int, state: Mapping[str, Any]) -> float:
        """Return what junctions would pay that never pay, because they were drawn as owned."""
        symbol = TEAM_JUNCTION_SYMBOLS[self.scene["teams"][agent]]
        pays = self.scene.get("pays", "")
        if self.scene["edition"] != "F" or "act" not in state:
            return 0.0
        unpaid = [o for o, paid in zip(state["owners"], pays, strict=False) if paid == "0"]
        return unpaid.count(symbol) / self.world.settings.max_steps

    def _get_world(self, w: int) -> dict[str, Any]:
        """Return owners, networks, stocks and stores of a world as a scene has them."""
        s = self.world._arrays
        owners, networks = "", ""
        for j in range(len(self._junctions)):
            owner, second = s.junction[
                w, j, [codes.JUNCTION_OWNER, codes.JUNCTION_SECOND_OWNER]
            ].tolist()
            linked = int(s.junction[w, j, codes.JUNCTION_LINKED])
            owners += self._get_symbol({owner, second})
            networks += self._get_symbol(
                {
                    owner if linked & codes.OWNER_LINKED else -1,
                    second if linked & codes.SECOND_LINKED else -1,
                }
            )
        kinds = s.team_view[w, 0, self._extractors] & codes.KIND_MASK
        is_extractor = (kinds >= codes.EXTRACTOR) & (kinds < codes.HUB)
        stock = np.where(is_extractor, s.cell_detail[w, self._extractors], 0)
        stores = s.store[w].tolist()
        return {"owners": owners, "net": networks, "stock": stock.tolist(), "stores": stores}

    def _get_symbol(self, sides: set[int]) -> str:
        """Return the symbol of a junction that bears the marks of these sides, -1 for none."""
        clips, teams = self.world.settings.teams, sorted(sides - {-1})
        if len(teams) > 1:
            return "&"
        if not teams:
            return "J"
        return "!" if teams[0] == clips else TEAM_JUNCTION_SYMBOLS[teams[0]]
