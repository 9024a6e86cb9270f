"""The catalogue of CogsGuard: the thirteen behaviours in a fixed order, and the four seeded roles."""

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
    """A behaviour of the game's own: what it is, its source, and its three functions."""

    description: str
    source: BehaviorSource
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

# Tiers by name; all FIXED.
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
    """A fresh catalogue with the thirteen behaviours and the four seeded roles."""
    catalog = RoleCatalog()
    for name, kind in BEHAVIORS.items():
        catalog.add_behavior(
            name=name,
            source=kind.source,
            can_start=compiled(kind.can_start),
            act=compiled(kind.act),
            should_terminate=compiled(kind.should_terminate),
        )
    for name, tiers in SEEDED_ROLES.items():
        found = tuple(RoleTier(catalog.behavior_ids(tier)) for tier in tiers)
        catalog.add_role(RoleDef(found, name=name))
    return catalog


def load_catalog(catalog: RoleCatalog | str | None) -> RoleCatalog:
    """A catalogue, the game's own if none is given; a text names a function that makes one.

    Raises:
        UsageError: The text names no such function.
    """
    if catalog is None:
        return cogs_catalog()
    if isinstance(catalog, RoleCatalog):
        return catalog
    made = import_object(catalog)
    found = made() if callable(made) else made
    if not isinstance(found, RoleCatalog):
        raise UsageError(
            f"'{catalog}' must be a function that returns a RoleCatalog, not {type(found).__name__}."
        )
    return found


def compiled(function: Hook) -> Hook:
    """Mark a hook as one to compile: the decorator for behaviours of one's own.

    Such a hook takes `(memory, agent)` and returns a whole number, as those of `behaviors` do; one
    without this mark stays plain Python and gets a `plain.AgentView`.
    """
    function.__kinfolk_compiled__ = True  # type: ignore[attr-defined]
    return function


def is_compiled(function: Hook) -> bool:
    """Whether a hook was marked as one to compile."""
    return bool(getattr(function, "__kinfolk_compiled__", False))
