"""A generation: the better half stays, its children fill the pool, the rest is retired."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kinfolk.core.errors import SettingsError
from kinfolk.core.keys import fold
from kinfolk.roles.catalog import RoleCatalog
from kinfolk.roles.config import EvolutionConfig
from kinfolk.roles.dice import Dice
from kinfolk.roles.fitness import role_weight
from kinfolk.roles.model import RoleDef
from kinfolk.roles.operators import mutate_role, recombine_roles, sample_role
from kinfolk.roles.reordering import reorder_role

_FEWEST_SURVIVORS = 2  # a child needs two different parents
_TRIES = 8  # to breed something that the pool does not hold yet
_PARENTS, _CUT, _CHANGE, _SAMPLE, _KIND, _ORDER = range(6)  # branches of a child's key


def found_pool(catalog: RoleCatalog, key: int, config: EvolutionConfig) -> list[int]:
    """The first pool: every role of the catalogue, topped up with sampled ones.

    Raises:
        SettingsError: Too few behaviours to sample a pool from.
    """
    pool = [role.id for role in catalog.roles if role.retired is None]
    for number in range(config.generated_role_count - len(pool)):
        pool.append(catalog.add_role(sample_role(catalog, fold(key, number), config)).id)
    if len(pool) < _FEWEST_SURVIVORS:
        raise SettingsError(f"A pool must hold at least two roles, not {len(pool)}.")
    return pool


def ranked(catalog: RoleCatalog, pool: Sequence[int]) -> list[int]:
    """The pool, fittest first; of equals the one with more games, then the older."""
    roles = [catalog.roles[i] for i in pool]
    return [role.id for role in sorted(roles, key=lambda r: (-r.fitness, -r.games, r.id))]


def cull(catalog: RoleCatalog, pool: Sequence[int], size: int, generation: int) -> list[int]:
    """The fittest of the pool, best first, two at least; the others are retired."""
    order = ranked(catalog, pool)
    size = max(_FEWEST_SURVIVORS, size)
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
    survivors = cull(catalog, pool, size // 2, generation)
    fresh = Dice(fold(key, size)).chance(config.sampling_chance)
    grown = list(survivors)
    for number in range(size - len(survivors)):
        own, is_last = fold(key, number), number == size - len(survivors) - 1
        if fresh and is_last:
            child = sample_role(catalog, fold(own, _SAMPLE), config)
        else:
            child = _new_child(catalog, survivors, grown, own, config)
        grown.append(catalog.add_role(child, generation).id)
    return sorted(grown)


def _new_child(
    catalog: RoleCatalog,
    survivors: Sequence[int],
    grown: Sequence[int],
    key: int,
    config: EvolutionConfig,
) -> RoleDef:
    """A child unlike all in the pool, if a few tries give one: equals would play the same games."""
    known = {catalog.roles[i].tiers for i in grown}
    for attempt in range(_TRIES):
        child = breed(catalog, survivors, fold(key, attempt), config)
        if child.tiers not in known:
            break
    return child


def breed(
    catalog: RoleCatalog, survivors: Sequence[int], key: int, config: EvolutionConfig
) -> RoleDef:
    """A child of two different survivors, drawn by weight, or of one of them."""
    dice, left = Dice(fold(key, _PARENTS)), list(survivors)
    parents = []
    for _ in range(2):
        chosen = dice.weighted(left, [role_weight(catalog.roles[i]) for i in left])
        left.remove(chosen)
        parents.append(catalog.roles[chosen])
    return one_child(catalog, parents[0], parents[1], key, config)


def child_of(
    catalog: RoleCatalog, role: RoleDef, mate: RoleDef, key: int, config: EvolutionConfig
) -> RoleDef:
    """A child of a role that differs from it, if a few tries give one.

    Half the time what the role holds comes in another order; else it is mutated or recombined.
    """
    for attempt in range(_TRIES):
        own = fold(key, attempt)
        if Dice(fold(own, _ORDER)).chance(0.5):
            child = reorder_role(catalog, role, fold(own, _CHANGE), config)
        else:
            child = one_child(catalog, role, mate, own, config)
        if child.tiers != role.tiers:
            break
    return child


def one_child(
    catalog: RoleCatalog, role: RoleDef, mate: RoleDef, key: int, config: EvolutionConfig
) -> RoleDef:
    """The mutation of a role, or its child with another: half and half."""
    if Dice(fold(key, _KIND)).chance(0.5):
        return mutate_role(catalog, role, fold(key, _CHANGE), config)
    child = recombine_roles(role, mate, fold(key, _CUT), config)
    changed = mutate_role(catalog, child, fold(key, _CHANGE), config)
    return child if changed.tiers == child.tiers else changed
