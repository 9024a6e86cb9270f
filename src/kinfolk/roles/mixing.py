"""The next line-ups: the best stay, and children of theirs try new roles and new mixes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from kinfolk.core.keys import fold
from kinfolk.roles.breeding import child_of
from kinfolk.roles.coordinator import EvolutionaryRoleCoordinator
from kinfolk.roles.dice import Dice
from kinfolk.roles.lineups import (
    Lineup,
    MayReplace,
    anybody,
    best_first,
    crossed,
    shifted,
    with_newborn,
    with_one_changed,
)

_TRIES = 6  # to find a mix that is not there yet
_HOW, _CHANGE, _DRAW = range(3)  # branches of a child's key
# How a child comes about, and how often. A newborn of the pool is tried if one waits.
_WAYS = {"newborn": 2.0, "variant": 6.0, "shift": 2.0, "cross": 2.0, "draw": 1.0}


def next_lineups(
    coordinator: EvolutionaryRoleCoordinator,
    lineups: Sequence[Lineup],
    size: int,
    survivors: int,
    newborns: Sequence[int],
    breed: bool,
    key: int,
    may_replace: MayReplace = anybody,
) -> list[Lineup]:
    """The best `survivors` and, up to `size`, children of theirs.

    Of a child the mean of the survivors is expected. Roles that are bred for it enter the pool.
    A newborn that may replace nobody stays in the pool, unplayed; it may still become a parent.

    Args:
        coordinator: Whose roles they are.
        lineups: Those that have played.
        size: How many there shall be.
        survivors: How many stay.
        newborns: Ids of roles that nobody has played yet, to be tried in this order.
        breed: Whether roles may be bred for line-ups.
        key: Where all chance comes from.
        may_replace: Which role may take the place of which; children keep to it.
    """
    first: dict[tuple[int, ...], Lineup] = {}
    for lineup in best_first(lineups):  # of copies, which play the same games, one is enough
        first.setdefault(lineup.roles, lineup)
    kept = list(first.values())[:survivors]
    expected = sum(lineup.fitness for lineup in kept) / len(kept)
    seated = sorted({role for lineup in kept for role in lineup.roles})
    # One that fits nowhere would keep the others waiting behind it.
    waiting = [i for i in newborns if any(may_replace(i, role) for role in seated)]
    made = list(kept)
    for number in range(size - len(kept)):
        known = {lineup.roles for lineup in made}
        for attempt in range(_TRIES):
            own = fold(fold(key, number), attempt)
            child = _child(coordinator, kept, waiting, breed, own, may_replace)
            if child.roles not in known:
                break
        else:
            child = _any_other(coordinator, kept, known, fold(key, number), may_replace)
        waiting = [role for role in waiting if role not in child.roles]
        made.append(replace(child, prior=expected))
    return made


def _child(
    coordinator: EvolutionaryRoleCoordinator,
    kept: Sequence[Lineup],
    waiting: Sequence[int],
    breed: bool,
    key: int,
    may_replace: MayReplace,
) -> Lineup:
    dice, change, draw = Dice(fold(key, _HOW)), fold(key, _CHANGE), fold(key, _DRAW)
    possible = {"newborn": bool(waiting), "variant": breed}
    ways = [way for way in _WAYS if possible.get(way, True)]
    way = dice.weighted(ways, [_WAYS[one] for one in ways])
    # The best has twice the weight of the second, and so on.
    parent = dice.weighted(kept, [0.5**rank for rank in range(len(kept))])
    if way == "newborn":
        return with_newborn(coordinator.catalog, parent, waiting[0], change, may_replace)
    if way == "variant":
        return _variant(coordinator, parent, change, draw, may_replace)
    if way == "draw":
        return with_one_changed(parent, coordinator.draw_role(draw), change, may_replace)
    if way == "cross" and len(kept) > 1:
        return crossed(parent, dice.choice(kept), change, may_replace)
    return shifted(parent, change, may_replace)


def _variant(
    coordinator: EvolutionaryRoleCoordinator,
    parent: Lineup,
    key: int,
    draw: int,
    may_replace: MayReplace,
) -> Lineup:
    """A child of one of its own roles, in its place: also of crafts that score little themselves."""
    catalog = coordinator.catalog
    role = catalog.roles[Dice(key).choice(parent.roles)]
    others = [i for i in {*coordinator.pool, *parent.roles} if i != role.id]
    mate = catalog.roles[Dice(draw).choice(sorted(others))]
    made = coordinator.take_in(child_of(catalog, role, mate, key, coordinator.config))
    return with_newborn(catalog, parent, made.id, draw, may_replace)


def _any_other(
    coordinator: EvolutionaryRoleCoordinator,
    kept: Sequence[Lineup],
    known: Collection[tuple[int, ...]],
    key: int,
    may_replace: MayReplace,
) -> Lineup:
    """A line-up that is not there yet, with any role of the pool; a copy where there is none."""
    others = {
        child.roles: child
        for parent in kept
        for role in coordinator.pool
        for child in [with_one_changed(parent, role, fold(key, role), may_replace)]
        if child.roles not in known
    }
    return Dice(key).choice(list(others.values()) or kept)
