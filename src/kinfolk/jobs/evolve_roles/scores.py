"""What games say of line-ups and of the roles in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kinfolk.core.arrays import Floats
from kinfolk.jobs.evolve_roles.games import RoleGameResult
from kinfolk.policies.role_domain import RoleDomain
from kinfolk.roles.fitness import (
    AgentScore,
    blend_scores,
    find_winners,
    relative_contributions,
    team_shares,
)


class GameScores(NamedTuple):
    """A game of the first team, by moments of scoring."""

    scores: Floats  # [moments, agents], 0 to 1
    won: tuple[bool, ...]  # [moments]


def score_margin(result: RoleGameResult, n_teams: int) -> float:
    """What a line-up is judged by: what its team held at the end, less the best other team's."""
    held = result.side_scores[-1]
    return float(held[0]) - (float(held[1:n_teams].max()) if n_teams > 1 else 0.0)


def score_game(domain: RoleDomain, result: RoleGameResult, team_weight: float) -> GameScores:
    """Every agent's score: its team's share of all that was held, blended with its own deeds."""
    team = team_shares(result.side_scores)[:, 0]
    own = relative_contributions(result.agent_counters, domain.contribution_weights)
    won = find_winners(result.side_scores)[:, 0]
    return GameScores(blend_scores(team, own, team_weight), tuple(bool(w) for w in won))


def agent_records(game_scores: GameScores, roles: Sequence[int]) -> list[list[AgentScore]]:
    """What to enter for the agents that play `roles`, moment by moment."""
    return [
        [AgentScore(role, float(score), won) for role, score in zip(roles, scores, strict=False)]
        for scores, won in zip(game_scores.scores, game_scores.won, strict=True)
    ]


def sample_std(values: Sequence[float]) -> float:
    """The standard deviation; 0 for a single value."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
