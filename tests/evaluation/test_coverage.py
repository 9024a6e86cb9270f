"""Coverage of intervals, false alarms and power of comparisons, by simulation."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from kinfolk.evaluation.comparison import compare_paired
from kinfolk.evaluation.intervals import IntervalWarning, mean_interval
from kinfolk.evaluation.significance import power, sample_size
from kinfolk.evaluation.statistics import estimate_proportion, t_intervals
from kinfolk.evaluation.weakness import describe_weak_proportion, describe_weakness

N_TRIALS = 10_000
RNG_SEED = 20
# Name: how `[trials, n]` values are drawn, and their true mean.
SHAPES = {
    "normal": (lambda rng, size: rng.normal(0.0, 1.0, size), 0.0),
    "uniform": (lambda rng, size: rng.uniform(0.0, 1.0, size), 0.5),
    "two-humped, 0 to 1": (lambda rng, size: rng.beta(0.2, 0.2, size), 0.5),
    "exponential": (lambda rng, size: rng.exponential(1.0, size), 1.0),
    "beta(0.5, 5), 0 to 1": (lambda rng, size: rng.beta(0.5, 5.0, size), 0.5 / 5.5),
    "log-normal": (lambda rng, size: rng.lognormal(0.0, 1.0, size), float(np.exp(0.5))),
    "one in ten is 10": (
        lambda rng, size: (
            np.where(rng.uniform(size=size) < 0.1, 10.0, 0.0) + rng.normal(0, 1, size)
        ),
        1.0,
    ),
}
SIZES = (3, 5, 10, 30)
# Percent of 10,000 intervals that cover the true mean, and percent of samples that are warned of; the
# table of docs/evaluation.md.
DOCUMENTED = {
    "normal": ("95 / 100", "95 / 100", "95 / 19", "95 / 0"),
    "uniform": ("92 / 100", "93 / 100", "95 / 11", "95 / 0"),
    "two-humped, 0 to 1": ("84 / 100", "93 / 100", "94 / 24", "95 / 0"),
    "exponential": ("89 / 100", "89 / 100", "90 / 63", "93 / 55"),
    "beta(0.5, 5), 0 to 1": ("84 / 100", "86 / 100", "88 / 74", "93 / 69"),
    "log-normal": ("84 / 100", "82 / 100", "84 / 75", "88 / 83"),
    "one in ten is 10": ("87 / 100", "76 / 100", "72 / 70", "92 / 92"),
}


def coverage(draw, mean, trials, n, seed=RNG_SEED):
    _, low, high = t_intervals(draw(np.random.default_rng([seed, n]), (trials, n)))
    return float(np.mean((low <= mean) & (mean <= high)))


def warned(draw, trials, n):
    draws = draw(np.random.default_rng([RNG_SEED, n]), (trials, n))
    return float(np.mean([describe_weakness(values) is not None for values in draws]))


def seed_means(rng, trials, seeds, episodes):
    """Means of the episodes of each seed, where seeds differ as much as episodes do."""
    luck = rng.normal(0.0, 1.0, (trials, seeds, 1))
    return (luck + rng.normal(0.0, 1.0, (trials, seeds, episodes))).mean(axis=-1)


def false_alarms(n, trials):
    rng = np.random.default_rng([RNG_SEED, n])
    a, b = rng.exponential(1.0, (2, trials, n))
    found = [compare_paired(x, y).p_value < 0.05 for x, y in zip(a, b, strict=True)]
    return float(np.mean(found))


@pytest.mark.parametrize("n", SIZES)
def test_t_over_the_means_of_seeds_covers_95_percent_though_seeds_differ(n):
    means = seed_means(np.random.default_rng([RNG_SEED, n]), N_TRIALS, n, 20)
    _, low, high = t_intervals(means)
    assert 0.94 <= np.mean((low <= 0) & (high >= 0)) <= 0.96


def test_an_interval_over_all_episodes_of_few_seeds_would_cover_far_too_little():
    rng = np.random.default_rng(RNG_SEED)
    luck = rng.normal(0.0, 1.0, (2000, 3, 1))
    episodes = (luck + rng.normal(0.0, 1.0, (2000, 3, 20))).reshape(2000, 60)
    _, low, high = t_intervals(episodes)
    assert np.mean((low <= 0) & (high >= 0)) < 0.6


@pytest.mark.parametrize("n", [6, 20])
def test_equal_policies_are_rarely_called_different(n):
    assert false_alarms(n, 300) <= 0.05 + 3 * (0.05 * 0.95 / 300) ** 0.5


@pytest.mark.parametrize("shape", list(SHAPES))
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.slow
def test_intervals_cover_what_the_documents_say_and_warn_below_90_percent(shape, n):
    draw, mean = SHAPES[shape]
    covered, n_warned = coverage(draw, mean, N_TRIALS, n), warned(draw, 2000, n)
    if shape == "normal":
        assert 0.94 <= covered <= 0.96
    assert covered >= 0.9 or n_warned >= 0.6
    assert n < 6 or shape != "normal" or n_warned <= 0.2
    text = f"{100 * covered:.0f} / {100 * n_warned:.0f}"
    assert text == DOCUMENTED[shape][SIZES.index(n)]


@pytest.mark.slow
def test_the_studentised_bootstrap_covers_more_of_skewed_values_than_t():
    draw, mean = SHAPES["log-normal"]
    draws = draw(np.random.default_rng(RNG_SEED), (400, 30))
    with pytest.warns(IntervalWarning):
        found = [mean_interval(values, method="bootstrap") for values in draws]
    covered = np.mean([one.low <= mean <= one.high for one in found])
    _, low, high = t_intervals(draws)
    assert covered >= np.mean((low <= mean) & (mean <= high)) + 0.02


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_of_10_000_comparisons_of_equals_one_in_twenty_is_a_false_alarm():
    assert 0.044 <= false_alarms(20, N_TRIALS) <= 0.056


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("n", [6, 8, 10])
def test_with_fewer_episodes_false_alarms_are_not_more(n):
    assert false_alarms(n, N_TRIALS) <= 0.056


@pytest.mark.slow
def test_a_planted_difference_of_a_tenth_is_found_with_the_stated_power():
    mean, spread = 10.0, 2.0
    n = sample_size(0.1 * mean, spread)
    assert n == 34
    rng = np.random.default_rng(RNG_SEED)
    differences = rng.normal(0.1 * mean, spread, (2000, n))
    found = np.mean([compare_paired(d, np.zeros(n)).p_value < 0.05 for d in differences])
    assert found == pytest.approx(power(n, 0.1 * mean, spread), abs=0.03)


# Percent of Wilson's intervals that cover the true proportion, and percent of samples that are warned
# of, by the binomial distribution; the second table of docs/evaluation.md.
PROPORTIONS = {
    0.01: ("97 / 100", "95 / 100", "90 / 100", "96 / 96"),
    0.02: ("94 / 100", "90 / 100", "98 / 98", "98 / 88"),
    0.05: ("86 / 100", "98 / 100", "91 / 91", "94 / 55"),
    0.1: ("97 / 100", "92 / 100", "93 / 74", "97 / 18"),
    0.2: ("90 / 100", "94 / 100", "97 / 38", "96 / 1"),
    0.5: ("100 / 100", "94 / 100", "98 / 2", "96 / 0"),
}


@cache
def wilson_intervals(n):
    """The interval of every number of wins, and whether it comes with a warning."""
    samples = [np.repeat([1.0, 0.0], [won, n - won]) for won in range(n + 1)]
    low, high = np.array([estimate_proportion(values)[1:3] for values in samples]).T
    weak = np.array([describe_weak_proportion(values) is not None for values in samples])
    return low, high, weak


def proportion_coverage(n, p):
    """Exact coverage of Wilson's interval, and probability of a warning."""
    from scipy.stats import binom

    low, high, weak = wilson_intervals(n)
    chance = binom.pmf(np.arange(n + 1), n, p)
    return float(chance[(low <= p) & (p <= high)].sum()), float(chance[weak].sum())


@pytest.mark.parametrize("n", SIZES)
def test_wilsons_interval_covers_what_the_documents_say_and_warns_below_90_percent(n):
    for p, documented in PROPORTIONS.items():
        covered, n_warned = proportion_coverage(n, p)
        text = f"{100 * covered:.0f} / {100 * n_warned:.0f}"
        assert text == documented[SIZES.index(n)], (p, n)
    for p in np.linspace(0.001, 0.5, 500):
        covered, n_warned = proportion_coverage(n, p)
        assert covered >= 0.9 or n_warned >= 0.85, (p, n)
        assert covered >= 0.82


def test_wilsons_interval_covers_95_percent_on_average():
    for n in (5, 10, 30):
        mean = np.mean([proportion_coverage(n, p)[0] for p in np.linspace(0.005, 0.995, 199)])
        assert 0.94 <= mean <= 0.965


def test_the_tables_of_the_documents_are_those_of_these_tests():
    page = (Path(__file__).resolve().parents[2] / "docs" / "evaluation.md").read_text()
    for shape, cells in (DOCUMENTED | PROPORTIONS).items():
        assert f"| {shape} | {' | '.join(cells)} |" in page
