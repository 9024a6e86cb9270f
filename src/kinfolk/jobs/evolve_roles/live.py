"""Live role evolution: one game after another, the coordinator learning from each of them.

This is the loop of the design note: `assign_role`, play, `record_agent_performance`, `end_game`, and
a new generation every so many games, with the note's pool and operators unless settings say
otherwise. With `--trigger temple`, agents that are born during a game play
hybrids of their parents' roles, which join the pool. There are no common episodes, so an agent's
score is its team's share of all scores, blended with its own deeds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from kinfolk.core.events import Event, FileChunk, Snapshot
from kinfolk.engines.base import Engine
from kinfolk.jobs.evolve_roles.champion import evaluate_champion, record_champion
from kinfolk.jobs.evolve_roles.games import (
    RoleGame,
    RoleGameResult,
    fit_team,
    score_game,
    score_margin,
    ticks_by_behavior,
)
from kinfolk.jobs.evolve_roles.hybrids import GameBirths, add_hybrids
from kinfolk.jobs.evolve_roles.state import RoleEvolutionState
from kinfolk.roles.teams import TeamComposition, rank_teams


@dataclass(frozen=True, kw_only=True)
class LiveGamePlayed(Event):
    """A game of a live evolution was played, and its scores were recorded."""

    kind: ClassVar[str] = "live_game_played"
    team_score: float
    won: bool
    generation: int  # after the game
    roles: dict[str, str]  # by agent
    scores: dict[str, float]
    n_roles: int  # in the catalog


def evolve_live(
    state: RoleEvolutionState, engine: Engine, resume: Snapshot | None
) -> Iterator[Event | Snapshot | FileChunk]:
    """Yield an event, the history and a snapshot per game, then the evaluation of the champion.

    Args:
        state: State before the first game to play.
        engine: Engine that plays the games.
        resume: Snapshot that the state was restored from; None at the start.
    """
    settings, coordinator = state.settings, state.coordinator
    n_games = settings.generations * settings.live_games
    coordinator.games_per_generation = settings.live_games
    first = 0 if resume is None else int(resume.notes["done"])
    if resume is None:
        state.teams = []
    for number in range(first, n_games):
        yield play_live_game(state, engine, number)
        yield from state.output_files()
        yield state.snapshot(number + 1, {})
    if first <= n_games:
        yield from evaluate_champion(state, engine)
        if settings.replay_every:
            yield from record_champion(state)
        yield from state.output_files()
        yield state.snapshot(n_games + 1, {})


def play_live_game(state: RoleEvolutionState, engine: Engine, number: int) -> LiveGamePlayed:
    """Assign roles, play one game, and let the coordinator learn from it.

    The best teams so far are kept for the choice of the champion; their roles may retire.

    Args:
        state: State of the evolution; changed.
        engine: Engine that plays the game.
        number: Number of the game, which is also its episode.
    """
    settings, coordinator = state.settings, state.coordinator
    n_agents = len(state.seeded_roles)
    team = tuple(sorted(coordinator.assign_role(agent).id for agent in range(n_agents)))
    coordinator.assign_team(team)
    n_sides = state.n_sides
    opponents = (state.seeded_roles,) * (n_sides - 1)
    [result] = state.play_games(engine, settings.seed, [RoleGame(number, (team, *opponents))])
    roles = fit_team(team, result.n_agents)
    game_scores = score_game(settings.environment.domain, result, coordinator.config.team_weight)
    margin, won = score_margin(result, n_sides), game_scores.won[-1]
    _remember_team(state, team, margin)
    births = GameBirths(roles, result.newborns, game_scores)
    if settings.trigger == "temple":
        add_hybrids(coordinator, [births])
    scores = _record_scores(state, roles, result, births)
    is_last = number + 1 >= settings.generations * settings.live_games
    coordinator.breeds = settings.trigger == "cadence" and not is_last
    names = [state.catalog.roles[role].name for role in roles]
    coordinator.end_game(won)
    return LiveGamePlayed(
        step=number,
        team_score=margin,
        won=won,
        generation=coordinator.generation,
        roles={str(agent): name for agent, name in enumerate(names)},
        scores={str(agent): score for agent, score in enumerate(scores)},
        n_roles=len(state.catalog.roles),
    )


def _record_scores(
    state: RoleEvolutionState, roles: tuple[int, ...], result: RoleGameResult, births: GameBirths
) -> list[float]:
    """Record the score of every initial agent of a game; return them."""
    state.coordinator.assign_team(roles)
    scores = [float(score) for score in births.scores.scores[-1][: len(roles)]]
    for agent, score in enumerate(scores):
        acted = ticks_by_behavior(result, agent)
        state.coordinator.record_agent_performance(agent, score, births.scores.won[-1], acted)
    return scores


def _remember_team(state: RoleEvolutionState, team: tuple[int, ...], margin: float) -> None:
    """Update the mean score of a team, and keep the best teams."""
    known = {old.roles: old for old in state.teams}
    old = known.get(team, TeamComposition(team))
    mean = (old.value * old.games + margin) / (old.games + 1)
    known[team] = TeamComposition(team, mean, old.games + 1)
    state.teams = rank_teams(list(known.values()))[: state.settings.survivors]
    state.champion = state.teams[0].roles
