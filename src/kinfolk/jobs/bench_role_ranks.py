"""How well ranks of line-ups hold on fresh episodes, by the number of games they were ranked by.

This is what the number of games per generation was chosen by; docs/roles.md has the figures.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kinfolk.core.arrays import Floats
from kinfolk.engines import make_engine
from kinfolk.jobs.evolve_roles import start
from kinfolk.jobs.role_judging import judged_on
from kinfolk.jobs.role_settings import EvolveRoles

LINEUPS = 20
_RANKED, _FRESH = range(16), range(100, 148)  # episodes
_COUNTS = (1, 2, 4, 8, 16)


def bench_role_ranks(history: str | None = None, jobs: int = 2) -> dict[str, Any]:
    """Line-ups of a first generation, or of a history's next one."""
    settings = EvolveRoles(history=history)
    state, _ = start(settings, None)
    state.mix(LINEUPS, min(len(state.lineups), LINEUPS // 3), breed=True)
    lineups = [lineup.roles for lineup in state.lineups]
    engine = make_engine("processes", jobs)
    try:
        ranked, _ = judged_on(settings, engine, state, lineups, _RANKED)
        fresh, _ = judged_on(settings, engine, state, lineups, _FRESH)
    finally:
        engine.close()
    return {
        "lineups": LINEUPS,
        "fresh_games": len(_FRESH),
        "correlation": {str(n): holding(ranked, fresh, n) for n in _COUNTS},
        "spread_between": float(fresh.mean(axis=0).std(ddof=1)),
        "spread_of_a_game": float((fresh - fresh.mean(axis=0)).std()),
    }


def holding(ranked: Floats, fresh: Floats, games: int) -> Mapping[str, float]:
    """Ranked by each so many games: the correlation with fresh ranks, and what the winner is worth.

    `winner` is the place of the first among all on fresh games, 1 for the best, 0 for the worst;
    `flattery` is how much better it looked than it is.
    """
    from scipy.stats import rankdata, spearmanr

    truth, found, places, flattery = fresh.mean(axis=0), [], [], []
    for first in range(0, len(ranked) - games + 1, games):
        seen = ranked[first : first + games].mean(axis=0)
        winner = int(seen.argmax())
        found.append(float(spearmanr(seen, truth).statistic))
        places.append(float((rankdata(truth)[winner] - 1) / (len(truth) - 1)))
        flattery.append(float(seen[winner] - truth[winner]))
    return {
        "spearman": float(np.mean(found)),
        "winner": float(np.mean(places)),
        "flattery": float(np.mean(flattery)),
    }
