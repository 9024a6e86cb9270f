"""From a role to the list of behaviours that an agent runs: the program.

Roles lie in flat tables, a row each, so that kernels can take one on in the middle of a game. A
program is twelve behaviour ids, padded with -1. Tier `t` draws from `fold(key, t)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from kinfolk.core.arrays import Arrays, Ints
from kinfolk.core.jit import inline, kernel
from kinfolk.core.random import fold_in, randint
from kinfolk.roles.catalog import RoleCatalog
from kinfolk.roles.keyed_rng import Rng, seed_from
from kinfolk.roles.model import MAX_BEHAVIORS, BehaviorDef, RoleDef, RoleTier, TierSelection

Programs: TypeAlias = npt.NDArray[np.int16]
_FIXED, _WEIGHTED = int(TierSelection.FIXED), int(TierSelection.WEIGHTED)
_WEIGHT_UNIT = 1000  # weights are whole thousandths: sums of whole numbers are exact everywhere


class RoleTables(NamedTuple):
    """Roles as arrays `[roles, 12]`, a place per behaviour in order of the tiers."""

    behaviors: Programs  # ids; -1 behind the last
    tier: npt.NDArray[np.int16]  # which tier the place belongs to
    weight: npt.NDArray[np.int32]  # thousandths; counts with WEIGHTED only
    mode: npt.NDArray[np.int16]  # the selection of the place's tier


def role_tables(roles: Sequence[RoleDef]) -> RoleTables:
    """Tables with a row per role, in the order given."""
    shape = (len(roles), MAX_BEHAVIORS)
    tables = RoleTables(
        np.full(shape, -1, np.int16),
        np.zeros(shape, np.int16),
        np.ones(shape, np.int32),
        np.zeros(shape, np.int16),
    )
    for row, role in enumerate(roles):
        at = 0
        for number, tier in enumerate(role.tiers):
            end = at + len(tier.behavior_ids)
            tables.behaviors[row, at:end] = tier.behavior_ids
            tables.tier[row, at:end] = number
            tables.mode[row, at:end] = tier.selection
            if tier.weights is not None:
                tables.weight[row, at:end] = [round(w * _WEIGHT_UNIT) for w in tier.weights]
            elif tier.selection == TierSelection.WEIGHTED:
                tables.weight[row, at:end] = _WEIGHT_UNIT
            at = end
    return tables


def tables_from_arrays(arrays: Arrays) -> RoleTables:
    """Tables of arrays by their names."""
    return RoleTables(arrays["behaviors"], arrays["tier"], arrays["weight"], arrays["mode"])


@inline
def write_program(tables: RoleTables, role: int, key: Any, out: Any) -> None:
    """Write the program of one role: its tiers in order, each put in order by its mode."""
    behaviors, tier = tables.behaviors[role], tables.tier[role]
    weight, mode = tables.weight[role], tables.mode[role]
    first = 0
    while first < MAX_BEHAVIORS and behaviors[first] >= 0:
        last = first + 1
        while last < MAX_BEHAVIORS and behaviors[last] >= 0 and tier[last] == tier[first]:
            last += 1
        order_tier(behaviors, weight, mode[first], first, last, fold_in(key, int(tier[first])), out)
        first = last
    for place in range(first, MAX_BEHAVIORS):
        out[place] = -1


@inline
def order_tier(
    behaviors: Any, weight: Any, mode: int, first: int, last: int, key: Any, out: Any
) -> None:
    """Write the places `first` to `last - 1`, which are one tier, in the order of its mode."""
    taken = 0  # a bit per place of the tier
    for place in range(first, last):
        pick = place
        if mode != _FIXED:
            pick = draw_position(weight, mode == _WEIGHTED, first, last, taken, key, place)
        taken |= 1 << (pick - first)
        out[place] = behaviors[pick]


@inline
def draw_position(
    weight: Any, weighted: bool, first: int, last: int, taken: int, key: Any, position: int
) -> int:
    """One of the places not taken yet, by weight or with equal chance."""
    total = 0
    for i in range(first, last):
        if not taken >> (i - first) & 1:
            total += int(weight[i]) if weighted else 1
    left = randint(key, position - first, total)
    for i in range(first, last):
        if not taken >> (i - first) & 1:
            left -= int(weight[i]) if weighted else 1
            if left < 0:
                return i
    return -1  # not reached: the draw lies below the total


@kernel
def write_programs(tables: RoleTables, roles: Ints, keys: Ints, out: Programs) -> None:
    """The programs of many agents: row `i` takes on `roles[i]` with `keys[i]`."""
    for i in range(roles.shape[0]):
        write_program(tables, roles[i], keys[i], out[i])


def resolve_tier_order(tier: RoleTier, rng: Rng = None) -> tuple[int, ...]:
    """The behaviours of one tier in the order that a key, a generator or a new draw gives.

    Tier `t` of a role taken on with a key runs in the order of `fold(key, t)`.

    >>> resolve_tier_order(RoleTier((4, 2, 7)))
    (4, 2, 7)
    """
    key = seed_from(rng)
    tables, size = role_tables([RoleDef((tier,))]), len(tier.behavior_ids)
    out = np.empty(size, dtype=np.int16)
    order_tier(tables.behaviors[0], tables.weight[0], int(tier.selection), 0, size, key, out)
    return tuple(out.tolist())


def materialize_role_behaviors(
    catalog: RoleCatalog, role: RoleDef, rng: Rng = None
) -> list[BehaviorDef]:
    """Return the behaviours of a role in the order in which they are run.

    Args:
        catalog: Where they are found.
        role: Its tiers keep their order; within a tier its selection decides.
        rng: Key, generator, or None for a new draw each time.
    """
    out = np.empty(MAX_BEHAVIORS, dtype=np.int16)
    write_program(role_tables([role]), 0, seed_from(rng), out)
    return [catalog.behaviors[i] for i in out.tolist() if i >= 0]


def role_from_tables(tables: RoleTables, row: int) -> RoleDef:
    """The tiers that a row of tables holds, as a role without a past.

    Weights come back where they count; rounded, as they were laid down.
    """
    size = int((tables.behaviors[row] >= 0).sum())
    tiers = []
    for number in dict.fromkeys(tables.tier[row, :size].tolist()):
        places = [i for i in range(size) if tables.tier[row, i] == number]
        mode = TierSelection(int(tables.mode[row, places[0]]))
        weights = tuple(int(tables.weight[row, i]) / _WEIGHT_UNIT for i in places)
        tiers.append(
            RoleTier(
                tuple(int(tables.behaviors[row, i]) for i in places),
                weights if mode == TierSelection.WEIGHTED else None,
                mode,
            )
        )
    return RoleDef(tuple(tiers))
