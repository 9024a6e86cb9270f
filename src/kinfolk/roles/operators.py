"""How new roles are made: sampled, recombined, mutated, injected.

Each is a function of the catalogue, its arguments and a key, and changes nothing: the role it
returns has no id yet. Within a role no behaviour occurs twice, and the caps of the configuration
hold for whatever comes out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from kinfolk.core.errors import SettingsError
from kinfolk.roles.catalog import RoleCatalog
from kinfolk.roles.config import EvolutionConfig
from kinfolk.roles.dice import Dice
from kinfolk.roles.fitness import behavior_weight
from kinfolk.roles.model import Origin, RoleDef, RoleTier, TierSelection

_FLIPPED = {
    TierSelection.FIXED: TierSelection.SHUFFLE,
    TierSelection.SHUFFLE: TierSelection.FIXED,
    TierSelection.WEIGHTED: TierSelection.WEIGHTED,
}


def sample_role(
    catalog: RoleCatalog, key: int, config: EvolutionConfig, origin: Origin = "sampled"
) -> RoleDef:
    """A role from nothing: tiers of behaviours drawn by fitness, none twice, FIXED or SHUFFLE.

    Raises:
        SettingsError: The catalogue has no behaviour.
    """
    if not catalog.behaviors:
        raise SettingsError("A role is sampled from behaviours; the catalogue has none.")
    dice, left, room = Dice(key), list(catalog.behaviors), config.max_behaviors_per_role
    tiers = []
    for _ in range(config.min_tiers + dice.below(config.max_tiers - config.min_tiers + 1)):
        size = config.min_tier_size + dice.below(config.max_tier_size - config.min_tier_size + 1)
        ids = []
        for _ in range(min(size, room, len(left))):
            one = dice.weighted(left, [behavior_weight(b) for b in left])
            left.remove(one)
            ids.append(one.id)
        room -= len(ids)
        mode = TierSelection.SHUFFLE if dice.chance(0.5) else TierSelection.FIXED
        if ids:
            tiers.append(RoleTier(tuple(ids), None, mode))
    return RoleDef(tuple(tiers), origin=origin)


def recombine_roles(left: RoleDef, right: RoleDef, key: int, config: EvolutionConfig) -> RoleDef:
    """The first tiers of one parent and the last of another. The child starts with no games.

    Raises:
        SettingsError: Both parents are the same role.
    """
    if left.id == right.id and left.id >= 0:
        raise SettingsError(f"Two different parents are needed; both are '{left.name}'.")
    dice = Dice(key)
    kept = 1 + dice.below(len(left.tiers))  # at least one tier
    cut = dice.below(len(right.tiers) + 1)
    tiers = within_caps([*left.tiers[:kept], *right.tiers[cut:]], config)
    parents = tuple(parent.id for parent in (left, right) if parent.id >= 0)
    return RoleDef(tiers, origin="recombined", parents=parents)


def within_caps(tiers: Iterable[RoleTier], config: EvolutionConfig) -> tuple[RoleTier, ...]:
    """Tiers without repetitions: the first stays, empty tiers vanish, too many are cut at the end."""
    kept: list[RoleTier] = []
    seen: set[int] = set()
    widest = min(config.max_tier_size, config.max_behaviors_per_role)
    for tier in tiers:
        fresh = [i for i, b in enumerate(tier.behavior_ids) if b not in seen][:widest]
        if not fresh:
            continue
        over = len(seen) + len(fresh) > config.max_behaviors_per_role
        if over or len(kept) == config.max_tiers:
            break
        ids = tuple(tier.behavior_ids[i] for i in fresh)
        weights = None if tier.weights is None else tuple(tier.weights[i] for i in fresh)
        seen.update(ids)
        kept.append(RoleTier(ids, weights, tier.selection))
    return tuple(kept)


def mutate_role(catalog: RoleCatalog, role: RoleDef, key: int, config: EvolutionConfig) -> RoleDef:
    """A copy in which tiers had a behaviour replaced, or their mode flipped, by chance.

    It keeps fitness, games and wins. The copy of a role whose name is locked keeps the name, with
    a running number; any other gets a name of its own.
    """
    dice, tiers = Dice(key), list(role.tiers)
    for at, tier in enumerate(tiers):
        if dice.chance(config.mutation_rate):
            held = {i for each in tiers for i in each.behavior_ids}
            lacking = [b.id for b in catalog.behaviors if b.id not in held]
            place = dice.below(len(tier.behavior_ids))
            if lacking:
                tier = with_behavior(tier, place, dice.choice(lacking))
        if dice.chance(config.mutation_rate / 2):
            tier = replace(tier, selection=_FLIPPED[tier.selection])
        tiers[at] = tier
    return as_mutation(catalog, role, within_caps(tiers, config))


def as_mutation(catalog: RoleCatalog, role: RoleDef, tiers: tuple[RoleTier, ...]) -> RoleDef:
    """A role with other tiers, as its mutation: with its record, and its name if that is locked."""
    return replace(
        role,
        id=-1,
        name=next_name_of_line(catalog, role.name) if role.locked_name else "",
        tiers=tiers,
        origin="mutated",
        parents=(role.id,) if role.id >= 0 else role.parents,
        retired=None,
    )


def inject_behavior(
    catalog: RoleCatalog, role: RoleDef, key: int, config: EvolutionConfig
) -> RoleDef:
    """The role with one more behaviour in its first tier, or in place of the last of a full one."""
    lacking = [b.id for b in catalog.behaviors if b.id not in role.behavior_ids]
    if not lacking:
        return role
    new, first = Dice(key).choice(lacking), role.tiers[0]
    has_room = (
        len(first.behavior_ids) < config.max_tier_size
        and len(role.behavior_ids) < config.max_behaviors_per_role
    )
    if has_room:
        weights = None if first.weights is None else (*first.weights, 1.0)
        first = RoleTier((*first.behavior_ids, new), weights, first.selection)
    else:
        first = with_behavior(first, len(first.behavior_ids) - 1, new)
    return replace(role, tiers=(first, *role.tiers[1:]))


def with_behavior(tier: RoleTier, place: int, behavior_id: int) -> RoleTier:
    """The tier with another behaviour at one place."""
    ids = tier.behavior_ids
    return replace(tier, behavior_ids=(*ids[:place], behavior_id, *ids[place + 1 :]))


def next_name_of_line(catalog: RoleCatalog, name: str) -> str:
    """The next name of a line: `Mine-3`, then `Mine-3'2`, `Mine-3'3` and so on."""
    base = name.partition("'")[0]
    used = sum(role.name.partition("'")[0] == base for role in catalog.roles)
    return f"{base}'{max(used, 1) + 1}"
