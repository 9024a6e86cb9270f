"""The reordering operator: move one behavior of a role to another priority."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kinfolk.roles.catalog import RoleCatalog
from kinfolk.roles.config import EvolutionConfig
from kinfolk.roles.keyed_rng import KeyedRng
from kinfolk.roles.model import RoleDef, RoleTier, TierSelection
from kinfolk.roles.operators import as_mutation, enforce_caps


def reorder_role(catalog: RoleCatalog, role: RoleDef, key: int, config: EvolutionConfig) -> RoleDef:
    """Return a copy of a role in which one behavior has moved to another priority.

    Mutation replaces behaviors and recombination cuts between tiers, but neither moves a behavior
    up or down. The copy counts as a mutation, with the parent's fitness, games and wins. A role of
    one behavior has no other order; its copy has the same tiers.

    Args:
        catalog: Catalog with the names in use.
        role: The role to reorder.
        key: Random key.
        config: Limits of the number and size of tiers.
    """
    orders = list(dict.fromkeys(_single_moves(role.tiers, config)))
    tiers = KeyedRng(key).choice(orders) if orders else role.tiers
    return as_mutation(catalog, role, enforce_caps(tiers, config))


def _single_moves(
    tiers: tuple[RoleTier, ...], config: EvolutionConfig
) -> Iterator[tuple[RoleTier, ...]]:
    """Yield every order that one move gives: within a tier, to another tier, or to a new one."""
    for i, tier in enumerate(tiers):
        for position, behavior in enumerate(tier.behavior_ids):
            shorter = _remove_behavior(tier, position)
            others = [*tiers[:i], *([shorter] if shorter else []), *tiers[i + 1 :]]
            for moved in _insertions(others, behavior, config):
                if _priorities(moved) != _priorities(tiers):
                    yield moved


def _insertions(
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
                yield (*tiers[:i], _insert_behavior(tier, position, behavior), *tiers[i + 1 :])


def _remove_behavior(tier: RoleTier, position: int) -> RoleTier | None:
    """Return a tier without the behavior at a position; None if it has no other."""
    ids, weights = list(tier.behavior_ids), tier.weights
    del ids[position]
    if weights is not None:
        weights = (*weights[:position], *weights[position + 1 :])
    return replace(tier, behavior_ids=tuple(ids), weights=weights) if ids else None


def _insert_behavior(tier: RoleTier, position: int, behavior: int) -> RoleTier:
    """Return a tier with a behavior inserted at a position; in a weighted tier its weight is 1."""
    ids, weights = tier.behavior_ids, tier.weights
    if weights is not None:
        weights = (*weights[:position], 1.0, *weights[position:])
    new_ids = (*ids[:position], behavior, *ids[position:])
    return replace(tier, behavior_ids=new_ids, weights=weights)


def _priorities(tiers: Sequence[RoleTier]) -> list[tuple[int, ...]]:
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
