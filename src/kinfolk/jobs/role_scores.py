"""What games say of line-ups and of the roles in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kinfolk.core.arrays import Floats
from kinfolk.jobs.role_games import GameResult
from kinfolk.policies.role_kits import RoleKit
from kinfolk.roles.records import AgentRecord
from kinfolk.roles.scoring import blend, contributions, team_shares, winners


class Scores(NamedTuple):
    """A game of the first team, by moments of scoring."""

    scores: Floats  # [moments, agents], 0 to 1
    won: tuple[bool, ...]  # [moments]


def margin(result: GameResult, teams: int) -> float:
    """What a line-up is judged by: what its team held at the end, less the best other team's."""
    held = result.held[-1]
    return float(held[0]) - (float(held[1:teams].max()) if teams > 1 else 0.0)


def score_game(kit: RoleKit, result: GameResult, team_weight: float) -> Scores:
    """Every agent's score: its team's share of all that was held, blended with its own deeds."""
    team = team_shares(result.held)[:, 0]
    own = contributions(result.deeds, kit.worth)
    won = winners(result.held)[:, 0]
    return Scores(blend(team, own, team_weight), tuple(bool(w) for w in won))


def records_of(found: Scores, roles: Sequence[int]) -> list[list[AgentRecord]]:
    """What to enter for the agents that play `roles`, moment by moment."""
    return [
        [AgentRecord(role, float(score), won) for role, score in zip(roles, scores, strict=False)]
        for scores, won in zip(found.scores, found.won, strict=True)
    ]


def spread(values: Sequence[float]) -> float:
    """The standard deviation; 0 for a single value."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
