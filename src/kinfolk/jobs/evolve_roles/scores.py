"""Scores of teams and of the roles in them, from the results of games."""

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
    """Scores of the first team in a game, by moments of scoring."""

    scores: Floats  # [moments, agents], 0 to 1
    won: tuple[bool, ...]  # [moments]


def score_margin(result: RoleGameResult, n_teams: int) -> float:
    """Return the score of the first team at the end, less that of the best other team."""
    scores = result.side_scores[-1]
    return float(scores[0]) - (float(scores[1:n_teams].max()) if n_teams > 1 else 0.0)


def score_game(domain: RoleDomain, result: RoleGameResult, team_weight: float) -> GameScores:
    """Return every agent's score: its team's share of all scores, blended with its own counters.

    Args:
        domain: The role domain, with the weights of counters.
        result: Result of the game.
        team_weight: Weight of the team's share, 0 to 1.
    """
    team = team_shares(result.side_scores)[:, 0]
    contributions = relative_contributions(result.agent_counters, domain.contribution_weights)
    won = find_winners(result.side_scores)[:, 0]
    return GameScores(blend_scores(team, contributions, team_weight), tuple(bool(w) for w in won))


def agent_records(game_scores: GameScores, roles: Sequence[int]) -> list[list[AgentScore]]:
    """Return the score records of the agents that play `roles`, moment by moment."""
    return [
        [AgentScore(role, float(score), won) for role, score in zip(roles, scores, strict=False)]
        for scores, won in zip(game_scores.scores, game_scores.won, strict=True)
    ]


def sample_std(values: Sequence[float]) -> float:
    """Return the sample standard deviation; 0 for a single value."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
