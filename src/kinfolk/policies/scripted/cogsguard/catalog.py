"""The catalog of CogsGuard: the thirteen behaviors in a fixed order, and the four seeded roles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from kinfolk.core.errors import UsageError
from kinfolk.core.registry import import_object
from kinfolk.policies.scripted.cogsguard.behaviors import aligner, common, miner, scout, scrambler
from kinfolk.roles.catalog import RoleCatalog
from kinfolk.roles.model import BehaviorSource, RoleDef, RoleTier

Hook = Callable[..., Any]


class BuiltinBehavior(NamedTuple):
    """A behavior that comes with the game: a description, its source and its three hooks."""

    description: str  # for the list of behaviors
    source: BehaviorSource  # the seeded role it comes from
    can_start: Hook
    act: Hook
    should_terminate: Hook


_COMMON, _MINER, _SCOUT = BehaviorSource.COMMON, BehaviorSource.MINER, BehaviorSource.SCOUT
_ALIGNER, _SCRAMBLER = BehaviorSource.ALIGNER, BehaviorSource.SCRAMBLER
BEHAVIORS = {
    "explore": BuiltinBehavior(
        "goes to the nearest unknown frontier, patrols when all is known",
        _COMMON, common.can_explore, common.explore, common.explored,
    ),
    "recharge": BuiltinBehavior(
        "goes to a friendly area and waits there until full",
        _COMMON, common.can_recharge, common.recharge, common.recharged,
    ),
    "mine_resource": BuiltinBehavior(
        "fetches gear, walks to the best extractor and mines",
        _MINER, miner.can_mine, miner.mine, miner.mined,
    ),
    "deposit_resource": BuiltinBehavior(
        "brings elements to the nearest hub or own junction",
        _MINER, miner.can_deposit, miner.deposit, miner.deposited,
    ),
    "find_extractor": BuiltinBehavior(
        "searches by sectors, away from where others search",
        _MINER, miner.can_find_extractor, miner.find_extractor, miner.found_extractor,
    ),
    "discover_stations": BuiltinBehavior(
        "explores near the hub, in growing rings",
        _SCOUT, scout.can_discover_stations, scout.discover_stations, scout.discovered_stations,
    ),
    "discover_extractors": BuiltinBehavior(
        "explores far from the extractors it knows",
        _SCOUT, scout.can_discover_extractors, scout.discover_extractors,
        scout.discovered_extractors,
    ),
    "discover_junctions": BuiltinBehavior(
        "explores far from the junctions it knows",
        _SCOUT, scout.can_discover_junctions, scout.discover_junctions, scout.discovered_junctions,
    ),
    "get_hearts": BuiltinBehavior(
        "takes hearts from the chest, in edition A from the hub",
        _ALIGNER, aligner.can_get_hearts, aligner.get_hearts, aligner.got_hearts,
    ),
    "get_influence": BuiltinBehavior(
        "waits in a friendly area until it holds all the influence it can",
        _ALIGNER, aligner.can_get_influence, aligner.get_influence, aligner.got_influence,
    ),
    "align_junction": BuiltinBehavior(
        "walks to the best neutral junction and aligns it",
        _ALIGNER, aligner.can_align_junction, aligner.align_junction, aligner.aligned,
    ),
    "scramble_junction": BuiltinBehavior(
        "walks to an enemy junction and scrambles it",
        _SCRAMBLER, scrambler.can_scramble, scrambler.scramble, scrambler.scrambled,
    ),
    "find_enemy_junction": BuiltinBehavior(
        "searches outward from the enemy area it saw last",
        _SCRAMBLER, scrambler.can_find_enemy, scrambler.find_enemy, scrambler.found_enemy,
    ),
}  # fmt: skip

# Behavior names by tier; the order within a tier is FIXED.
SEEDED_ROLES = {
    "BaseMiner": [["deposit_resource"], ["mine_resource"], ["find_extractor"], ["explore"]],
    "BaseScout": [
        ["discover_stations"],
        ["discover_extractors"],
        ["discover_junctions"],
        ["explore"],
    ],
    "BaseAligner": [["get_hearts", "get_influence"], ["align_junction"], ["explore"]],
    "BaseScrambler": [["get_hearts"], ["find_enemy_junction"], ["scramble_junction"], ["explore"]],
}


def cogs_catalog() -> RoleCatalog:
    """Return a new catalog with the thirteen behaviors and the four seeded roles."""
    catalog = RoleCatalog()
    for name, behavior in BEHAVIORS.items():
        catalog.add_behavior(
            name=name,
            source=behavior.source,
            can_start=compiled(behavior.can_start),
            act=compiled(behavior.act),
            should_terminate=compiled(behavior.should_terminate),
        )
    for name, names_by_tier in SEEDED_ROLES.items():
        tiers = tuple(RoleTier(catalog.behavior_ids(names)) for names in names_by_tier)
        catalog.add_role(RoleDef(tiers, name=name))
    return catalog


def load_catalog(catalog: RoleCatalog | str | None) -> RoleCatalog:
    """Return a catalog: the given one, what a function at an import path returns, or the game's own.

    Raises:
        UsageError: The path names no function that returns a catalog.
    """
    if catalog is None:
        return cogs_catalog()
    if isinstance(catalog, RoleCatalog):
        return catalog
    factory = import_object(catalog)
    loaded = factory() if callable(factory) else factory
    if not isinstance(loaded, RoleCatalog):
        raise UsageError(
            f"'{catalog}' must be a function that returns a RoleCatalog, not {type(loaded).__name__}."
        )
    return loaded


def compiled(function: Hook) -> Hook:
    """Mark a hook to be compiled: the decorator for compiled behaviors of the user's own.

    Such a hook takes `(memory, agent)` and returns an integer, as those of `behaviors` do; a hook
    without this mark stays plain Python and gets a `python_behaviors.AgentView`.
    """
    function.__kinfolk_compiled__ = True  # type: ignore[attr-defined]
    return function


def is_compiled(function: Hook) -> bool:
    """Return whether a hook was marked by `compiled`."""
    return bool(getattr(function, "__kinfolk_compiled__", False))
