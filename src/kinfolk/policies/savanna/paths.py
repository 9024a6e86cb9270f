"""Ways through a window: how far every cell is from a goal, and which move leads there."""

from __future__ import annotations

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import inline
from kinfolk.policies.savanna.window import WALL, Sight

FAR = 1_000_000  # no goal can be reached from here
MOST_COST = 4  # of a goal


@inline
def reset_field(field: Ints, side: int) -> None:
    """Forget all goals."""
    for x in range(side):
        for y in range(side):
            field[x, y] = FAR


@inline
def spread(scene: Ints, side: int, field: Ints) -> None:
    """Count the steps to goals, around walls.

    `field` holds what each goal costs, at most MOST_COST, and FAR elsewhere. It stops once the middle is reached, for all cells nearer to a goal are known by then.
    """
    half = side // 2
    for level in range(side * side):
        if field[half, half] <= level:
            return
        found = False
        for x in range(side):
            for y in range(side):
                if field[x, y] != level:
                    continue
                found = True
                for to_x in range(max(x - 1, 0), min(x + 2, side)):
                    for to_y in range(max(y - 1, 0), min(y + 2, side)):
                        walled = (
                            scene[WALL, to_x, to_y] | scene[WALL, x, to_y] | scene[WALL, to_x, y]
                        )
                        if walled == 0 and field[to_x, to_y] > level + 1:
                            field[to_x, to_y] = level + 1
        if not found and level >= MOST_COST:
            return


@inline
def _line_is_free(scene: Ints, side: int, dx: int, dy: int) -> bool:
    """Whether no wall lies strictly between, whichever way the line is rounded."""
    half, longer = side // 2, max(abs(dx), abs(dy))
    for step in range(1, longer):
        low_x, high_x = (dx * step) // longer, -((-dx * step) // longer)
        low_y, high_y = (dy * step) // longer, -((-dy * step) // longer)
        for x in range(half + low_x, half + high_x + 1):
            for y in range(half + low_y, half + high_y + 1):
                if scene[WALL, x, y] != 0:
                    return False
    return True


@inline
def can_go(scene: Ints, side: int, own: int, dx: int, dy: int) -> bool:
    """Whether a move ends on a free cell and no wall bars the way; staying is always free.

    What lies beyond the window is taken to be free.
    """
    half = side // 2
    x, y = half + dx, half + dy
    if (dx == 0 and dy == 0) or x < 0 or y < 0 or x >= side or y >= side:
        return True
    if scene[WALL, x, y] != 0 or scene[own, x, y] > 0:
        return False
    if abs(dx) == 1 and abs(dy) == 1:
        return bool(scene[WALL, half, y] == 0 and scene[WALL, x, half] == 0)
    return _line_is_free(scene, side, dx, dy)


@inline
def downhill(sight: Sight, group: int, scene: Ints, field: Ints) -> int:
    """The action that ends nearest to a goal, or -1 if none can be reached.

    Of equals the shortest move, so that nobody zigzags; then the first.
    """
    side, own = sight.side[group], sight.own[group]
    half = side // 2
    best, least, shortest = -1, FAR, FAR
    for action in range(sight.actions[group]):
        dx, dy = sight.moves[group, action, 0], sight.moves[group, action, 1]
        if max(abs(dx), abs(dy)) > half or not can_go(scene, side, own, dx, dy):
            continue
        cost, length = field[half + dx, half + dy], dx * dx + dy * dy
        if cost < least or (cost == least and cost < FAR and length < shortest):
            best, least, shortest = action, cost, length
    return best
