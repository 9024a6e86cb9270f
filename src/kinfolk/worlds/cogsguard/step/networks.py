"""What the clips do to a junction, and the networks of edition A.

In edition A a junction is held while a chain of junctions links it to a hub or ship of its owner.
"""

from __future__ import annotations

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import inline
from kinfolk.worlds.cogsguard import codes
from kinfolk.worlds.cogsguard.rules import CogsguardRules
from kinfolk.worlds.cogsguard.state import GameArrays, record_event
from kinfolk.worlds.cogsguard.territory import (
    change_junction_owner,
    remove_second_owner,
    squared_distance,
)

SEED_TIMER, RESEED_TIMER, ALIGN_TIMER, SCRAMBLE_TIMER = 0, 1, 2, 3  # rows of `rules.timers`


@inline
def is_due(timers: Ints, timer: int, tick: int) -> bool:
    """Return whether an action of the clips is due: at its first tick and then every period.

    Args:
        timers: `[4, 3]`, first tick, period and last tick.
        timer: Row of `timers`.
        tick: Current tick.
    """
    since = tick - timers[timer, 0]
    return bool(since >= 0 and since % timers[timer, 1] == 0 and tick <= timers[timer, 2])


@inline
def link_network(
    game: GameArrays, rules: CogsguardRules, w: int, owner: int, first: int, last: int
) -> None:
    """Mark the owner's junctions that are linked to one of its homes `first` to `last`.

    Args:
        game: Writes the column JUNCTION_LINKED of `junction`.
        rules: Rules of the batch.
        w: World.
        owner: Team, or the number of teams for the clips.
        first: First home, an index into `home_cell`.
        last: End of the range of homes, exclusive.
    """
    junction, stride, reach = game.junction, rules.stride, rules.network_reach
    for j in range(junction.shape[1]):
        junction[w, j, codes.JUNCTION_LINKED] = 0
        cell = junction[w, j, codes.JUNCTION_CELL]
        if cell > 0 and junction[w, j, codes.JUNCTION_OWNER] == owner:
            for i in range(first, last):
                home = game.home_cell[w, i]
                if home > 0 and squared_distance(stride, home, cell) <= reach:
                    junction[w, j, codes.JUNCTION_LINKED] = 1
    grew = True
    while grew:
        grew = False
        for j in range(junction.shape[1]):
            cell, is_linked = (
                junction[w, j, codes.JUNCTION_CELL],
                junction[w, j, codes.JUNCTION_LINKED],
            )
            if cell == 0 or junction[w, j, codes.JUNCTION_OWNER] != owner or is_linked == 1:
                continue
            for k in range(junction.shape[1]):
                other = junction[w, k, codes.JUNCTION_CELL]
                near = squared_distance(stride, cell, other) <= reach
                if junction[w, k, codes.JUNCTION_LINKED] == 1 and near:
                    junction[w, j, codes.JUNCTION_LINKED] = 1
                    grew = True
                    break


@inline
def release_unlinked_junctions(
    game: GameArrays, rules: CogsguardRules, events: Ints, w: int
) -> None:
    """Make junctions neutral that lost their link, in networks that lost a junction.

    The homes of the clips are their ships; without ships they need none.

    Args:
        game: Written.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
    """
    junction, teams = game.junction, game.teams
    for owner in range(rules.teams + 1):
        if teams[w, owner, codes.NETWORK_BROKEN] == 0:
            continue
        teams[w, owner, codes.NETWORK_BROKEN] = 0
        last = game.home_cell.shape[1] if owner == rules.teams else owner + 1
        if owner == last:
            continue
        link_network(game, rules, w, owner, owner, last)
        for j in range(junction.shape[1]):
            is_unlinked = junction[w, j, codes.JUNCTION_LINKED] == 0
            is_owned = junction[w, j, codes.JUNCTION_OWNER] == owner
            if junction[w, j, codes.JUNCTION_CELL] > 0 and is_owned and is_unlinked:
                change_junction_owner(game, rules, w, j, -1)
                record_event(events, w, codes.CUT_OFF_EVENT, -1, j, owner)


@inline
def take_junction(
    game: GameArrays, rules: CogsguardRules, events: Ints, w: int, junction: int, aligns: bool
) -> None:
    """Align a junction with the clips, or make it neutral.

    Args:
        game: Written.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
        junction: Index of the junction.
        aligns: Whether the clips get it; False scrambles it.
    """
    owner = int(game.junction[w, junction, codes.JUNCTION_OWNER])
    kind = codes.CLIPS_ALIGN_EVENT if aligns else codes.CLIPS_SCRAMBLE_EVENT
    record_event(events, w, kind, -1, junction, owner)
    if not aligns and owner == rules.teams:  # quirk `both_marks`: only the team's mark goes
        remove_second_owner(game, w, junction)
        return
    change_junction_owner(game, rules, w, junction, rules.teams if aligns else -1)
    if rules.territory and owner >= 0:
        game.teams[w, owner, codes.NETWORK_BROKEN] = 1
        release_unlinked_junctions(game, rules, events, w)
