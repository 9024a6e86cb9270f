"""The child of two agents' roles: recombined, sometimes mutated, sometimes with one thing more."""

from __future__ import annotations

from dataclasses import replace

from kinfolk.core.keys import fold
from kinfolk.roles.catalog import RoleCatalog
from kinfolk.roles.config import EvolutionConfig
from kinfolk.roles.dice import Dice
from kinfolk.roles.model import RoleDef
from kinfolk.roles.operators import inject_behavior, mutate_role, recombine_roles

_CUT, _LUCK, _CHANGE, _GIFT = range(4)  # branches of a hybrid's key


def hybrid_luck(key: int, config: EvolutionConfig) -> tuple[bool, bool]:
    """Whether the hybrid of a key is mutated, and whether something is injected."""
    dice = Dice(fold(key, _LUCK))
    return dice.chance(config.role_mutation_chance), dice.chance(config.injection_chance)


def hybrid_role(
    catalog: RoleCatalog, left: RoleDef, right: RoleDef, key: int, config: EvolutionConfig
) -> RoleDef:
    """The hybrid of two roles, after tribal-village's temple.

    Parents of one role have nothing to recombine: their child begins as a copy of it.
    """
    mutated, injected = hybrid_luck(key, config)
    if left.tiers == right.tiers:
        parents = tuple(dict.fromkeys(p.id for p in (left, right) if p.id >= 0))
        child = RoleDef(left.tiers, parents=parents)
    else:
        child = recombine_roles(left, right, fold(key, _CUT), config)
    if mutated:
        child = mutate_role(catalog, child, fold(key, _CHANGE), config)
    if injected:
        child = inject_behavior(catalog, child, fold(key, _GIFT), config)
    return replace(child, origin="hybrid")
