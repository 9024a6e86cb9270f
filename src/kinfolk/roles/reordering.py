"""Another order of the same behaviours: what comes first decides what an agent does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kinfolk.roles.catalog import RoleCatalog
from kinfolk.roles.config import EvolutionConfig
from kinfolk.roles.keyed_rng import KeyedRng
from kinfolk.roles.model import RoleDef, RoleTier, TierSelection
from kinfolk.roles.operators import as_mutation, enforce_caps


def reorder_role(catalog: RoleCatalog, role: RoleDef, key: int, config: EvolutionConfig) -> RoleDef:
    """A copy in which one behaviour has moved to another place in the order of priority.

    Mutation replaces a behaviour and recombination cuts between tiers: neither moves what a role
    holds up or down. It counts as a mutation, with fitness, games and wins of the original. A role
    of one behaviour has no other order; its copy has the same tiers.
    """
    orders = list(dict.fromkeys(_single_moves(role.tiers, config)))
    tiers = KeyedRng(key).choice(orders) if orders else role.tiers
    return as_mutation(catalog, role, enforce_caps(tiers, config))


def _single_moves(
    tiers: tuple[RoleTier, ...], config: EvolutionConfig
) -> Iterator[tuple[RoleTier, ...]]:
    """Every other order that is one move away: within a tier, to another, or to one of its own."""
    for at, tier in enumerate(tiers):
        for place, behavior in enumerate(tier.behavior_ids):
            left = _remove_behavior(tier, place)
            others = [*tiers[:at], *([left] if left else []), *tiers[at + 1 :]]
            for moved in _insertions(others, behavior, config):
                if _priorities(moved) != _priorities(tiers):
                    yield moved


def _insertions(
    tiers: Sequence[RoleTier], behavior: int, config: EvolutionConfig
) -> Iterator[tuple[RoleTier, ...]]:
    """The tiers with one behaviour more, wherever there is room for it."""
    if len(tiers) < config.max_tiers:
        for at in range(len(tiers) + 1):
            yield (*tiers[:at], RoleTier((behavior,)), *tiers[at:])
    for at, tier in enumerate(tiers):
        if len(tier.behavior_ids) < config.max_tier_size:
            for place in range(len(tier.behavior_ids) + 1):
                yield (*tiers[:at], _insert_behavior(tier, place, behavior), *tiers[at + 1 :])


def _remove_behavior(tier: RoleTier, place: int) -> RoleTier | None:
    """A tier less one of its behaviours; none if that was all."""
    ids, weights = list(tier.behavior_ids), tier.weights
    del ids[place]
    if weights is not None:
        weights = (*weights[:place], *weights[place + 1 :])
    return replace(tier, behavior_ids=tuple(ids), weights=weights) if ids else None


def _insert_behavior(tier: RoleTier, place: int, behavior: int) -> RoleTier:
    """A tier with one more behaviour; of a weighted one it gets the weight 1."""
    ids, weights = tier.behavior_ids, tier.weights
    if weights is not None:
        weights = (*weights[:place], 1.0, *weights[place:])
    return replace(tier, behavior_ids=(*ids[:place], behavior, *ids[place:]), weights=weights)


def _priorities(tiers: Sequence[RoleTier]) -> list[tuple[int, ...]]:
    """What is equal for two orders that play alike: within a tier that is drawn, any order."""
    found: list[tuple[int, ...]] = []
    for tier in tiers:
        if tier.selection == TierSelection.FIXED or len(tier.behavior_ids) == 1:
            found.extend((one,) for one in tier.behavior_ids)
        else:
            found.append(tuple(sorted(tier.behavior_ids)))
    return found
