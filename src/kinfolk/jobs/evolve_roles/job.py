"""Evolve roles: play them, score them, vary them, and evolve teams of them.

Each generation every team plays the same few episodes, and so does the seeded team, which never
changes. Nothing of a generation enters the catalog before all its games are played; then scores
are merged in the order of the games. So the engine and its number of jobs change nothing.
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

_CONTROL_BRANCH = 102  # branch of the run's key; `state` has those below


def evolve_roles(
    settings: EvolveRoles, engine: Engine, resume: Snapshot | None = None
) -> Iterator[Event | Snapshot | FileChunk]:
    """Yield an event and a snapshot per generation, then the evaluation of the champion.

    Every few generations a game of the best team is recorded for the viewer.

    Args:
        settings: The world, the budget and how roles evolve.
        engine: Engine that plays the games.
        resume: Last snapshot of a stopped run to continue from; None starts anew.
    """
    state, previous = prepare(settings, resume)
    domain, (size, _) = settings.environment.domain, settings.generation_size
    survivors = min(settings.survivors, max(1, size // 2))
    breed = settings.trigger == "cadence"
    if resume is None:
        state.evolve_teams(size, min(len(state.teams), size), breed)
    first = 0 if resume is None else int(resume.notes["done"])
    for done in range(first + 1, settings.generations + 1):
        event, previous = _generation(settings, engine, state, previous, done - 1)
        yield event
        if settings.records_replay_after(done):
            yield from record_game(settings, state, _replay_game(settings, state, done - 1), done)
        state.evolve_teams(size, survivors, breed)
        yield from state.output_files(domain, settings.policy_kwargs)
        yield state.snapshot(done, previous._asdict())
    if first <= settings.generations:
        yield evaluate_champion(settings, engine, state)
        if settings.replay_every:
            yield from record_champion(settings, state)
        yield from state.output_files(domain, settings.policy_kwargs)
        # One step further, so that a run that is resumed here has nothing left to do.
        yield state.snapshot(settings.generations + 1, previous._asdict())


def prepare(
    settings: EvolveRoles, resume: Snapshot | None
) -> tuple[RoleEvolutionState, PreviousGeneration]:
    """Return the first state, from a snapshot, a history or the seeded roles.

    Raises:
        UsageError: Something is wrong with the settings or the history.
    """
    environment = settings.environment
    domain, world = environment.domain, environment.world.build()
    agents, catalog = domain.initial_team_size(world), domain.make_catalog(settings.catalog)
    if settings.score_step is not None and settings.score_step >= world.spec.max_ticks:
        raise SettingsError(
            f"EvolveRoles.score_step must lie within a game of {world.spec.max_ticks} ticks, "
            f"not at {settings.score_step}."
        )
    if resume is not None:
        state = state_from_snapshot(catalog, agents, settings.config, resume)
    elif settings.history is not None:
        state = state_from_history(
            domain, catalog, agents, settings.config, settings.seed, settings.history
        )
    else:
        state = initial_state(domain, catalog, agents, settings.config, settings.seed)
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
    """Play and score a generation, and evolve the pool of roles.

    Args:
        settings: Settings of the evolution.
        engine: Engine that plays the games.
        state: State of the evolution; changed in place.
        previous: The generation before, which the report compares with.
        number: Number of the generation.

    Returns:
        The event of the generation, and what the next report compares with.
    """
    environment, (_, episodes) = settings.environment, settings.generation_size
    n_sides = environment.teams
    playing = [state.seeded_roles, *(team.roles for team in state.teams)]
    games = [
        RoleGame(episode, (roles, *frozen_opponents(state, n_sides, episode)))
        for episode in range(number * episodes, (number + 1) * episodes)
        for roles in playing
    ]
    results = play_role_games(
        engine, environment, state.catalog, settings.seed, games, settings.chunk_size
    )
    if settings.control == "shuffled":
        key = fold_in(fold_in(seed_key(settings.seed), _CONTROL_BRANCH), number)
        results = shuffle_results(results, len(state.teams), key)
    margins = np.array([score_margin(result, n_sides) for result in results]).reshape(episodes, -1)
    state.seeded_team, *state.teams = [
        team.with_games(column.tolist())
        for team, column in zip([state.seeded_team, *state.teams], margins.T, strict=True)
    ]
    win_rate = _record_scores(settings, state, games, results)
    event, current = report_generation(state, previous, margins, win_rate, number)
    state.champion = rank_teams(state.teams)[0].roles
    state.coordinator.evolve_generation(breed=settings.trigger == "cadence")
    return event, current


def _replay_game(settings: EvolveRoles, state: RoleEvolutionState, number: int) -> RoleGame:
    """Return the first game that the best team of a generation played in it.

    Args:
        settings: Settings of the evolution.
        state: State after the generation.
        number: Number of the generation.
    """
    environment, (_, episodes) = settings.environment, settings.generation_size
    n_sides, episode = environment.teams, number * episodes
    return RoleGame(episode, (state.champion, *frozen_opponents(state, n_sides, episode)))


def frozen_opponents(
    state: RoleEvolutionState, n_sides: int, episode: int
) -> tuple[tuple[int, ...], ...]:
    """Return the frozen teams of the other sides: seeded, or the last generation's champion.

    Args:
        state: State of the evolution.
        n_sides: Teams in a world.
        episode: Episode; even ones play against the seeded team.
    """
    frozen = state.seeded_roles if episode % 2 == 0 else state.champion
    return (frozen,) * (n_sides - 1)


def _record_scores(
    settings: EvolveRoles,
    state: RoleEvolutionState,
    games: list[RoleGame],
    results: list[RoleGameResult],
) -> float:
    """Record the scores of all but the seeded team.

    Args:
        settings: Settings of the evolution.
        state: State of the evolution; its coordinator is changed.
        games: Games of the generation, the seeded team first in each episode.
        results: Their results.

    Returns:
        The share of games that were won.
    """
    coordinator, domain, wins, n_games = state.coordinator, settings.environment.domain, 0, 0
    births: list[GameBirths] = []
    for number, (game, result) in enumerate(zip(games, results, strict=True)):
        if number % (len(state.teams) + 1) == 0:
            continue  # the seeded team is frozen
        scores = score_game(domain, result, settings.evolution.team_weight)
        for records in agent_records(scores, game.teams[0]):
            coordinator.score_game(records)
        births.append(GameBirths(game.teams[0], result.newborns, scores))
        coordinator.games += 1
        coordinator.wins += scores.won[-1]
        wins += scores.won[-1]
        n_games += 1
    if settings.trigger == "temple":
        add_hybrids(coordinator, births)
    return wins / n_games
