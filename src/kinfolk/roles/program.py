"""Turn a role into a program: the list of behaviors that an agent runs, by priority.

Roles are stored in tables with a row each, so that kernels can assign one during a game. A program
is twelve behavior ids, padded with -1. Tier `t` draws its order from `fold_in(key, t)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from kinfolk.core.arrays import Arrays, Ints
from kinfolk.core.jit import inline, kernel
from kinfolk.core.random import Rng, fold_in, randint, seed_from
from kinfolk.roles.catalog import RoleCatalog
from kinfolk.roles.model import (
    MAX_BEHAVIORS,
    MAX_PARAMETERS,
    BehaviorDef,
    Relation,
    RoleDef,
    RoleTier,
    TierGuard,
    TierSelection,
)

Programs: TypeAlias = npt.NDArray[np.int16]
_FIXED, _WEIGHTED = int(TierSelection.FIXED), int(TierSelection.WEIGHTED)
_WEIGHT_UNIT = 1000  # weights are integers (thousandths), whose sums are exact on every machine


NO_VALUE = -1  # in `RoleTables.parameters`: the role does not set the parameter


class RoleTables(NamedTuple):
    """Roles as arrays; the first six are `[roles, 12]`, a column per behavior, tier by tier."""

    behaviors: Programs  # behavior ids, -1 after the last
    tier: npt.NDArray[np.int16]  # index of the behavior's tier
    weight: npt.NDArray[np.int32]  # thousandths; used with WEIGHTED only
    mode: npt.NDArray[np.int16]  # `TierSelection` of the behavior's tier
    guard: npt.NDArray[np.int16]  # 1 + 2 * index of the fact, 1 more for `>=`; 0 without a guard
    threshold: npt.NDArray[np.int32]  # of the guard
    parameters: npt.NDArray[np.int32]  # [roles, 20], by the catalog's order, or NO_VALUE


def role_tables(roles: Sequence[RoleDef], catalog: RoleCatalog | None = None) -> RoleTables:
    """Convert roles to tables, with one row per role in the given order.

    Args:
        roles: The roles.
        catalog: Catalog with the facts and parameters that they name; roles without guards and
            parameters need none.
    """
    shape = (len(roles), MAX_BEHAVIORS)
    tier_index, mode, guard = np.zeros((3, *shape), np.int16)
    weight, threshold = np.ones(shape, np.int32), np.zeros(shape, np.int32)
    parameters = np.full((len(roles), MAX_PARAMETERS), NO_VALUE, np.int32)
    behaviors = np.full(shape, -1, np.int16)
    tables = RoleTables(behaviors, tier_index, weight, mode, guard, threshold, parameters)
    for row, role in enumerate(roles):
        _write_genes(tables, row, role, catalog or RoleCatalog())
        start = 0
        for number, tier in enumerate(role.tiers):
            end = start + len(tier.behavior_ids)
            tables.behaviors[row, start:end] = tier.behavior_ids
            tables.tier[row, start:end] = number
            tables.mode[row, start:end] = tier.selection
            if tier.weights is not None:
                tables.weight[row, start:end] = [round(w * _WEIGHT_UNIT) for w in tier.weights]
            elif tier.selection == TierSelection.WEIGHTED:
                tables.weight[row, start:end] = _WEIGHT_UNIT
            start = end
    return tables


def _write_genes(tables: RoleTables, row: int, role: RoleDef, catalog: RoleCatalog) -> None:
    """Write the guards and parameters of a role into a row of tables."""
    catalog.check_genes(role)
    facts = [fact.name for fact in catalog.facts]
    names = [parameter.name for parameter in catalog.parameters]
    for name, value in role.parameters:
        tables.parameters[row, names.index(name)] = value
    start = 0
    for tier in role.tiers:
        end = start + len(tier.behavior_ids)
        if tier.guard is not None:
            code = 1 + 2 * facts.index(tier.guard.fact) + int(tier.guard.relation == ">=")
            tables.guard[row, start:end] = code
            tables.threshold[row, start:end] = tier.guard.threshold
        start = end


def tables_from_arrays(arrays: Arrays) -> RoleTables:
    """Build tables from arrays by name, as they are stored in snapshots and policy files."""
    return RoleTables(**{name: arrays[name] for name in RoleTables._fields})


@inline
def write_program(tables: RoleTables, role: int, key: Any, out: Any) -> None:
    """Write the program of one role: its tiers in order, each ordered by its selection mode.

    A tier's behaviors stay in its columns, so that its guard is found at the same positions.

    Args:
        tables: Roles; only read.
        role: Row of the role in the tables.
        key: Random key of the assignment.
        out: `[12]`, written: behavior ids by priority, padded with -1.
    """
    behaviors, tier = tables.behaviors[role], tables.tier[role]
    weight, mode = tables.weight[role], tables.mode[role]
    first = 0
    while first < MAX_BEHAVIORS and behaviors[first] >= 0:
        last = first + 1
        while last < MAX_BEHAVIORS and behaviors[last] >= 0 and tier[last] == tier[first]:
            last += 1
        order_tier(behaviors, weight, mode[first], first, last, fold_in(key, int(tier[first])), out)
        first = last
    for position in range(first, MAX_BEHAVIORS):
        out[position] = -1


@inline
def order_tier(
    behaviors: Any, weight: Any, mode: int, first: int, last: int, key: Any, out: Any
) -> None:
    """Write the behaviors of one tier in an order drawn by its selection mode.

    Args:
        behaviors: `[12]`, behavior ids of the role; only read.
        weight: `[12]`, their weights in thousandths; only read.
        mode: `TierSelection` of the tier.
        first: First position of the tier.
        last: Position after the last one of the tier.
        key: Random key of the tier.
        out: Positions `first` to `last - 1` are written.
    """
    taken = 0  # a bit per position of the tier
    for position in range(first, last):
        pick = position
        if mode != _FIXED:
            pick = draw_position(weight, mode == _WEIGHTED, first, last, taken, key, position)
        taken |= 1 << (pick - first)
        out[position] = behaviors[pick]


@inline
def draw_position(
    weight: Any, weighted: bool, first: int, last: int, taken: int, key: Any, position: int
) -> int:
    """Draw one of the positions of a tier that are not taken yet.

    Args:
        weight: `[12]`, weights in thousandths.
        weighted: Whether to draw by weight, or with equal probability.
        first: First position of the tier.
        last: Position after the last one of the tier.
        taken: A bit per position of the tier.
        key: Random key of the tier.
        position: Position that is filled; its offset is the index of the draw.
    """
    total = 0
    for i in range(first, last):
        if not taken >> (i - first) & 1:
            total += int(weight[i]) if weighted else 1
    remaining = randint(key, position - first, total)
    for i in range(first, last):
        if not taken >> (i - first) & 1:
            remaining -= int(weight[i]) if weighted else 1
            if remaining < 0:
                return i
    return -1  # not reached: the draw is below the total


@kernel
def write_programs(tables: RoleTables, roles: Ints, keys: Ints, out: Programs) -> None:
    """Write the programs of many agents.

    Args:
        tables: Roles; only read.
        roles: `[agents]`, row of each agent's role in the tables.
        keys: `[agents]`, random key of each assignment.
        out: `[agents, 12]`, written: behavior ids by priority, padded with -1.
    """
    for i in range(roles.shape[0]):
        write_program(tables, roles[i], keys[i], out[i])


def resolve_tier_order(tier: RoleTier, rng: Rng = None) -> tuple[int, ...]:
    """Return the behavior ids of one tier in the order in which they run.

    Args:
        tier: Tier whose behaviors are ordered.
        rng: Random key or generator; None draws differently each time. In the program of a role
            with a key, tier `t` has the order of `fold_in(key, t)`.

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
    """Return the behaviors of a role by priority, with the order within tiers drawn.

    Args:
        catalog: Catalog with the behaviors.
        role: The role; its tiers keep their order.
        rng: Random key or generator; None draws differently each time.
    """
    out = np.empty(MAX_BEHAVIORS, dtype=np.int16)
    write_program(role_tables([role]), 0, seed_from(rng), out)
    return [catalog.behaviors[i] for i in out.tolist() if i >= 0]


def role_from_tables(tables: RoleTables, row: int, catalog: RoleCatalog | None = None) -> RoleDef:
    """Convert a row of tables to a role without name and record.

    Weights are restored, rounded to thousandths, for WEIGHTED tiers only.

    Args:
        tables: Roles as arrays.
        row: Row of the role in the tables.
        catalog: Catalog that names facts and parameters; as for `role_tables`.
    """
    facts = catalog.facts if catalog else ()
    values = zip(
        catalog.parameters if catalog else (), tables.parameters[row].tolist(), strict=False
    )
    parameters = tuple((p.name, value) for p, value in values if value != NO_VALUE)
    size = int((tables.behaviors[row] >= 0).sum())
    tiers = []
    for number in dict.fromkeys(tables.tier[row, :size].tolist()):
        columns = [i for i in range(size) if tables.tier[row, i] == number]
        ids = tuple(int(tables.behaviors[row, i]) for i in columns)
        selection = TierSelection(int(tables.mode[row, columns[0]]))
        weights = tuple(int(tables.weight[row, i]) / _WEIGHT_UNIT for i in columns)
        is_weighted = selection == TierSelection.WEIGHTED
        code, threshold = (int(t[row, columns[0]]) for t in (tables.guard, tables.threshold))
        relation: Relation = ">=" if code % 2 == 0 else "<"
        guard = TierGuard(facts[(code - 1) // 2].name, relation, threshold) if code else None
        tiers.append(RoleTier(ids, weights if is_weighted else None, selection, guard))
    return RoleDef(tuple(tiers), parameters=parameters)
