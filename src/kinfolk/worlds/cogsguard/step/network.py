"""Edition A: junctions count as long as a chain of them leads to the hub or ship they belong to."""

from __future__ import annotations

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import inline
from kinfolk.worlds.cogsguard.codes import (
    JUNCTION_CELL,
    JUNCTION_LINKED,
    JUNCTION_OWNER,
    NETWORK_BROKEN,
)
from kinfolk.worlds.cogsguard.events import CUT_OFF, record_event
from kinfolk.worlds.cogsguard.rules import CogsguardRules
from kinfolk.worlds.cogsguard.territory import MapArrays, change_junction_owner, squared_distance


@inline
def link_network(
    junction: Ints,
    home_cell: Ints,
    stride: int,
    reach: int,
    w: int,
    owner: int,
    first: int,
    last: int,
) -> None:
    """Mark the owner's junctions that are linked to one of its homes, `first` to `last`."""
    for j in range(junction.shape[1]):
        junction[w, j, JUNCTION_LINKED] = 0
        if junction[w, j, JUNCTION_CELL] > 0 and junction[w, j, JUNCTION_OWNER] == owner:
            for i in range(first, last):
                near = (
                    squared_distance(stride, home_cell[w, i], junction[w, j, JUNCTION_CELL])
                    <= reach
                )
                if home_cell[w, i] > 0 and near:
                    junction[w, j, JUNCTION_LINKED] = 1
    grew = True
    while grew:
        grew = False
        for j in range(junction.shape[1]):
            if junction[w, j, JUNCTION_CELL] == 0 or junction[w, j, JUNCTION_OWNER] != owner:
                continue
            if junction[w, j, JUNCTION_LINKED] == 1:
                continue
            for k in range(junction.shape[1]):
                near = (
                    squared_distance(
                        stride, junction[w, j, JUNCTION_CELL], junction[w, k, JUNCTION_CELL]
                    )
                    <= reach
                )
                if junction[w, k, JUNCTION_LINKED] == 1 and near:
                    junction[w, j, JUNCTION_LINKED] = 1
                    grew = True
                    break


@inline
def release_unlinked_junctions(
    map_arrays: MapArrays, rules: CogsguardRules, events: Ints, w: int
) -> None:
    """In networks that lost a junction, those that are not linked any more fall to nobody.

    The homes of the clips are their ships; where there are none they need none.
    """
    junction, home = map_arrays.junction, map_arrays.home_cell
    for owner in range(rules.teams + 1):
        if map_arrays.teams[w, owner, NETWORK_BROKEN] == 0:
            continue
        map_arrays.teams[w, owner, NETWORK_BROKEN] = 0
        first, last = owner, owner + 1
        if owner == rules.teams:
            last = home.shape[1]
        if first == last:
            continue
        link_network(junction, home, rules.stride, rules.network_reach, w, owner, first, last)
        for j in range(junction.shape[1]):
            alone = junction[w, j, JUNCTION_OWNER] == owner and junction[w, j, JUNCTION_LINKED] == 0
            if junction[w, j, JUNCTION_CELL] > 0 and alone:
                change_junction_owner(map_arrays, rules, w, j, -1)
                record_event(events, w, CUT_OFF, -1, j, owner)


@inline
def is_in_align_reach(
    junction: Ints, home_cell: Ints, rules: CogsguardRules, w: int, team: int, junction_index: int
) -> bool:
    """Whether a team may align a junction: near its hub, or nearer to a junction it holds."""
    cell = junction[w, junction_index, JUNCTION_CELL]
    if squared_distance(rules.stride, cell, home_cell[w, team]) <= rules.align_hub_reach:
        return True
    for j in range(junction.shape[1]):
        near = (
            squared_distance(rules.stride, cell, junction[w, j, JUNCTION_CELL]) <= rules.align_reach
        )
        if junction[w, j, JUNCTION_CELL] > 0 and junction[w, j, JUNCTION_OWNER] == team and near:
            return True
    return False
