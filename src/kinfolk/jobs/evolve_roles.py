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
from kinfolk.core.events import Artefact, Event, Snapshot
from kinfolk.core.keys import fold, root
from kinfolk.engines.base import Engine
from kinfolk.jobs.role_controls import shuffled
from kinfolk.jobs.role_games import Game, GameResult, play_games
from kinfolk.jobs.role_judging import judge_champion
from kinfolk.jobs.role_report import GenerationScored, Yesterday, report
from kinfolk.jobs.role_scores import margin, records_of, score_game
from kinfolk.jobs.role_settings import EvolveRoles
from kinfolk.jobs.role_showcase import show_champion, show_game
from kinfolk.jobs.role_state import Evolution, found, from_history, from_snapshot
from kinfolk.jobs.role_temple import BirthGame, take_in_hybrids
from kinfolk.roles.lineups import best_first
from kinfolk.roles.vibes import same_vibe

_CONTROL = 102  # branch of the run's key; `role_state` has those below


def evolve_roles(
    settings: EvolveRoles, engine: Engine, resume: Snapshot | None = None
) -> Iterator[Event | Snapshot | Artefact]:
    """Yield an event and a snapshot per generation, then what the champion is worth.

    Every few generations a game of the best line-up is recorded too, for those who watch.
    """
    state, yesterday = start(settings, resume)
    kit, (size, _) = settings.ground.kit, settings.sizes
    survivors = min(settings.survivors, max(1, size // 2))
    breed = settings.trigger == "cadence"
    if resume is None:
        state.mix(size, min(len(state.lineups), size), breed)
    first = 0 if resume is None else int(resume.notes["done"])
    for done in range(first + 1, settings.generations + 1):
        event, yesterday = _generation(settings, engine, state, yesterday, done - 1)
        yield event
        if settings.is_shown(done):
            yield from show_game(settings, state, _shown_game(settings, state, done - 1), done)
        state.mix(size, survivors, breed)
        yield from state.artefacts(kit, settings.players)
        yield state.snapshot(done, yesterday._asdict())
    if first <= settings.generations:
        yield judge_champion(settings, engine, state)
        if settings.showcase_every:
            yield from show_champion(settings, state)
        yield from state.artefacts(kit, settings.players)
        # One step further, so that a run that is resumed here has nothing left to do.
        yield state.snapshot(settings.generations + 1, yesterday._asdict())


def start(settings: EvolveRoles, resume: Snapshot | None) -> tuple[Evolution, Yesterday]:
    """Where to begin. What is wrong with the settings or the history is said here."""
    ground = settings.ground
    kit, world = ground.kit, ground.build(1)
    agents, catalog = kit.founders(world), kit.catalog(settings.catalog)
    if settings.score_step is not None and settings.score_step >= world.spec.max_ticks:
        raise SettingsError(
            f"EvolveRoles.score_step must lie within a game of {world.spec.max_ticks} ticks, "
            f"not at {settings.score_step}."
        )
    if resume is not None:
        state = from_snapshot(catalog, agents, settings.config, resume)
    elif settings.history is not None:
        state = from_history(kit, catalog, agents, settings.config, settings.seed, settings.history)
    else:
        state = found(kit, catalog, agents, settings.config, settings.seed)
    if settings.mix == "held":
        state.may_replace = partial(same_vibe, catalog)
    if resume is not None:
        return state, Yesterday(**resume.notes["yesterday"])
    return state, Yesterday.of(state.coordinator)


def _generation(
    settings: EvolveRoles, engine: Engine, state: Evolution, yesterday: Yesterday, number: int
) -> tuple[GenerationScored, Yesterday]:
    """Play, score, breed; returns what to say of it."""
    ground, (_, episodes) = settings.ground, settings.sizes
    teams = len(ground.kit.rows(ground.build(1)))
    playing = [state.seeded, *(lineup.roles for lineup in state.lineups)]
    games = [
        Game(episode, (roles, *opponents(state, teams, episode)))
        for episode in range(number * episodes, (number + 1) * episodes)
        for roles in playing
    ]
    results = play_games(engine, ground, state.catalog, settings.seed, games, settings.chunk)
    if settings.control == "shuffled":
        key = fold(fold(root(settings.seed), _CONTROL), number)
        results = shuffled(results, len(state.lineups), key)
    margins = np.array([margin(result, teams) for result in results]).reshape(episodes, -1)
    state.reference, *state.lineups = [
        lineup.played(column.tolist())
        for lineup, column in zip([state.reference, *state.lineups], margins.T, strict=True)
    ]
    won = _enter(settings, state, games, results)
    event, today = report(state, yesterday, margins, won, number)
    state.champion = best_first(state.lineups)[0].roles
    state.coordinator.evolve_generation(breed=settings.trigger == "cadence")
    return event, today


def _shown_game(settings: EvolveRoles, state: Evolution, number: int) -> Game:
    """The first game that the best line-up of a generation played in it."""
    ground, (_, episodes) = settings.ground, settings.sizes
    teams, episode = len(ground.kit.rows(ground.build(1))), number * episodes
    return Game(episode, (state.champion, *opponents(state, teams, episode)))


def opponents(state: Evolution, teams: int, episode: int) -> tuple[tuple[int, ...], ...]:
    """The frozen line-ups of the other teams: the seeded one, or the last generation's champion."""
    frozen = state.seeded if episode % 2 == 0 else state.champion
    return (frozen,) * (teams - 1)


def _enter(
    settings: EvolveRoles, state: Evolution, games: list[Game], results: list[GameResult]
) -> float:
    """Enter the scores of all but the seeded line-up; returns the share of games that were won."""
    coordinator, kit, wins, entered = state.coordinator, settings.ground.kit, 0, 0
    temple: list[BirthGame] = []
    for at, (game, result) in enumerate(zip(games, results, strict=True)):
        if at % (len(state.lineups) + 1) == 0:
            continue  # the seeded line-up is frozen
        found = score_game(kit, result, settings.evolution.team_weight)
        for records in records_of(found, game.teams[0]):
            coordinator.score_game(records)
        temple.append(BirthGame(game.teams[0], result.newborns, found))
        coordinator.games += 1
        coordinator.wins += found.won[-1]
        wins += found.won[-1]
        entered += 1
    if settings.trigger == "temple":
        take_in_hybrids(coordinator, temple)
    return wins / entered
