"""Navigate inside an agent's window: distance field to goals, greedy descent, and exploration.

The distance field counts the steps from every visible cell to the nearest goal. Exploration walks
straight on for some ticks and turns where the way is blocked. The world does not say whether a move
succeeded, so an agent compares the walls and grass it sees with those of the tick before.
"""

from __future__ import annotations

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import inline
from kinfolk.core.random import randint
from kinfolk.policies.base import MemoryField
from kinfolk.policies.scripted.savanna.window_decoder import GRASS, WALL, WindowDecoder

UNREACHABLE = 1_000_000  # no goal can be reached from here

MAX_GOAL_COST = 4  # of a goal


@inline
def reset_field(distances: Ints, side: int) -> None:
    """Forget all goals."""
    for x in range(side):
        for y in range(side):
            distances[x, y] = UNREACHABLE


@inline
def compute_distances(window: Ints, side: int, distances: Ints) -> None:
    """Count the steps to goals, around walls.

    `distances` holds what each goal costs, at most MOST_COST, and FAR elsewhere. It stops once the middle is reached, for all cells nearer to a goal are known by then.
    """
    half = side // 2
    for level in range(side * side):
        if distances[half, half] <= level:
            return
        found = False
        for x in range(side):
            for y in range(side):
                if distances[x, y] != level:
                    continue
                found = True
                for to_x in range(max(x - 1, 0), min(x + 2, side)):
                    for to_y in range(max(y - 1, 0), min(y + 2, side)):
                        walled = (
                            window[WALL, to_x, to_y] | window[WALL, x, to_y] | window[WALL, to_x, y]
                        )
                        if walled == 0 and distances[to_x, to_y] > level + 1:
                            distances[to_x, to_y] = level + 1
        if not found and level >= MAX_GOAL_COST:
            return


@inline
def _line_is_free(window: Ints, side: int, dx: int, dy: int) -> bool:
    """Whether no wall lies strictly between, whichever way the line is rounded."""
    half, longer = side // 2, max(abs(dx), abs(dy))
    for step in range(1, longer):
        low_x, high_x = (dx * step) // longer, -((-dx * step) // longer)
        low_y, high_y = (dy * step) // longer, -((-dy * step) // longer)
        for x in range(half + low_x, half + high_x + 1):
            for y in range(half + low_y, half + high_y + 1):
                if window[WALL, x, y] != 0:
                    return False
    return True


@inline
def can_move(window: Ints, side: int, species: int, dx: int, dy: int) -> bool:
    """Whether a move ends on a free cell and no wall bars the way; staying is always free.

    What lies beyond the window is taken to be free.
    """
    half = side // 2
    x, y = half + dx, half + dy
    if (dx == 0 and dy == 0) or x < 0 or y < 0 or x >= side or y >= side:
        return True
    if window[WALL, x, y] != 0 or window[species, x, y] > 0:
        return False
    if abs(dx) == 1 and abs(dy) == 1:
        return bool(window[WALL, half, y] == 0 and window[WALL, x, half] == 0)
    return _line_is_free(window, side, dx, dy)


@inline
def choose_descent(decoder: WindowDecoder, group: int, window: Ints, distances: Ints) -> int:
    """The action that ends nearest to a goal, or -1 if none can be reached.

    Of equals the shortest move, so that nobody zigzags; then the first.
    """
    side, own = decoder.side[group], decoder.species[group]
    half = side // 2
    best, least, shortest = -1, UNREACHABLE, UNREACHABLE
    for action in range(decoder.n_actions[group]):
        dx, dy = decoder.moves[group, action, 0], decoder.moves[group, action, 1]
        if max(abs(dx), abs(dy)) > half or not can_move(window, side, own, dx, dy):
            continue
        cost, length = distances[half + dx, half + dy], dx * dx + dy * dy
        if cost < least or (cost == least and cost < UNREACHABLE and length < shortest):
            best, least, shortest = action, cost, length
    return best


HEADING, TICKS_LEFT, VIEW_HASH = range(3)  # what is remembered of a walk

WALK = MemoryField((3,), "int64")

_MIN_TICKS, _MAX_TICKS = 8, 16  # ticks in one direction

_TRIES = 8

_MODULUS = 1_000_003


@inline
def _hash_view(window: Ints, side: int) -> int:
    """A number that stands for the walls and grass in view; 0 if there are none."""
    found, number = 0, 0
    for x in range(side):
        for y in range(side):
            mark = 1 if window[WALL, x, y] != 0 else (2 if window[GRASS, x, y] > 0 else 0)
            found += mark
            number = (number * 31 + mark) % _MODULUS
    return number + 1 if found > 0 else 0


@inline
def _action_along(decoder: WindowDecoder, group: int, window: Ints, heading: int) -> int:
    """The action that goes farthest along a heading (0 to 7), or -1 if all are barred."""
    compass = heading if heading < 4 else heading + 1  # the middle of 3 x 3 is no direction
    to_x, to_y = compass // 3 - 1, compass % 3 - 1
    best, most = -1, 0
    for action in range(decoder.n_actions[group]):
        dx, dy = decoder.moves[group, action, 0], decoder.moves[group, action, 1]
        gain = dx * to_x + dy * to_y
        score = 8 * gain - abs(dx * to_y - dy * to_x)
        if gain <= 0 or score <= most:
            continue
        if can_move(window, decoder.side[group], decoder.species[group], dx, dy):
            best, most = action, score
    return best


@inline
def explore(
    decoder: WindowDecoder, group: int, window: Ints, walk: Ints, memory_index: int, key: int
) -> int:
    """The next action of a walk; it stays put only where every direction tried is barred."""
    picture = _hash_view(window, decoder.side[group])
    stuck = picture != 0 and picture == walk[memory_index, VIEW_HASH]
    walk[memory_index, VIEW_HASH] = picture
    action = -1
    if walk[memory_index, TICKS_LEFT] > 0 and not stuck:
        walk[memory_index, TICKS_LEFT] -= 1
        action = _action_along(decoder, group, window, walk[memory_index, HEADING])
    for attempt in range(_TRIES):
        if action >= 0:
            return action
        walk[memory_index, HEADING] = randint(key, attempt, 8)
        walk[memory_index, TICKS_LEFT] = _MIN_TICKS + randint(
            key, _TRIES, _MAX_TICKS - _MIN_TICKS + 1
        )
        action = _action_along(decoder, group, window, walk[memory_index, HEADING])
    return action if action >= 0 else stay_action(decoder, group)


@inline
def stay_action(decoder: WindowDecoder, group: int) -> int:
    """The action that does not move."""
    for action in range(decoder.n_actions[group]):
        if decoder.moves[group, action, 0] == 0 and decoder.moves[group, action, 1] == 0:
            return action
    return 0


@inline
def forget_view(walk: Ints, memory_index: int) -> None:
    """Something else is done this tick: standing still then means nothing."""
    walk[memory_index, VIEW_HASH] = 0
