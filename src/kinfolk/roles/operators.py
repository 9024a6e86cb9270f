"""How new roles are made: sampled, recombined, mutated, injected.

Each is a function of the catalogue, its arguments and chance, and changes nothing: the role it
returns has no id yet. `rng` is a random key, or whatever else `keyed_rng.seed_from` takes; jobs give
keys, so that their results follow from their seed. Within a role no behaviour occurs twice, and the caps of the configuration
hold for whatever comes out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from kinfolk.core.errors import SettingsError
from kinfolk.core.random import fold_in
from kinfolk.roles.catalog import RoleCatalog
from kinfolk.roles.config import DEFAULT_CONFIG, EvolutionConfig
from kinfolk.roles.fitness import behavior_weight
from kinfolk.roles.keyed_rng import KeyedRng, Rng
from kinfolk.roles.model import Origin, RoleDef, RoleTier, TierSelection

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
    """Make a role from nothing: tiers of behaviours drawn by fitness, none twice, FIXED or SHUFFLE.

    Args:
        catalog: Where the behaviours come from.
        rng: Key, generator, or None for a new draw each time.
        config: Bounds of tiers and sizes.
        origin: What the role says of where it comes from.

    Raises:
        SettingsError: The catalogue has no behaviour.
    """
    if not catalog.behaviors:
        raise SettingsError("A role is sampled from behaviours; the catalogue has none.")
    dice, left, room = KeyedRng(rng), list(catalog.behaviors), config.max_behaviors_per_role
    tiers = []
    for _ in range(config.min_tiers + dice.randint(config.max_tiers - config.min_tiers + 1)):
        size = config.min_tier_size + dice.randint(config.max_tier_size - config.min_tier_size + 1)
        ids = []
        for _ in range(min(size, room, len(left))):
            one = dice.weighted_choice(left, [behavior_weight(b) for b in left])
            left.remove(one)
            ids.append(one.id)
        room -= len(ids)
        mode = TierSelection.SHUFFLE if dice.bernoulli(0.5) else TierSelection.FIXED
        if ids:
            tiers.append(RoleTier(tuple(ids), None, mode))
    return RoleDef(tuple(tiers), origin=origin)


def recombine_roles(
    left: RoleDef, right: RoleDef, rng: Rng = None, config: EvolutionConfig = DEFAULT_CONFIG
) -> RoleDef:
    """Join the first tiers of one parent and the last of another. The child has no games yet.

    Args:
        left: The parent that gives the first tiers, one at least.
        right: The parent that gives the last ones.
        rng: Key, generator, or None for a new draw each time.
        config: Bounds that the child keeps.

    Raises:
        SettingsError: Both parents are the same role.
    """
    if left.id == right.id and left.id >= 0:
        raise SettingsError(f"Two different parents are needed; both are '{left.name}'.")
    dice = KeyedRng(rng)
    kept = 1 + dice.randint(len(left.tiers))  # at least one tier
    cut = dice.randint(len(right.tiers) + 1)
    tiers = enforce_caps([*left.tiers[:kept], *right.tiers[cut:]], config)
    parents = tuple(parent.id for parent in (left, right) if parent.id >= 0)
    return RoleDef(tiers, origin="recombined", parents=parents)


def enforce_caps(tiers: Iterable[RoleTier], config: EvolutionConfig) -> tuple[RoleTier, ...]:
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


def mutate_role(
    catalog: RoleCatalog, role: RoleDef, rng: Rng = None, config: EvolutionConfig = DEFAULT_CONFIG
) -> RoleDef:
    """Make a copy in which tiers had a behaviour replaced, or their mode flipped, by chance.

    It keeps fitness, games and wins. The copy of a role whose name is locked keeps the name, with
    a running number; any other gets a name of its own.

    Args:
        catalog: Where new behaviours, and the names in use, come from.
        role: What is copied.
        rng: Key, generator, or None for a new draw each time.
        config: `mutation_rate` per tier for a behaviour, half of it for the mode.
    """
    dice, tiers = KeyedRng(rng), list(role.tiers)
    for at, tier in enumerate(tiers):
        if dice.bernoulli(config.mutation_rate):
            held = {i for each in tiers for i in each.behavior_ids}
            lacking = [b.id for b in catalog.behaviors if b.id not in held]
            place = dice.randint(len(tier.behavior_ids))
            if lacking:
                tier = replace_behavior(tier, place, dice.choice(lacking))
        if dice.bernoulli(config.mutation_rate / 2):
            tier = replace(tier, selection=_FLIPPED_SELECTION[tier.selection])
        tiers[at] = tier
    return as_mutation(catalog, role, enforce_caps(tiers, config))


def as_mutation(catalog: RoleCatalog, role: RoleDef, tiers: tuple[RoleTier, ...]) -> RoleDef:
    """A role with other tiers, as its mutation: with its record, and its name if that is locked."""
    return replace(
        role,
        id=-1,
        name=next_descendant_name(catalog, role.name) if role.locked_name else "",
        tiers=tiers,
        origin="mutated",
        parents=(role.id,) if role.id >= 0 else role.parents,
        retired=None,
    )


def inject_behavior(
    catalog: RoleCatalog, role: RoleDef, rng: Rng = None, config: EvolutionConfig = DEFAULT_CONFIG
) -> RoleDef:
    """Return the role with one more behaviour in its first tier, in place of the last of a full one.

    Args:
        catalog: Where the behaviour, one that the role lacks, comes from.
        role: What it is added to; a role that lacks none is returned as it is.
        rng: Key, generator, or None for a new draw each time.
        config: How many behaviours a tier and a role may hold.
    """
    lacking = [b.id for b in catalog.behaviors if b.id not in role.behavior_ids]
    if not lacking:
        return role
    new, first = KeyedRng(rng).choice(lacking), role.tiers[0]
    has_room = (
        len(first.behavior_ids) < config.max_tier_size
        and len(role.behavior_ids) < config.max_behaviors_per_role
    )
    if has_room:
        weights = None if first.weights is None else (*first.weights, 1.0)
        first = RoleTier((*first.behavior_ids, new), weights, first.selection)
    else:
        first = replace_behavior(first, len(first.behavior_ids) - 1, new)
    return replace(role, tiers=(first, *role.tiers[1:]))


def replace_behavior(tier: RoleTier, place: int, behavior_id: int) -> RoleTier:
    """The tier with another behaviour at one place."""
    ids = tier.behavior_ids
    return replace(tier, behavior_ids=(*ids[:place], behavior_id, *ids[place + 1 :]))


def next_descendant_name(catalog: RoleCatalog, name: str) -> str:
    """The next name of a line: `Mine-3`, then `Mine-3'2`, `Mine-3'3` and so on."""
    base = name.partition("'")[0]
    used = sum(role.name.partition("'")[0] == base for role in catalog.roles)
    return f"{base}'{max(used, 1) + 1}"


_RECOMBINE, _OPERATORS, _MUTATE, _INJECT = range(4)  # branches of a hybrid's key


def draw_hybrid_operators(key: int, config: EvolutionConfig) -> tuple[bool, bool]:
    """Whether the hybrid of a key is mutated, and whether something is injected."""
    dice = KeyedRng(fold_in(key, _OPERATORS))
    return dice.bernoulli(config.role_mutation_chance), dice.bernoulli(config.injection_chance)


def make_hybrid(
    catalog: RoleCatalog, left: RoleDef, right: RoleDef, key: int, config: EvolutionConfig
) -> RoleDef:
    """The hybrid of two roles, after tribal-village's temple.

    Parents of one role have nothing to recombine: their child begins as a copy of it.
    """
    mutated, injected = draw_hybrid_operators(key, config)
    if left.tiers == right.tiers:
        parents = tuple(dict.fromkeys(p.id for p in (left, right) if p.id >= 0))
        child = RoleDef(left.tiers, parents=parents)
    else:
        child = recombine_roles(left, right, fold_in(key, _RECOMBINE), config)
    if mutated:
        child = mutate_role(catalog, child, fold_in(key, _MUTATE), config)
    if injected:
        child = inject_behavior(catalog, child, fold_in(key, _INJECT), config)
    return replace(child, origin="hybrid")
