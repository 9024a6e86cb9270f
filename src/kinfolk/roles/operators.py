"""The operators of the design note: sampling, recombination, mutation, injection, hybrids.

They are pure functions: the role they return has no id until it is added to a catalog. `rng` is a
random key, or any other source that `core.random.seed_from` takes; jobs pass keys, so that their
results follow from their seed. The roles contain no behavior twice and keep the limits of the
configuration.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from kinfolk.core.errors import SettingsError, require
from kinfolk.core.random import KeyedRng, Rng, fold_in
from kinfolk.roles.catalog import RoleCatalog, default_catalog
from kinfolk.roles.fitness import behavior_weight
from kinfolk.roles.model import (
    DEFAULT_CONFIG,
    EvolutionConfig,
    Origin,
    RoleDef,
    RoleTier,
    TierSelection,
)

_FLIPPED_SELECTION = {
    TierSelection.FIXED: TierSelection.SHUFFLE,
    TierSelection.SHUFFLE: TierSelection.FIXED,
    TierSelection.WEIGHTED: TierSelection.WEIGHTED,
}


def sample_role(
    catalog: RoleCatalog,
    rng: Rng = None,
    config: EvolutionConfig = DEFAULT_CONFIG,
    origin: Origin = "sampled",
) -> RoleDef:
    """Sample a role: tiers of distinct behaviors drawn by fitness, each FIXED or SHUFFLE.

    Args:
        catalog: Catalog with the behaviors.
        rng: Random key or generator; None draws differently each time.
        config: Limits of the number and size of tiers.
        origin: Recorded as the origin of the role.

    Raises:
        SettingsError: The catalog has no behaviors.
    """
    if not catalog.behaviors:
        raise SettingsError("A role is sampled from behaviors; the catalog has none.")
    draws, candidates = KeyedRng(rng), list(catalog.behaviors)
    capacity, tiers = config.max_behaviors_per_role, []
    for _ in range(config.min_tiers + draws.randint(config.max_tiers - config.min_tiers + 1)):
        size = config.min_tier_size + draws.randint(config.max_tier_size - config.min_tier_size + 1)
        ids = []
        for _ in range(min(size, capacity, len(candidates))):
            behavior = draws.weighted_choice(candidates, [behavior_weight(b) for b in candidates])
            candidates.remove(behavior)
            ids.append(behavior.id)
        capacity -= len(ids)
        selection = TierSelection.SHUFFLE if draws.bernoulli(0.5) else TierSelection.FIXED
        if ids:
            tiers.append(RoleTier(tuple(ids), None, selection))
    return RoleDef(tuple(tiers), origin=origin)


def recombine_roles(
    left: RoleDef, right: RoleDef, rng: Rng = None, config: EvolutionConfig = DEFAULT_CONFIG
) -> RoleDef:
    """Return a child with the first tiers of one parent and the last tiers of another.

    Each cut lies before, between or after the tiers, as in tribal-village, so that a child may
    have all tiers of one parent and none of the other. Without any, it has the first of the left.
    A parameter that both parents set comes from either.

    Args:
        left: The parent that gives the first tiers, possibly none.
        right: The parent that gives the last tiers, possibly none.
        rng: Random key or generator; None draws differently each time.
        config: Limits of the number and size of tiers.

    Raises:
        SettingsError: Both parents are the same role.
    """
    if left.id == right.id and left.id >= 0:
        raise SettingsError(f"Two different parents are needed; both are '{left.name}'.")
    draws = KeyedRng(rng)
    left_end = draws.randint(len(left.tiers) + 1)
    right_start = draws.randint(len(right.tiers) + 1)
    tiers = [*left.tiers[:left_end], *right.tiers[right_start:]] or [left.tiers[0]]
    parameters = dict(right.parameters)
    for name, value in left.parameters:
        if name not in parameters or draws.bernoulli(0.5):
            parameters[name] = value
    parents = tuple(parent.id for parent in (left, right) if parent.id >= 0)
    return RoleDef(
        enforce_caps(tiers, config),
        origin="recombined",
        parents=parents,
        parameters=tuple(parameters.items()),
    )


def enforce_caps(tiers: Iterable[RoleTier], config: EvolutionConfig) -> tuple[RoleTier, ...]:
    """Remove repeated behaviors and empty tiers, and cut what exceeds the limits at the end.

    Args:
        tiers: Tiers in order of priority; of a repeated behavior the first one stays.
        config: Limits of the number and size of tiers.
    """
    result: list[RoleTier] = []
    seen: set[int] = set()
    max_size = min(config.max_tier_size, config.max_behaviors_per_role)
    for tier in tiers:
        positions = [i for i, b in enumerate(tier.behavior_ids) if b not in seen][:max_size]
        if not positions:
            continue
        is_over = len(seen) + len(positions) > config.max_behaviors_per_role
        if is_over or len(result) == config.max_tiers:
            break
        ids = tuple(tier.behavior_ids[i] for i in positions)
        weights = None if tier.weights is None else tuple(tier.weights[i] for i in positions)
        seen.update(ids)
        result.append(replace(tier, behavior_ids=ids, weights=weights))
    return tuple(result)


def mutate_role(
    role: RoleDef,
    catalog: RoleCatalog | None = None,
    rng: Rng = None,
    config: EvolutionConfig = DEFAULT_CONFIG,
) -> RoleDef:
    """Return a copy of a role with random replacements of behaviors and flips of selection modes.

    It keeps fitness, games and wins. The copy of a role whose name is locked keeps the name, with
    a running number; any other gets a new name.

    Args:
        role: The role to mutate.
        catalog: Catalog with the behaviors and the names in use; by default that of CogsGuard.
        rng: Random key or generator; None draws differently each time.
        config: `mutation_rate` is the probability per tier that a behavior is replaced, half of it
            that the selection mode is flipped.

    Raises:
        SettingsError: The role has a behavior that the catalog lacks.
    """
    catalog = _find_catalog(role, catalog)
    draws, tiers = KeyedRng(rng), list(role.tiers)
    for i, tier in enumerate(tiers):
        if draws.bernoulli(config.mutation_rate):
            used = {b for each in tiers for b in each.behavior_ids}
            unused = [b.id for b in catalog.behaviors if b.id not in used]
            position = draws.randint(len(tier.behavior_ids))
            if unused:
                tier = replace_behavior(tier, position, draws.choice(unused))
        if draws.bernoulli(config.mutation_rate / 2):
            tier = replace(tier, selection=_FLIPPED_SELECTION[tier.selection])
        tiers[i] = tier
    return as_mutation(role, catalog, enforce_caps(tiers, config))


def as_mutation(role: RoleDef, catalog: RoleCatalog, tiers: tuple[RoleTier, ...]) -> RoleDef:
    """Return a mutation of a role: other tiers, the same record, and its name if that is locked.

    The record is a prior: the mutation has no games of its own yet.

    Args:
        role: The parent.
        catalog: Catalog with the names in use.
        tiers: Tiers of the mutation.
    """
    name = next_descendant_name(catalog, role.name) if role.locked_name else ""
    parents = (role.id,) if role.id >= 0 else role.parents
    fresh: dict[str, Any] = {"id": -1, "own_games": 0, "retired": None}
    return replace(role, **fresh, name=name, tiers=tiers, origin="mutated", parents=parents)


def inject_behavior(
    role: RoleDef,
    catalog: RoleCatalog | None = None,
    rng: Rng = None,
    config: EvolutionConfig = DEFAULT_CONFIG,
) -> RoleDef:
    """Return the role with a random new behavior in its first tier.

    It is appended, or replaces the last behavior if the tier or the role is full.

    Args:
        role: The role; if it contains all behaviors, it is returned unchanged.
        catalog: Catalog with the behaviors; by default that of CogsGuard.
        rng: Random key or generator; None draws differently each time.
        config: `max_tier_size` and `max_behaviors_per_role` are used.

    Raises:
        SettingsError: The role has a behavior that the catalog lacks.
    """
    catalog = _find_catalog(role, catalog)
    unused = [b.id for b in catalog.behaviors if b.id not in role.behavior_ids]
    if not unused:
        return role
    new, first = KeyedRng(rng).choice(unused), role.tiers[0]
    size, total = len(first.behavior_ids), len(role.behavior_ids)
    if size >= config.max_tier_size or total >= config.max_behaviors_per_role:
        first = replace_behavior(first, size - 1, new)
    else:
        first = insert_behavior(first, size, new)
    return replace(role, tiers=(first, *role.tiers[1:]))


def _find_catalog(role: RoleDef, catalog: RoleCatalog | None) -> RoleCatalog:
    """Return the catalog, or CogsGuard's if it is None, after a check that it has the role's behaviors."""
    found = default_catalog() if catalog is None else catalog
    largest, size = max(role.behavior_ids), len(found.behaviors)
    advice = " Give the catalog of the role." if catalog is None else ""
    require(largest < size, f"A role contains behavior {largest}; the catalog has {size}.{advice}")
    return found


def replace_behavior(tier: RoleTier, position: int, behavior_id: int) -> RoleTier:
    """Return a tier with another behavior at one position, which keeps its weight.

    Args:
        tier: Tier to change; it is copied.
        position: Position in the tier, from 0.
        behavior_id: Id of the new behavior.
    """
    ids = tier.behavior_ids
    return replace(tier, behavior_ids=(*ids[:position], behavior_id, *ids[position + 1 :]))


def insert_behavior(tier: RoleTier, position: int, behavior: int) -> RoleTier:
    """Return a tier with a behavior inserted at a position; in a weighted tier its weight is 1.

    Args:
        tier: The tier to change; it is copied.
        position: Position in the tier, from 0.
        behavior: Id of the new behavior.
    """
    ids, weights = tier.behavior_ids, tier.weights
    if weights is not None:
        weights = (*weights[:position], 1.0, *weights[position:])
    new_ids = (*ids[:position], behavior, *ids[position:])
    return replace(tier, behavior_ids=new_ids, weights=weights)


def next_descendant_name(catalog: RoleCatalog, name: str) -> str:
    """Return the next name in a line of descent: after `Mine-3` come `Mine-3'2`, `Mine-3'3`, ..."""
    base = name.partition("'")[0]
    used = sum(role.name.partition("'")[0] == base for role in catalog.roles)
    return f"{base}'{max(used, 1) + 1}"


_RECOMBINE, _OPERATORS, _MUTATE, _INJECT = range(4)  # folded into a hybrid's key


def draw_hybrid_operators(key: int, config: EvolutionConfig) -> tuple[bool, bool]:
    """Draw whether the hybrid of a key is mutated, and whether a behavior is injected into it."""
    draws = KeyedRng(fold_in(key, _OPERATORS))
    return draws.bernoulli(config.role_mutation_chance), draws.bernoulli(config.injection_chance)


def make_hybrid(
    catalog: RoleCatalog, left: RoleDef, right: RoleDef, key: int, config: EvolutionConfig
) -> RoleDef:
    """Return the hybrid of two roles: recombined, then possibly mutated and injected.

    The procedure is that of the temple in tribal-village. If the parents have equal tiers, the
    child starts as a copy of them.

    Args:
        catalog: Catalog with all behaviors.
        left: The parent that gives the first tiers.
        right: The parent that gives the last tiers.
        key: Random key.
        config: Probabilities of mutation and injection, and limits of tiers.
    """
    mutated, injected = draw_hybrid_operators(key, config)
    if left.genome == right.genome:
        parents = tuple(dict.fromkeys(p.id for p in (left, right) if p.id >= 0))
        child = RoleDef(left.tiers, parents=parents, parameters=left.parameters)
    else:
        child = recombine_roles(left, right, fold_in(key, _RECOMBINE), config)
    if mutated:
        child = mutate_role(child, catalog, fold_in(key, _MUTATE), config)
    if injected:
        child = inject_behavior(child, catalog, fold_in(key, _INJECT), config)
    return replace(child, origin="hybrid")
