"""Evaluate the champion on held-out episodes, with credit per role, and record replays of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kinfolk.core.arrays import Floats
from kinfolk.core.events import Event, FileChunk
from kinfolk.engines.base import Engine
from kinfolk.evaluation.rollout import evaluation_task
from kinfolk.evaluation.statistics import Estimate, estimate_mean, estimate_proportion
from kinfolk.jobs.evolve_roles.controls import reduce_to_vibes
from kinfolk.jobs.evolve_roles.games import (
    BASELINE_ROLE,
    IDLE_ROLE,
    RoleGame,
    games_task,
    play_role_games,
    used_role_ids,
)
from kinfolk.jobs.evolve_roles.report import count_roles
from kinfolk.jobs.evolve_roles.scores import score_margin
from kinfolk.jobs.evolve_roles.settings import EvolveRoles
from kinfolk.jobs.evolve_roles.state import RoleEvolutionState, team_policy
from kinfolk.replay.record import as_file_chunks, record_episode, record_replay
from kinfolk.roles.fitness import find_winners
from kinfolk.roles.teams import rank_teams

# Added to the seed of a run: its episodes are played by no generation. Episodes from 0 on compare
# the champion, those from _FINAL on choose it; so the comparison saw no choice at all.
HELD_OUT_SEED_OFFSET = 1_000_000

_FINALIST_EPISODES = 100_000


@dataclass(frozen=True, kw_only=True)
class ChampionEvaluated(Event):
    """The champion beside others, on the same unseen episodes.

    They are the seeded line-up, the world's baseline, and the champion if its roles were only
    their vibes: what it loses by that, its roles gave.
    """

    kind: ClassVar[str] = "champion_evaluated"
    metric: str
    games: int
    seed: int  # of the episodes, which are 0 to games - 1
    scores: dict[str, Estimate]  # by side: seeded, baseline, vibes, champion
    win_rate: dict[str, Estimate]
    difference: dict[str, Estimate]  # of the champion, paired, to each of the others
    ratio: float | None  # champion to seeded; None where that holds nothing, or less
    team: dict[str, int]
    programs: dict[str, str]  # what the roles of the champion are
    credit: dict[str, Estimate]  # what is lost without one agent of each role


def evaluate_champion(
    settings: EvolveRoles, engine: Engine, state: RoleEvolutionState
) -> ChampionEvaluated:
    """Choose the champion among the finalists, compare it, and take it apart."""
    played = [lineup for lineup in rank_teams(state.teams) if lineup.games > 0]
    finalists = [lineup.roles for lineup in played[: settings.finalists]]
    final = range(_FINALIST_EPISODES, _FINALIST_EPISODES + settings.finalist_games)
    held, _ = evaluate_teams(settings, engine, state, finalists, final)
    state.champion = champion = finalists[int(held.mean(axis=0).argmax())]
    sides = {
        "seeded": state.seeded_roles,
        "baseline": (BASELINE_ROLE,) * len(champion),
        "vibes": reduce_to_vibes(settings.environment.domain, state.catalog, champion),
        "champion": champion,
    }
    episodes = range(settings.eval_games)
    held, won = evaluate_teams(settings, engine, state, list(sides.values()), episodes)
    columns = dict(zip(sides, held.T, strict=True))
    roles = [state.catalog.roles[i] for i in dict.fromkeys(champion)]
    return ChampionEvaluated(
        step=state.coordinator.generation,
        metric=settings.environment.domain.score_name,
        games=len(episodes),
        seed=settings.seed + HELD_OUT_SEED_OFFSET,
        scores={name: estimate_mean(column) for name, column in columns.items()},
        win_rate={
            name: estimate_proportion(column) for name, column in zip(sides, won.T, strict=True)
        },
        difference={
            other: estimate_mean(columns["champion"] - column)
            for other, column in columns.items()
            if other != "champion"
        },
        ratio=_ratio(columns["champion"], columns["seeded"]),
        team=count_roles(state.catalog, champion),
        programs={role.name: state.catalog.format_role(role) for role in roles},
        credit=_credit(settings, engine, state, champion, final),
    )


def _ratio(ours: Floats, theirs: Floats) -> float | None:
    """Of the means. Head to head they are margins, which may be below zero: those have none."""
    return float(ours.mean() / theirs.mean()) if theirs.mean() > 0 else None


def _credit(
    settings: EvolveRoles,
    engine: Engine,
    state: RoleEvolutionState,
    champion: tuple[int, ...],
    episodes: range,
) -> dict[str, Estimate]:
    """Leave one agent of each role out, as one that does nothing, and see what is lost."""
    roles = list(dict.fromkeys(champion))
    without = []
    for role in roles:
        seats = list(champion)
        seats[seats.index(role)] = IDLE_ROLE
        without.append(tuple(seats))
    held, _ = evaluate_teams(settings, engine, state, [champion, *without], episodes)
    lost = held[:, :1] - held[:, 1:]
    names = [state.catalog.roles[i].name for i in roles]
    return {name: estimate_mean(column) for name, column in zip(names, lost.T, strict=True)}


def evaluate_teams(
    settings: EvolveRoles,
    engine: Engine,
    state: RoleEvolutionState,
    team_roles: Sequence[tuple[int, ...]],
    episodes: range,
) -> tuple[Floats, Floats]:
    """`[episodes, line-ups]`: what each held, and whether it won; others play the seeded roles."""
    ground = settings.environment
    teams = ground.teams
    others = (state.seeded_roles,) * (teams - 1)
    games = [RoleGame(episode, (lineup, *others)) for episode in episodes for lineup in team_roles]
    seed = settings.seed + HELD_OUT_SEED_OFFSET
    results = play_role_games(engine, ground, state.catalog, seed, games, settings.chunk_size)
    held = np.array([score_margin(result, teams) for result in results])
    won = np.array(
        [find_winners(result.side_scores[-1:])[0, 0] for result in results], dtype=np.float64
    )
    return held.reshape(len(episodes), -1), won.reshape(len(episodes), -1)


def record_game(
    settings: EvolveRoles, state: RoleEvolutionState, game: RoleGame, generation: int
) -> Iterator[FileChunk]:
    """Play one game again, with its reasons, and yield its replay piece by piece.

    The name of every role stands in the head, by its row of the tables that are played.
    """
    task = games_task(settings.environment, state.catalog, settings.seed, [game])
    names = [state.catalog.roles[i].name for i in used_role_ids([game])]
    roles = {"role": [*names, "nobody"]}
    pieces = record_replay(task, game.episode, names=roles, generation=generation)
    yield from as_file_chunks(f"generation-{generation:05d}", pieces)


def record_champion(settings: EvolveRoles, state: RoleEvolutionState) -> Iterator[FileChunk]:
    """The champion, and the seeded line-up on the same unseen map."""
    ground = settings.environment
    for name, roles in (("champion", state.champion), ("seeded", state.seeded_roles)):
        policy = team_policy(ground.domain, state.catalog, roles, settings.policy_kwargs)
        task = evaluation_task(
            ground.world, {name: policy}, settings.seed + HELD_OUT_SEED_OFFSET, range(1)
        )
        used = dict.fromkeys(roles)  # as the tables of `lineup_policy` have them
        names = {"role": [state.catalog.roles[role].name for role in used]}
        yield from record_episode(task, 0, name, names=names)
