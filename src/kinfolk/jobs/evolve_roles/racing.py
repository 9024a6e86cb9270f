"""Play one generation: race the teams, estimate what roles contribute, and tell the coordinator.

All teams play a few common episodes, the better half some more, and so on, so that most games are
spent where the decision is close. Estimates are made from the games of several generations together
(`roles.contribution`), and only differences on common episodes count.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from kinfolk.core.random import KeyedRng, fold_in, seed_key
from kinfolk.engines.base import Engine
from kinfolk.jobs.evolve_roles.games import (
    RoleGame,
    RoleGameResult,
    agent_records,
    blend_with_deeds,
    fit_team,
    score_margin,
)
from kinfolk.jobs.evolve_roles.hybrids import GameBirths, add_hybrids
from kinfolk.jobs.evolve_roles.restarts import ends_start
from kinfolk.jobs.evolve_roles.state import RoleEvolutionState
from kinfolk.roles.contribution import Contributions, ScoredGame
from kinfolk.roles.teams import TeamComposition, assigned_roles, rank_teams

_CONTROL_BRANCH = 102  # branch of the run's key; `state` has those below
T = TypeVar("T")


@dataclass
class Race:
    """Games of one generation, in the order in which they were played.

    Attributes:
        teams: All teams of the generation, with their values at the end.
        games: Episode and teams of each game, those of the seeded team included.
        results: Result of each game.
        scores: Score of each game.
    """

    teams: list[TeamComposition]
    games: list[RoleGame] = field(default_factory=list)
    results: list[RoleGameResult] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)

    def scored_games(self) -> list[ScoredGame]:
        """Return the games as `roles.contribution` takes them."""
        pairs = zip(self.games, self.scores, strict=True)
        return [ScoredGame(game.episode, game.teams[0], score) for game, score in pairs]

    def scores_of(self, roles: tuple[int, ...]) -> list[float]:
        """Return the scores of a team, game by game."""
        pairs = zip(self.games, self.scores, strict=True)
        return [score for game, score in pairs if game.teams[0] == roles]


def run_race(state: RoleEvolutionState, engine: Engine, number: int) -> Race:
    """Race the best teams so far and new ones, and return all games.

    The seeded team plays the first stage too, as a reference.

    Args:
        state: State of the evolution; only read.
        engine: Engine that plays the games.
        number: Number of the generation.
    """
    settings = state.settings
    n_new = max(1, settings.racing_teams - len(state.teams))
    race = Race([*state.teams, *state.propose_teams(n_new)])
    key = fold_in(fold_in(seed_key(settings.seed), _CONTROL_BRANCH), number)
    racing, episode = [team.roles for team in race.teams], number * sum(settings.racing)
    for stage, (size, n_games) in enumerate(settings.race_sizes):
        reference = []
        if stage == 0:
            reference = [state.seeded_roles] if state.seeded_roles not in racing else []
        else:
            contributions = state.estimate_contributions(race.scored_games())
            racing = _order_teams(state, racing, contributions, fold_in(key, stage))[:size]
        episodes = range(episode, episode + n_games)
        episode += n_games
        play_stage(state, engine, race, [*reference, *racing], episodes)
        if settings.control == "shuffled":
            _shuffle_last(race, len(reference), len(racing), n_games, fold_in(key, -1 - stage))
    return race


def play_stage(
    state: RoleEvolutionState,
    engine: Engine,
    race: Race,
    teams: Sequence[tuple[int, ...]],
    episodes: range,
) -> None:
    """Play every team on every episode, and add the games to the race.

    Args:
        state: State of the evolution; only read.
        engine: Engine that plays the games.
        race: Gets the games and their results.
        teams: Role ids of each team.
        episodes: Common episodes of all of them.
    """
    n_sides = state.n_sides
    games = []
    for episode in episodes:
        opponents = choose_opponents(state, episode)
        games += [RoleGame(episode, (roles, *opponents)) for roles in teams]
    results = state.play_games(engine, state.settings.seed, games)
    race.games += games
    race.results += results
    race.scores += [score_margin(result, n_sides) for result in results]


def _order_teams(
    state: RoleEvolutionState,
    teams: Sequence[tuple[int, ...]],
    contributions: Contributions,
    key: int,
) -> list[tuple[int, ...]]:
    """Return teams by their estimated scores, best first; in random order if selection is uniform."""
    if state.coordinator.config.selection == "uniform":
        return shuffle(sorted(teams), key)
    return sorted(teams, key=lambda roles: (-contributions.predict(roles), roles))


def choose_opponents(state: RoleEvolutionState, episode: int) -> tuple[tuple[int, ...], ...]:
    """Return the teams of the other sides in an episode, the same for all teams of a race.

    Without opponents of other populations they are the seeded team in even episodes, and the last
    generation's champion in odd ones.
    """
    return state.other_sides(episode, state.seeded_roles if episode % 2 == 0 else state.champion)


def shuffle(items: Sequence[T], key: int) -> list[T]:
    """Return items in random order.

    >>> shuffle([1, 2, 3, 4], 5)
    [1, 2, 4, 3]
    """
    draws, rest, shuffled = KeyedRng(key), list(items), []
    while rest:
        shuffled.append(rest.pop(draws.randint(len(rest))))
    return shuffled


def _shuffle_last(race: Race, n_references: int, n_teams: int, n_games: int, key: int) -> None:
    """Shuffle the results of the last stage among its teams, episode by episode.

    This is a control: with shuffled scores, no role can improve.
    """
    size = n_references + n_teams
    for episode in range(n_games):
        first = len(race.games) - (n_games - episode) * size + n_references
        order = shuffle(range(first, first + n_teams), fold_in(key, episode))
        race.results[first : first + n_teams] = [race.results[i] for i in order]
        race.scores[first : first + n_teams] = [race.scores[i] for i in order]


def learn_from_race(state: RoleEvolutionState, race: Race, number: int) -> float:
    """Score the games of a race, select teams, and let the coordinator evolve the roles.

    Args:
        state: State of the evolution; changed.
        race: All games of the generation; the values of its teams are set.
        number: Number of the generation.

    Returns:
        Share of games in which the team scored more than any other side.
    """
    settings = state.settings
    estimate_race(state, race)
    ranked = rank_teams(race.teams)
    if state.coordinator.config.selection == "uniform":
        ranked = shuffle(ranked, fold_in(seed_key(settings.seed), -1 - number))
    state.teams = ranked[: settings.survivors]
    state.champion = state.teams[0].roles
    return evolve_from_race(state, race, assigned_roles(state.teams), number)


def estimate_race(state: RoleEvolutionState, race: Race) -> None:
    """Estimate what roles contribute from a race and those before, and the values of its teams.

    Args:
        state: State of the evolution; its estimates and the scores of the seeded team are updated.
        race: All games of the generation; the values of its teams are set.
    """
    state.recent = [*state.recent, race.scored_games()][-state.settings.recent_generations :]
    state.contributions = contributions = state.estimate_contributions()
    games_of = {team.roles: team.games for team in race.teams}
    race.teams = [
        TeamComposition(roles, contributions.predict(roles), n_before + len(race.scores_of(roles)))
        for roles, n_before in games_of.items()
    ]
    seeded = race.scores_of(state.seeded_roles)
    total, n_games = state.seeded_scores
    state.seeded_scores = (total + sum(seeded), n_games + len(seeded))


def evolve_from_race(
    state: RoleEvolutionState, race: Race, reserved: Collection[int], number: int
) -> float:
    """Tell the coordinator of every game of a race, the last of which ends the generation.

    Args:
        state: State of the evolution; changed.
        race: All games of the generation.
        reserved: Ids of roles that have to survive.
        number: Number of the generation; the last one of a run or of a start breeds no roles.

    Returns:
        Share of games in which the team scored more than any other side.
    """
    settings, coordinator = state.settings, state.coordinator
    coordinator.reserved = reserved
    is_last = number + 1 >= settings.generations or ends_start(settings, number + 1)
    coordinator.breeds = settings.trigger == "cadence" and not is_last
    return _record_games(state, race, state.contributions)


def _record_games(state: RoleEvolutionState, race: Race, contributions: Contributions) -> float:
    """Tell the coordinator of every game; return the share that was won.

    Every agent's score is what its role contributes, blended with its own deeds by `team_weight`.
    Games of the seeded team count only if it is one of the racing teams.
    """
    settings, coordinator = state.settings, state.coordinator
    racing = {team.roles for team in race.teams}
    pairs = [
        pair for pair in zip(race.games, race.results, strict=True) if pair[0].teams[0] in racing
    ]
    coordinator.games_per_generation = len(pairs)
    births, n_won = [], 0
    for game, result in pairs:
        roles = fit_team(game.teams[0], result.n_agents)
        team_scores = [contributions.scores[role] for role in roles]
        scores = blend_with_deeds(settings.environment.domain, result, team_scores, settings.config)
        births.append(GameBirths(roles, result.newborns, scores))
        n_won += scores.won[-1]
    if settings.trigger == "temple":
        add_hybrids(coordinator, births)
    for (_, result), birth in zip(pairs, births, strict=True):
        coordinator.assign_team(birth.roles)
        for records in agent_records(birth.scores, birth.roles, result):
            coordinator.score_game(records)
        coordinator.end_game(birth.scores.won[-1])
    return n_won / len(pairs)
