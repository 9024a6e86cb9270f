"""What the clips do to a junction, and the networks of edition A.

In edition A a junction is in the network of its owner while a chain of junctions links it to a hub or
ship of the owner. A team holds, and may align from, the junctions in its network. One that falls out
of it becomes neutral; one that never was in it (on drawn maps) stays as it is.
"""

from __future__ import annotations

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import inline
from kinfolk.worlds.cogsguard import codes
from kinfolk.worlds.cogsguard.rules import CogsguardRules
from kinfolk.worlds.cogsguard.state import GameArrays, record_event
from kinfolk.worlds.cogsguard.territory import (
    change_junction_owner,
    remove_owner,
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
def get_link_bit(junction: Ints, w: int, index: int, side: int) -> int:
    """Return the bit of JUNCTION_LINKED that tells about a side; 0 if the junction is not its.

    Args:
        junction: `[W, J, JUNCTION_COLUMNS]`.
        w: World.
        index: Index of the junction.
        side: Team, or the number of teams for the clips.
    """
    if junction[w, index, codes.JUNCTION_CELL] == 0:
        return 0
    if junction[w, index, codes.JUNCTION_OWNER] == side:
        return codes.OWNER_LINKED
    return codes.SECOND_LINKED if junction[w, index, codes.JUNCTION_SECOND_OWNER] == side else 0


@inline
def is_near_network(game: GameArrays, rules: CogsguardRules, w: int, team: int, cell: int) -> bool:
    """Return whether a cell is within `align_reach` of a junction in a team's network.

    Args:
        game: Reads `junction`.
        rules: Rules of the batch.
        w: World.
        team: Team in question.
        cell: Cell in question.
    """
    junction = game.junction
    for j in range(junction.shape[1]):
        bit = get_link_bit(junction, w, j, team)
        if bit & junction[w, j, codes.JUNCTION_LINKED] != 0:
            other = junction[w, j, codes.JUNCTION_CELL]
            if squared_distance(rules.stride, cell, other) <= rules.align_reach:
                return True
    return False


@inline
def reach_junctions(game: GameArrays, rules: CogsguardRules, w: int, side: int) -> None:
    """Mark a side's junctions that a chain of them links to one of its hubs or ships.

    Args:
        game: Writes the column JUNCTION_REACHED of `junction`.
        rules: Rules of the batch.
        w: World.
        side: Team, or the number of teams for the clips.
    """
    junction, stride, reach = game.junction, rules.stride, rules.network_reach
    last = game.home_cell.shape[1] if side == rules.teams else side + 1
    for j in range(junction.shape[1]):
        junction[w, j, codes.JUNCTION_REACHED] = 0
        if get_link_bit(junction, w, j, side) != 0:
            for i in range(side, last):
                home, cell = game.home_cell[w, i], junction[w, j, codes.JUNCTION_CELL]
                if home > 0 and squared_distance(stride, home, cell) <= reach:
                    junction[w, j, codes.JUNCTION_REACHED] = 1
    grew = True
    while grew:
        grew = False
        for j in range(junction.shape[1]):
            is_reached = junction[w, j, codes.JUNCTION_REACHED] == 1
            if is_reached or get_link_bit(junction, w, j, side) == 0:
                continue
            cell = junction[w, j, codes.JUNCTION_CELL]
            for k in range(junction.shape[1]):
                other = junction[w, k, codes.JUNCTION_CELL]
                near = squared_distance(stride, cell, other) <= reach
                if junction[w, k, codes.JUNCTION_REACHED] == 1 and near:
                    junction[w, j, codes.JUNCTION_REACHED] = 1
                    grew = True
                    break


@inline
def link_network(game: GameArrays, rules: CogsguardRules, w: int, side: int) -> None:
    """Take a side's junctions that became linked into its network; a team holds them from then on.

    Args:
        game: Writes `junction` and `teams`.
        rules: Rules of the batch.
        w: World.
        side: Team, or the number of teams for the clips.
    """
    junction = game.junction
    reach_junctions(game, rules, w, side)
    for j in range(junction.shape[1]):
        bit = get_link_bit(junction, w, j, side)
        is_linked = junction[w, j, codes.JUNCTION_LINKED] & bit != 0
        if bit != 0 and not is_linked and junction[w, j, codes.JUNCTION_REACHED] == 1:
            junction[w, j, codes.JUNCTION_LINKED] |= bit
            if side < rules.teams:
                game.teams[w, side, codes.JUNCTIONS_HELD] += 1


@inline
def update_network(
    game: GameArrays, rules: CogsguardRules, events: Ints, w: int, side: int
) -> None:
    """Update a side's network: junctions that became linked join it, those cut off leave their owner.

    Args:
        game: Written.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
        side: Team, or the number of teams for the clips; -1 for nobody.
    """
    junction = game.junction
    if side < 0:
        return
    link_network(game, rules, w, side)
    for j in range(junction.shape[1]):
        bit = get_link_bit(junction, w, j, side)
        is_linked = junction[w, j, codes.JUNCTION_LINKED] & bit != 0
        if is_linked and junction[w, j, codes.JUNCTION_REACHED] == 0:
            if bit == codes.OWNER_LINKED:
                remove_owner(game, rules, w, j)
            else:
                remove_second_owner(game, w, j)
            record_event(events, w, codes.CUT_OFF_EVENT, -1, j, side)


@inline
def scramble_owner(
    game: GameArrays, rules: CogsguardRules, events: Ints, w: int, junction: int
) -> None:
    """Take a junction from its owner, and in edition A those that are cut off with it.

    With the quirk `unlinked_stay`, a junction that is in no network stays with its owner.

    Args:
        game: Written.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
        junction: Index of the junction.
    """
    owner = int(game.junction[w, junction, codes.JUNCTION_OWNER])
    is_linked = game.junction[w, junction, codes.JUNCTION_LINKED] & codes.OWNER_LINKED != 0
    if is_linked or not (rules.territory and rules.unlinked_stay):
        remove_owner(game, rules, w, junction)
    if rules.territory:
        update_network(game, rules, events, w, owner)


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
    if not aligns:
        scramble_owner(game, rules, events, w, junction)
        return
    change_junction_owner(game, rules, w, junction, rules.teams)
    if rules.territory:
        game.junction[w, junction, codes.JUNCTION_LINKED] = codes.OWNER_LINKED  # until the update
        update_network(game, rules, events, w, rules.teams)
