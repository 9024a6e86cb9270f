"""Games of teams of roles: a batch of worlds, each with its own teams, and their scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np

from kinfolk.core.arrays import AnyArray, Floats, Ints
from kinfolk.play.results import EpisodeResult
from kinfolk.play.task import MAX_FREE_TICKS, Observer, RolloutTask, WorldRef
from kinfolk.play.world_cache import reuse_world
from kinfolk.policies.build import ResolvedPolicy
from kinfolk.policies.role_domain import (
    ROLE_DOMAINS,
    RoleDomain,
    role_tables_in_memory,
    score_agents,
)
from kinfolk.roles.catalog import RoleCatalog
from kinfolk.roles.fitness import AgentScore, relative_contributions
from kinfolk.roles.model import EvolutionConfig, RoleTier
from kinfolk.roles.program import role_from_tables, role_tables
from kinfolk.worlds.base import World

# Instead of a role id: an agent that does nothing, and one of the world's baseline.
IDLE_ROLE, BASELINE_ROLE = -1, -2
SLOT = "roles"  # the only slot
T = TypeVar("T")


@dataclass(frozen=True)
class RoleEnvironment:
    """World, policy and scoring that all games of a run share.

    Args:
        world: World of the games.
        policy_settings: Settings of the policy that runs the roles.
        score_step: Tick at which scores are taken in addition to the end; None for the end only.
        temple: Whether agents born in play get hybrids of their parents' roles.
    """

    world: WorldRef
    policy_settings: Mapping[str, Any] = field(default_factory=dict)
    score_step: int | None = None
    temple: bool = False

    @property
    def domain(self) -> RoleDomain:
        """Hooks of the world for role evolution."""
        return cast("RoleDomain", ROLE_DOMAINS.load(self.world.name))

    @property
    def policy_path(self) -> str:
        """Import path of the policy class that plays the roles."""
        return self.domain.hybrid_policy_class if self.temple else self.domain.policy_class

    @property
    def n_teams(self) -> int:
        """Number of teams in a world."""
        return len(self.domain.team_rows(reuse_world(self.world, 1)))

    @property
    def team_size(self) -> int:
        """Number of agents of a team at the start."""
        return self.domain.initial_team_size(reuse_world(self.world, 1))

    def __call__(self, task: RolloutTask[Any], world: World) -> RoleScorer:
        """Return the observer that scores the games of a task."""
        return RoleScorer(self, task, world)


@dataclass(frozen=True)
class RoleGame:
    """One episode and the role ids of each team."""

    episode: int
    teams: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class BirthRecord:
    """An agent born into the first team during a game: its index, its parents and its role."""

    agent: int
    parents: tuple[int, int]
    tiers: tuple[RoleTier, ...]


@dataclass(frozen=True)
class RoleGameResult:
    """Scores of one game at each moment of scoring, the last of which is the end of the game."""

    side_scores: AnyArray  # [moments, sides]
    agent_counters: Mapping[str, AnyArray]  # [moments, agents of the first team] by name
    n_agents: int = 0  # initial agents of the first team
    newborns: tuple[BirthRecord, ...] = ()
    acted: AnyArray | None = None  # [agents of the first team, behaviors], ticks; None: not known


class RoleScorer(Observer[list[RoleGameResult]]):
    """Observer that reads scores of teams and counters of agents at the moments of scoring.

    Args:
        environment: The moments of scoring, and the role domain.
        task: The first task.
        world: The batch of worlds.
    """

    def __init__(self, environment: RoleEnvironment, task: RolloutTask[Any], world: World) -> None:
        self._environment, self._domain = environment, environment.domain
        self._rows = self._domain.team_rows(world)[0]  # of the first team
        super().__init__(task, world)

    def start(self) -> None:
        """Start with no moment of scoring read."""
        self._moments: list[tuple[AnyArray, dict[str, AnyArray]]] = []
        self._ticks = 0

    def count_free_ticks(self) -> int:
        """Return the ticks before the next moment of scoring."""
        score_step = self._environment.score_step
        if score_step is None or self._ticks >= score_step:
            return MAX_FREE_TICKS
        return score_step - self._ticks - 1

    def skip_ticks(self, n_ticks: int) -> None:
        """Count ticks that were played without a call of `after_step`."""
        self._ticks += n_ticks

    def after_step(self, ended: list[EpisodeResult]) -> list[EpisodeResult]:
        """Read the scores if this tick is a moment of scoring."""
        self._ticks += 1
        if self._ticks == self._environment.score_step:
            self._moments.append(self._read_scores())
        return ended

    def finish(self) -> list[RoleGameResult]:
        """Return the result of each game."""
        moments = [*self._moments, self._read_scores()]
        games = range(self.world.n_worlds)
        newborns = self._read_newborns() if self._environment.temple else [() for _ in games]
        scores = np.stack([sides for sides, _ in moments], axis=1)
        counters = {n: np.stack([each[n] for _, each in moments], axis=1) for n in moments[0][1]}
        acted = self._read_ticks_acted()
        return [
            RoleGameResult(
                scores[game],
                {n: a[game] for n, a in counters.items()},
                self._domain.initial_team_size(self.world),
                newborns[game],
                None if acted is None else acted[game],
            )
            for game in games
        ]

    def _read_ticks_acted(self) -> AnyArray | None:
        """Return `[games, agents, behaviors]` ticks in which behaviors acted, if the policy counts."""
        acted = self.loop.memory[0].get("acted")
        if acted is None:
            return None
        n_rows = self.world.spec.rows
        return acted[: self.world.n_worlds * n_rows].reshape(-1, n_rows, acted.shape[1])[
            :, self._rows
        ]

    def _read_scores(self) -> tuple[AnyArray, dict[str, AnyArray]]:
        """Return the current scores `[games, sides]`, and counters `[games, agents]` by name."""
        domain, counters = self._domain, self._domain.agent_counters(self.world)
        own_team = {name: counters[name][:, self._rows] for name in domain.counters}
        return domain.side_scores(self.world), own_team

    def _read_newborns(self) -> list[tuple[BirthRecord, ...]]:
        """Return the agents born into the first team of each game, the eldest first."""
        world, columns, n_rows = self.world, self.world.columns, self.world.spec.rows
        roles, row_state = role_tables_in_memory(self.loop.memory[0]), self.loop.row_state
        agent_of = {int(row): agent for agent, row in enumerate(self._rows)}
        free_rows = self._rows[self._domain.initial_team_size(world) :]
        newborns = []
        for game in range(world.n_worlds):
            births = []
            slots = game * n_rows + free_rows
            for slot in sorted(slots.tolist(), key=lambda slot: int(columns.uid[slot])):
                uid = columns.uid[slot]
                # Agents born in the last tick have not acted, and have no role yet.
                if uid >= 0 <= roles.behaviors[slot, 0] and row_state.uid[slot] == uid:
                    first, second = (agent_of[row] for row in columns.parent_rows[slot].tolist())
                    tiers = role_from_tables(roles, slot).tiers
                    births.append(BirthRecord(agent_of[slot % n_rows], (first, second), tiers))
            newborns.append(tuple(births))
        return newborns


def split_batches(games: Sequence[T], chunk_size: int, jobs: int) -> list[Sequence[T]]:
    """Split games into batches of nearly equal size, the same number of batches per worker.

    Games are dealt out in turn, so that the long games of one episode are shared by all batches.

    Args:
        games: Games to split.
        chunk_size: Maximum number of games in a batch.
        jobs: Number of workers.

    >>> [len(part) for part in split_batches(range(102), 32, 2)]
    [26, 26, 25, 25]
    >>> [list(part) for part in split_batches(range(3), 32, 2)]
    [[0, 2], [1]]
    """
    rounds = -(-len(games) // (chunk_size * jobs))
    parts = min(len(games), rounds * jobs)
    return [games[part::parts] for part in range(parts)]


def games_task(
    environment: RoleEnvironment, catalog: RoleCatalog, seed: int, games: Sequence[RoleGame]
) -> RolloutTask[list[RoleGameResult]]:
    """Return a task that plays games; its policies hold the roles, so workers need no catalog.

    Args:
        environment: World, policy and scoring.
        catalog: The catalog of roles.
        seed: Random seed of all games.
        games: Their episodes and teams.
    """
    domain, world = environment.domain, reuse_world(environment.world, 1)
    size = domain.initial_team_size(world)
    fitted = [[fit_team(team, size) for team in game.teams] for game in games]
    teams = np.array(fitted, dtype=np.int64)
    used = used_role_ids(games)
    rows = {role_id: row for row, role_id in enumerate([*used, IDLE_ROLE])}
    rows[BASELINE_ROLE] = domain.baseline_member
    members: Ints = np.zeros((len(games), world.spec.rows), dtype=np.int64)
    founders = domain.team_rows(world)[:, :size].ravel()
    members[:, founders] = [[rows[int(i)] for i in game] for game in teams.reshape(len(games), -1)]
    played = role_tables([catalog.roles[i] for i in used], catalog)._asdict()
    tables = {name: np.pad(table, ((0, 1), (0, 0))) for name, table in played.items()}
    tables["behaviors"][-1] = -1  # the idle role
    policy = ResolvedPolicy(environment.policy_path, environment.policy_settings, tables)
    episodes = [game.episode for game in games]
    return RolloutTask(
        environment.world, {SLOT: policy}, seed, episodes, members=members, observer=environment
    )


def fit_team(roles: Sequence[int], n_agents: int) -> tuple[int, ...]:
    """Return a team of another size with the same roles in about the same proportions.

    >>> fit_team((0, 0, 1, 2), 2), fit_team((0, 0, 1, 2), 6)
    ((0, 1), (0, 0, 0, 1, 1, 2))

    Args:
        roles: Role id of each agent, sorted.
        n_agents: Agents of the new team.
    """
    return tuple(roles[i * len(roles) // n_agents] for i in range(n_agents))


def used_role_ids(games: Sequence[RoleGame]) -> list[int]:
    """Return the ids of all roles in some games, in the order of their rows in the policy."""
    return sorted({role for game in games for team in game.teams for role in team if role >= 0})


def ticks_by_behavior(result: RoleGameResult, agent: int) -> dict[int, int] | None:
    """Return the ticks in which each behavior of an agent acted; None if they are not known."""
    if result.acted is None:
        return None
    return {i: int(ticks) for i, ticks in enumerate(result.acted[agent].tolist()) if ticks > 0}


class GameScores(NamedTuple):
    """Scores of the first team in a game, by moments of scoring."""

    scores: Floats  # [moments, agents], 0 to 1
    won: tuple[bool, ...]  # [moments]


def score_margin(result: RoleGameResult, n_teams: int) -> float:
    """Return the score of the first team at the end, less that of the best other team."""
    scores = result.side_scores[-1]
    return float(scores[0]) - (float(scores[1:n_teams].max()) if n_teams > 1 else 0.0)


def score_game(domain: RoleDomain, result: RoleGameResult, team_weight: float) -> GameScores:
    """Return every agent's score: its team's share of all scores, blended with its own counters.

    Args:
        domain: The role domain, with the weights of counters.
        result: Result of the game.
        team_weight: Weight of the team's share, 0 to 1.
    """
    scores, won = score_agents(domain, result.side_scores, result.agent_counters, team_weight)
    return GameScores(scores, tuple(bool(w) for w in won))


def blend_with_deeds(
    domain: RoleDomain,
    result: RoleGameResult,
    contributions: Sequence[float],
    config: EvolutionConfig,
) -> GameScores:
    """Return every agent's score: what its role contributes, blended with its own counters.

    Agents that were born during the game have no contribution; their score is the team's share,
    blended in the same way.

    Args:
        domain: The role domain, with the weights of counters.
        result: Result of the game.
        contributions: Contribution of each initial agent's role, from 0 to 1.
        config: `team_weight` is the weight of the contribution.
    """
    shares = score_game(domain, result, 1.0)
    deeds = relative_contributions(result.agent_counters, domain.contribution_weights)
    team_part = shares.scores.copy()
    team_part[:, : len(contributions)] = contributions
    scores = config.team_weight * team_part + (1.0 - config.team_weight) * deeds
    return GameScores(scores.clip(0.0, 1.0), shares.won)


def agent_records(
    game_scores: GameScores, roles: Sequence[int], result: RoleGameResult
) -> list[list[AgentScore]]:
    """Return the score records of the initial agents of a game, moment by moment.

    Args:
        game_scores: Their scores.
        roles: Role id of each agent.
        result: Result of the game, with the ticks in which behaviors acted.
    """
    acted = [ticks_by_behavior(result, agent) for agent in range(len(roles))]
    moments = []
    for scores, won in zip(game_scores.scores.tolist(), game_scores.won, strict=True):
        agents = zip(roles, scores, acted, strict=False)
        moments.append([AgentScore(role, score, won, ticks) for role, score, ticks in agents])
    return moments
