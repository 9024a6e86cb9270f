"""Games of line-ups as tasks for an engine: a batch of worlds, each with roles of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays, Ints
from kinfolk.engines.base import Engine
from kinfolk.play.loop import EpisodeLoop
from kinfolk.play.slots import LoadedSlot, build_slot_assignment
from kinfolk.policies.resolve import ResolvedPolicy, build_policy
from kinfolk.policies.role_domain import ROLE_DOMAINS, RoleDomain, role_tables_in_memory
from kinfolk.roles.catalog import RoleCatalog
from kinfolk.roles.model import RoleTier
from kinfolk.roles.program import RoleTables, role_from_tables, role_tables, tables_from_arrays
from kinfolk.worlds import build_world as build_world

# Instead of a role id: an agent that does nothing, and one of the world's baseline.
IDLE_ROLE, BASELINE_ROLE = -1, -2


@dataclass(frozen=True)
class RoleEnvironment:
    """Where games are played. The same for all games of a run."""

    world: str
    preset: str | None = None
    world_settings: Mapping[str, Any] = field(default_factory=dict)
    policy_settings: Mapping[str, Any] = field(default_factory=dict)
    score_step: int | None = None  # a further moment at which scores are taken
    temple: bool = False  # newborns get hybrids

    @property
    def domain(self) -> RoleDomain:
        """What is known of the world's roles."""
        kit: RoleDomain = ROLE_DOMAINS.load(self.world)
        return kit

    @property
    def policy_path(self) -> str:
        """The class that plays."""
        return self.domain.hybrid_policy_class if self.temple else self.domain.policy_class

    def build(self, worlds: int) -> Any:
        """A batch of worlds."""
        return build_world(self.world, self.world_settings, worlds, self.preset)


@dataclass(frozen=True)
class RoleGame:
    """One episode and the line-up of each team, as role ids."""

    episode: int
    teams: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class RoleGameBatch:
    """Some games side by side; rows of `tables` stand for roles."""

    environment: RoleEnvironment
    tables: Arrays
    members: Ints  # [games, teams, founders]
    seed: int
    episodes: tuple[int, ...]


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


def build_loop(batch: RoleGameBatch) -> EpisodeLoop:
    """The loop of a batch; its one policy is to be closed after it."""
    ground, games = batch.environment, len(batch.episodes)
    kit, world = ground.domain, ground.build(games)
    resolved = ResolvedPolicy(ground.policy_path, ground.policy_settings, batch.tables)
    policy = build_policy(resolved, world.spec)
    members = np.zeros((games, world.spec.rows), dtype=np.int64)
    founders = kit.team_rows(world)[:, : kit.initial_team_size(world)]
    members[:, founders.ravel()] = batch.members.reshape(games, -1)
    table = build_slot_assignment(world.spec, ["roles"])
    return EpisodeLoop(
        world, [LoadedSlot("roles", policy)], table, batch.seed, batch.episodes, members
    )


def play_role_batch(batch: RoleGameBatch) -> list[RoleGameResult]:
    """Play a batch to its end."""
    ground, games = batch.environment, len(batch.episodes)
    play = build_loop(batch)
    kit, world = ground.domain, play.world
    rows = kit.team_rows(world)
    moments, tick = [], 0
    while not play.is_done:
        play.tick()
        tick += 1
        if tick == ground.score_step:
            moments.append(_read_scores(kit, world, rows[0]))
    moments.append(_read_scores(kit, world, rows[0]))
    newborns = _newborns(kit, play, rows[0]) if ground.temple else [()] * games
    play.slots[0].policy.close()
    return [_game_result(moments, newborns[game], game) for game in range(games)]


def read_results(domain: RoleDomain, world: Any, rows: Ints) -> list[RoleGameResult]:
    """The games of a batch as they stand."""
    return [
        _game_result([_read_scores(domain, world, rows)], (), game)
        for game in range(world.n_worlds)
    ]


def _read_scores(kit: RoleDomain, world: Any, rows: Ints) -> tuple[AnyArray, dict[str, AnyArray]]:
    deeds = kit.agent_counters(world)
    return kit.side_scores(world), {name: deeds[name][:, rows] for name in kit.contribution_weights}


def _game_result(
    moments: Sequence[tuple[AnyArray, dict[str, AnyArray]]], born: tuple[Newborn, ...], game: int
) -> RoleGameResult:
    deeds = {name: np.stack([each[name][game] for _, each in moments]) for name in moments[0][1]}
    return RoleGameResult(np.stack([held[game] for held, _ in moments]), deeds, born)


def _newborns(kit: RoleDomain, play: EpisodeLoop, rows: Ints) -> list[tuple[Newborn, ...]]:
    """Who was born into the first team of each game, the eldest first."""
    world, columns = play.world, play.world.columns
    roles = role_tables_in_memory(play.memory[0])
    agent_of = {int(row): agent for agent, row in enumerate(rows)}
    found = []
    for game in range(world.n_worlds):
        places = game * world.spec.rows + rows[kit.initial_team_size(world) :]
        # Who was born in the last tick was never asked, and has no role yet.
        living = [p for p in places.tolist() if columns.uid[p] >= 0 <= roles.behaviors[p, 0]]
        living = [p for p in living if play.row_state.uid[p] == columns.uid[p]]
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
    """Play games on an engine; results come in the order of the games, whatever the chunk."""
    parts = split_batches(games, chunk_size, engine.jobs)
    played = list(
        engine.map(play_role_batch, (make_batch(environment, catalog, seed, p) for p in parts))
    )
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


def make_batch(
    environment: RoleEnvironment, catalog: RoleCatalog, seed: int, games: Sequence[RoleGame]
) -> RoleGameBatch:
    """Games as a value that a worker can play without a catalogue."""
    teams = np.array([game.teams for game in games], dtype=np.int64)
    used = used_role_ids(games)
    rows = {role_id: row for row, role_id in enumerate([*used, IDLE_ROLE])}
    rows[BASELINE_ROLE] = environment.domain.baseline_member
    members = np.array([rows[int(i)] for i in teams.ravel()], dtype=np.int64).reshape(teams.shape)
    tables = _add_idle_role(role_tables([catalog.roles[i] for i in used]))
    episodes = tuple(game.episode for game in games)
    return RoleGameBatch(environment, tables._asdict(), members, seed, episodes)


def used_role_ids(games: Sequence[RoleGame]) -> list[int]:
    """The roles that games need, in the order of their rows in the tables."""
    return sorted({role for game in games for team in game.teams for role in team if role >= 0})


def _add_idle_role(tables: RoleTables) -> RoleTables:
    """Tables with one more role, which holds nothing."""
    padded = {name: np.pad(a, ((0, 1), (0, 0))) for name, a in tables._asdict().items()}
    padded["behaviors"][-1] = -1
    return tables_from_arrays(padded)
