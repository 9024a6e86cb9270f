"""Evolve roles: play them, score them, vary them, and evolve teams of them.

Each generation every team plays the same few episodes, and so does the seeded team, which never
changes. Nothing of a generation enters the catalog before all its games are played; then scores
are merged in the order of the games. So the engine and its number of jobs change nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, TypeVar

import numpy as np

from kinfolk.core.arrays import Floats
from kinfolk.core.errors import SettingsError
from kinfolk.core.events import Event, FileChunk, Snapshot
from kinfolk.core.random import KeyedRng, fold_in, seed_key
from kinfolk.engines.base import Engine
from kinfolk.evaluation.statistics import Estimate, estimate_mean
from kinfolk.jobs.evolve_roles.champion import (
    count_roles,
    evaluate_champion,
    record_champion,
    record_game,
)
from kinfolk.jobs.evolve_roles.games import (
    RoleGame,
    RoleGameResult,
    agent_records,
    score_game,
    score_margin,
)
from kinfolk.jobs.evolve_roles.settings import EvolveRoles
from kinfolk.jobs.evolve_roles.state import (
    GameBirths,
    RoleEvolutionState,
    add_hybrids,
    initial_state,
    state_from_snapshot,
)
from kinfolk.roles.catalog import have_same_vibe
from kinfolk.roles.coordinator import EvolutionaryRoleCoordinator
from kinfolk.roles.generations import pool_diversity
from kinfolk.roles.teams import rank_teams

_CONTROL_BRANCH = 102  # branch of the run's key; `state` has those below
_MAX_NAMED = 3  # behaviors named as rising, and as falling
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class RoleGenerationScored(Event):
    """A generation was played. Scores of teams are per game, such as junction-ticks.

    `best` is the team with the best record, in the games of this generation alone; the share of a
    behavior is that of the roles in the pool that have it.
    """

    kind: ClassVar[str] = "generation_scored"
    games: int  # so far
    best: Estimate
    mean: float  # of all teams
    std: float  # between teams
    seeded_mean: float  # the seeded team on the same episodes
    advantage: float  # of surviving teams over the seeded one, in games that did not select them
    win_rate_vs_seeded: float  # share of the games of all teams
    win_rate_vs_champion: float  # of the best team, against the last generation's champion
    win_rate: float  # share of games in which the team scored more than any other side
    team: dict[str, int]  # the best: how many agents play which role
    roles_best: float  # fitness in the pool
    roles_mean: float
    roles_std: float
    diversity: float
    n_roles: int  # in the catalog
    n_locked_names: int  # names in the pool
    behavior_shares: dict[str, float]  # share of roles in the pool that have each
    rising: list[str]
    falling: list[str]


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
    state, shares = prepare(settings, resume)
    size, episodes = settings.generation_size
    survivors = min(settings.survivors, max(1, size // 2))
    breed = settings.trigger == "cadence"
    if resume is None:
        state.evolve_teams(size, min(len(state.teams), size), breed)
    first = 0 if resume is None else int(resume.notes["done"])
    for done in range(first + 1, settings.generations + 1):
        event = _play_generation(state, engine, shares, done - 1)
        shares = event.behavior_shares
        yield event
        if settings.records_replay_after(done):  # the first game of the generation's best team
            episode, n_sides = (done - 1) * episodes, settings.environment.n_teams
            teams = (state.champion, *frozen_opponents(state, n_sides, episode))
            yield from record_game(state, RoleGame(episode, teams), done)
        state.evolve_teams(size, survivors, breed)
        yield from state.output_files()
        yield state.snapshot(done, shares)
    if first <= settings.generations:
        yield evaluate_champion(state, engine)
        if settings.replay_every:
            yield from record_champion(state)
        yield from state.output_files()
        # One step further, so that a run that is resumed here has nothing left to do.
        yield state.snapshot(settings.generations + 1, shares)


def prepare(
    settings: EvolveRoles, resume: Snapshot | None
) -> tuple[RoleEvolutionState, Mapping[str, float]]:
    """Return the state before the first generation to play.

    Args:
        settings: Settings of the evolution, with the text of a role history to start from, if any.
        resume: Snapshot to restore; None starts from the history or from sampled roles.

    Returns:
        The state, and by behavior the share of roles that had it in the generation before.

    Raises:
        UsageError: Something is wrong with the settings or the history.
    """
    domain, world = settings.environment.domain, settings.environment.world.build()
    n_agents, catalog = domain.initial_team_size(world), domain.make_catalog(settings.catalog)
    if settings.score_step is not None and settings.score_step >= world.spec.max_ticks:
        raise SettingsError(
            f"EvolveRoles.score_step must lie within a game of {world.spec.max_ticks} ticks, "
            f"not at {settings.score_step}."
        )
    if resume is None:
        state = initial_state(settings, catalog, n_agents)
        shares = behavior_shares(state.coordinator)
    else:
        state = state_from_snapshot(settings, catalog, n_agents, resume)
        shares = resume.notes["previous_generation"]["shares"]
    if settings.role_counts == "fixed":
        state.may_replace = partial(have_same_vibe, catalog)
    return state, shares


def _play_generation(
    state: RoleEvolutionState, engine: Engine, shares: Mapping[str, float], number: int
) -> RoleGenerationScored:
    """Play and score a generation, evolve the pool of roles, and return the event.

    Args:
        state: State of the evolution; changed in place.
        engine: Engine that plays the games.
        shares: Share of roles with each behavior in the generation before.
        number: Number of the generation.
    """
    settings, n_sides = state.settings, state.settings.environment.n_teams
    _, episodes = settings.generation_size
    teams = [state.seeded_team, *state.teams]
    games = []
    for episode in range(number * episodes, (number + 1) * episodes):
        opponents = frozen_opponents(state, n_sides, episode)
        games += [RoleGame(episode, (team.roles, *opponents)) for team in teams]
    results = state.play_games(engine, settings.seed, games)
    if settings.control == "shuffled":
        key = fold_in(fold_in(seed_key(settings.seed), _CONTROL_BRANCH), number)
        results = shuffle_results(results, len(state.teams), key)
    margins = np.array([score_margin(result, n_sides) for result in results]).reshape(episodes, -1)
    state.seeded_team, *state.teams = [
        team.with_games(column.tolist()) for team, column in zip(teams, margins.T, strict=True)
    ]
    win_rate = _record_scores(state, games, results)
    event = report_generation(state, shares, margins, win_rate, number)
    state.champion = rank_teams(state.teams)[0].roles
    state.coordinator.evolve_generation(breed=settings.trigger == "cadence")
    return event


def frozen_opponents(
    state: RoleEvolutionState, n_sides: int, episode: int
) -> tuple[tuple[int, ...], ...]:
    """Return the teams of the other sides: the seeded team, or the last generation's champion.

    Args:
        state: State of the evolution.
        n_sides: Number of teams in a world.
        episode: Number of the episode; in even ones the seeded team is the opponent.
    """
    frozen = state.seeded_roles if episode % 2 == 0 else state.champion
    return (frozen,) * (n_sides - 1)


def shuffle_results(results: Sequence[T], n_teams: int, key: int) -> list[T]:
    """Shuffle the results of each episode among its teams, except the first, seeded one.

    This is a control: with shuffled scores, no role can improve.

    >>> shuffle_results(["seeded", 1, 2, 3, "seeded", 1, 2, 3], 3, 5)
    ['seeded', 2, 3, 1, 'seeded', 3, 2, 1]

    Args:
        results: Results of all games, episode by episode, the seeded team first.
        n_teams: Teams besides the seeded one.
        key: Random key.
    """
    shuffled: list[T] = []
    for episode, start in enumerate(range(0, len(results), n_teams + 1)):
        rng, rest = KeyedRng(fold_in(key, episode)), list(results[start + 1 : start + 1 + n_teams])
        shuffled.append(results[start])
        while rest:
            shuffled.append(rest.pop(rng.randint(len(rest))))
    return shuffled


def _record_scores(
    state: RoleEvolutionState, games: Sequence[RoleGame], results: Sequence[RoleGameResult]
) -> float:
    """Record the scores of all but the seeded team, and return the share of games that were won.

    Args:
        state: State of the evolution; its coordinator is changed.
        games: Games of the generation, the seeded team first in each episode.
        results: Result of each game.
    """
    settings, coordinator = state.settings, state.coordinator
    domain = settings.environment.domain
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
    if settings.trigger == "temple":
        add_hybrids(coordinator, births)
    return sum(game.scores.won[-1] for game in births) / len(births)


def behavior_shares(coordinator: EvolutionaryRoleCoordinator) -> dict[str, float]:
    """Return the share of roles in the pool that have each behavior, by its name."""
    catalog, pool = coordinator.catalog, coordinator.pool
    counts = Counter(i for role in pool for i in catalog.roles[role].behavior_ids)
    return {b.name: counts[b.id] / len(pool) for b in catalog.behaviors}


def report_generation(
    state: RoleEvolutionState,
    shares: Mapping[str, float],
    margins: Floats,
    win_rate: float,
    generation: int,
) -> RoleGenerationScored:
    """Return the event of a generation.

    Args:
        state: State of the evolution.
        shares: Share of roles with each behavior in the generation before.
        margins: `[episodes, 1 + teams]` score margins, the seeded team first.
        win_rate: Share of games in which the team scored more than any other side.
        generation: Number of the generation.
    """
    coordinator, catalog = state.coordinator, state.catalog
    best = rank_teams(state.teams)[0]
    best_column = 1 + state.teams.index(best)
    playing = [state.seeded_roles, *(team.roles for team in state.teams)]
    champion_column = playing.index(state.champion) if state.champion in playing else 0
    means = margins[:, 1:].mean(axis=0)
    pool = [catalog.roles[i] for i in coordinator.pool]
    fitness = [role.fitness for role in pool if role.games > 0]
    current = behavior_shares(coordinator)
    change = {name: share - shares.get(name, 0.0) for name, share in current.items()}
    return RoleGenerationScored(
        step=generation,
        games=coordinator.games,
        best=estimate_mean(margins[:, best_column]),
        mean=float(means.mean()),
        std=_sample_std(means),
        seeded_mean=float(margins[:, 0].mean()),
        advantage=_mean_advantage(state, margins),
        win_rate_vs_seeded=float((margins[:, 1:] > margins[:, :1]).mean()),
        win_rate_vs_champion=float(np.mean(margins[:, best_column] > margins[:, champion_column])),
        win_rate=win_rate,
        team=count_roles(catalog, best.roles),
        roles_best=max(fitness, default=0.0),
        roles_mean=float(np.mean(fitness)) if fitness else 0.0,
        roles_std=_sample_std(np.array(fitness)),
        diversity=pool_diversity(pool),
        n_roles=len(catalog.roles),
        n_locked_names=sum(role.locked_name for role in pool),
        behavior_shares=current,
        rising=_largest_changes(change, 1),
        falling=_largest_changes(change, -1),
    )


def _mean_advantage(state: RoleEvolutionState, margins: Floats) -> float:
    """Return the mean margin of surviving teams over the seeded team; 0 in the first generation.

    Survivors were selected by earlier games, so their new games are unbiased. The seeded team
    counts with its mean over all generations, older games less, since a few games would be half
    noise.
    """
    survivors = [i for i, team in enumerate(state.teams, 1) if team.games > len(margins)]
    if not survivors:
        return 0.0
    return float(margins[:, survivors].mean()) - state.seeded_team.total / state.seeded_team.games


def _largest_changes(change: dict[str, float], sign: int) -> list[str]:
    """Return the behaviors whose share changed most in one direction."""
    order = sorted(change, key=lambda name: (-sign * change[name], name))
    return [name for name in order if sign * change[name] > 0][:_MAX_NAMED]


def _sample_std(values: Floats) -> float:
    """Return the sample standard deviation; 0 for a single value."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
