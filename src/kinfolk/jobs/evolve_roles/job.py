"""Evolve roles: play them, score them, breed them, and find out which mix of them wins.

Each generation every line-up plays the same few episodes, and so does the seeded line-up, which
never changes. Nothing of a generation enters the catalogue before all its games are played; then
scores are merged in the order of the games. So the engine and its number of jobs change nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from kinfolk.core.errors import SettingsError
from kinfolk.core.events import Event, FileChunk, Snapshot
from kinfolk.core.random import fold_in, seed_key
from kinfolk.engines.base import Engine
from kinfolk.jobs.evolve_roles.champion import evaluate_champion, record_champion, record_game
from kinfolk.jobs.evolve_roles.controls import shuffle_results
from kinfolk.jobs.evolve_roles.games import RoleGame, RoleGameResult, play_role_games
from kinfolk.jobs.evolve_roles.hybrids import GameBirths, add_hybrids
from kinfolk.jobs.evolve_roles.report import (
    PreviousGeneration,
    RoleGenerationScored,
    report_generation,
)
from kinfolk.jobs.evolve_roles.scores import agent_records, score_game, score_margin
from kinfolk.jobs.evolve_roles.settings import EvolveRoles
from kinfolk.jobs.evolve_roles.state import (
    RoleEvolutionState,
    initial_state,
    state_from_history,
    state_from_snapshot,
)
from kinfolk.roles.catalog import have_same_vibe
from kinfolk.roles.teams import rank_teams

_CONTROL_BRANCH = 102  # branch of the run's key; `role_state` has those below


def evolve_roles(
    settings: EvolveRoles, engine: Engine, resume: Snapshot | None = None
) -> Iterator[Event | Snapshot | FileChunk]:
    """Yield an event and a snapshot per generation, then what the champion is worth.

    Every few generations a game of the best line-up is recorded too, for those who watch.
    """
    state, yesterday = prepare(settings, resume)
    kit, (size, _) = settings.environment.domain, settings.generation_size
    survivors = min(settings.survivors, max(1, size // 2))
    breed = settings.trigger == "cadence"
    if resume is None:
        state.evolve_teams(size, min(len(state.teams), size), breed)
    first = 0 if resume is None else int(resume.notes["done"])
    for done in range(first + 1, settings.generations + 1):
        event, yesterday = _generation(settings, engine, state, yesterday, done - 1)
        yield event
        if settings.records_replay_after(done):
            yield from record_game(settings, state, _replay_game(settings, state, done - 1), done)
        state.evolve_teams(size, survivors, breed)
        yield from state.output_files(kit, settings.policy_kwargs)
        yield state.snapshot(done, yesterday._asdict())
    if first <= settings.generations:
        yield evaluate_champion(settings, engine, state)
        if settings.replay_every:
            yield from record_champion(settings, state)
        yield from state.output_files(kit, settings.policy_kwargs)
        # One step further, so that a run that is resumed here has nothing left to do.
        yield state.snapshot(settings.generations + 1, yesterday._asdict())


def prepare(
    settings: EvolveRoles, resume: Snapshot | None
) -> tuple[RoleEvolutionState, PreviousGeneration]:
    """Where to begin. What is wrong with the settings or the history is said here."""
    ground = settings.environment
    kit, world = ground.domain, ground.world.build()
    agents, catalog = kit.initial_team_size(world), kit.make_catalog(settings.catalog)
    if settings.score_step is not None and settings.score_step >= world.spec.max_ticks:
        raise SettingsError(
            f"EvolveRoles.score_step must lie within a game of {world.spec.max_ticks} ticks, "
            f"not at {settings.score_step}."
        )
    if resume is not None:
        state = state_from_snapshot(catalog, agents, settings.config, resume)
    elif settings.history is not None:
        state = state_from_history(
            kit, catalog, agents, settings.config, settings.seed, settings.history
        )
    else:
        state = initial_state(kit, catalog, agents, settings.config, settings.seed)
    if settings.role_counts == "fixed":
        state.may_replace = partial(have_same_vibe, catalog)
    if resume is not None:
        return state, PreviousGeneration(**resume.notes["previous_generation"])
    return state, PreviousGeneration.from_coordinator(state.coordinator)


def _generation(
    settings: EvolveRoles,
    engine: Engine,
    state: RoleEvolutionState,
    previous: PreviousGeneration,
    number: int,
) -> tuple[RoleGenerationScored, PreviousGeneration]:
    """Play, score, breed; returns what to say of it."""
    ground, (_, episodes) = settings.environment, settings.generation_size
    teams = ground.teams
    playing = [state.seeded_roles, *(lineup.roles for lineup in state.teams)]
    games = [
        RoleGame(episode, (roles, *frozen_opponents(state, teams, episode)))
        for episode in range(number * episodes, (number + 1) * episodes)
        for roles in playing
    ]
    results = play_role_games(
        engine, ground, state.catalog, settings.seed, games, settings.chunk_size
    )
    if settings.control == "shuffled":
        key = fold_in(fold_in(seed_key(settings.seed), _CONTROL_BRANCH), number)
        results = shuffle_results(results, len(state.teams), key)
    margins = np.array([score_margin(result, teams) for result in results]).reshape(episodes, -1)
    state.seeded_team, *state.teams = [
        lineup.with_games(column.tolist())
        for lineup, column in zip([state.seeded_team, *state.teams], margins.T, strict=True)
    ]
    won = _record_scores(settings, state, games, results)
    event, today = report_generation(state, previous, margins, won, number)
    state.champion = rank_teams(state.teams)[0].roles
    state.coordinator.evolve_generation(breed=settings.trigger == "cadence")
    return event, today


def _replay_game(settings: EvolveRoles, state: RoleEvolutionState, number: int) -> RoleGame:
    """The first game that the best line-up of a generation played in it."""
    ground, (_, episodes) = settings.environment, settings.generation_size
    teams, episode = ground.teams, number * episodes
    return RoleGame(episode, (state.champion, *frozen_opponents(state, teams, episode)))


def frozen_opponents(
    state: RoleEvolutionState, teams: int, episode: int
) -> tuple[tuple[int, ...], ...]:
    """The frozen line-ups of the other teams: the seeded one, or the last generation's champion."""
    frozen = state.seeded_roles if episode % 2 == 0 else state.champion
    return (frozen,) * (teams - 1)


def _record_scores(
    settings: EvolveRoles,
    state: RoleEvolutionState,
    games: list[RoleGame],
    results: list[RoleGameResult],
) -> float:
    """Enter the scores of all but the seeded line-up; returns the share of games that were won."""
    coordinator, kit, wins, entered = state.coordinator, settings.environment.domain, 0, 0
    temple: list[GameBirths] = []
    for at, (game, result) in enumerate(zip(games, results, strict=True)):
        if at % (len(state.teams) + 1) == 0:
            continue  # the seeded line-up is frozen
        found = score_game(kit, result, settings.evolution.team_weight)
        for records in agent_records(found, game.teams[0]):
            coordinator.score_game(records)
        temple.append(GameBirths(game.teams[0], result.newborns, found))
        coordinator.games += 1
        coordinator.wins += found.won[-1]
        wins += found.won[-1]
        entered += 1
    if settings.trigger == "temple":
        add_hybrids(coordinator, temple)
    return wins / entered
