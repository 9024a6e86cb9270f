"""Mazes of rooms, and clearings of eight rays."""

from __future__ import annotations

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import inline
from kinfolk.core.random import randint
from kinfolk.worlds.cogsguard import codes
from kinfolk.worlds.cogsguard.mapgen.config import MapConfig, Zone, cell_index

_ROOM_PITCH = 4  # a room of three cells and a wall
_GATE_PERCENT = 30  # of the outer walls of rooms are open
_WALK_PERCENT = 60  # of mazes are drawn by a walk, the others by joining rooms in random order
_MAX_ROOMS = 7  # rooms in a row: all of them are bits of a word
_MAX_TRIES = 4000


@inline
def open_wall(
    code: Ints, config: MapConfig, zone: Zone, room_y: int, room_x: int, direction: int
) -> None:
    """Open the wall of a room towards one side.

    Args:
        code: `[cells]` of the scratch map, written.
        config: Parameters of maps.
        zone: Where the maze is.
        room_y: Row of the room.
        room_x: Column of the room.
        direction: 0 north, 1 south, 2 west, 3 east.
    """
    y, x = zone.top + room_y * _ROOM_PITCH, zone.left + room_x * _ROOM_PITCH
    for i in range(1, _ROOM_PITCH):
        if direction < 2:
            code[cell_index(config, y + _ROOM_PITCH * direction, x + i)] = codes.EMPTY
        else:
            code[cell_index(config, y + i, x + _ROOM_PITCH * (direction - 2))] = codes.EMPTY


@inline
def draw_passages(
    code: Ints, config: MapConfig, zone: Zone, rows: int, columns: int, key: int
) -> None:
    """Join all rooms of a maze by passages without a circle.

    Args:
        code: `[cells]` of the scratch map, written.
        config: Parameters of maps.
        zone: Where the maze is.
        rows: Rows of rooms.
        columns: Columns of rooms.
        key: Random key.
    """
    joined, newest = 0, randint(key, 0, rows * columns)
    joined |= 1 << newest
    walks, draw = randint(key, 1, 100) < _WALK_PERCENT, 2
    n_joined = 1
    for _ in range(_MAX_TRIES):
        if n_joined == rows * columns:
            break
        room = newest if walks else randint(key, draw, rows * columns)
        direction = randint(key, draw + 1, 4)
        draw += 2
        room_y, room_x = room // columns, room % columns
        if direction < 2:
            next_y, next_x = room_y + 2 * direction - 1, room_x
        else:
            next_y, next_x = room_y, room_x + 2 * direction - 5
        is_inside = 0 <= next_y < rows and 0 <= next_x < columns
        other = next_y * columns + next_x if is_inside else room
        if joined >> room & 1 == 1 and is_inside and joined >> other & 1 == 0:
            open_wall(code, config, zone, room_y, room_x, direction)
            joined |= 1 << other
            n_joined += 1
            newest = other
        elif walks and randint(key, draw, 100) < _WALK_PERCENT // 4:
            newest = randint(key, draw + 1, rows * columns)  # the walk is stuck, or tired
            if joined >> newest & 1 == 0:
                newest = room
        draw += 2


@inline
def draw_maze(code: Ints, config: MapConfig, zone: Zone, key: int) -> None:
    """Draw a maze of rooms, in which there is one way between any two, and some gates.

    A room that is not yet in the maze is joined to one that is: the newest with such a neighbour (a
    depth-first walk), or any of them.

    Args:
        code: `[cells]` of the scratch map, written.
        config: Parameters of maps.
        zone: Where to draw.
        key: Random key.
    """
    rows = min((zone.height - 1) // _ROOM_PITCH, _MAX_ROOMS)
    columns = min((zone.width - 1) // _ROOM_PITCH, _MAX_ROOMS)
    if rows < 1 or columns < 1:
        return
    for y in range(zone.height):
        for x in range(zone.width):
            in_maze = y <= rows * _ROOM_PITCH and x <= columns * _ROOM_PITCH
            is_wall = in_maze and (y % _ROOM_PITCH == 0 or x % _ROOM_PITCH == 0)
            cell = cell_index(config, zone.top + y, zone.left + x)
            code[cell] = codes.WALL if is_wall else codes.EMPTY
    draw_passages(code, config, zone, rows, columns, key)
    draw = 1 << 20
    for room_y in range(rows):
        for room_x in range(columns):
            for direction in range(4):
                is_outer = (
                    (direction == 0 and room_y == 0)
                    or (direction == 1 and room_y == rows - 1)
                    or (direction == 2 and room_x == 0)
                    or (direction == 3 and room_x == columns - 1)
                )
                if is_outer and randint(key, draw, 100) < _GATE_PERCENT:
                    open_wall(code, config, zone, room_y, room_x, direction)
                draw += 1


@inline
def clear_rays(code: Ints, config: MapConfig, zone: Zone) -> None:
    """Clear eight rays from the middle of a zone of wall.

    Args:
        code: `[cells]` of the scratch map, written.
        config: Parameters of maps.
        zone: Where to draw.
    """
    middle_y, middle_x = zone.height // 2, zone.width // 2
    for y in range(zone.height):
        for x in range(zone.width):
            dy, dx = y - middle_y, x - middle_x
            if dy == 0 or dx == 0 or abs(dy) == abs(dx):
                code[cell_index(config, zone.top + y, zone.left + x)] = codes.EMPTY
