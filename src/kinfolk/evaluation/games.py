"""Which policies matter in an empirical game: alpha-rank and Nash mixtures of payoff matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kinfolk.core.arrays import AnyArray, Floats
from kinfolk.core.errors import UsageError

_POPULATION = 50  # individuals of each population of alpha-rank, as in the paper
_ALPHA_EPSILON = 0.01  # probability of a move against selection if selection is infinitely strong
_TIE = 1e-14  # difference up to which two payoffs are the same
_MAX_PIVOTS = 10_000  # of Lemke-Howson, which ends after far fewer


class NashMixture(NamedTuple):
    """Mixtures of the two players' policies in equilibrium, and how far they are from it."""

    mixtures: tuple[list[float], list[float]]
    payoffs: tuple[float, float]  # expected payoff of each player
    regret: float  # the most that either player could gain by another policy


def alpha_rank(payoffs: Sequence[AnyArray], alpha: float | None = None) -> Floats:
    """Return the probability of every profile in the stationary distribution of alpha-rank.

    Populations of policies change one policy at a time, and a change is the likelier, the more its
    population gains by it (Omidshafiei et al. 2019). Policies that survive have a high probability.

    Args:
        payoffs: For one population `[n, n]`, payoff of the row's policy against the column's. For
            several, one array per population, each with an axis per population.
        alpha: Strength of selection; None is infinite, with a small probability of other moves.

    Returns:
        `[n]` of a single population, otherwise an axis per population; the sum is 1.

    Raises:
        UsageError: The shapes of the arrays do not fit each other.
    """
    tables = [np.asarray(table, dtype=np.float64) for table in payoffs]
    shape = tables[0].shape
    is_single = len(tables) == 1
    fits = shape[:1] * 2 == shape if is_single else len(shape) == len(tables)
    if not fits or any(table.shape != shape for table in tables):
        shapes = ", ".join(str(table.shape) for table in tables)
        raise UsageError(
            f"alpha_rank needs one square matrix, or an array per population, with an axis each and "
            f"all of one shape; these have the shapes {shapes}."
        )
    if is_single:
        return _stationary(_single_population_chain(tables[0], alpha))
    return _stationary(_multi_population_chain(tables, alpha)).reshape(shape)


def marginal(profiles: Floats, population: int) -> Floats:
    """Return the probability of each policy of a population, from that of every profile."""
    axes = tuple(axis for axis in range(profiles.ndim) if axis != population)
    return np.asarray(profiles.sum(axis=axes))


def _fixation(gain: float, alpha: float | None) -> float:
    """Return the probability that a mutant with this advantage takes over its population."""
    if abs(gain) <= _TIE:
        return 1.0 / _POPULATION if alpha is not None else 0.5
    if alpha is None:
        return 1.0 - _ALPHA_EPSILON if gain > 0 else _ALPHA_EPSILON
    # (1 - e^-x) / (1 - e^-mx), in a form that does not overflow for a large loss.
    x = alpha * gain
    if x < 0:
        rest = np.expm1(_POPULATION * x)
        return float(np.exp((_POPULATION - 1) * x) * np.expm1(x) / rest)
    return float(np.expm1(-x) / np.expm1(-_POPULATION * x))


def _single_population_chain(table: AnyArray, alpha: float | None) -> Floats:
    """Return the transition matrix between policies of one population."""
    n = len(table)
    chain = np.zeros((n, n))
    for resident in range(n):
        for mutant in range(n):
            if mutant != resident:
                gain = table[mutant, resident] - table[resident, mutant]
                chain[resident, mutant] = _fixation(gain, alpha) / (n - 1)
        chain[resident, resident] = 1.0 - chain[resident].sum()
    return chain


def _multi_population_chain(tables: Sequence[AnyArray], alpha: float | None) -> Floats:
    """Return the transition matrix between profiles, in the order of their flat index."""
    shape = tables[0].shape
    n_profiles = int(np.prod(shape))
    n_changes = sum(n - 1 for n in shape)
    chain = np.zeros((n_profiles, n_profiles))
    for flat, profile in enumerate(np.ndindex(shape)):
        for population, table in enumerate(tables):
            for policy in range(shape[population]):
                if policy != profile[population]:
                    changed = (*profile[:population], policy, *profile[population + 1 :])
                    gain = float(table[changed] - table[profile])
                    to = int(np.ravel_multi_index(changed, shape))
                    chain[flat, to] = _fixation(gain, alpha) / n_changes
        chain[flat, flat] = 1.0 - chain[flat].sum()
    return chain


def _stationary(chain: Floats) -> Floats:
    """Return the stationary distribution of an irreducible chain by elimination.

    The algorithm of Grassmann, Taksar and Heyman (1985) subtracts nothing, so it is exact to the last
    digits even where some transitions are a billion times as likely as others.
    """
    rates = chain.copy()
    n = len(rates)
    for last in range(n - 1, 0, -1):
        out = rates[last, :last].sum()
        if out <= 0.0:
            raise UsageError("alpha_rank: selection is so strong that profiles cannot be left.")
        rates[:last, last] /= out
        rates[:last, :last] += np.outer(rates[:last, last], rates[last, :last])
    weights = np.zeros(n)
    weights[0] = 1.0
    for state in range(1, n):
        weights[state] = weights[:state] @ rates[:state, state]
    return np.asarray(weights / weights.sum())


def nash_mixture(first: AnyArray, second: AnyArray) -> NashMixture:
    """Return a Nash equilibrium of a game of two players.

    Zero-sum games are solved by linear programming, others by the algorithm of Lemke and Howson
    (1964), which may find one of several equilibria.

    Args:
        first: `[n, m]`, payoff of the first player, who chooses the row.
        second: `[n, m]`, payoff of the second player, who chooses the column.

    Raises:
        UsageError: The matrices have different shapes, or values that are not finite.
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 2 or not np.isfinite([a, b]).all():
        raise UsageError(
            f"nash_mixture needs two matrices of finite numbers and of one shape; these have the shapes "
            f"{a.shape} and {b.shape}."
        )
    if np.allclose(a + b, (a + b).flat[0], rtol=0.0, atol=1e-9 * max(1.0, float(np.abs(a).max()))):
        x, y = _solve_zero_sum(a), _solve_zero_sum(-a.T)
    else:
        x, y = _lemke_howson(a, b)
    payoffs = float(x @ a @ y), float(x @ b @ y)
    regret = max(float((a @ y).max()) - payoffs[0], float((x @ b).max()) - payoffs[1], 0.0)
    return NashMixture((x.tolist(), y.tolist()), payoffs, regret)


def _solve_zero_sum(payoff: AnyArray) -> AnyArray:
    """Return the row player's maximin mixture of a zero-sum game."""
    from scipy.optimize import linprog

    n, m = payoff.shape
    # Variables: the mixture and the value v, which is maximised with payoff.T x >= v.
    cost = np.append(np.zeros(n), -1.0)
    result = linprog(
        cost,
        A_ub=np.column_stack([-payoff.T, np.ones(m)]),
        b_ub=np.zeros(m),
        A_eq=[np.append(np.ones(n), 0.0)],
        b_eq=[1.0],
        bounds=[(0.0, None)] * n + [(None, None)],
    )
    assert result.x is not None  # every matrix game has a value
    mixture = np.maximum(np.asarray(result.x[:n]), 0.0)
    return np.asarray(mixture / mixture.sum())


def _lemke_howson(a: AnyArray, b: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Return an equilibrium of a game of two players by complementary pivoting.

    Labels `0 ... n - 1` are rows, `n ... n + m - 1` columns. A lexicographic rule breaks ties, so that
    degenerate games do not cycle.
    """
    n, m = a.shape
    # Payoffs are made positive, which changes no equilibrium.
    first = np.column_stack([b.T - b.min() + 1.0, np.eye(m), np.ones(m)])  # x, slacks of columns
    second = np.column_stack([np.eye(n), a - a.min() + 1.0, np.ones(n)])  # slacks of rows, y
    tableaus = [first, second]
    bases = [list(range(n, n + m)), list(range(n))]
    slacks = [slice(n, n + m), slice(0, n)]
    entering, side = 0, 0
    for _ in range(_MAX_PIVOTS):
        leaving = _pivot(tableaus[side], bases[side], slacks[side], entering)
        if leaving == 0:  # the label that was dropped first is back
            break
        entering, side = leaving, 1 - side
    mixtures = [np.zeros(n + m), np.zeros(n + m)]
    for mixture, tableau, basis in zip(mixtures, tableaus, bases, strict=True):
        mixture[basis] = tableau[:, -1]
    x, y = mixtures[0][:n], mixtures[1][n:]
    return np.asarray(x / x.sum()), np.asarray(y / y.sum())


def _pivot(tableau: AnyArray, basis: list[int], slack: slice, entering: int) -> int:
    """Bring a variable into the basis of a tableau, in place; return the variable that leaves.

    Args:
        tableau: `[rows, variables + 1]`, changed; the last column is the right-hand side.
        basis: Variable of each row, changed.
        slack: Columns of the slack variables, which break ties.
        entering: Variable that enters.
    """
    rows = np.flatnonzero(tableau[:, entering] > 1e-12)
    keys = np.column_stack([tableau[rows, -1], tableau[rows, slack]])
    ratios = keys / tableau[rows, entering][:, None]
    row = int(rows[min(range(len(rows)), key=lambda i: tuple(ratios[i]))])
    tableau[row] /= tableau[row, entering]
    for other in range(len(tableau)):
        if other != row:
            tableau[other] -= tableau[other, entering] * tableau[row]
    leaving, basis[row] = basis[row], entering
    return leaving
