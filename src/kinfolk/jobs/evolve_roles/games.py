"""Games of teams of roles as tasks: a batch of worlds, each with its own teams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray, Ints
from kinfolk.engines.base import Engine
from kinfolk.play.observer import Observer
from kinfolk.play.results import EpisodeResult
from kinfolk.play.task import RolloutTask, WorldRef, run_task
from kinfolk.policies.resolve import ResolvedPolicy
from kinfolk.policies.role_domain import ROLE_DOMAINS, RoleDomain, role_tables_in_memory
from kinfolk.roles.catalog import RoleCatalog
from kinfolk.roles.model import RoleTier
from kinfolk.roles.program import RoleTables, role_from_tables, role_tables, tables_from_arrays
from kinfolk.worlds.base import World

# Instead of a role id: an agent that does nothing, and one of the world's baseline.
IDLE_ROLE, BASELINE_ROLE = -1, -2
SLOT = "roles"  # the only slot


@dataclass(frozen=True)
class RoleEnvironment:
    """The world and the policy of games and how they are scored, equal for all games of a run.

    Args:
        world: The world.
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
        """Return the world's hooks for role evolution."""
        domain: RoleDomain = ROLE_DOMAINS.load(self.world.name)
        return domain

    @property
    def policy_path(self) -> str:
        """Return the import path of the policy class that plays."""
        return self.domain.hybrid_policy_class if self.temple else self.domain.policy_class

    @property
    def teams(self) -> int:
        """Return the number of teams in a world."""
        return len(self.domain.team_rows(self.world.build()))

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
    """An agent born into the first team in play: its index there, its parents and its role."""

    agent: int
    parents: tuple[int, int]
    tiers: tuple[RoleTier, ...]


@dataclass(frozen=True)
class RoleGameResult:
    """The scores of one game at each moment of scoring; the last is its end."""

    side_scores: AnyArray  # [moments, sides]
    agent_counters: Mapping[str, AnyArray]  # [moments, agents of the first team] by name
    newborns: tuple[BirthRecord, ...] = ()


class RoleScorer(Observer[list[RoleGameResult]]):
    """Read the scores of sides and the counters of agents at the moments of scoring.

    Args:
        environment: The moments of scoring, and the role domain.
        task: The first task.
        world: The batch of worlds.
    """

    def __init__(self, environment: RoleEnvironment, task: RolloutTask[Any], world: World) -> None:
        self._environment, self._domain = environment, environment.domain
        self._rows = self._domain.team_rows(world)[0]
        super().__init__(task, world)

    def start(self) -> None:
        """Start with no moment of scoring read."""
        self._moments: list[tuple[AnyArray, dict[str, AnyArray]]] = []
        self._ticks = 0

    def after_step(self, ended: list[EpisodeResult]) -> list[EpisodeResult]:
        """Read the scores if this tick is a moment of scoring."""
        self._ticks += 1
        if self._ticks == self._environment.score_step:
            self._moments.append(self._read())
        return ended

    def finish(self) -> list[RoleGameResult]:
        """Return the result of each game."""
        moments = [*self._moments, self._read()]
        games = range(self.world.n_worlds)
        newborns = self._newborns() if self._environment.temple else [() for _ in games]
        scores = np.stack([sides for sides, _ in moments], axis=1)
        counters = {
            n: np.stack([each[n] for _, each in moments], axis=1)
            for n in self._domain.contribution_weights
        }
        return [
            RoleGameResult(
                scores[game], {name: a[game] for name, a in counters.items()}, newborns[game]
            )
            for game in games
        ]

    def _read(self) -> tuple[AnyArray, dict[str, AnyArray]]:
        counters = self._domain.agent_counters(self.world)
        return self._domain.side_scores(self.world), {
            n: counters[n][:, self._rows] for n in self._domain.contribution_weights
        }

    def _newborns(self) -> list[tuple[BirthRecord, ...]]:
        """Return the agents born into the first team of each game, the eldest first."""
        world, columns, rows = self.world, self.world.columns, self._rows
        roles, row_state = role_tables_in_memory(self.loop.memory[0]), self.loop.row_state
        agent_of = {int(row): agent for agent, row in enumerate(rows)}
        newborns = []
        for game in range(world.n_worlds):
            slots = game * world.spec.rows + rows[self._domain.initial_team_size(world) :]
            # Agents born in the last tick have not acted, and have no role yet.
            living = [p for p in slots.tolist() if columns.uid[p] >= 0 <= roles.behaviors[p, 0]]
            living = [p for p in living if row_state.uid[p] == columns.uid[p]]
            living.sort(key=lambda slot: int(columns.uid[slot]))
            newborns.append(
                tuple(
                    BirthRecord(
                        agent_of[slot % world.spec.rows],
                        (
                            agent_of[int(columns.parent_rows[slot, 0])],
                            agent_of[int(columns.parent_rows[slot, 1])],
                        ),
                        role_from_tables(roles, slot).tiers,
                    )
                    for slot in living
                )
            )
        return newborns


def play_role_games(
    engine: Engine,
    environment: RoleEnvironment,
    catalog: RoleCatalog,
    seed: int,
    games: Sequence[RoleGame],
    chunk_size: int,
) -> list[RoleGameResult]:
    """Play games on an engine; results come in the order of the games, whatever the chunk.

    Args:
        engine: Engine that plays the games.
        environment: World, policy and scoring.
        catalog: The catalog of roles.
        seed: Random seed of all games.
        games: Their episodes and teams.
        chunk_size: Most games of a task.
    """
    parts = split_batches(games, chunk_size, engine.jobs)
    tasks = (games_task(environment, catalog, seed, part) for part in parts)
    played = [result.observed for result in engine.map(run_task, tasks)]
    return [played[i % len(parts)][i // len(parts)] for i in range(len(games))]


def split_batches(
    games: Sequence[RoleGame], chunk_size: int, jobs: int
) -> list[Sequence[RoleGame]]:
    """Split games into batches of about one size, the same number for each worker.

    Games are dealt out in turn, so that the long games of one episode are shared by all batches.

    Args:
        games: The games.
        chunk_size: Most games of a batch.
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
    """Return the task of some games, which a worker can play without a catalog.

    Args:
        environment: World, policy and scoring.
        catalog: The catalog of roles.
        seed: Random seed of all games.
        games: Their episodes and teams.
    """
    domain, world = environment.domain, environment.world.build()
    teams = np.array([game.teams for game in games], dtype=np.int64)
    used = used_role_ids(games)
    rows = {role_id: row for row, role_id in enumerate([*used, IDLE_ROLE])}
    rows[BASELINE_ROLE] = domain.baseline_member
    members: Ints = np.zeros((len(games), world.spec.rows), dtype=np.int64)
    founders = domain.team_rows(world)[:, : domain.initial_team_size(world)].ravel()
    members[:, founders] = [[rows[int(i)] for i in game] for game in teams.reshape(len(games), -1)]
    tables = _add_idle_role(role_tables([catalog.roles[i] for i in used]))
    return RolloutTask(
        environment.world,
        {
            SLOT: ResolvedPolicy(
                environment.policy_path, environment.policy_settings, tables._asdict()
            )
        },
        seed,
        [game.episode for game in games],
        members=members,
        observer=environment,
    )


def used_role_ids(games: Sequence[RoleGame]) -> list[int]:
    """Return the ids of roles that games need, in the order of their rows in the tables."""
    return sorted({role for game in games for team in game.teams for role in team if role >= 0})


def _add_idle_role(tables: RoleTables) -> RoleTables:
    """Return tables with one more role, which has no behaviors."""
    padded = {name: np.pad(a, ((0, 1), (0, 0))) for name, a in tables._asdict().items()}
    padded["behaviors"][-1] = -1
    return tables_from_arrays(padded)
