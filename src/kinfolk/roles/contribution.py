"""Estimate what each role contributes to its team, from games on common episodes.

The score of a game is modelled as the sum of an effect of its episode, one of every agent's role,
one of the team as a whole (how well its roles go together) and noise. All effects are estimated
together by ridge regression, as breeders estimate the values of animals from their yields (best
linear unbiased prediction; Henderson 1975): few games move an effect little, and the effect of a
role is shrunk towards that of its parents, less the mean loss by variation, which is estimated too:
most mutations do harm. So an inherited value is a prior which its own games confirm or not.
Differences on common episodes count, the luck of an episode does not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from math import fsum
from typing import NamedTuple

import numpy as np

from kinfolk.core.arrays import Floats
from kinfolk.roles.model import RoleDef

# Weight of the prior of each effect in games: the variance of a game's noise over that of the effect.
TEAM_PRIOR_GAMES = 6.0
FOUNDER_PRIOR_GAMES = 20.0  # of a role without parents in the games, towards 0
CHILD_PRIOR_GAMES = 40.0  # of a role towards the mean of its parents
DRIFT_PRIOR_GAMES = 1.0
_EPISODE_PRIOR_GAMES = 0.01  # episodes are hardly shrunk


class ScoredGame(NamedTuple):
    """A game: its episode, the role of every agent of the team, and the score of the team."""

    episode: int
    roles: tuple[int, ...]
    score: float


@dataclass(frozen=True)
class Contributions:
    """Estimated effects on the score of a game.

    Attributes:
        mean: Mean score of all games.
        roles: By role id: effect of one agent with the role, relative to the mean over the games.
        teams: By role ids: effect of the team beyond those of its roles.
        scores: By role id: the contribution from 0 to 1, see `contribution_score`.
    """

    mean: float = 0.0
    roles: Mapping[int, float] = field(default_factory=dict)
    teams: Mapping[tuple[int, ...], float] = field(default_factory=dict)
    scores: Mapping[int, float] = field(default_factory=dict)

    def predict(self, roles: Sequence[int]) -> float:
        """Return the expected score of a team; an unknown role counts as an average one."""
        effects = sum(self.roles.get(role, 0.0) for role in roles)
        return self.mean + effects + self.teams.get(tuple(roles), 0.0)


def estimate_contributions(
    games: Sequence[ScoredGame], roles: Sequence[RoleDef], scale: float | None = None
) -> Contributions:
    """Estimate the contributions of all roles and teams that played.

    Args:
        games: Games, several per episode, so that teams can be compared on equal terms.
        roles: All roles by id, for their parents.
        scale: Contribution that counts as 0.5 more than the average in `scores`; by default the
            mean score per agent, so that an agent that adds nothing has 0, and one that adds twice
            the mean has 1.

    Raises:
        ValueError: There are no games.
    """
    if not games:
        raise ValueError("Contributions are estimated from at least one game; there is none.")
    mean = fsum(game.score for game in games) / len(games)
    effects = _Effects(games)
    system, right = _make_normal_equations(games, effects, mean)
    _add_priors(system, effects, roles)
    solution = _solve(system, right).tolist()
    played = Counter(role for game in games for role in game.roles)
    values = {role: solution[column] for role, column in effects.roles.items()}
    center = fsum(values[role] * n for role, n in played.items()) / played.total()
    unit = max(abs(mean), 1e-9) / len(games[0].roles) if scale is None else scale
    values = {role: value - center for role, value in values.items()}
    return Contributions(
        mean,
        values,
        {team: solution[column] for team, column in effects.teams.items()},
        {role: contribution_score(value, unit) for role, value in values.items()},
    )


def contribution_score(value: float, unit: float) -> float:
    """Return a contribution as a score from 0 to 1, 0.5 for an average one.

    >>> contribution_score(0.0, 1000.0), contribution_score(500.0, 1000.0)
    (0.5, 0.75)

    Args:
        value: Contribution relative to the average.
        unit: Contribution that gives a score of 1.
    """
    return min(1.0, max(0.0, 0.5 + 0.5 * value / unit))


class _Effects:
    """Columns of the effects in the regression: roles, then teams, then episodes, then the drift.

    The drift is the mean difference of children from their parents.
    """

    def __init__(self, games: Sequence[ScoredGame]) -> None:
        columns = count()
        known_roles = sorted({role for game in games for role in game.roles})
        self.roles = dict(zip(known_roles, columns, strict=False))
        self.teams = dict(zip(sorted({game.roles for game in games}), columns, strict=False))
        self.episodes = dict(zip(sorted({game.episode for game in games}), columns, strict=False))
        self.drift = len(self.roles) + len(self.teams) + len(self.episodes)
        self.n_columns = self.drift + 1


def _make_normal_equations(
    games: Sequence[ScoredGame], effects: _Effects, mean: float
) -> tuple[Floats, Floats]:
    """Return matrix and right side of the normal equations, still without priors."""
    columns = np.array(
        [
            [*(effects.roles[role] for role in game.roles),
             effects.teams[game.roles], effects.episodes[game.episode]]
            for game in games
        ]
    )  # fmt: skip
    # Pairs of effects in one game are counted: a matrix product would occupy a thread per core.
    n = effects.n_columns
    pairs = (columns[:, :, None] * n + columns[:, None, :]).ravel()
    system = np.bincount(pairs, minlength=n * n).reshape(n, n).astype(np.float64)
    scores: list[list[float]] = [[] for _ in range(n)]
    for row, game in zip(columns.tolist(), games, strict=True):
        for column in row:
            scores[column].append(game.score - mean)
    return system, np.array([fsum(of_column) for of_column in scores])


def _add_priors(system: Floats, effects: _Effects, roles: Sequence[RoleDef]) -> None:
    """Add the weight of the priors to the normal equations."""
    for role, column in effects.roles.items():
        parents = [effects.roles[p] for p in roles[role].parents if p in effects.roles]
        weights = {column: 1.0, **{parent: -1.0 / len(parents) for parent in parents}}
        if parents:
            weights[effects.drift] = -1.0
        cost = CHILD_PRIOR_GAMES if parents else FOUNDER_PRIOR_GAMES
        for a, weight in weights.items():
            for b, other in weights.items():
                system[a, b] += cost * weight * other
    teams, episodes = list(effects.teams.values()), list(effects.episodes.values())
    system[teams, teams] += TEAM_PRIOR_GAMES
    system[episodes, episodes] += _EPISODE_PRIOR_GAMES
    system[effects.drift, effects.drift] += DRIFT_PRIOR_GAMES


def _solve(system: Floats, right: Floats) -> Floats:
    """Solve symmetric positive definite equations by elimination.

    Unlike the solvers of linear algebra libraries, it gives the same bits for any number of threads.
    """
    a = np.column_stack([system, right])
    n = len(right)
    for k in range(n):
        a[k + 1 :, k:] -= (a[k + 1 :, k] / a[k, k])[:, None] * a[k, k:]
    solution = np.zeros(n)
    for k in range(n - 1, -1, -1):
        known = fsum((a[k, k + 1 : n] * solution[k + 1 :]).tolist())
        solution[k] = (a[k, n] - known) / a[k, k]
    return solution
