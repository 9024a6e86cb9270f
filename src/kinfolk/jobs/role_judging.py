"""What the champion is worth, on episodes that selection never saw; and what each role gives it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kinfolk.core.arrays import Floats
from kinfolk.core.events import Event
from kinfolk.engines.base import Engine
from kinfolk.evaluation.summary import Estimate, estimate, estimate_share
from kinfolk.jobs.role_controls import as_vibes
from kinfolk.jobs.role_games import BASELINE, IDLE, Game, play_games
from kinfolk.jobs.role_report import named
from kinfolk.jobs.role_scores import margin
from kinfolk.jobs.role_settings import EvolveRoles
from kinfolk.jobs.role_state import Evolution
from kinfolk.roles.lineups import best_first
from kinfolk.roles.scoring import winners

# Added to the seed of a run: its episodes are played by no generation. Episodes from 0 on compare
# the champion, those from _FINAL on choose it; so the comparison saw no choice at all.
UNSEEN = 1_000_000
_FINAL = 100_000


@dataclass(frozen=True, kw_only=True)
class ChampionJudged(Event):
    """The champion beside others, on the same unseen episodes.

    They are the seeded line-up, the world's baseline, and the champion if its roles were only
    their vibes: what it loses by that, its roles gave.
    """

    kind: ClassVar[str] = "champion_judged"
    measure: str
    games: int
    seed: int  # of the episodes, which are 0 to games - 1
    held: dict[str, Estimate]  # by side: seeded, baseline, vibes, champion
    won: dict[str, Estimate]
    difference: dict[str, Estimate]  # of the champion, paired, to each of the others
    ratio: float | None  # champion to seeded; None where that holds nothing, or less
    lineup: dict[str, int]
    programs: dict[str, str]  # what the roles of the champion are
    credit: dict[str, Estimate]  # what is lost without one agent of each role


def judge_champion(settings: EvolveRoles, engine: Engine, state: Evolution) -> ChampionJudged:
    """Choose the champion among the finalists, compare it, and take it apart."""
    played = [lineup for lineup in best_first(state.lineups) if lineup.games > 0]
    finalists = [lineup.roles for lineup in played[: settings.finalists]]
    final = range(_FINAL, _FINAL + settings.final_games)
    held, _ = judged_on(settings, engine, state, finalists, final)
    state.champion = champion = finalists[int(held.mean(axis=0).argmax())]
    sides = {
        "seeded": state.seeded,
        "baseline": (BASELINE,) * len(champion),
        "vibes": as_vibes(settings.ground.kit, state.catalog, champion),
        "champion": champion,
    }
    episodes = range(settings.judge_games)
    held, won = judged_on(settings, engine, state, list(sides.values()), episodes)
    columns = dict(zip(sides, held.T, strict=True))
    roles = [state.catalog.roles[i] for i in dict.fromkeys(champion)]
    return ChampionJudged(
        step=state.coordinator.generation,
        measure=settings.ground.kit.measure,
        games=len(episodes),
        seed=settings.seed + UNSEEN,
        held={name: estimate(column) for name, column in columns.items()},
        won={name: estimate_share(column) for name, column in zip(sides, won.T, strict=True)},
        difference={
            other: estimate(columns["champion"] - column)
            for other, column in columns.items()
            if other != "champion"
        },
        ratio=_ratio(columns["champion"], columns["seeded"]),
        lineup=named(state.catalog, champion),
        programs={role.name: state.catalog.written(role) for role in roles},
        credit=_credit(settings, engine, state, champion, final),
    )


def _ratio(ours: Floats, theirs: Floats) -> float | None:
    """Of the means. Head to head they are margins, which may be below zero: those have none."""
    return float(ours.mean() / theirs.mean()) if theirs.mean() > 0 else None


def _credit(
    settings: EvolveRoles, engine: Engine, state: Evolution, champion: tuple[int, ...], on: range
) -> dict[str, Estimate]:
    """Leave one agent of each role out, as one that does nothing, and see what is lost."""
    roles = list(dict.fromkeys(champion))
    without = []
    for role in roles:
        seats = list(champion)
        seats[seats.index(role)] = IDLE
        without.append(tuple(seats))
    held, _ = judged_on(settings, engine, state, [champion, *without], on)
    lost = held[:, :1] - held[:, 1:]
    names = [state.catalog.roles[i].name for i in roles]
    return {name: estimate(column) for name, column in zip(names, lost.T, strict=True)}


def judged_on(
    settings: EvolveRoles,
    engine: Engine,
    state: Evolution,
    lineups: Sequence[tuple[int, ...]],
    episodes: range,
) -> tuple[Floats, Floats]:
    """`[episodes, line-ups]`: what each held, and whether it won; others play the seeded roles."""
    ground = settings.ground
    teams = len(ground.kit.rows(ground.build(1)))
    others = (state.seeded,) * (teams - 1)
    games = [Game(episode, (lineup, *others)) for episode in episodes for lineup in lineups]
    seed = settings.seed + UNSEEN
    results = play_games(engine, ground, state.catalog, seed, games, settings.chunk)
    held = np.array([margin(result, teams) for result in results])
    won = np.array([winners(result.held[-1:])[0, 0] for result in results], dtype=np.float64)
    return held.reshape(len(episodes), -1), won.reshape(len(episodes), -1)
