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
        uid: `[members]`, to be named in messages, and to say how many members there are.
        population: To be named in messages.

    Raises:
        ContractError: It has another shape, or one is not finite; the message names the member.
    """
    try:
        values = np.asarray(fitness, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ContractError(f"Fitness is one number per member: {error}.") from None
    members = "at least 1 member" if uid is None else f"{len(uid)} members"
    wrong = values.ndim != 1 or not len(values) or (uid is not None and len(values) != len(uid))
    where = f" of population '{population}'" if population else ""
    if wrong:
        raise ContractError(
            f"Fitness is one number per member{where}, for {members}; "
            f"what was given has shape {values.shape}."
        )
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        member = int(bad[0])
        number = "" if uid is None else f" (uid {int(uid[member])})"
        raise ContractError(
            f"Member {member}{number}{where} has the fitness {values[member]}. "
            f"A fitness must be a finite number."
        )
    return values


def rank_descending(fitness: AnyArray) -> Ints:
    """Return members from best to worst; of equals the first comes first.

    Raises:
        ContractError: The fitness of a member is not finite, or the shape is not `[members]`.
    """
    order: Ints = np.argsort(-check_fitness(fitness), kind="stable")
    return order


def truncation(fitness: AnyArray, elites: int = 0) -> Ints:
    """The better half, twice. Odd sizes are exact; the first `elites` are the very best.

    >>> truncation([1.0, 5.0, 2.0, 4.0]).tolist(), truncation([1.0, 5.0, 2.0, 4.0, 3.0]).tolist()
    ([1, 3, 1, 3], [1, 3, 4, 1, 3])
    """
    order = rank_descending(fitness)
    _check_elites(elites, len(order))
    top = order[: (len(order) + 1) // 2]
    return np.concatenate([order[:elites], np.resize(top, len(order) - elites)])


def tournament(fitness: AnyArray, size: int, key: int, elites: int = 0) -> Ints:
    """Each child's parent is the best of `size` members drawn by chance; `elites` come first."""
    order = rank_descending(fitness)
    _check_elites(elites, len(order))
    require(size >= 1, f"A tournament needs at least 1 contestant, not {size}.")
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    children = len(order) - elites
    keys = fold_in(key, np.arange(children, dtype=np.int64))
    drawn = randint(keys[:, None], np.arange(size, dtype=np.int64), len(order))
    return np.concatenate([order[:elites], order[place[drawn].min(axis=1)]])


def _check_elites(elites: int, members: int) -> None:
    require(
        0 <= elites < members,
        f"Elites must be fewer than the {members} members, and at least 0, not {elites}.",
    )


def parameter_spread(params: AnyArray) -> float:
    """The root mean square distance of members from their mean."""
    away = params.astype(np.float64) - params.mean(axis=0, dtype=np.float64)
    return float(np.sqrt((away * away).sum(axis=1).mean()))


def trace_founders(uid: Ints, parents: Ints, previous: Mapping[int, int]) -> dict[int, int]:
    """The founder of each member by uid; `previous` holds those of the members before.

    >>> trace_founders(np.array([2, 3]), np.array([1, 1]), {0: 0, 1: 0})
    {2: 0, 3: 0}
    """
    found = {}
    for member, parent in zip(uid.tolist(), parents.tolist(), strict=True):
        found[member] = previous.get(member, previous.get(parent, member))
    return found
