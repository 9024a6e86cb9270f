"""Evaluate the champion on held-out episodes, with credit per role, and record replays of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from kinfolk.core.arrays import Floats
from kinfolk.core.events import Event, FileChunk
from kinfolk.engines.base import Engine
from kinfolk.evaluation.rollout import evaluation_task
from kinfolk.evaluation.statistics import Estimate, estimate_mean, estimate_proportion
from kinfolk.jobs.evolve_roles.explanation import (
    PARTS,
    ablate_team,
    describe_changes,
    measure_behavior_shares,
)
from kinfolk.jobs.evolve_roles.games import (
    BASELINE_ROLE,
    IDLE_ROLE,
    RoleEnvironment,
    RoleGame,
    RoleGameResult,
    games_task,
    score_margin,
    used_role_ids,
)
from kinfolk.jobs.evolve_roles.seeded import reduce_to_vibes
from kinfolk.jobs.evolve_roles.state import RoleEvolutionState
from kinfolk.replay.record import as_file_chunks, record_episode, record_replay
from kinfolk.roles.catalog import RoleCatalog
from kinfolk.roles.contribution import ScoredGame
from kinfolk.roles.fitness import find_winners

# Added to the seed of a run: its episodes are played by no generation. Episodes from 0 on compare
# the champion, those from _FINALIST_EPISODES on choose it, so that selection does not bias the
# comparison.
HELD_OUT_SEED_OFFSET = 1_000_000
_FINALIST_EPISODES = 100_000


@dataclass(frozen=True, kw_only=True)
class ChampionEvaluated(Event):
    """The champion compared with other teams on the same held-out episodes.

    The others are the seeded team, the world's baseline, and the champion with each role replaced
    by the seeded role of its vibe. What that team loses is the gain of the evolved programs.
    """

    kind: ClassVar[str] = "champion_evaluated"
    metric: str  # what a game is scored by
    games: int  # that each side played
    seed: int  # of the episodes, which are 0 to games - 1
    scores: dict[str, Estimate]  # by side: seeded, baseline, vibes, champion
    win_rate: dict[str, Estimate]  # by side
    difference: dict[str, Estimate]  # of the champion, paired, to each of the others
    ratio: float | None  # champion to seeded; None where that is not positive, as margins may be
    team: dict[str, int]  # number of agents of each of the champion's roles
    programs: dict[str, str]  # behaviors of the champion's roles, as text
    credit: dict[str, Estimate]  # score lost without one agent of each role
    parts: dict[str, Estimate]  # score lost if mix, order, parameters or guards are put back
    changes: list[str]  # how the champion differs from the seeded team, as a diff
    behavior_shares: dict[str, dict[str, float]]  # by role: share of ticks each behavior acted
    held_out: dict[str, dict[str, Estimate]]  # scores and difference on held-out settings, by them


def choose_champion(state: RoleEvolutionState, engine: Engine) -> range:
    """Set the champion to the best finalist by its recent games and further, held-out ones.

    Args:
        state: State after the last generation; its `champion` is set.
        engine: Engine that plays the games.

    Returns:
        The held-out episodes that were played.
    """
    settings = state.settings
    finalists = [team.roles for team in state.teams if team.games > 0][: settings.finalists]
    episodes = range(_FINALIST_EPISODES, _FINALIST_EPISODES + settings.finalist_games)
    scores = play_held_out(state, engine, finalists, episodes).margins
    games = [
        ScoredGame(episode, roles, float(scores[i, j]))
        for i, episode in enumerate(episodes)
        for j, roles in enumerate(finalists)
    ]
    contributions = state.estimate_contributions(games)
    state.champion = max(finalists, key=contributions.predict)
    return episodes


def evaluate_champion(state: RoleEvolutionState, engine: Engine) -> Iterator[ChampionEvaluated]:
    """Choose the champion among the finalists, compare it with other teams, and credit its roles.

    Args:
        state: State after the last generation; its `champion` is set.
        engine: Engine that plays the games.
    """
    settings, domain = state.settings, state.settings.environment.domain
    final = choose_champion(state, engine)
    champion = state.champion
    sides = {
        "seeded": state.seeded_roles,
        "baseline": (BASELINE_ROLE,) * len(champion),
        "vibes": reduce_to_vibes(domain, state.catalog, champion),
        "champion": champion,
    }
    episodes = range(settings.eval_games)
    played = play_held_out(state, engine, list(sides.values()), episodes)
    columns = dict(zip(sides, played.margins.T, strict=True))
    wins = dict(zip(sides, played.won.T, strict=True))
    best, seeded = columns["champion"], columns["seeded"]
    others = [name for name in sides if name != "champion"]
    roles = [state.catalog.roles[i] for i in dict.fromkeys(champion)]
    yield ChampionEvaluated(
        step=state.coordinator.generation,
        metric=domain.score_name,
        games=len(episodes),
        seed=settings.seed + HELD_OUT_SEED_OFFSET,
        scores={name: estimate_mean(column) for name, column in columns.items()},
        win_rate={name: estimate_proportion(column) for name, column in wins.items()},
        difference={name: estimate_mean(best - columns[name]) for name in others},
        ratio=float(best.mean() / seeded.mean()) if seeded.mean() > 0 else None,
        team=count_roles(state.catalog, champion),
        programs={role.name: state.catalog.format_role(role) for role in roles},
        credit=estimate_role_credit(state, engine, final),
        parts=estimate_parts(state, engine, episodes, best),
        changes=describe_changes(domain, state.catalog, champion),
        behavior_shares=measure_behavior_shares(
            state.catalog, champion, played.results[list(sides).index("champion") :: len(sides)]
        ),
        held_out=evaluate_held_out_settings(state, engine, final),
    )


def evaluate_held_out_settings(
    state: RoleEvolutionState, engine: Engine, episodes: range
) -> dict[str, dict[str, Estimate]]:
    """Compare the champion with the seeded team on settings that no generation was played on.

    Args:
        state: State of the evolution.
        engine: Engine that plays the games.
        episodes: Held-out episodes to play under each setting.

    Returns:
        By description of the settings: `seeded`, `champion` and `difference`.
    """
    report = {}
    for name, environment in state.settings.held_out_environments.items():
        teams = [state.seeded_roles, state.champion]
        played = play_held_out(state, engine, teams, episodes, environments=[environment])
        seeded, champion = played.margins.T
        values = {"seeded": seeded, "champion": champion, "difference": champion - seeded}
        report[name] = {key: estimate_mean(column) for key, column in values.items()}
    return report


def estimate_parts(
    state: RoleEvolutionState, engine: Engine, episodes: range, champion_scores: Floats
) -> dict[str, Estimate]:
    """Estimate what the champion loses if one part of it is put back to what the seeded team has.

    Args:
        state: State of the evolution.
        engine: Engine that plays the games.
        episodes: Held-out episodes to play.
        champion_scores: `[episodes]`, scores of the champion on them.

    Returns:
        By part, apart from those in which the champion does not differ.
    """
    domain, catalog = state.settings.environment.domain, state.catalog.copy()
    teams = {part: ablate_team(domain, catalog, state.champion, part) for part in PARTS}
    changed = {part: team for part, team in teams.items() if team != state.champion}
    if not changed:
        return {}
    played = play_held_out(state, engine, list(changed.values()), episodes, catalog)
    lost = champion_scores[:, None] - played.margins
    return {part: estimate_mean(lost[:, i]) for i, part in enumerate(changed)}


def estimate_role_credit(
    state: RoleEvolutionState, engine: Engine, episodes: range
) -> dict[str, Estimate]:
    """Estimate what the champion loses if one agent of a role does nothing, for each role.

    Args:
        state: State of the evolution.
        engine: Engine that plays the games.
        episodes: Held-out episodes to play.
    """
    roles, teams = list(dict.fromkeys(state.champion)), [state.champion]
    for role in roles:
        team = list(state.champion)
        team[team.index(role)] = IDLE_ROLE
        teams.append(tuple(team))
    scores = play_held_out(state, engine, teams, episodes).margins
    lost = (scores[:, :1] - scores[:, 1:]).T
    names = [state.catalog.roles[i].name for i in roles]
    return {name: estimate_mean(column) for name, column in zip(names, lost, strict=True)}


def count_roles(catalog: RoleCatalog, roles: tuple[int, ...]) -> dict[str, int]:
    """Return the number of agents that play each role of a team, by the role's name.

    Args:
        catalog: Catalog that names the roles.
        roles: Role id of each agent of the team.
    """
    return dict(Counter(catalog.roles[i].name for i in roles))


class HeldOutGames(NamedTuple):
    """Games of several teams on the same episodes."""

    margins: Floats  # [episodes, teams], score less that of the best other team
    won: Floats  # [episodes, teams], 1 where the team scored more than any other side
    results: list[RoleGameResult]  # episode by episode, team by team


def play_held_out(
    state: RoleEvolutionState,
    engine: Engine,
    team_roles: Sequence[tuple[int, ...]],
    episodes: range,
    catalog: RoleCatalog | None = None,
    environments: Sequence[RoleEnvironment] | None = None,
) -> HeldOutGames:
    """Play teams on held-out episodes; other sides play the seeded roles, or those of opponents.

    Args:
        state: State of the evolution.
        engine: Engine that plays the games.
        team_roles: Role ids of each team.
        episodes: Held-out episodes, the same for each team.
        catalog: Catalog with the roles; by default that of the state.
        environments: World, policy and scoring; by default those of the settings.
    """
    n_sides = state.n_sides
    games = [
        RoleGame(episode, (roles, *state.other_sides(episode, state.seeded_roles)))
        for episode in episodes
        for roles in team_roles
    ]
    seed = state.settings.seed + HELD_OUT_SEED_OFFSET
    results = state.play_games(engine, seed, games, catalog, environments)
    margins = np.array([score_margin(result, n_sides) for result in results])
    won = np.array([find_winners(result.side_scores[-1:])[0, 0] for result in results], np.float64)
    shape = (len(episodes), len(team_roles))
    return HeldOutGames(margins.reshape(shape), won.reshape(shape), results)


def record_game(state: RoleEvolutionState, game: RoleGame, generation: int) -> Iterator[FileChunk]:
    """Play one game again with explanations, and yield its replay piece by piece.

    The replay's header holds the names of the roles, in the order of their rows in the policy.

    Args:
        state: State of the evolution.
        game: Episode and teams to play.
        generation: Number of generations so far, for the name of the file.
    """
    environments = state.settings.environments
    environment = environments[game.episode % len(environments)]
    catalog = state.game_catalog
    task = games_task(environment, catalog, state.settings.seed, [game])
    names = [catalog.roles[i].name for i in used_role_ids([game])]
    legend = {"role": [*names, "nobody"]}
    pieces = record_replay(task, game.episode, names=legend, generation=generation)
    yield from as_file_chunks(f"generation-{generation:05d}", pieces)


def record_champion(state: RoleEvolutionState) -> Iterator[FileChunk]:
    """Yield replays of the champion and of the seeded team on the same held-out map."""
    world, seed = state.settings.environment.world, state.settings.seed + HELD_OUT_SEED_OFFSET
    for name, roles in (("champion", state.champion), ("seeded", state.seeded_roles)):
        task = evaluation_task(world, {name: state.team_policy(roles)}, seed, range(1))
        used = dict.fromkeys(roles)  # in the order of the tables of the team
        legend = {"role": [state.catalog.roles[role].name for role in used]}
        yield from record_episode(task, 0, name, names=legend)
