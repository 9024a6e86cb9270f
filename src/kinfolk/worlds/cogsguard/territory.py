"""Objects on cells, what teams see of them, and areas.

Areas are updated when a junction changes its owner: each source adds its cover to the cells around
it, and two bits of every team's view say whether a cell is in a friendly or an enemy area.
"""

from __future__ import annotations

from kinfolk.core.jit import inline
from kinfolk.worlds.cogsguard import codes
from kinfolk.worlds.cogsguard.rules import JUNCTION_SOURCE, CogsguardRules
from kinfolk.worlds.cogsguard.state import CellWords, GameArrays, Int32Array


@inline
def squared_distance(stride: int, a: int, b: int) -> int:
    """Return the squared Euclidean distance of two cells.

    Args:
        stride: Cells per line.
        a: First cell.
        b: Second cell.
    """
    y, x = a // stride - b // stride, a % stride - b % stride
    return y * y + x * x


@inline
def write_cell(view: CellWords, w: int, cell: int, kind: int, owner: int, extra: int) -> None:
    """Show an object on a cell to every team.

    Args:
        view: `[W, T, cells]`, written.
        w: World.
        cell: Cell of the object.
        kind: Index into `KINDS`.
        owner: Its team, the number of teams for the clips, -1 for nobody.
        extra: Bits of an agent's gear and vibe.
    """
    teams = view.shape[1]
    for team in range(teams):
        mark = codes.OTHER
        if owner < 0:
            mark = codes.NOBODY
        elif owner == team:
            mark = codes.OWN
        elif owner == teams:
            mark = codes.CLIPS
        area = int(view[w, team, cell]) & codes.AREA_MASK
        view[w, team, cell] = area | kind | mark << codes.OWNER_SHIFT | extra


@inline
def clear_cell(game: GameArrays, w: int, cell: int) -> None:
    """Remove what is on a cell.

    Args:
        game: Writes `team_view` and `cell_detail`.
        w: World.
        cell: Cell to clear.
    """
    write_cell(game.team_view, w, cell, codes.EMPTY, -1, 0)
    game.cell_detail[w, cell] = -1


@inline
def find_area_owner(area_cover: Int32Array, w: int, cell: int) -> int:
    """Return the owner of a cell in edition A: -1 if nobody covers it or two are equally strong.

    Args:
        area_cover: `[W, T + 1, cells]`.
        w: World.
        cell: Cell in question.
    """
    best, owner = 0, -1
    for side in range(area_cover.shape[1]):
        strength = int(area_cover[w, side, cell])
        if strength > best:
            best, owner = strength, side
        elif strength == best:
            owner = -1
    return owner


@inline
def update_area_bits(
    view: CellWords, area_cover: Int32Array, territory: bool, w: int, cell: int
) -> None:
    """Update in every team's view whether a cell is in a friendly or an enemy area, or both.

    Args:
        view: `[W, T, cells]`, written.
        area_cover: `[W, T + 1, cells]`.
        territory: Whether the rules are those of edition A.
        w: World.
        cell: Cell to update.
    """
    owner = find_area_owner(area_cover, w, cell) if territory else -1
    for team in range(view.shape[1]):
        if territory:
            friendly = owner == team
            enemy = owner >= 0 and owner != team
        else:
            friendly, enemy = area_cover[w, team, cell] > 0, False
            for side in range(area_cover.shape[1]):
                if side != team and area_cover[w, side, cell] > 0:
                    enemy = True
        word = int(view[w, team, cell]) & (codes.FRIENDLY_AREA - 1)
        if friendly:
            word |= codes.FRIENDLY_AREA
        if enemy:
            word |= codes.ENEMY_AREA
        view[w, team, cell] = word


@inline
def add_area(
    game: GameArrays, rules: CogsguardRules, w: int, owner: int, cell: int, source: int, sign: int
) -> None:
    """Add the area of a junction, hub or ship around `cell`, or remove it.

    Args:
        game: Writes `area_cover` and `team_view`.
        rules: Rules of the batch.
        w: World.
        owner: Team, or the number of teams for the clips.
        cell: Cell of the source.
        source: JUNCTION_SOURCE or HUB_SOURCE.
        sign: 1 to add, -1 to remove.
    """
    view, cover, strength, pad = game.team_view, game.area_cover, rules.strength, rules.pad
    reach = rules.junction_area if source == JUNCTION_SOURCE else rules.hub_area
    center_y, center_x = cell // rules.stride, cell % rules.stride
    bottom, right = pad + rules.height, pad + rules.width
    for y in range(max(center_y - reach, pad), min(center_y + reach + 1, bottom)):
        for x in range(max(center_x - reach, pad), min(center_x + reach + 1, right)):
            dy, dx = y - center_y, x - center_x
            amount = strength[source, dy * dy + dx * dx]
            if amount != 0:
                covered = y * rules.stride + x
                cover[w, owner, covered] += sign * amount
                update_area_bits(view, cover, rules.territory, w, covered)


@inline
def remove_second_owner(game: GameArrays, w: int, junction: int) -> None:
    """Remove the mark of a team from a junction of the clips (quirk `both_marks`).

    Args:
        game: Writes `junction` and `teams`.
        w: World.
        junction: Index of the junction.
    """
    team = game.junction[w, junction, codes.JUNCTION_SECOND_OWNER]
    if team >= 0:
        if game.junction[w, junction, codes.JUNCTION_LINKED] & codes.SECOND_LINKED != 0:
            game.teams[w, team, codes.JUNCTIONS_HELD] -= 1
        game.teams[w, team, codes.JUNCTIONS_LOST] += 1
        game.junction[w, junction, codes.JUNCTION_SECOND_OWNER] = -1
        game.junction[w, junction, codes.JUNCTION_LINKED] &= codes.OWNER_LINKED
        game.junction[w, junction, codes.JUNCTION_ALIGNED_BY] = -1


@inline
def change_junction_owner(
    game: GameArrays, rules: CogsguardRules, w: int, junction: int, owner: int
) -> None:
    """Give a junction to another owner, with its area and counters.

    In edition A a team holds it only once `networks.link_network` linked it.

    Args:
        game: Written.
        rules: Rules of the batch.
        w: World.
        junction: Index of the junction.
        owner: New owner; -1 for nobody.
    """
    remove_second_owner(game, w, junction)
    cell = game.junction[w, junction, codes.JUNCTION_CELL]
    old_owner = game.junction[w, junction, codes.JUNCTION_OWNER]
    for is_gain in range(2):
        side = old_owner if is_gain == 0 else owner
        if side >= 0:
            add_area(game, rules, w, side, cell, JUNCTION_SOURCE, 2 * is_gain - 1)
            counter = codes.JUNCTIONS_LOST if is_gain == 0 else codes.JUNCTIONS_WON
            game.teams[w, side, counter] += 1
            is_linked = game.junction[w, junction, codes.JUNCTION_LINKED] & codes.OWNER_LINKED
            if not rules.territory or side == rules.teams or is_linked != 0:
                game.teams[w, side, codes.JUNCTIONS_HELD] += 2 * is_gain - 1
        game.junction[w, junction, codes.JUNCTION_LINKED] = 0
    game.junction[w, junction, codes.JUNCTION_OWNER] = owner
    game.junction[w, junction, codes.JUNCTION_ALIGNED_BY] = -1
    if owner != rules.teams and not (rules.territory and rules.stale_chains):
        game.junction[w, junction, codes.JUNCTION_CLIPS_MARKS] = 0
    write_cell(game.team_view, w, cell, codes.JUNCTION, owner, 0)


@inline
def remove_owner(game: GameArrays, rules: CogsguardRules, w: int, junction: int) -> None:
    """Take a junction from its owner: a second owner keeps it, else it is neutral.

    Args:
        game: Written.
        rules: Rules of the batch.
        w: World.
        junction: Index of the junction.
    """
    second = game.junction[w, junction, codes.JUNCTION_SECOND_OWNER]
    is_linked = game.junction[w, junction, codes.JUNCTION_LINKED] & codes.SECOND_LINKED != 0
    row = game.junction[w, junction, codes.JUNCTION_ALIGNED_BY]
    game.junction[w, junction, codes.JUNCTION_SECOND_OWNER] = -1
    change_junction_owner(game, rules, w, junction, second)
    if second >= 0:  # it won and holds the junction already
        game.teams[w, second, codes.JUNCTIONS_WON] -= 1
        game.junction[w, junction, codes.JUNCTION_LINKED] = codes.OWNER_LINKED * is_linked
        game.junction[w, junction, codes.JUNCTION_ALIGNED_BY] = row
