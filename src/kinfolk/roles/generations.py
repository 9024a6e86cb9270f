"""One generation of role evolution: initial pool, survivor selection, offspring; and the pool's diversity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

from kinfolk.core.errors import SettingsError
from kinfolk.core.random import fold_in
from kinfolk.roles.catalog import RoleCatalog
from kinfolk.roles.config import EvolutionConfig
from kinfolk.roles.fitness import role_weight
from kinfolk.roles.keyed_rng import KeyedRng
from kinfolk.roles.model import RoleDef
from kinfolk.roles.operators import mutate_role, recombine_roles, sample_role
from kinfolk.roles.reordering import reorder_role

_MIN_SURVIVORS = 2  # a child needs two different parents

_TRIES = 8  # to breed something that the pool does not hold yet

_PARENTS, _RECOMBINE, _MUTATE, _SAMPLE, _OPERATOR, _REORDER = range(6)  # branches of a child's key


def make_initial_pool(catalog: RoleCatalog, key: int, config: EvolutionConfig) -> list[int]:
    """The first pool: every role of the catalogue, topped up with sampled ones.

    Raises:
        SettingsError: Too few behaviours to sample a pool from.
    """
    pool = [role.id for role in catalog.roles if role.retired is None]
    for number in range(config.generated_role_count - len(pool)):
        pool.append(catalog.add_role(sample_role(catalog, fold_in(key, number), config)).id)
    if len(pool) < _MIN_SURVIVORS:
        raise SettingsError(f"A pool must hold at least two roles, not {len(pool)}.")
    return pool


def rank_pool(catalog: RoleCatalog, pool: Sequence[int]) -> list[int]:
    """The pool, fittest first; of equals the one with more games, then the older."""
    roles = [catalog.roles[i] for i in pool]
    return [role.id for role in sorted(roles, key=lambda r: (-r.fitness, -r.games, r.id))]


def select_survivors(
    catalog: RoleCatalog, pool: Sequence[int], size: int, generation: int
) -> list[int]:
    """The fittest of the pool, best first, two at least; the others are retired."""
    order = rank_pool(catalog, pool)
    size = max(_MIN_SURVIVORS, size)
    for culled in order[size:]:
        catalog.roles[culled] = replace(catalog.roles[culled], retired=generation)
    return order[:size]


def next_generation(
    catalog: RoleCatalog, pool: Sequence[int], generation: int, key: int, config: EvolutionConfig
) -> list[int]:
    """Cull, breed, and return the ids of the new pool, lowest first.

    Children enter the catalogue; the culled stay there, marked as retired.
    """
    size = config.generated_role_count
    survivors = select_survivors(catalog, pool, size // 2, generation)
    fresh = KeyedRng(fold_in(key, size)).bernoulli(config.sampling_chance)
    grown = list(survivors)
    for number in range(size - len(survivors)):
        own, is_last = fold_in(key, number), number == size - len(survivors) - 1
        if fresh and is_last:
            child = sample_role(catalog, fold_in(own, _SAMPLE), config)
        else:
            child = _breed_unlike_pool(catalog, survivors, grown, own, config)
        grown.append(catalog.add_role(child, generation).id)
    return sorted(grown)


def _breed_unlike_pool(
    catalog: RoleCatalog,
    survivors: Sequence[int],
    pool: Sequence[int],
    key: int,
    config: EvolutionConfig,
) -> RoleDef:
    """A child unlike all in the pool, if a few tries give one: equals would play the same games."""
    known = {catalog.roles[i].tiers for i in pool}
    for attempt in range(_TRIES):
        child = breed_from_survivors(catalog, survivors, fold_in(key, attempt), config)
        if child.tiers not in known:
            break
    return child


def breed_from_survivors(
    catalog: RoleCatalog, survivors: Sequence[int], key: int, config: EvolutionConfig
) -> RoleDef:
    """A child of two different survivors, drawn by weight, or of one of them."""
    dice, left = KeyedRng(fold_in(key, _PARENTS)), list(survivors)
    parents = []
    for _ in range(2):
        chosen = dice.weighted_choice(left, [role_weight(catalog.roles[i]) for i in left])
        left.remove(chosen)
        parents.append(catalog.roles[chosen])
    return mutate_or_recombine(catalog, parents[0], parents[1], key, config)


def make_distinct_offspring(
    catalog: RoleCatalog, role: RoleDef, mate: RoleDef, key: int, config: EvolutionConfig
) -> RoleDef:
    """A child of a role that differs from it, if a few tries give one.

    Half the time what the role holds comes in another order; else it is mutated or recombined.
    """
    for attempt in range(_TRIES):
        own = fold_in(key, attempt)
        if KeyedRng(fold_in(own, _REORDER)).bernoulli(0.5):
            child = reorder_role(catalog, role, fold_in(own, _MUTATE), config)
        else:
            child = mutate_or_recombine(catalog, role, mate, own, config)
        if child.tiers != role.tiers:
            break
    return child


def mutate_or_recombine(
    catalog: RoleCatalog, role: RoleDef, mate: RoleDef, key: int, config: EvolutionConfig
) -> RoleDef:
    """The mutation of a role, or its child with another: half and half."""
    if KeyedRng(fold_in(key, _OPERATOR)).bernoulli(0.5):
        return mutate_role(catalog, role, fold_in(key, _MUTATE), config)
    child = recombine_roles(role, mate, fold_in(key, _RECOMBINE), config)
    changed = mutate_role(catalog, child, fold_in(key, _MUTATE), config)
    return child if changed.tiers == child.tiers else changed


def role_traits(role: RoleDef) -> frozenset[tuple[int, int]]:
    """What a role holds, as (a, a), and which of its behaviours stands in an earlier tier."""
    found = {(i, i) for i in role.behavior_ids}
    for upper, lower in combinations(role.tiers, 2):
        found |= {(a, b) for a in upper.behavior_ids for b in lower.behavior_ids}
    return frozenset(found)


def role_distance(role: RoleDef, other: RoleDef) -> float:
    """0 for roles alike, 1 for roles with nothing in common (Jaccard's distance of traits)."""
    a, b = role_traits(role), role_traits(other)
    return 1.0 - len(a & b) / len(a | b)


def pool_diversity(roles: Sequence[RoleDef]) -> float:
    """The mean distance of two roles of a pool; 0 for fewer than two."""
    pairs = [role_distance(a, b) for a, b in combinations(roles, 2)]
    return sum(pairs) / len(pairs) if pairs else 0.0
