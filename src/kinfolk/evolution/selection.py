"""Select parents by fitness, and measure the diversity of a population. Higher fitness is better."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from kinfolk.core.arrays import AnyArray, Floats, Ints
from kinfolk.core.errors import ContractError, require
from kinfolk.core.random import fold_in, randint


def check_fitness(
    fitness: AnyArray, uid: Sequence[int] | Ints | None = None, population: str = ""
) -> Floats:
    """Return fitness as float64 numbers that can be compared.

    Minus infinity is refused too, though it could be ranked: sums of inherited fitness and means
    would never get away from it. Give a member that failed a low number.

    Args:
        fitness: `[members]`, at least one.
        uid: `[members]`, for error messages; its length is the expected number of members.
        population: Name of the population, for error messages.

    Raises:
        ContractError: The shape is wrong, or a fitness is not finite; the message names the member.
    """
    try:
        values = np.asarray(fitness, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ContractError(f"Fitness must be one number per member: {error}.") from None
    members = "at least 1 member" if uid is None else f"{len(uid)} members"
    has_wrong_length = uid is not None and len(values.reshape(-1)) != len(uid)
    suffix = f" of population '{population}'" if population else ""
    if values.ndim != 1 or not len(values) or has_wrong_length:
        raise ContractError(
            f"Fitness must be one number per member{suffix}, for {members}, "
            f"not an array of shape {values.shape}."
        )
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        member = int(bad[0])
        number = "" if uid is None else f" (uid {int(uid[member])})"
        raise ContractError(
            f"Member {member}{number}{suffix} has the fitness {values[member]}. "
            f"A fitness must be a finite number."
        )
    return values


def rank_descending(fitness: AnyArray) -> Ints:
    """Return the indices of members from best to worst; ties keep their order.

    Raises:
        ContractError: The fitness of a member is not finite, or the shape is not `[members]`.
    """
    order: Ints = np.argsort(-check_fitness(fitness), kind="stable")
    return order


def truncation(fitness: AnyArray, elites: int = 0) -> Ints:
    """Select the better half of the members as parents, each twice.

    Args:
        fitness: `[members]`, higher is better.
        elites: How many of the best members come first, before the other parents.

    Returns:
        `[members]` indices of parents.

    Raises:
        ContractError: The fitness is not one finite number per member.
        SettingsError: There are not fewer elites than members.

    >>> truncation([1.0, 5.0, 2.0, 4.0]).tolist(), truncation([1.0, 5.0, 2.0, 4.0, 3.0]).tolist()
    ([1, 3, 1, 3], [1, 3, 4, 1, 3])
    """
    order = rank_descending(fitness)
    _check_elites(elites, len(order))
    top = order[: (len(order) + 1) // 2]
    return np.concatenate([order[:elites], np.resize(top, len(order) - elites)])


def tournament(fitness: AnyArray, size: int, key: int, elites: int = 0) -> Ints:
    """Select each parent as the best of `size` members drawn with replacement.

    Args:
        fitness: `[members]`, higher is better.
        size: Contestants of a tournament.
        key: Random key.
        elites: How many of the best members come first, without a tournament.

    Returns:
        `[members]` indices of parents.

    Raises:
        ContractError: The fitness is not one finite number per member.
        SettingsError: There are not fewer elites than members, or no contestants.
    """
    order = rank_descending(fitness)
    _check_elites(elites, len(order))
    require(size >= 1, f"A tournament needs at least 1 contestant, not {size}.")
    rank = np.argsort(order)  # the inverse permutation
    children = len(order) - elites
    keys = fold_in(key, np.arange(children, dtype=np.int64))
    drawn = randint(keys[:, None], np.arange(size, dtype=np.int64), len(order))
    return np.concatenate([order[:elites], order[rank[drawn].min(axis=1)]])


def _check_elites(elites: int, members: int) -> None:
    """Raise SettingsError unless there are fewer elites than members."""
    message = f"Elites must be fewer than the {members} members, and at least 0, not {elites}."
    require(0 <= elites < members, message)


def parameter_spread(params: AnyArray) -> float:
    """Return the root mean square distance of members from their mean."""
    deviation = params.astype(np.float64) - params.mean(axis=0, dtype=np.float64)
    return float(np.sqrt((deviation * deviation).sum(axis=1).mean()))


def trace_founders(uid: Ints, parents: Ints, previous: Mapping[int, int]) -> dict[int, int]:
    """Return the founder of each member: the ancestor in the initial population.

    Args:
        uid: `[members]`.
        parents: `[members]`, uids of the parents.
        previous: Founders of the previous generation, by uid.

    >>> trace_founders(np.array([2, 3]), np.array([1, 1]), {0: 0, 1: 0})
    {2: 0, 3: 0}
    """
    pairs = zip(uid.tolist(), parents.tolist(), strict=True)
    return {member: previous.get(member, previous.get(parent, member)) for member, parent in pairs}
