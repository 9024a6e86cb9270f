"""Operators beyond those of the design note: order, size, parameters, guards, weights, switching.

Like `operators`, they are pure functions that return a role without an id. Each counts as a mutation:
the role keeps the record of its parent as a prior. `breed_child` combines all operators, by the
chances of the configuration; a chance of 0 switches an operator off.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from kinfolk.core.random import KeyedRng, fold_in
from kinfolk.roles.catalog import RoleCatalog
from kinfolk.roles.model import EvolutionConfig, RoleDef, RoleTier, TierGuard, TierSelection
from kinfolk.roles.operators import (
    as_mutation,
    enforce_caps,
    insert_behavior,
    mutate_role,
    recombine_roles,
)

Operator = Callable[[RoleDef, RoleCatalog, int, EvolutionConfig], RoleDef]
_MAX_STEP = 0.25  # largest step of a parameter, as a share of its range
_MIN_WEIGHT, _MAX_WEIGHT, _WEIGHT_FACTORS = 0.05, 20.0, (0.25, 0.5, 2.0, 4.0)
_DRAWS, _RECOMBINE, _MUTATE, _SWITCH, _OTHERS = range(5)  # folded into a child's key


def breed_child(
    catalog: RoleCatalog, role: RoleDef, mate: RoleDef, key: int, config: EvolutionConfig
) -> RoleDef:
    """Return a child of two roles, or a mutation of the first, varied by the operators in turn.

    Args:
        catalog: Catalog with all behaviors.
        role: The first parent.
        mate: The second parent, for recombination and switching.
        key: Random key.
        config: Chances and rates of the operators.
    """
    draws, child = KeyedRng(fold_in(key, _DRAWS)), role
    if draws.bernoulli(config.switch_chance):
        child = switch_roles(catalog, role, mate, fold_in(key, _SWITCH), config)
    elif draws.bernoulli(config.recombination_chance):
        child = recombine_roles(role, mate, fold_in(key, _RECOMBINE), config)
    mutated = mutate_role(child, catalog, fold_in(key, _MUTATE), config)
    child = child if mutated.tiers == child.tiers else mutated
    operators: list[tuple[float, Operator]] = [
        (config.reorder_chance, reorder_role),
        (config.insertion_chance, insert_random_behavior),
        (config.deletion_chance, delete_random_behavior),
        (config.parameter_rate, mutate_parameter),
        (config.guard_rate, mutate_guard),
        (config.weight_rate, mutate_weights),
    ]
    for number, (chance, operator) in enumerate(operators):
        if draws.bernoulli(chance):
            child = operator(child, catalog, fold_in(key, _OTHERS + number), config)
    return child


def mutate_parameter(
    role: RoleDef, catalog: RoleCatalog, key: int, config: EvolutionConfig
) -> RoleDef:
    """Return a mutation with another value of one parameter that the role's behaviors read.

    Half of the time the value is drawn anew from its range, otherwise it moves by a step.

    Args:
        role: The role to mutate; without parameters, its copy equals it.
        catalog: Catalog with the parameters.
        key: Random key.
        config: Not used; all operators take it.
    """
    del config
    draws, candidates = KeyedRng(key), catalog.parameters_of(role)
    values = dict(role.parameters)
    if candidates:
        parameter = draws.choice(candidates)
        low, high = parameter.low, parameter.high
        value = values.get(parameter.name, parameter.default)
        if draws.bernoulli(0.5):
            value = low + draws.randint(high - low + 1)
        else:
            step = 1 + draws.randint(max(1, round(_MAX_STEP * (high - low))))
            value = min(high, max(low, value + (step if draws.bernoulli(0.5) else -step)))
        values[parameter.name] = value
    return replace(as_mutation(role, catalog, role.tiers), parameters=tuple(values.items()))


def mutate_guard(role: RoleDef, catalog: RoleCatalog, key: int, config: EvolutionConfig) -> RoleDef:
    """Return a mutation in which one tier gets a guard, loses it, or compares otherwise.

    Args:
        role: The role to mutate; without facts, its copy equals it.
        catalog: Catalog with the facts of guards.
        key: Random key.
        config: Not used; all operators take it.
    """
    del config
    draws, tiers = KeyedRng(key), list(role.tiers)
    if catalog.facts:
        number = draws.randint(len(tiers))
        guard = tiers[number].guard
        if guard is None:
            guard = draw_guard(catalog, draws)
        elif draws.bernoulli(0.4):
            guard = None
        elif draws.bernoulli(0.7):
            [fact] = [fact for fact in catalog.facts if fact.name == guard.fact]
            guard = replace(guard, threshold=fact.low + draws.randint(fact.high - fact.low + 1))
        else:
            guard = replace(guard, relation="<" if guard.relation == ">=" else ">=")
        tiers[number] = replace(tiers[number], guard=guard)
    return as_mutation(role, catalog, tuple(tiers))


def draw_guard(catalog: RoleCatalog, draws: KeyedRng) -> TierGuard:
    """Draw a guard of any fact of a catalog, with a threshold in its range."""
    fact = draws.choice(catalog.facts)
    threshold = fact.low + draws.randint(fact.high - fact.low + 1)
    return TierGuard(fact.name, "<" if draws.bernoulli(0.5) else ">=", threshold)


def mutate_weights(
    role: RoleDef, catalog: RoleCatalog, key: int, config: EvolutionConfig
) -> RoleDef:
    """Return a mutation in which a tier of several behaviors is WEIGHTED, one weight changed.

    Args:
        role: The role to mutate; without a tier of several behaviors, its copy equals it.
        catalog: Catalog with the names in use.
        key: Random key.
        config: Not used; all operators take it.
    """
    del config
    draws, tiers = KeyedRng(key), list(role.tiers)
    several = [i for i, tier in enumerate(tiers) if len(tier.behavior_ids) > 1]
    if several:
        number = draws.choice(several)
        weights = list(tiers[number].weights or [1.0] * len(tiers[number].behavior_ids))
        changed = draws.randint(len(weights))
        weight = weights[changed] * draws.choice(_WEIGHT_FACTORS)
        weights[changed] = min(_MAX_WEIGHT, max(_MIN_WEIGHT, weight))
        mode = TierSelection.WEIGHTED
        tiers[number] = replace(tiers[number], weights=tuple(weights), selection=mode)
    return as_mutation(role, catalog, tuple(tiers))


def switch_roles(
    catalog: RoleCatalog, left: RoleDef, right: RoleDef, key: int, config: EvolutionConfig
) -> RoleDef:
    """Return a role that plays the first tiers of one role under a guard, and else another role.

    Args:
        catalog: Catalog with the facts of guards; without facts, the child is unguarded.
        left: The role whose first tiers, at most half as many as allowed, get a guard.
        right: The role that is played while the guard does not hold.
        key: Random key.
        config: Limits of the number and size of tiers.
    """
    draws = KeyedRng(key)
    guard = draw_guard(catalog, draws) if catalog.facts else None
    n_first = 1 + draws.randint(min(len(left.tiers), max(1, config.max_tiers // 2)))
    tiers = [*(replace(tier, guard=guard) for tier in left.tiers[:n_first]), *right.tiers]
    parameters = tuple({**dict(right.parameters), **dict(left.parameters)}.items())
    parents = tuple(parent.id for parent in (left, right) if parent.id >= 0)
    made = enforce_caps(tiers, config)
    return RoleDef(made, origin="recombined", parents=parents, parameters=parameters)


def insert_random_behavior(
    role: RoleDef, catalog: RoleCatalog, key: int, config: EvolutionConfig
) -> RoleDef:
    """Return a mutation with one more behavior, at a random priority.

    Args:
        role: The role to mutate; if it is full or has all behaviors, its copy equals it.
        catalog: Catalog with the behaviors.
        key: Random key.
        config: Limits of the number and size of tiers.
    """
    draws, used = KeyedRng(key), role.behavior_ids
    unused = [b.id for b in catalog.behaviors if b.id not in used]
    tiers = role.tiers
    if unused and len(used) < config.max_behaviors_per_role:
        orders = list(_iterate_insertions(tiers, draws.choice(unused), config))
        tiers = draws.choice(orders) if orders else tiers
    return as_mutation(role, catalog, tiers)


def delete_random_behavior(
    role: RoleDef, catalog: RoleCatalog, key: int, config: EvolutionConfig
) -> RoleDef:
    """Return a mutation without one of its behaviors.

    Args:
        role: The role to mutate; if it has a single behavior, its copy equals it.
        catalog: Catalog with the names in use.
        key: Random key.
        config: Not used; all operators take it.
    """
    del config
    tiers = role.tiers
    if len(role.behavior_ids) > 1:
        removed = KeyedRng(key).choice(role.behavior_ids)
        shorter = [_remove_behavior(tier, removed) for tier in tiers]
        tiers = tuple(tier for tier in shorter if tier is not None)
    return as_mutation(role, catalog, tiers)


def reorder_role(role: RoleDef, catalog: RoleCatalog, key: int, config: EvolutionConfig) -> RoleDef:
    """Return a copy of a role in which one behavior has moved to another priority.

    Mutation replaces behaviors and recombination cuts between tiers, but neither moves a behavior
    up or down. The copy counts as a mutation, with the parent's fitness, games and wins. A role of
    one behavior has no other order; its copy has the same tiers.

    Args:
        role: The role to reorder.
        catalog: Catalog with the names in use.
        key: Random key.
        config: Limits of the number and size of tiers.
    """
    orders = list(dict.fromkeys(_iterate_single_moves(role.tiers, config)))
    tiers = KeyedRng(key).choice(orders) if orders else role.tiers
    return as_mutation(role, catalog, enforce_caps(tiers, config))


def _iterate_single_moves(
    tiers: tuple[RoleTier, ...], config: EvolutionConfig
) -> Iterator[tuple[RoleTier, ...]]:
    """Yield every order that one move gives: within a tier, to another tier, or to a new one."""
    for i, tier in enumerate(tiers):
        for behavior in tier.behavior_ids:
            shorter = _remove_behavior(tier, behavior)
            others = [*tiers[:i], *([shorter] if shorter else []), *tiers[i + 1 :]]
            for moved in _iterate_insertions(others, behavior, config):
                if _make_priority_key(moved) != _make_priority_key(tiers):
                    yield moved


def _iterate_insertions(
    tiers: Sequence[RoleTier], behavior: int, config: EvolutionConfig
) -> Iterator[tuple[RoleTier, ...]]:
    """Yield the tiers with a behavior inserted at every possible position.

    Args:
        tiers: Tiers without the behavior.
        behavior: Id of the behavior.
        config: Limits of the number and size of tiers.
    """
    if len(tiers) < config.max_tiers:
        for i in range(len(tiers) + 1):
            yield (*tiers[:i], RoleTier((behavior,)), *tiers[i:])
    for i, tier in enumerate(tiers):
        if len(tier.behavior_ids) < config.max_tier_size:
            for position in range(len(tier.behavior_ids) + 1):
                yield (*tiers[:i], insert_behavior(tier, position, behavior), *tiers[i + 1 :])


def _remove_behavior(tier: RoleTier, behavior: int) -> RoleTier | None:
    """Return a tier without a behavior, if it has it; None if it has no other."""
    positions = [i for i, b in enumerate(tier.behavior_ids) if b != behavior]
    weights = None if tier.weights is None else tuple(tier.weights[i] for i in positions)
    ids = tuple(tier.behavior_ids[i] for i in positions)
    return replace(tier, behavior_ids=ids, weights=weights) if ids else None


def _make_priority_key(tiers: Sequence[RoleTier]) -> list[tuple[int, ...]]:
    """Return a form that is equal for tiers which lead to the same programs.

    The order within a tier matters only if it is FIXED.
    """
    ranks: list[tuple[int, ...]] = []
    for tier in tiers:
        if tier.selection == TierSelection.FIXED or len(tier.behavior_ids) == 1:
            ranks.extend((behavior,) for behavior in tier.behavior_ids)
        else:
            ranks.append(tuple(sorted(tier.behavior_ids)))
    return ranks
