"""Edition A: junctions count as long as a chain of them leads to the hub or ship they belong to."""

from __future__ import annotations

from kinfolk.core.arrays import Bools
from kinfolk.core.jit import inline
from kinfolk.worlds.cogsguard.areas import Land, apart, hand_over
from kinfolk.worlds.cogsguard.log import CUT_OFF, Log, note
from kinfolk.worlds.cogsguard.rules import Rules


@inline
def connect(
    land: Land, r: Rules, w: int, owner: int, first: int, last: int, linked: Bools
) -> None:
    """Mark the owner's junctions that are linked to its hub, or to its ships `first` to `last`."""
    count = land.junctions[w]
    clips = owner == r.teams
    for j in range(count):
        linked[j] = False
        if land.junction_owner[w, j] == owner:
            for home in range(first, last):
                at = land.ship_cell[w, home] if clips else land.hub_cell[w, owner]
                if apart(r.stride, at, land.junction_cell[w, j]) <= r.network_reach:
                    linked[j] = True
    grew = True
    while grew:
        grew = False
        for j in range(count):
            if land.junction_owner[w, j] != owner or linked[j]:
                continue
            for k in range(count):
                near = apart(r.stride, land.junction_cell[w, j], land.junction_cell[w, k])
                if linked[k] and near <= r.network_reach:
                    linked[j] = True
                    grew = True
                    break


@inline
def prune(land: Land, r: Rules, log: Log, w: int, owner: int, linked: Bools) -> None:
    """The owner's junctions that are not linked any more fall to nobody.

    The clips' homes are all their ships; without ships they need none.
    """
    homes = land.ships[w] if owner == r.teams else 1
    if homes == 0:
        return
    connect(land, r, w, owner, 0, homes, linked)
    for j in range(land.junctions[w]):
        if land.junction_owner[w, j] == owner and not linked[j]:
            hand_over(land, r, w, j, -1)
            note(log, w, CUT_OFF, -1, j, owner)


@inline
def in_align_reach(land: Land, r: Rules, w: int, team: int, junction: int) -> bool:
    """Whether a team may align a junction: near its hub, or nearer to a junction it holds."""
    cell = land.junction_cell[w, junction]
    if apart(r.stride, cell, land.hub_cell[w, team]) <= r.align_hub_reach:
        return True
    for j in range(land.junctions[w]):
        if (
            land.junction_owner[w, j] == team
            and apart(r.stride, cell, land.junction_cell[w, j]) <= r.align_reach
        ):
            return True
    return False
