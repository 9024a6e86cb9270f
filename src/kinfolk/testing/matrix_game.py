"""Rock, paper, scissors with stakes: a world whose equilibrium is known, for tests of leagues.

With stakes of `rock`, `paper` and `scissors` for winning with each, the only equilibrium plays rock, paper
and scissors in the proportions `scissors : rock : paper`: whatever wins more is answered more often.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kinfolk.core.arrays import AnyArray, Bools, Bytes, Floats, Ints
from kinfolk.core.settings import Settings, setting
from kinfolk.core.spaces import ActionHead, AgentGroup, ObservationField, WorldSpec
from kinfolk.worlds.base import BatchedWorld, WorldEvent, check_actions, check_batch_size
from kinfolk.worlds.render import AgentAttribute, CellLayer, RenderFrame, RenderSpec

CHOICES = ("rock", "paper", "scissors")


class MatrixGameSettings(Settings):
    """Stakes of the game, and how often it is played in an episode."""

    rock: float = setting(2.0, "Reward for winning with rock; the loser pays it.", gt=0.0)
    paper: float = setting(1.0, "Reward for winning with paper; the loser pays it.", gt=0.0)
    scissors: float = setting(1.0, "Reward for winning with scissors; the loser pays it.", gt=0.0)
    max_ticks: int = setting(1, "Games of an episode.", ge=1)

    @property
    def payoffs(self) -> Floats:
        """`[3, 3]`, reward of the row's choice against the column's."""
        r, p, s = self.rock, self.paper, self.scissors
        return np.array([[0.0, -p, r], [p, 0.0, -s], [-r, s, 0.0]])

    @property
    def equilibrium(self) -> Floats:
        """`[3]`, probability of each choice in equilibrium."""
        weights = np.array([self.scissors, self.rock, self.paper])
        return np.asarray(weights / weights.sum())


class _State(NamedTuple):
    """State of W worlds with two players."""

    key: Ints
    tick: Ints
    done: Bools
    choice: Ints  # [W, 2] of the last game, -1 before the first
    uid: Ints
    alive: Bools
    reward: Floats
    terminated: Bools
    truncated: Bools
    group: Ints
    parents: Ints
    parent_rows: Ints


class MatrixGame(BatchedWorld):
    """Two players, each a team of its own, choose at once; what one wins the other loses.

    Args:
        settings: Stakes of all worlds.
        n_worlds: Size of the batch.
    """

    settings_type = MatrixGameSettings
    metric_definitions: dict[str, tuple[str, str]] = {}  # noqa: RUF012, read only

    def __init__(self, settings: MatrixGameSettings, n_worlds: int = 1) -> None:
        check_batch_size(n_worlds)
        self.settings, w = settings, n_worlds
        self._state = _State(
            key=np.zeros(w, np.int64),
            tick=np.zeros(w, np.int64),
            done=np.ones(w, np.bool_),
            choice=np.full((w, 2), -1),
            uid=np.full((w, 2), -1),
            alive=np.zeros((w, 2), np.bool_),
            reward=np.zeros((w, 2)),
            terminated=np.zeros((w, 2), np.bool_),
            truncated=np.zeros((w, 2), np.bool_),
            group=np.tile(np.arange(2), (w, 1)),
            parents=np.full((w, 2, 2), -1),
            parent_rows=np.full((w, 2, 2), -1),
        )
        fields = (ObservationField("one", (1,), "float32"),)
        heads = (ActionHead("choice", CHOICES),)
        groups = tuple(AgentGroup(f"player_{i}", fields, heads) for i in range(2))
        super().__init__(WorldSpec("matrix_game", 2, groups, settings.max_ticks), self._state)

    def reset(self, keys: Ints, worlds: Ints | None = None) -> None:
        """Start episodes, with one random key per world."""
        s, worlds = self._state, self._select_worlds(worlds, keys)
        s.key[worlds] = keys
        for name in ("tick", "reward", "terminated", "truncated", "done"):
            getattr(s, name)[worlds] = 0
        s.uid[worlds], s.alive[worlds], s.choice[worlds] = np.arange(2), True, -1

    def step(self, actions: Ints) -> None:
        """Play one game in every world."""
        check_actions(self, actions)
        s = self._state
        worlds = np.flatnonzero(~s.done)
        chosen = actions.reshape(-1, 2)[worlds]
        won = self.settings.payoffs[chosen[:, 0], chosen[:, 1]]
        s.choice[worlds], s.reward[worlds] = chosen, np.stack([won, -won], axis=1)
        s.tick[worlds] += 1
        ended = worlds[s.tick[worlds] >= self.settings.max_ticks]
        s.done[ended], s.terminated[ended] = True, True

    def observe(self, out: Bytes, worlds: Ints | None = None) -> None:
        """Write the number 1, which is all that players see."""
        rows = out.reshape(self.n_worlds, 2, -1)
        chosen = self._select_worlds(worlds)
        rows[chosen] = 0
        rows[chosen, :, :4] = np.ones(1, np.float32).view(np.uint8)

    def counters(self) -> dict[str, AnyArray]:
        """Return nothing: the game counts nothing."""
        return {}

    @staticmethod
    def compute_metrics(full_length: AnyArray, values: Any) -> dict[str, AnyArray]:  # noqa: ARG004
        """Return no metrics beside the returns."""
        return {}

    def record_events(self, on: bool) -> None:
        """Record nothing: a game has no events."""

    def events(self) -> list[WorldEvent]:
        """Return nothing: a game has no events."""
        return []

    def render_text(self, world: int) -> str:
        """Return the last choices, for a terminal."""
        return " ".join("-" if c < 0 else CHOICES[c] for c in self._state.choice[world].tolist())

    @property
    def render_spec(self) -> RenderSpec:
        """What a frame holds, for replays and the viewer."""
        layer = CellLayer("kind", "code", ("ground",))
        return RenderSpec(
            height=1,
            width=2,
            layers=(layer,),
            attributes=(AgentAttribute("choice"),),
            view_radius=(0, 0),
            series=(),
        )

    def render_frame(self, world: int) -> RenderFrame:
        """Return the current frame of one world."""
        choice = self._state.choice[world][None].copy()
        return RenderFrame(np.zeros((1, 2), np.uint8), np.arange(2), choice, np.zeros(0))
