"""Ways: floor that is cut off is joined to the rest by tunnels, and what is reached is found."""

from __future__ import annotations

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import inline
from kinfolk.worlds.cogsguard import codes
from kinfolk.worlds.cogsguard.mapgen.config import MapConfig, MapScratch, cell_index


@inline
def neighbor_offset(stride: int, direction: int) -> int:
    """Return the difference of indices to a neighbour along a side, by direction 0 to 3."""
    return 2 * direction - 1 if direction < 2 else (2 * direction - 5) * stride


@inline
def flood_floor(code: Ints, stack: Ints, reached: Ints, stride: int, start: int) -> None:
    """Mark all that can be reached from a cell: floor, and objects beside it, which are no way on.

    Args:
        code: `[cells]` of the scratch map.
        stack: Scratch.
        reached: `[cells]`, 1 where reached, written.
        stride: Cells per line.
        start: First cell; the flood goes on from it whatever is on it.
    """
    stack[0] = start
    reached[start] = 1
    length = 1
    while length > 0:
        length -= 1
        cell = stack[length]
        for direction in range(4):
            beside = cell + neighbor_offset(stride, direction)
            if code[beside] != codes.WALL and reached[beside] == 0:
                reached[beside] = 1
                if code[beside] == codes.EMPTY:
                    stack[length] = beside
                    length += 1


@inline
def dig_tunnel(scratch: MapScratch, config: MapConfig, start: int) -> bool:
    """Dig a tunnel through as few walls as possible from a cell to floor that is reached.

    Walls are taken from a queue, floor at once from a stack, so walls come in the order of how many
    lie before them.

    Args:
        scratch: Writes `cell_codes`; `work_cells` holds what is reached, and is scratch.
        config: Parameters of maps.
        start: Cell of floor that is cut off.

    Returns:
        Whether there was a way; objects and the edge of the map are none.
    """
    code, cells, stride = scratch.cell_codes, scratch.cell_codes.shape[0], config.stride
    queue, stack = scratch.work_cells[0, :cells], scratch.work_cells[0, cells:]
    parent, reached = scratch.work_cells[1, :cells], scratch.work_cells[1, cells:]
    for cell in range(cells):
        parent[cell] = -1
    stack[0] = parent[start] = start
    length, first, last = 1, 0, 0
    while length > 0 or first < last:
        if length > 0:
            length -= 1
            cell = stack[length]
        else:
            cell = queue[first]
            first += 1
        for direction in range(4):
            beside = cell + neighbor_offset(stride, direction)
            y, x = beside // stride - config.pad, beside % stride - config.pad
            if not (0 <= y < config.height and 0 <= x < config.width) or parent[beside] >= 0:
                continue
            if code[beside] == codes.EMPTY and reached[beside] == 1:
                while parent[cell] != cell:
                    code[cell] = codes.EMPTY
                    cell = parent[cell]
                return True
            if code[beside] == codes.EMPTY:
                parent[beside] = cell
                stack[length] = beside
                length += 1
            elif code[beside] == codes.WALL:
                parent[beside] = cell
                queue[last] = beside
                last += 1
    return False


@inline
def find_reached(scratch: MapScratch, config: MapConfig) -> None:
    """Mark in the second half of `work_cells[1]` what can be reached from the first hub."""
    cells = scratch.cell_codes.shape[0]
    reached, stack = scratch.work_cells[1, cells:], scratch.work_cells[0, cells:]
    for cell in range(cells):
        reached[cell] = 0
    hub = cell_index(config, config.hubs[0, 0], config.hubs[0, 1])
    flood_floor(scratch.cell_codes, stack, reached, config.stride, hub)


@inline
def join_floor(scratch: MapScratch, config: MapConfig) -> None:
    """Join all floor to that of the first hub; what cannot be joined becomes wall."""
    code, cells = scratch.cell_codes, scratch.cell_codes.shape[0]
    reached, stack = scratch.work_cells[1, cells:], scratch.work_cells[0, cells:]
    find_reached(scratch, config)
    for y in range(config.height):
        for x in range(config.width):
            cell = cell_index(config, y, x)
            if code[cell] != codes.EMPTY or reached[cell] == 1:
                continue
            if dig_tunnel(scratch, config, cell):
                flood_floor(code, stack, reached, config.stride, cell)
            else:
                code[cell] = codes.WALL


@inline
def is_all_reached(scratch: MapScratch, config: MapConfig) -> bool:
    """Return whether all junctions, extractors and buildings can be reached from the first hub."""
    code, cells = scratch.cell_codes, scratch.cell_codes.shape[0]
    reached = scratch.work_cells[1, cells:]
    find_reached(scratch, config)
    for y in range(config.height):
        for x in range(config.width):
            cell = cell_index(config, y, x)
            kind = code[cell] % 16
            if kind > codes.WALL and kind != codes.SHIP and reached[cell] == 0:
                return False
            if kind == codes.EMPTY and reached[cell] == 0:
                code[cell] = codes.WALL
    return True
