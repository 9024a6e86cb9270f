"""Networks of edition A: a junction is held while a chain of junctions links it to a hub or ship."""

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
    """Mark the owner's junctions that are linked to one of its homes `first` to `last`.

    Args:
        junction: `[W, J, JUNCTION_COLUMNS]`, writes JUNCTION_LINKED.
        home_cell: `[W, T + ships]`, cells of hubs and ships.
        stride: Cells per line.
        reach: Squared length of a link.
        w: World.
        owner: Team, or the number of teams for the clips.
        first: First home.
        last: End of the range of homes, exclusive.
    """
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
    """Make junctions neutral that lost their link, in networks that lost a junction.

    The homes of the clips are their ships; without ships they need none.

    Args:
        map_arrays: Written.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
    """
    junction, home_cell = map_arrays.junction, map_arrays.home_cell
    for owner in range(rules.teams + 1):
        if map_arrays.teams[w, owner, NETWORK_BROKEN] == 0:
            continue
        map_arrays.teams[w, owner, NETWORK_BROKEN] = 0
        first, last = owner, owner + 1
        if owner == rules.teams:
            last = home_cell.shape[1]
        if first == last:
            continue
        link_network(junction, home_cell, rules.stride, rules.network_reach, w, owner, first, last)
        for j in range(junction.shape[1]):
            is_unlinked = (
                junction[w, j, JUNCTION_OWNER] == owner and junction[w, j, JUNCTION_LINKED] == 0
            )
            if junction[w, j, JUNCTION_CELL] > 0 and is_unlinked:
                change_junction_owner(map_arrays, rules, w, j, -1)
                record_event(events, w, CUT_OFF, -1, j, owner)


@inline
def is_in_align_reach(
    junction: Ints, home_cell: Ints, rules: CogsguardRules, w: int, team: int, junction_index: int
) -> bool:
    """Return whether a team may align a junction: it is near its hub or one of its junctions.

    Args:
        junction: `[W, J, JUNCTION_COLUMNS]`.
        home_cell: `[W, T + ships]`, cells of hubs and ships.
        rules: Rules of the batch.
        w: World.
        team: Team that aligns.
        junction_index: Which junction.
    """
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
