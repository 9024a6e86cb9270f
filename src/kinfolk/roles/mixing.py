"""The next line-ups: the best stay, and children of theirs try new roles and new mixes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kinfolk.core.keys import fold
from kinfolk.roles.catalog import RoleCatalog
from kinfolk.roles.dice import Dice
from kinfolk.roles.lineups import (
    Lineup,
    best_first,
    crossed,
    shifted,
    with_newborn,
    with_one_changed,
)

_TRIES = 6  # to find a mix that is not there yet
_HOW, _CHANGE, _DRAW = range(3)  # branches of a child's key


def next_lineups(
    catalog: RoleCatalog,
    lineups: Sequence[Lineup],
    size: int,
    survivors: int,
    newborns: Sequence[int],
    draw_role: Callable[[int], int],
    key: int,
) -> list[Lineup]:
    """The best `survivors` and, up to `size`, children of theirs.

    Args:
        catalog: Where the roles are.
        lineups: Those that have played.
        size: How many there shall be.
        survivors: How many stay.
        newborns: Ids of roles that nobody has played yet; each is tried, the first ones first.
        draw_role: A role from the pool, by a key.
        key: Where all chance comes from.
    """
    kept = best_first(lineups)[:survivors]
    made, waiting = list(kept), list(newborns)
    for number in range(size - len(kept)):
        newborn = waiting.pop(0) if waiting else None
        known = {lineup.roles for lineup in made}
        for attempt in range(_TRIES):
            own = fold(fold(key, number), attempt)
            child = _child(catalog, kept, newborn, draw_role, own)
            if child.roles not in known:
                break
        made.append(child)
    return made


def _child(
    catalog: RoleCatalog,
    kept: Sequence[Lineup],
    newborn: int | None,
    draw_role: Callable[[int], int],
    key: int,
) -> Lineup:
    dice, change = Dice(fold(key, _HOW)), fold(key, _CHANGE)
    # The best has twice the weight of the second, and so on.
    parent = dice.weighted(kept, [0.5**rank for rank in range(len(kept))])
    if newborn is not None:
        parents = set(catalog.roles[newborn].parents)
        if parents and not parents & set(parent.roles):
            related = [lineup for lineup in kept if parents & set(lineup.roles)]
            parent = related[0] if related else parent
        return with_newborn(catalog, parent, newborn, change)
    kind = dice.below(3)
    if kind == 0:
        return with_one_changed(parent, draw_role(fold(key, _DRAW)), change)
    if kind == 1 or len(kept) < 2:
        return shifted(parent, change)
    return crossed(parent, dice.choice(kept), change)
