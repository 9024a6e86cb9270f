"""Games of line-ups as tasks for an engine: a batch of worlds, each with roles of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays, Ints
from kinfolk.engines.base import Engine
from kinfolk.play.episode import Play
from kinfolk.play.slots import Slot, slot_table
from kinfolk.policies.resolve import ResolvedPolicy, build
from kinfolk.policies.role_kits import ROLE_KITS, RoleKit, own_tables
from kinfolk.roles.catalog import RoleCatalog
from kinfolk.roles.materialise import RoleTables, role_from_tables, role_tables, tables_from
from kinfolk.roles.model import RoleTier
from kinfolk.worlds import build as build_world

# Instead of a role id: an agent that does nothing, and one of the world's baseline.
IDLE, BASELINE = -1, -2


@dataclass(frozen=True)
class Ground:
    """Where games are played. The same for all games of a run."""

    world: str
    preset: str | None = None
    world_settings: Mapping[str, Any] = field(default_factory=dict)
    policy_settings: Mapping[str, Any] = field(default_factory=dict)
    score_step: int | None = None  # a further moment at which scores are taken
    temple: bool = False  # newborns get hybrids

    @property
    def kit(self) -> RoleKit:
        """What is known of the world's roles."""
        kit: RoleKit = ROLE_KITS.load(self.world)
        return kit

    @property
    def policy(self) -> str:
        """The class that plays."""
        return self.kit.temple_policy if self.temple else self.kit.policy

    def build(self, worlds: int) -> Any:
        """A batch of worlds."""
        return build_world(self.world, self.world_settings, worlds, self.preset)


@dataclass(frozen=True)
class Game:
    """One episode and the line-up of each team, as role ids."""

    episode: int
    teams: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class GameBatch:
    """Some games side by side; rows of `tables` stand for roles."""

    ground: Ground
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
class GameResult:
    """What came of one game, at each moment of scoring; the last is its end."""

    held: AnyArray  # [moments, sides]
    deeds: Mapping[str, AnyArray]  # [moments, agents of the first team] by name
    newborns: tuple[Newborn, ...] = ()


def seat(batch: GameBatch) -> Play:
    """The loop of a batch; its one policy is to be closed after it."""
    ground, games = batch.ground, len(batch.episodes)
    kit, world = ground.kit, ground.build(games)
    resolved = ResolvedPolicy(ground.policy, ground.policy_settings, batch.tables)
    policy = build(resolved, world.spec)
    members = np.zeros((games, world.spec.rows), dtype=np.int64)
    founders = kit.rows(world)[:, : kit.founders(world)]
    members[:, founders.ravel()] = batch.members.reshape(games, -1)
    table = slot_table(world.spec, ["roles"])
    return Play(world, [Slot("roles", policy)], table, batch.seed, batch.episodes, members)


def play_batch(batch: GameBatch) -> list[GameResult]:
    """Play a batch to its end."""
    ground, games = batch.ground, len(batch.episodes)
    play = seat(batch)
    kit, world = ground.kit, play.world
    rows = kit.rows(world)
    moments, tick = [], 0
    while not play.over:
        play.tick()
        tick += 1
        if tick == ground.score_step:
            moments.append(_look(kit, world, rows[0]))
    moments.append(_look(kit, world, rows[0]))
    newborns = _newborns(kit, play, rows[0]) if ground.temple else [()] * games
    play.slots[0].policy.close()
    return [_of_game(moments, newborns[game], game) for game in range(games)]


def look(kit: RoleKit, world: Any, rows: Ints) -> list[GameResult]:
    """The games of a batch as they stand."""
    return [_of_game([_look(kit, world, rows)], (), game) for game in range(world.worlds)]


def _look(kit: RoleKit, world: Any, rows: Ints) -> tuple[AnyArray, dict[str, AnyArray]]:
    deeds = kit.deeds(world)
    return kit.held(world), {name: deeds[name][:, rows] for name in kit.worth}


def _of_game(
    moments: Sequence[tuple[AnyArray, dict[str, AnyArray]]], born: tuple[Newborn, ...], game: int
) -> GameResult:
    deeds = {name: np.stack([each[name][game] for _, each in moments]) for name in moments[0][1]}
    return GameResult(np.stack([held[game] for held, _ in moments]), deeds, born)


def _newborns(kit: RoleKit, play: Play, rows: Ints) -> list[tuple[Newborn, ...]]:
    """Who was born into the first team of each game, the eldest first."""
    world, columns = play.world, play.world.columns
    roles = own_tables(play.memory[0])
    agent_of = {int(row): agent for agent, row in enumerate(rows)}
    found = []
    for game in range(world.worlds):
        places = game * world.spec.rows + rows[kit.founders(world) :]
        # Who was born in the last tick was never asked, and has no role yet.
        living = [p for p in places.tolist() if columns.uid[p] >= 0 <= roles.behaviors[p, 0]]
        living = [p for p in living if play.seats.uid[p] == columns.uid[p]]
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


def play_games(
    engine: Engine,
    ground: Ground,
    catalog: RoleCatalog,
    seed: int,
    games: Sequence[Game],
    chunk: int,
) -> list[GameResult]:
    """Play games on an engine; results come in the order of the games, whatever the chunk."""
    parts = dealt_out(games, chunk, engine.jobs)
    played = list(engine.map(play_batch, (as_batch(ground, catalog, seed, p) for p in parts)))
    return [played[at % len(parts)][at // len(parts)] for at in range(len(games))]


def dealt_out(games: Sequence[Game], chunk: int, jobs: int) -> list[Sequence[Game]]:
    """Batches of at most `chunk` games, as many for each worker, and all of about one size.

    Games are dealt like cards: those of one episode take long or short together, and are shared.

    >>> [len(part) for part in dealt_out(range(102), 32, 2)]
    [26, 26, 25, 25]
    >>> [list(part) for part in dealt_out(range(3), 32, 2)]
    [[0, 2], [1]]
    """
    rounds = -(-len(games) // (chunk * jobs))
    parts = min(len(games), rounds * jobs)
    return [games[part::parts] for part in range(parts)]


def as_batch(ground: Ground, catalog: RoleCatalog, seed: int, games: Sequence[Game]) -> GameBatch:
    """Games as a value that a worker can play without a catalogue."""
    teams = np.array([game.teams for game in games], dtype=np.int64)
    used = roles_in(games)
    rows = {role_id: row for row, role_id in enumerate([*used, IDLE])}
    rows[BASELINE] = ground.kit.baseline_member
    members = np.array([rows[int(i)] for i in teams.ravel()], dtype=np.int64).reshape(teams.shape)
    tables = _with_idle(role_tables([catalog.roles[i] for i in used]))
    episodes = tuple(game.episode for game in games)
    return GameBatch(ground, tables._asdict(), members, seed, episodes)


def roles_in(games: Sequence[Game]) -> list[int]:
    """The roles that games need, in the order of their rows in the tables."""
    return sorted({role for game in games for team in game.teams for role in team if role >= 0})


def _with_idle(tables: RoleTables) -> RoleTables:
    """Tables with one more role, which holds nothing."""
    padded = {name: np.pad(a, ((0, 1), (0, 0))) for name, a in tables._asdict().items()}
    padded["behaviors"][-1] = -1
    return tables_from(padded)
