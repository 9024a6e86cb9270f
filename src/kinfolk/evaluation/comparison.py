"""Compare two policies by a paired permutation test on common episodes, and rate several."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from kinfolk.core.arrays import AnyArray
from kinfolk.evaluation.statistics import Estimate, estimate_mean, estimate_proportion

SIGNIFICANCE_LEVEL = 0.05  # below this p-value a difference is reported
# With n unequal pairs, the two-sided p-value of a permutation test is at least 2 / 2^n.
MIN_EPISODES = 1 + math.floor(1 - math.log2(SIGNIFICANCE_LEVEL))
_N_PERMUTATIONS = 9999
CANDIDATE_SLOT = "candidate"
_TEAM_MEMBER = re.compile(r"\w+=.")  # of a team; a URI has another sign behind its first word
_SCHEME = re.compile(r"\b(?:kin://|class:|file:|run:)")
_MAX_LABEL = 40  # characters


def parse_team(candidate: str) -> dict[str, str]:
    """Return the policy URI of each slot of a candidate.

    >>> parse_team("kin://roles?miner=3&scout=1")
    {'candidate': 'kin://roles?miner=3&scout=1'}
    >>> parse_team("miner=kin://role/miner;scout=run:mine/scout@best")
    {'miner': 'kin://role/miner', 'scout': 'run:mine/scout@best'}
    """
    parts = candidate.split(";")
    if not all(_TEAM_MEMBER.match(part) for part in parts):
        return {CANDIDATE_SLOT: candidate}
    return {name: uri for name, _, uri in (part.partition("=") for part in parts)}


def label_policies(policies: Sequence[str]) -> list[str]:
    """Return a short text for each policy that can be part of a file's name, by number and URI.

    >>> label_policies(["kin://smart", "class:mine.Own?depth=2"])
    ['0-smart', '1-mine.Own-depth-2']
    """
    width = len(str(len(policies) - 1))
    labels = []
    for number, uri in enumerate(policies):
        text = re.sub(r"[^A-Za-z0-9_.]+", "-", _SCHEME.sub("", uri))[-_MAX_LABEL:].strip("-.")
        labels.append(f"{number:0{width}d}-{text}" if text else f"{number:0{width}d}")
    return labels


class PairedComparison(NamedTuple):
    """Result of a two-sided paired permutation test of two policies on common episodes.

    `p_value` is the probability of a mean difference at least this large if the two values of each
    episode are exchanged at random.
    """

    difference: Estimate  # first minus second, per episode
    p_value: float
    better: str  # first, second or neither
    n_episodes: int
    min_p_value: float  # smallest p-value possible with this number of unequal episodes


def compare_paired(first: AnyArray, second: AnyArray) -> PairedComparison:
    """Test whether two policies differ in the same episodes; deterministic.

    Args:
        first: `[episodes]`, scores of the first policy.
        second: `[episodes]`, scores of the second policy in the same episodes.

    Raises:
        ValueError: The numbers of episodes differ.
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.shape != b.shape:
        raise ValueError(
            f"Paired values must be of the same episodes, but there are {len(a)} and {len(b)} values."
        )
    difference = estimate_mean(a - b)
    p_value = _permutation_p_value(a, b)
    better = "neither"
    if p_value < SIGNIFICANCE_LEVEL:
        better = "first" if difference.mean > 0 else "second"
    unequal = int(np.count_nonzero(a != b))
    return PairedComparison(difference, p_value, better, len(a), min(1.0, 2.0 ** (1 - unequal)))


def describe_low_power(first: str, second: str, comparison: PairedComparison) -> str | None:
    """Describe why a comparison could not reach significance, and what would help.

    Args:
        first: Name of the first policy.
        second: Name of the second.
        comparison: Their comparison.

    Returns:
        One or two sentences; None if significance was possible, or all episodes were equal.
    """
    least = f"the p-value of a two-sided permutation test is at least {comparison.min_p_value:.3g}"
    if comparison.n_episodes < MIN_EPISODES:
        return (
            f"{comparison.n_episodes} episodes cannot show a difference between {first} and {second}: "
            f"{least}. For p < {SIGNIFICANCE_LEVEL:g} play {MIN_EPISODES} episodes or more."
        )
    if SIGNIFICANCE_LEVEL <= comparison.min_p_value < 1.0:
        unequal = 1 - round(math.log2(comparison.min_p_value))
        return (
            f"{first} and {second} scored differently in {unequal} of {comparison.n_episodes} episodes "
            f"only, so {least}. For p < {SIGNIFICANCE_LEVEL:g} there must be {MIN_EPISODES} or more such "
            f"episodes: play more."
        )
    return None


def _permutation_p_value(a: AnyArray, b: AnyArray) -> float:
    """Return the two-sided p-value of a paired permutation test with a fixed seed."""
    if np.array_equal(a, b) or len(a) < 2:
        return 1.0
    from scipy.stats import permutation_test

    def mean_difference(x: AnyArray, y: AnyArray, axis: int) -> AnyArray:
        """Return the statistic of the test: the difference of the means along an axis."""
        return np.asarray(np.mean(x - y, axis=axis))

    n, rng = _N_PERMUTATIONS, np.random.default_rng(0)
    result = permutation_test(
        (a, b), mean_difference, permutation_type="samples", vectorized=True, n_resamples=n, rng=rng
    )
    return float(result.pvalue)


class Rating(NamedTuple):
    """The skill of a player with its uncertainty, and its win rate."""

    mu: float  # mean of the skill
    sigma: float  # its standard deviation
    ordinal: float  # mu - 3 sigma, the conservative rating by which players are ranked
    n_games: int
    win_rate: float  # ties count half
    win_rate_low: float | None  # the 95 % confidence interval; None with fewer than two games
    win_rate_high: float | None


class PairResult(NamedTuple):
    """The scores of two players in one game."""

    first: int  # index of the player
    second: int
    first_score: float
    second_score: float


def rate_players(players: Sequence[str], results: Iterable[PairResult]) -> dict[str, Rating]:
    """Return the rating of each player after a sequence of games; the order of games matters."""
    from openskill.models import PlackettLuce

    model = PlackettLuce()
    ratings = [model.rating(name=name) for name in players]
    win_shares: list[list[float]] = [[] for _ in players]
    for first, second, a, b in results:
        teams = [[ratings[first]], [ratings[second]]]
        [[ratings[first]], [ratings[second]]] = model.rate(teams, scores=[a, b])
        win_shares[first].append(1.0 if a > b else 0.5 * (a == b))
        win_shares[second].append(1.0 if b > a else 0.5 * (a == b))
    rated = map(_make_rating, ratings, win_shares)
    return dict(zip(players, rated, strict=True))


def _make_rating(rating: Any, win_shares: list[float]) -> Rating:
    """Return a player's rating from that of the model and its share of the win of each game."""
    share = Estimate(0.0, None, None, 0)
    if win_shares:
        share = estimate_proportion(np.array(win_shares))
    strength = float(rating.mu), float(rating.sigma), float(rating.ordinal())
    return Rating(*strength, share.n, share.mean, share.low, share.high)
