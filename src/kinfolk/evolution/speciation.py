"""Species and shared fitness (Stanley and Miikkulainen 2002), which protect new structures."""

from __future__ import annotations

import numpy as np

from kinfolk.core.arrays import AnyArray, Floats, Ints
from kinfolk.core.errors import require
from kinfolk.core.random import fold_in, randint, uniform
from kinfolk.evolution.selection import check_fitness, rank_descending

_RATE, _MATE = 1, 2  # branches of keys


def assign_species(distances: Floats, threshold: float) -> Ints:
    """Return the species of each member, `[members]`.

    A member joins the first species whose first member is nearer than `threshold`, or founds one.

    >>> near = np.array([[0.0, 0.1, 0.9], [0.1, 0.0, 0.9], [0.9, 0.9, 0.0]])
    >>> assign_species(near, 0.5).tolist()
    [0, 0, 1]
    """
    founders: list[int] = []
    species = np.empty(len(distances), dtype=np.int64)
    for member in range(len(distances)):
        near = np.flatnonzero(distances[member, founders] < threshold)
        species[member] = near[0] if len(near) else len(founders)
        if not len(near):
            founders.append(member)
    return species


def share_offspring(fitness: AnyArray, species: Ints, offspring: int) -> Ints:
    """Return how many offspring each species has, in proportion to its mean fitness.

    Fitness counts from the worst member, and is divided by the size of the member's species: a
    species has the share of its mean. Remainders go to the largest fractions.

    Args:
        fitness: `[members]`, higher is better.
        species: `[members]`.
        offspring: Number of all offspring.

    >>> share_offspring([4.0, 4.0, 0.0, 2.0], np.array([0, 0, 0, 1]), 6).tolist()
    [3, 3]
    """
    values = check_fitness(fitness)
    count = int(species.max()) + 1
    sizes = np.bincount(species, minlength=count)
    means = np.bincount(species, values - values.min(), minlength=count) / sizes
    shares = np.full(count, 1 / count) if means.sum() == 0 else means / means.sum()
    exact = shares * offspring
    shared: Ints = np.floor(exact + 1e-9).astype(np.int64)
    for winner in np.argsort(-(exact - shared), kind="stable")[: offspring - shared.sum()]:
        shared[winner] += 1
    return shared


def select_in_species(fitness: AnyArray, species: Ints, elites: int = 0) -> Ints:
    """Select parents: the better half of every species, for as many offspring as it has.

    Args:
        fitness: `[members]`, higher is better.
        species: `[members]`.
        elites: How many of the best members come first.

    Returns:
        `[members]` indices of parents.
    """
    order = rank_descending(fitness)
    require(0 <= elites < len(order), f"Elites must be fewer than {len(order)}, not {elites}.")
    shared = share_offspring(fitness, species, len(order) - elites)
    parents = [order[:elites]]
    for number, offspring in enumerate(shared.tolist()):
        ranked = order[species[order] == number]
        parents.append(np.resize(ranked[: (len(ranked) + 1) // 2], offspring))
    return np.concatenate(parents)


def draw_mates(
    fitness: AnyArray, parents: Ints, species: Ints | None, rate: float, key: int
) -> tuple[Ints, Ints]:
    """Draw a second parent for some offspring, from the parents of the same species.

    Args:
        fitness: `[members]`, higher is better.
        parents: `[members]`, the selected parents.
        species: `[members]`; None if there is one species.
        rate: Probability that a child has two parents.
        key: Random key.

    Returns:
        The fitter parent of each child, and the other; -1 for children of one parent.
    """
    values, children = check_fitness(fitness), np.arange(len(parents), dtype=np.int64)
    crosses = uniform(fold_in(key, _RATE), children) < rate
    mates = np.full(len(parents), -1, dtype=np.int64)
    keys = fold_in(fold_in(key, _MATE), children)
    for child in np.flatnonzero(crosses).tolist():
        parent = parents[child]
        pool = parents if species is None else parents[species[parents] == species[parent]]
        mate = pool[randint(keys[child], 0, len(pool))]
        if mate != parent:
            mates[child] = mate
    swapped = (mates >= 0) & (values[mates] > values[parents])
    return np.where(swapped, mates, parents), np.where(swapped, parents, mates)
