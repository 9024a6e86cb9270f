"""Navigate inside an agent's window: distance field to goals, greedy descent, and exploration.

The distance field counts the steps from every visible cell to the nearest goal. Exploration walks
straight on for some ticks and turns where the path is blocked. The world does not report whether a
move succeeded, so an agent compares the walls and grass in view with those of the tick before.
"""

from __future__ import annotations

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import inline
from kinfolk.core.random import randint
from kinfolk.policies.scripted.savanna.scripted_policy import GRASS, WALL, WindowDecoder

UNREACHABLE = 1_000_000  # distance of cells from which no goal can be reached
MAX_GOAL_COST = 4  # the largest value that a goal may have in the distance field

HEADING, TICKS_LEFT, VIEW_HASH = range(3)  # columns of the memory field `walk`
_MIN_TICKS, _MAX_TICKS = 8, 16  # ticks in one direction
_TRIES = 8  # headings drawn before staying put
_MODULUS = 1_000_003  # prime, of the hash of a view


@inline
def reset_field(distances: Ints, side: int) -> None:
    """Set every cell of the distance field to UNREACHABLE."""
    for x in range(side):
        for y in range(side):
            distances[x, y] = UNREACHABLE


@inline
def compute_distances(window: Ints, side: int, distances: Ints) -> None:
    """Fill the distance field by breadth-first search around walls.

    The search stops once the middle is reached: all cells nearer to a goal are known by then.

    Args:
        window: `[4, side, side]`, the decoded window.
        side: Cells across.
        distances: `[side, side]`, the cost of each goal (at most MAX_GOAL_COST) and UNREACHABLE
            elsewhere; changed to the steps to the nearest goal.
    """
    half = side // 2
    for level in range(side * side):
        if distances[half, half] <= level:
            return
        any_at_level = False
        for x in range(side):
            for y in range(side):
                if distances[x, y] != level:
                    continue
                any_at_level = True
                for to_x in range(max(x - 1, 0), min(x + 2, side)):
                    for to_y in range(max(y - 1, 0), min(y + 2, side)):
                        corners = window[WALL, x, to_y] | window[WALL, to_x, y]
                        walled = window[WALL, to_x, to_y] | corners
                        if walled == 0 and distances[to_x, to_y] > level + 1:
                            distances[to_x, to_y] = level + 1
        if not any_at_level and level >= MAX_GOAL_COST:
            return


@inline
def _is_line_free(window: Ints, side: int, dx: int, dy: int) -> bool:
    """Return whether no wall lies strictly between the middle and a cell, on any rounded line.

    Args:
        window: `[4, side, side]`, the decoded window.
        side: Cells across.
        dx: Offset in x of the cell from the middle.
        dy: Offset in y of the cell from the middle.
    """
    half, length = side // 2, max(abs(dx), abs(dy))
    for step in range(1, length):
        low_x, high_x = (dx * step) // length, -((-dx * step) // length)
        low_y, high_y = (dy * step) // length, -((-dy * step) // length)
        for x in range(half + low_x, half + high_x + 1):
            for y in range(half + low_y, half + high_y + 1):
                if window[WALL, x, y] != 0:
                    return False
    return True


@inline
def can_move(window: Ints, side: int, species: int, dx: int, dy: int) -> bool:
    """Return whether a move ends on a free cell and no wall bars it; staying is always possible.

    Cells beyond the window are taken to be free.

    Args:
        window: `[4, side, side]`, the decoded window.
        side: Cells across.
        species: Plane of the agent's own species, whose members block it.
        dx: Step in x.
        dy: Step in y.
    """
    half = side // 2
    x, y = half + dx, half + dy
    if (dx == 0 and dy == 0) or x < 0 or y < 0 or x >= side or y >= side:
        return True
    if window[WALL, x, y] != 0 or window[species, x, y] > 0:
        return False
    if abs(dx) == 1 and abs(dy) == 1:
        return bool(window[WALL, half, y] == 0 and window[WALL, x, half] == 0)
    return _is_line_free(window, side, dx, dy)


@inline
def choose_descent(decoder: WindowDecoder, group: int, window: Ints, distances: Ints) -> int:
    """Return the action that ends nearest to a goal, or -1 if no goal can be reached.

    Of equals it takes the shortest move, so that agents do not zigzag; then the first.

    Args:
        decoder: Moves of the groups.
        group: Group of the agent.
        window: `[4, side, side]`, the decoded window.
        distances: `[side, side]`, the computed distance field.
    """
    side, species = decoder.side[group], decoder.species[group]
    half = side // 2
    best, least, shortest = -1, UNREACHABLE, UNREACHABLE
    for action in range(decoder.n_actions[group]):
        dx, dy = decoder.moves[group, action, 0], decoder.moves[group, action, 1]
        if max(abs(dx), abs(dy)) > half or not can_move(window, side, species, dx, dy):
            continue
        cost, length = distances[half + dx, half + dy], dx * dx + dy * dy
        if cost < least or (cost == least and cost < UNREACHABLE and length < shortest):
            best, least, shortest = action, cost, length
    return best


@inline
def _hash_view(window: Ints, side: int) -> int:
    """Return a hash of the walls and grass in view; 0 if there are none."""
    total, digest = 0, 0
    for x in range(side):
        for y in range(side):
            mark = 1 if window[WALL, x, y] != 0 else (2 if window[GRASS, x, y] > 0 else 0)
            total += mark
            digest = (digest * 31 + mark) % _MODULUS
    return digest + 1 if total > 0 else 0


@inline
def _find_action_along(decoder: WindowDecoder, group: int, window: Ints, heading: int) -> int:
    """Return the action that goes farthest along a heading, or -1 if all are barred.

    Args:
        decoder: Moves of the groups.
        group: Group of the agent.
        window: `[4, side, side]`, the decoded window.
        heading: Direction, 0 to 7.
    """
    compass = heading if heading < 4 else heading + 1  # the middle of 3 x 3 is no direction
    to_x, to_y = compass // 3 - 1, compass % 3 - 1
    best, best_score = -1, 0
    for action in range(decoder.n_actions[group]):
        dx, dy = decoder.moves[group, action, 0], decoder.moves[group, action, 1]
        gain = dx * to_x + dy * to_y
        score = 8 * gain - abs(dx * to_y - dy * to_x)
        if gain <= 0 or score <= best_score:
            continue
        if can_move(window, decoder.side[group], decoder.species[group], dx, dy):
            best, best_score = action, score
    return best


@inline
def explore(decoder: WindowDecoder, group: int, window: Ints, walk: Ints, key: int) -> int:
    """Return the next action of a walk; it stays put only if every heading tried is barred.

    Args:
        decoder: Moves of the groups.
        group: Group of the agent.
        window: `[4, side, side]`, the decoded window.
        walk: `[3]`, the agent's state of exploration, changed in place.
        key: Random key of this tick.
    """
    view = _hash_view(window, decoder.side[group])
    stuck = view != 0 and view == walk[VIEW_HASH]
    walk[VIEW_HASH] = view
    action = -1
    if walk[TICKS_LEFT] > 0 and not stuck:
        walk[TICKS_LEFT] -= 1
        action = _find_action_along(decoder, group, window, walk[HEADING])
    for attempt in range(_TRIES):
        if action >= 0:
            return action
        walk[HEADING] = randint(key, attempt, 8)
        extra_ticks = randint(key, _TRIES, _MAX_TICKS - _MIN_TICKS + 1)
        walk[TICKS_LEFT] = _MIN_TICKS + extra_ticks
        action = _find_action_along(decoder, group, window, walk[HEADING])
    return action if action >= 0 else stay_action(decoder, group)


@inline
def stay_action(decoder: WindowDecoder, group: int) -> int:
    """Return the action that does not move, or 0 if there is none."""
    for action in range(decoder.n_actions[group]):
        if decoder.moves[group, action, 0] == 0 and decoder.moves[group, action, 1] == 0:
            return action
    return 0


@inline
def forget_view(walk: Ints) -> None:
    """Clear the remembered view, after a tick in which the agent did not explore.

    An unchanged view then does not mean that it is stuck.
    """
    walk[VIEW_HASH] = 0
