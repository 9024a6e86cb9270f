"""The catalogue of CogsGuard: the thirteen behaviours in a fixed order, and the four seeded roles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kinfolk.policies.cogsguard.behaviors import aligner, common, miner, scout, scrambler
from kinfolk.roles.catalog import RoleCatalog
from kinfolk.roles.model import BehaviorSource, RoleDef, RoleTier

_COMMON, _MINER, _SCOUT = BehaviorSource.COMMON, BehaviorSource.MINER, BehaviorSource.SCOUT
_ALIGNER, _SCRAMBLER = BehaviorSource.ALIGNER, BehaviorSource.SCRAMBLER
Hook = Callable[..., Any]

# name, source, can start, acts, ends
BEHAVIORS: tuple[tuple[str, BehaviorSource, Hook, Hook, Hook], ...] = (
    ("explore", _COMMON, common.can_explore, common.explore, common.explored),
    ("recharge", _COMMON, common.can_recharge, common.recharge, common.recharged),
    ("mine_resource", _MINER, miner.can_mine, miner.mine, miner.mined),
    ("deposit_resource", _MINER, miner.can_deposit, miner.deposit, miner.deposited),
    (
        "find_extractor",
        _MINER,
        miner.can_find_extractor,
        miner.find_extractor,
        miner.found_extractor,
    ),
    (
        "discover_stations",
        _SCOUT,
        scout.can_discover_stations,
        scout.discover_stations,
        scout.discovered_stations,
    ),
    (
        "discover_extractors",
        _SCOUT,
        scout.can_discover_extractors,
        scout.discover_extractors,
        scout.discovered_extractors,
    ),
    (
        "discover_junctions",
        _SCOUT,
        scout.can_discover_junctions,
        scout.discover_junctions,
        scout.discovered_junctions,
    ),
    ("get_hearts", _ALIGNER, aligner.can_get_hearts, aligner.get_hearts, aligner.got_hearts),
    (
        "get_influence",
        _ALIGNER,
        aligner.can_get_influence,
        aligner.get_influence,
        aligner.got_influence,
    ),
    (
        "align_junction",
        _ALIGNER,
        aligner.can_align_junction,
        aligner.align_junction,
        aligner.aligned,
    ),
    (
        "scramble_junction",
        _SCRAMBLER,
        scrambler.can_scramble,
        scrambler.scramble,
        scrambler.scrambled,
    ),
    (
        "find_enemy_junction",
        _SCRAMBLER,
        scrambler.can_find_enemy,
        scrambler.find_enemy,
        scrambler.found_enemy,
    ),
)

ROLES: tuple[tuple[str, tuple[tuple[str, ...], ...]], ...] = (
    (
        "BaseMiner",
        (("deposit_resource",), ("mine_resource",), ("find_extractor",), ("explore",)),
    ),
    (
        "BaseScout",
        (
            ("discover_stations",),
            ("discover_extractors",),
            ("discover_junctions",),
            ("explore",),
        ),
    ),
    ("BaseAligner", (("get_hearts", "get_influence"), ("align_junction",), ("explore",))),
    (
        "BaseScrambler",
        (("get_hearts",), ("find_enemy_junction",), ("scramble_junction",), ("explore",)),
    ),
)
MINER_ROLE, SCOUT_ROLE, ALIGNER_ROLE, SCRAMBLER_ROLE = range(len(ROLES))


def cogs_catalog() -> RoleCatalog:
    """A fresh catalogue with the thirteen behaviours and the four seeded roles."""
    catalog = RoleCatalog()
    for name, source, can_start, act, should_terminate in BEHAVIORS:
        catalog.add_behavior(
            name=name,
            source=source,
            can_start=compiled(can_start),
            act=compiled(act),
            should_terminate=compiled(should_terminate),
        )
    for name, tiers in ROLES:
        found = tuple(RoleTier(catalog.behavior_ids(tier)) for tier in tiers)
        catalog.add_role(RoleDef(found, name=name))
    return catalog


def compiled(function: Hook) -> Hook:
    """Mark a hook as one to compile: the decorator for behaviours of one's own.

    Such a hook takes `(mind, place)` and returns a whole number; one without this mark stays
    plain Python and gets an `AgentView`.
    """
    function.__kinfolk_compiled__ = True  # type: ignore[attr-defined]
    return function


def is_compiled(function: Hook) -> bool:
    """Whether a hook was marked as one to compile."""
    return bool(getattr(function, "__kinfolk_compiled__", False))
