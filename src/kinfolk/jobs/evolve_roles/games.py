"""Games of teams of roles as tasks: a batch of worlds, each with roles of its own."""

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
SLOT = "roles"  # the only one


@dataclass(frozen=True)
class RoleEnvironment:
    """Where games are played and how they are scored. The same for all games of a run."""

    world: WorldRef
    policy_settings: Mapping[str, Any] = field(default_factory=dict)
    score_step: int | None = None  # a further moment at which scores are taken
    temple: bool = False  # newborns get hybrids

    @property
    def domain(self) -> RoleDomain:
        """What is known of the world's roles."""
        kit: RoleDomain = ROLE_DOMAINS.load(self.world.name)
        return kit

    @property
    def policy_path(self) -> str:
        """The class that plays."""
        return self.domain.hybrid_policy_class if self.temple else self.domain.policy_class

    @property
    def teams(self) -> int:
        """How many teams play in a world."""
        return len(self.domain.team_rows(self.world.build()))

    def __call__(self, task: RolloutTask[Any], world: World) -> RoleScorer:
        """Return the observer that scores games."""
        return RoleScorer(self, task, world)


@dataclass(frozen=True)
class RoleGame:
    """One episode and the line-up of each team, as role ids."""

    episode: int
    teams: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Newborn:
    """An agent of the first team that was born in play: its place there, its parents', its role."""

    agent: int
    parents: tuple[int, int]
    tiers: tuple[RoleTier, ...]


@dataclass(frozen=True)
class RoleGameResult:
    """What came of one game, at each moment of scoring; the last is its end."""

    side_scores: AnyArray  # [moments, sides]
    agent_counters: Mapping[str, AnyArray]  # [moments, agents of the first team] by name
    newborns: tuple[Newborn, ...] = ()


class RoleScorer(Observer[list[RoleGameResult]]):
    """Reads what each game's teams held and its agents did, at the moments of scoring.

    Args:
        ground: The moments, and what is known of the world's roles.
        task: The first task.
        world: The batch of worlds.
    """

    def __init__(self, ground: RoleEnvironment, task: RolloutTask[Any], world: World) -> None:
        self._ground, self._kit = ground, ground.domain
        self._rows = self._kit.team_rows(world)[0]
        super().__init__(task, world)

    def start(self) -> None:
        """Begin with no moment read."""
        self._moments: list[tuple[AnyArray, dict[str, AnyArray]]] = []
        self._ticks = 0

    def after_step(self, ended: list[EpisodeResult]) -> list[EpisodeResult]:
        """Read the scores where it is the moment."""
        self._ticks += 1
        if self._ticks == self._ground.score_step:
            self._moments.append(self._read())
        return ended

    def finish(self) -> list[RoleGameResult]:
        """Return the result of each game."""
        moments = [*self._moments, self._read()]
        games = range(self.world.n_worlds)
        newborns = self._newborns() if self._ground.temple else [() for _ in games]
        held = np.stack([sides for sides, _ in moments], axis=1)
        deeds = {
            n: np.stack([each[n] for _, each in moments], axis=1)
            for n in self._kit.contribution_weights
        }
        return [
            RoleGameResult(held[game], {name: a[game] for name, a in deeds.items()}, newborns[game])
            for game in games
        ]

    def _read(self) -> tuple[AnyArray, dict[str, AnyArray]]:
        deeds = self._kit.agent_counters(self.world)
        return self._kit.side_scores(self.world), {
            n: deeds[n][:, self._rows] for n in self._kit.contribution_weights
        }

    def _newborns(self) -> list[tuple[Newborn, ...]]:
        """Return who was born into the first team of each game, the eldest first."""
        world, columns, rows = self.world, self.world.columns, self._rows
        roles, seats = role_tables_in_memory(self.loop.memory[0]), self.loop.row_state
        agent_of = {int(row): agent for agent, row in enumerate(rows)}
        found = []
        for game in range(world.n_worlds):
            places = game * world.spec.rows + rows[self._kit.initial_team_size(world) :]
            # Who was born in the last tick was never asked, and has no role yet.
            living = [p for p in places.tolist() if columns.uid[p] >= 0 <= roles.behaviors[p, 0]]
            living = [p for p in living if seats.uid[p] == columns.uid[p]]
            living.sort(key=lambda place: int(columns.uid[place]))
            found.append(
                tuple(
                    Newborn(
                        agent_of[place % world.spec.rows],
                        (
                            agent_of[int(columns.parent_rows[place, 0])],
                            agent_of[int(columns.parent_rows[place, 1])],
                        ),
                        role_from_tables(roles, place).tiers,
                    )
                    for place in living
                )
            )
        return found


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
        engine: Where tasks run.
        environment: Where games are played.
        catalog: The roles.
        seed: Of all games.
        games: Their episodes and line-ups.
        chunk_size: The most games of a task.
    """
    parts = split_batches(games, chunk_size, engine.jobs)
    tasks = (games_task(environment, catalog, seed, part) for part in parts)
    played = [result.observed for result in engine.map(run_task, tasks)]
    return [played[at % len(parts)][at // len(parts)] for at in range(len(games))]


def split_batches(
    games: Sequence[RoleGame], chunk_size: int, jobs: int
) -> list[Sequence[RoleGame]]:
    """Batches of at most `chunk_size` games, as many for each worker, and all of about one size.

    Games are dealt like cards: those of one episode take long or short together, and are shared.

    >>> [len(part) for part in split_batches(range(102), 32, 2)]
    [26, 26, 25, 25]
    >>> [list(part) for part in split_batches(range(3), 32, 2)]
    [[0, 2], [1]]
    """
    rounds = -(-len(games) // (chunk_size * jobs))
    parts = min(len(games), rounds * jobs)
    return [games[part::parts] for part in range(parts)]


def games_task(
    ground: RoleEnvironment, catalog: RoleCatalog, seed: int, games: Sequence[RoleGame]
) -> RolloutTask[list[RoleGameResult]]:
    """Return the task of some games, which a worker can play without a catalogue.

    Args:
        ground: Where games are played.
        catalog: The roles.
        seed: Of all games.
        games: Their episodes and line-ups.
    """
    kit, world = ground.domain, ground.world.build()
    teams = np.array([game.teams for game in games], dtype=np.int64)
    used = used_role_ids(games)
    rows = {role_id: row for row, role_id in enumerate([*used, IDLE_ROLE])}
    rows[BASELINE_ROLE] = kit.baseline_member
    members: Ints = np.zeros((len(games), world.spec.rows), dtype=np.int64)
    founders = kit.team_rows(world)[:, : kit.initial_team_size(world)].ravel()
    members[:, founders] = [[rows[int(i)] for i in game] for game in teams.reshape(len(games), -1)]
    tables = _add_idle_role(role_tables([catalog.roles[i] for i in used]))
    return RolloutTask(
        ground.world,
        {SLOT: ResolvedPolicy(ground.policy_path, ground.policy_settings, tables._asdict())},
        seed,
        [game.episode for game in games],
        members=members,
        observer=ground,
    )


def used_role_ids(games: Sequence[RoleGame]) -> list[int]:
    """The roles that games need, in the order of their rows in the tables."""
    return sorted({role for game in games for team in game.teams for role in team if role >= 0})


def _add_idle_role(tables: RoleTables) -> RoleTables:
    """Tables with one more role, which holds nothing."""
    padded = {name: np.pad(a, ((0, 1), (0, 0))) for name, a in tables._asdict().items()}
    padded["behaviors"][-1] = -1
    return tables_from_arrays(padded)
