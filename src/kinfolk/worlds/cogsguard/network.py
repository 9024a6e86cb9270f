"""Edition A: junctions count as long as a chain of them leads to the hub or ship they belong to."""

from __future__ import annotations

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import inline
from kinfolk.worlds.cogsguard.areas import Land, apart, hand_over
from kinfolk.worlds.cogsguard.codes import BROKEN, LINKED, WHERE, WHOSE
from kinfolk.worlds.cogsguard.log import CUT_OFF, note
from kinfolk.worlds.cogsguard.rules import Rules


@inline
def connect(
    junction: Ints, home: Ints, stride: int, reach: int, w: int, owner: int, first: int, last: int
) -> None:
    """Mark the owner's junctions that are linked to one of its homes, `first` to `last`."""
    for j in range(junction.shape[1]):
        junction[w, j, LINKED] = 0
        if junction[w, j, WHERE] > 0 and junction[w, j, WHOSE] == owner:
            for i in range(first, last):
                near = apart(stride, home[w, i], junction[w, j, WHERE]) <= reach
                if home[w, i] > 0 and near:
                    junction[w, j, LINKED] = 1
    grew = True
    while grew:
        grew = False
        for j in range(junction.shape[1]):
            if junction[w, j, WHERE] == 0 or junction[w, j, WHOSE] != owner:
                continue
            if junction[w, j, LINKED] == 1:
                continue
            for k in range(junction.shape[1]):
                near = apart(stride, junction[w, j, WHERE], junction[w, k, WHERE]) <= reach
                if junction[w, k, LINKED] == 1 and near:
                    junction[w, j, LINKED] = 1
                    grew = True
                    break


@inline
def prune(land: Land, r: Rules, log: Ints, w: int) -> None:
    """In networks that lost a junction, those that are not linked any more fall to nobody.

    The homes of the clips are their ships; where there are none they need none.
    """
    junction, home = land.junction, land.home
    for owner in range(r.teams + 1):
        if land.teams[w, owner, BROKEN] == 0:
            continue
        land.teams[w, owner, BROKEN] = 0
        first, last = owner, owner + 1
        if owner == r.teams:
            last = home.shape[1]
        if first == last:
            continue
        connect(junction, home, r.stride, r.network_reach, w, owner, first, last)
        for j in range(junction.shape[1]):
            alone = junction[w, j, WHOSE] == owner and junction[w, j, LINKED] == 0
            if junction[w, j, WHERE] > 0 and alone:
                hand_over(land, r, w, j, -1)
                note(log, w, CUT_OFF, -1, j, owner)


@inline
def in_align_reach(junction: Ints, home: Ints, r: Rules, w: int, team: int, number: int) -> bool:
    """Whether a team may align a junction: near its hub, or nearer to a junction it holds."""
    cell = junction[w, number, WHERE]
    if apart(r.stride, cell, home[w, team]) <= r.align_hub_reach:
        return True
    for j in range(junction.shape[1]):
        near = apart(r.stride, cell, junction[w, j, WHERE]) <= r.align_reach
        if junction[w, j, WHERE] > 0 and junction[w, j, WHOSE] == team and near:
            return True
    return False
