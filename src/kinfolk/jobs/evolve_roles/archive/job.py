"""Quality diversity: keep the best team and the best role for every way to play.

MAP-Elites (Mouret and Clune 2015) over behaviour descriptors, on the same population of roles as
every evolution: teams are assignments of living roles, and only the coordinator creates and retires
roles; those of all elites are kept. New teams are varied elites, drawn uniformly. Games are noisy, so
a new team plays a few games, and only if it could enter a cell by them, more, which decide. Elites
with few games play again in every generation, and move to another cell or out of the archive if
their new games say so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from kinfolk.core.errors import require
from kinfolk.core.events import Event, FileChunk, Snapshot
from kinfolk.core.random import KeyedRng, fold_in, seed_key
from kinfolk.engines.base import Engine
from kinfolk.jobs.evolve_roles.archive.believe import evaluate_archive
from kinfolk.jobs.evolve_roles.archive.records import (
    BehaviorRecord,
    Descriptors,
    estimate_values,
    pack_records,
    select_elites,
    unpack_records,
)
from kinfolk.jobs.evolve_roles.champion import evaluate_champion, record_champion
from kinfolk.jobs.evolve_roles.racing import Race, estimate_race, evolve_from_race, play_stage
from kinfolk.jobs.evolve_roles.state import RoleEvolutionState
from kinfolk.roles.teams import TeamComposition, assigned_roles, rank_teams

_PARENTS_BRANCH = 104  # of the run's key; co-evolution has the one below
_MIN_ROLE_GAMES = 8  # of a role, summed over its agents, before it may enter the archive of roles


@dataclass(frozen=True, kw_only=True)
class TeamArchiveUpdated(Event):
    """What the archive holds after a generation."""

    kind: ClassVar[str] = "archive_updated"
    games: int  # so far
    num_elites: int  # teams
    coverage: float
    obj_max: float  # scores of elites, shrunk towards their mean
    obj_mean: float
    qd_score: float  # sum of the scores of all elites
    num_role_elites: int
    confirmed: int  # new teams that played all their games
    entered: int  # of them
    n_roles: int  # in the catalog


@dataclass
class ArchiveState:
    """The archive, beside the state of the evolution.

    Attributes:
        evolution: State of the evolution.
        descriptors: The grid.
        teams: Records of the elites by their role ids.
        roles: Records of all roles that played, by id.
        n_ticks: Ticks of a game.
    """

    evolution: RoleEvolutionState
    descriptors: Descriptors
    teams: dict[tuple[int, ...], BehaviorRecord] = field(default_factory=dict)
    roles: dict[int, BehaviorRecord] = field(default_factory=dict)
    n_ticks: int = 1

    def team_elites(self) -> dict[int, tuple[int, ...]]:
        """Return the elite team of each filled cell."""
        return select_elites(self.descriptors, self.teams)

    def role_elites(self) -> dict[int, int]:
        """Return the elite role of each filled cell, by the fitness of the roles."""
        played = {i: r for i, r in self.roles.items() if r.games >= _MIN_ROLE_GAMES}
        catalog = self.evolution.catalog
        fitness = np.array([catalog.roles[i].fitness for i in played])
        return select_elites(self.descriptors, played, fitness)

    def snapshot(self, done: int) -> Snapshot:
        """Return a snapshot after `done` generations."""
        whole = self.evolution.snapshot(done, {})
        packed = pack_records("teams", self.teams) | pack_records("roles", self.roles)
        return Snapshot(step=done, arrays={**whole.arrays, **packed}, notes=whole.notes)


def start_archive(evolution: RoleEvolutionState, resume: Snapshot | None) -> ArchiveState:
    """Return the archive before the first generation to play.

    Args:
        evolution: State of the evolution, already restored.
        resume: Snapshot to restore the archive from; None starts with an empty one.

    Raises:
        UsageError: A descriptor is unknown, or settings do not go together.
    """
    settings = evolution.settings
    others = {
        "live": settings.live,
        "trigger temple": settings.trigger == "temple",
        "vary": bool(settings.vary),
        f"control {settings.control}": settings.control != "none",
    }
    for name, is_used in others.items():
        require(not is_used, f"An archive cannot be combined with {name}: leave one out.")
    domain, axes = settings.environment.domain, settings.quality_diversity.axes
    state = ArchiveState(evolution, Descriptors(domain, evolution.catalog, axes))
    state.n_ticks = settings.environment.world.spec.max_ticks
    state.descriptors.find_cells([])  # asks for pyribs before any game is played
    if resume is not None:
        state.teams = unpack_records("teams", resume.arrays)
        state.roles = unpack_records("roles", resume.arrays)
    return state


def evolve_archive(
    evolution: RoleEvolutionState, engine: Engine, resume: Snapshot | None
) -> Iterator[Event | Snapshot | FileChunk]:
    """Yield an event and a snapshot per generation, then the evaluation of elites and champion.

    Args:
        evolution: State before the first generation to play.
        engine: Engine that plays the games.
        resume: Snapshot that the state was restored from; None at the start.
    """
    state, settings = start_archive(evolution, resume), evolution.settings
    first = 0 if resume is None else int(resume.notes["done"])
    for done in range(first + 1, settings.generations + 1):
        yield play_generation(state, engine, done - 1)
        yield from evolution.output_files()
        yield state.snapshot(done)
    if first <= settings.generations:
        yield from evaluate_archive(
            evolution, engine, state.descriptors, state.teams, state.team_elites(),
            state.roles, state.role_elites(),
        )  # fmt: skip
        evolution.teams = rank_elites(state.teams)[: max(settings.survivors, settings.finalists)]
        yield from evaluate_champion(evolution, engine)
        if settings.replay_every:
            yield from record_champion(evolution)
        yield from evolution.output_files()
        yield state.snapshot(settings.generations + 1)


def play_generation(state: ArchiveState, engine: Engine, number: int) -> TeamArchiveUpdated:
    """Vary elites, play, update the archive, and let the coordinator breed.

    Args:
        state: The archive and its evolution; changed.
        engine: Engine that plays the games.
        number: Number of the generation.
    """
    evolution, config = state.evolution, state.evolution.settings.quality_diversity
    evolution.teams = draw_parents(state, number)
    new = evolution.propose_teams(config.new_teams)
    if not state.teams:  # the seeded team is the first candidate
        new = [*evolution.teams, *new]
    rechecked = sorted(state.teams, key=lambda roles: (state.teams[roles].games, roles))
    again = [TeamComposition(roles) for roles in rechecked[: config.rechecked]]
    race = Race([*again, *new])
    episode = number * (config.games + config.confirmation_games)
    playing = list(dict.fromkeys(team.roles for team in race.teams))
    play_stage(evolution, engine, race, playing, range(episode, episode + config.games))
    records = describe_teams(state, race)
    hopeful = find_hopeful(state, records)
    confirmed = [roles for roles in playing if roles in hopeful or roles in state.teams]
    rest = range(episode + config.games, episode + config.games + config.confirmation_games)
    if confirmed:
        play_stage(evolution, engine, race, confirmed, rest)
    challengers = [roles for roles in confirmed if roles not in state.teams]
    entered = update_archive(state, describe_teams(state, race), confirmed, challengers)
    describe_roles(state, race)
    estimate_race(evolution, race)
    evolution.champion = rank_elites(state.teams)[0].roles
    elites = [TeamComposition(roles) for roles in state.teams]
    evolve_from_race(evolution, race, assigned_roles(elites), number)
    values = estimate_values(list(state.teams.values()))
    return TeamArchiveUpdated(
        step=number,
        games=evolution.coordinator.games,
        num_elites=len(values),
        coverage=len(values) / int(np.prod(state.descriptors.dims)),
        obj_max=float(values.max()),
        obj_mean=float(values.mean()),
        qd_score=float(values.sum()),
        num_role_elites=len(state.role_elites()),
        confirmed=len(challengers),
        entered=entered,
        n_roles=len(evolution.catalog.roles),
    )


def draw_parents(state: ArchiveState, number: int) -> list[TeamComposition]:
    """Return the teams from which a generation starts: elites drawn uniformly, or the seeded team."""
    evolution = state.evolution
    ranked = rank_elites(state.teams)
    if not ranked:
        return [TeamComposition(evolution.seeded_roles)]
    key = fold_in(fold_in(seed_key(evolution.settings.seed), _PARENTS_BRANCH), number)
    draws, chosen = KeyedRng(key), []
    for _ in range(min(evolution.settings.quality_diversity.new_teams, len(ranked))):
        chosen.append(ranked.pop(draws.randint(len(ranked))))
    return chosen


def rank_elites(records: Mapping[tuple[int, ...], BehaviorRecord]) -> list[TeamComposition]:
    """Return elites as teams with their shrunk scores, best first."""
    if not records:
        return []
    values = estimate_values(list(records.values())).tolist()
    return rank_teams(
        [
            TeamComposition(roles, value, record.games)
            for (roles, record), value in zip(records.items(), values, strict=True)
        ]
    )


def describe_teams(state: ArchiveState, race: Race) -> dict[tuple[int, ...], BehaviorRecord]:
    """Return the records of all teams of a race in that race."""
    records: dict[tuple[int, ...], BehaviorRecord] = {}
    for game, result, score in zip(race.games, race.results, race.scores, strict=True):
        roles, agents = game.teams[0], range(result.n_agents)
        record = state.descriptors.describe(result, agents, score, state.n_ticks)
        records[roles] = records[roles] + record if roles in records else record
    return records


def describe_roles(state: ArchiveState, race: Race) -> None:
    """Add the games of a race to the records of all roles that played in them."""
    for game, result, score in zip(race.games, race.results, race.scores, strict=True):
        roles = game.teams[0]
        for role in dict.fromkeys(roles):
            agents = [agent for agent, other in enumerate(roles) if other == role]
            record = state.descriptors.describe(result, agents, score, state.n_ticks)
            known = state.roles.get(role)
            state.roles[role] = record if known is None else known + record


def find_hopeful(
    state: ArchiveState, records: Mapping[tuple[int, ...], BehaviorRecord]
) -> set[tuple[int, ...]]:
    """Return the new teams that would enter the archive by their first games."""
    joined = {roles: state.teams.get(roles) for roles in {**state.teams, **records}}
    merged = {
        roles: old
        if roles not in records
        else records[roles]
        if old is None
        else old + records[roles]
        for roles, old in joined.items()
    }
    known: dict[Any, BehaviorRecord] = {r: rec for r, rec in merged.items() if rec is not None}
    winners = set(select_elites(state.descriptors, known).values())
    return {roles for roles in records if roles in winners and roles not in state.teams}


def update_archive(
    state: ArchiveState,
    records: Mapping[tuple[int, ...], BehaviorRecord],
    confirmed: list[tuple[int, ...]],
    challengers: list[tuple[int, ...]],
) -> int:
    """Merge the games of a generation into the archive, and keep the best team of every cell.

    Args:
        state: The archive; changed.
        records: Records of the generation's games by team.
        confirmed: Teams that played all games, elites among them.
        challengers: Those of them that were no elites before.

    Returns:
        How many challengers entered.
    """
    for roles in confirmed:
        known = state.teams.get(roles)
        state.teams[roles] = records[roles] if known is None else known + records[roles]
    winners = state.team_elites()
    state.teams = {roles: state.teams[roles] for roles in winners.values()}
    return sum(roles in state.teams for roles in challengers)
