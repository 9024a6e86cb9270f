"""One generation of role evolution: initial pool, survivor selection, offspring, diversity."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import combinations

from kinfolk.core.errors import require
from kinfolk.core.random import KeyedRng, fold_in
from kinfolk.roles.catalog import RoleCatalog
from kinfolk.roles.fitness import selection_weight
from kinfolk.roles.model import EvolutionConfig, RoleDef
from kinfolk.roles.operators import sample_role
from kinfolk.roles.variation import breed_child

_MIN_SURVIVORS = 2  # recombination needs two different parents
_MAX_TRIES = 8  # to breed a role that is not in the pool yet
_MIN_CHILDREN_SHARE = (
    4  # of the pool size: so many children are bred however many roles are assigned
)
_PARENTS, _CHILD, _SAMPLE = range(3)  # folded into a child's key
_RANK_BRANCH = 1 << 20  # of a generation's key; its children have those from 0 on


def make_initial_pool(catalog: RoleCatalog, key: int, config: EvolutionConfig) -> list[int]:
    """Return the ids of the initial pool: all roles of the catalog, topped up with sampled ones.

    Args:
        catalog: Sampled roles are added to it.
        key: Random key.
        config: `generated_role_count` is the size of the pool.

    Raises:
        SettingsError: The pool would have fewer than two roles.
    """
    pool = [role.id for role in catalog.roles if role.retired is None]
    for number in range(config.generated_role_count - len(pool)):
        pool.append(catalog.add_role(sample_role(catalog, fold_in(key, number), config)).id)
    size = len(pool)
    require(size >= _MIN_SURVIVORS, f"A pool must hold at least two roles, not {size}.")
    return pool


def rank_pool(
    catalog: RoleCatalog, pool: Sequence[int], config: EvolutionConfig, key: int = 0
) -> list[int]:
    """Sort role ids by fitness, best first; ties by more games, then by lower id.

    Args:
        catalog: Catalog with the roles.
        pool: Ids of the roles.
        config: With `selection` uniform, the order is random.
        key: Random key of that order.
    """
    roles = [catalog.roles[i] for i in pool]
    if config.selection == "uniform":
        draws = KeyedRng(key)
        order = [(draws.randint(1 << 30), role.id) for role in sorted(roles, key=lambda r: r.id)]
        return [role_id for _, role_id in sorted(order)]
    return [role.id for role in sorted(roles, key=lambda r: (-r.fitness, -r.games, r.id))]


def select_survivors(
    catalog: RoleCatalog,
    pool: Sequence[int],
    size: int,
    generation: int,
    *,
    config: EvolutionConfig,
    key: int = 0,
    assigned: Collection[int] = (),
) -> list[int]:
    """Return the roles of a pool that survive, best first, and retire the others.

    Assigned roles survive in any case; the fittest of the others fill the places that are left.

    Args:
        catalog: Its entries of the retired roles are replaced.
        pool: Ids of the active roles.
        size: How many survive, at least two.
        generation: Generation in which the others are retired.
        config: `selection` is used.
        key: Random key of a random ranking.
        assigned: Ids of roles that agents are about to play.
    """
    ranked = rank_pool(catalog, pool, config, key)
    free = [role for role in ranked if role not in assigned]
    n_free = max(_MIN_SURVIVORS, size) - (len(ranked) - len(free))
    retired = set(free[max(0, n_free) :])
    for role in sorted(retired):
        catalog.roles[role] = replace(catalog.roles[role], retired=generation)
    return [role for role in ranked if role not in retired]


def next_generation(
    catalog: RoleCatalog,
    pool: Sequence[int],
    generation: int,
    key: int,
    config: EvolutionConfig,
    assigned: Collection[int] = (),
) -> list[int]:
    """Select survivors, breed children, and return the ids of the new pool in ascending order.

    A child that equals a role of the pool is bred again, a few times.

    Args:
        catalog: Children are added to it; roles that do not survive are marked as retired.
        pool: Ids of the active roles.
        generation: Number of the new generation.
        key: Random key.
        config: `generated_role_count` is the size of the new pool, half of which survives.
        assigned: Ids of roles that survive in any case. If they are many, the pool grows, so that
            there are always some children.
    """
    size = config.generated_role_count
    survivors = select_survivors(
        catalog, pool, size // 2, generation,
        config=config, key=fold_in(key, _RANK_BRANCH), assigned=assigned,
    )  # fmt: skip
    samples_last = KeyedRng(fold_in(key, size)).bernoulli(config.sampling_chance)
    new_pool = list(survivors)
    n_children = max(size - len(survivors), size // _MIN_CHILDREN_SHARE)
    for number in range(n_children):
        child_key = fold_in(key, number)
        if samples_last and number == n_children - 1:
            child = sample_role(catalog, fold_in(child_key, _SAMPLE), config)
        else:
            known = {catalog.roles[i].genome for i in new_pool}
            for attempt in range(_MAX_TRIES):
                try_key = fold_in(child_key, attempt)
                child = breed_from_survivors(catalog, survivors, try_key, config)
                if child.genome not in known:
                    break
        new_pool.append(catalog.add_role(child, generation).id)
    return sorted(new_pool)


def breed_from_survivors(
    catalog: RoleCatalog, survivors: Sequence[int], key: int, config: EvolutionConfig
) -> RoleDef:
    """Breed a child of two different survivors, drawn by weight, or a mutation of the first.

    Args:
        catalog: Catalog with all roles.
        survivors: Ids of possible parents, at least two.
        key: Random key.
        config: Hyperparameters of the operators.
    """
    rng, candidates = KeyedRng(fold_in(key, _PARENTS)), list(survivors)
    parents = []
    for _ in range(2):
        weights = [selection_weight(catalog.roles[i], config) for i in candidates]
        chosen = rng.weighted_choice(candidates, weights)
        candidates.remove(chosen)
        parents.append(catalog.roles[chosen])
    return breed_child(catalog, parents[0], parents[1], fold_in(key, _CHILD), config)


def role_traits(role: RoleDef) -> frozenset[tuple[int, int]]:
    """Return the features that roles are compared by, as pairs of behavior ids.

    `(a, a)` says that the role contains `a`, and `(a, b)` that `a` is in an earlier tier than `b`.
    """
    traits = {(i, i) for i in role.behavior_ids}
    for upper, lower in combinations(role.tiers, 2):
        traits |= {(a, b) for a in upper.behavior_ids for b in lower.behavior_ids}
    return frozenset(traits)


def role_distance(role: RoleDef, other: RoleDef) -> float:
    """Return the Jaccard distance of two roles' traits: 0 if equal, 1 with nothing in common."""
    a, b = role_traits(role), role_traits(other)
    return 1.0 - len(a & b) / len(a | b)


def pool_diversity(roles: Sequence[RoleDef]) -> float:
    """Return the mean distance over all pairs of roles; 0 for fewer than two roles."""
    pairs = [role_distance(a, b) for a, b in combinations(roles, 2)]
    return sum(pairs) / len(pairs) if pairs else 0.0
