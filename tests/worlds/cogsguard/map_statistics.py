"""Statistics of maps as text, by the names of the recorded statistics of the original's maps."""

from collections import deque

import numpy as np

ELEMENTS = {"carbon": "c", "oxygen": "o", "germanium": "g", "silicon": "s"}
STATIONS = {"aligner": "A", "scrambler": "R", "miner": "M", "scout": "T"}
JUNCTIONS, PADS = "J0!", "@%$~"


def places(grid, symbols):
    """Cells with one of some symbols, `[n, 2]`."""
    return np.argwhere(np.isin(grid, list(symbols)))


def walks_from(grid, start):
    """Length of the walk from a cell to every cell, -1 if there is none; things are no way on."""
    floor = np.isin(grid, list("." + PADS))
    length = np.full(grid.shape, -1)
    length[tuple(start)] = 0
    queue = deque([tuple(start)])
    while queue:
        y, x = queue.popleft()
        for dy, dx in ((0, 1), (0, -1), (1, 0), (-1, 0)):
            b, a = y + dy, x + dx
            inside = 0 <= b < grid.shape[0] and 0 <= a < grid.shape[1]
            if inside and length[b, a] < 0 and grid[b, a] != "#":
                length[b, a] = length[y, x] + 1
                if floor[b, a]:
                    queue.append((b, a))
    return length


def count_clumps(walls):
    """Groups of wall joined along sides."""
    left, count = walls.copy(), 0
    for y, x in np.argwhere(walls):
        if not left[y, x]:
            continue
        count += 1
        stack = [(y, x)]
        left[y, x] = False
        while stack:
            b, a = stack.pop()
            for v, u in ((b, a + 1), (b, a - 1), (b + 1, a), (b - 1, a)):
                inside = 0 <= v < walls.shape[0] and 0 <= u < walls.shape[1]
                if inside and left[v, u]:
                    left[v, u] = False
                    stack.append((v, u))
    return count


def nearest_others(cells):
    """Distance of each cell to the nearest other one; not a number if there is no other."""
    if len(cells) < 2:
        return np.full(len(cells), np.nan)
    away = np.sqrt(((cells[:, None] - cells[None]) ** 2).sum(axis=2)) + np.eye(len(cells)) * 1e9
    return away.min(axis=1)


def measure(text, clearing):
    """Statistics of one map; `clearing` is the radius around the hub that is not "away from it"."""
    grid = np.array([list(line) for line in text.splitlines()])
    hub = places(grid, "H")[0]
    walls, floor = grid == "#", np.isin(grid, list("." + PADS))
    y, x = np.indices(grid.shape)
    away = np.maximum(abs(y - hub[0]), abs(x - hub[1])) > clearing
    walk = walks_from(grid, hub)
    junctions = places(grid, JUNCTIONS)
    extractors = places(grid, "cogs")
    straight = np.sqrt(((junctions - hub) ** 2).sum(axis=1))
    reached = walk[tuple(junctions.T)]
    manhattan = abs(junctions - hub).sum(axis=1)
    things = np.concatenate([junctions, extractors])
    free = np.pad(floor, 1).astype(int)
    beside = free[:-2, 1:-1] + free[2:, 1:-1] + free[1:-1, :-2] + free[1:-1, 2:]
    outside, clumps = walls & away, count_clumps(walls & away)
    pads = np.sqrt(((places(grid, PADS) - hub) ** 2).sum(axis=1))
    ships = places(grid, "X")
    found = {
        "junctions": len(junctions),
        "extractors": len(extractors),
        "walls": walls.sum(),
        "wall share": walls.mean(),
        "wall share away from hub": outside.sum() / away.sum(),
        "wall clumps away from hub": clumps,
        "cells per clump": outside.sum() / max(clumps, 1),
        "floor": floor.sum(),
        "floor with 4 floor neighbours share": (floor & (beside == 4)).sum() / floor.sum(),
        "floor with 0 or 1 floor neighbours share": (floor & (beside <= 1)).sum() / floor.sum(),
        "reachable floor share": (floor & (walk >= 0)).sum() / floor.sum(),
        "junctions and extractors not reachable": (walk[tuple(things.T)] < 0).sum(),
        "walk to nearest junction": reached[reached >= 0].min(),
        "junction nearest neighbour, mean": nearest_others(junctions).mean(),
        "junction nearest neighbour, least": nearest_others(junctions).min(),
        "junction to hub, straight, mean": straight.mean(),
        "junction to hub, walk, mean": reached[reached >= 0].mean(),
        "junction to hub, walk, most": reached.max(),
        "detour (walk / Manhattan)": (reached / manhattan)[reached >= 0].mean(),
        "pads": len(pads),
        "pad to hub, straight, mean": pads.mean(),
        "pad to hub, straight, most": pads.max(),
        "ships": len(ships),
        "ships not reachable": sum(walk[tuple(ship)] < 0 for ship in ships),
    }
    same = []
    for element, symbol in ELEMENTS.items():
        cells = places(grid, symbol)
        found[f"extractors {element}"] = len(cells)
        lengths = walk[tuple(cells.T)]
        found[f"walk to nearest {element}"] = lengths[lengths >= 0].min()
        same.append(nearest_others(cells))
    found["extractor nearest of same element, mean"] = np.nanmean(np.concatenate(same))
    for station, symbol in STATIONS.items():
        found[f"walk to {station}"] = walk[tuple(places(grid, symbol)[0])]
    for reach in (10, 15, 25):
        found[f"junctions within {reach} of hub"] = (straight <= reach).sum()
    return {name: float(value) for name, value in found.items()} | mirror_shares(grid, hub, away)


def mirror_shares(grid, hub, away):
    """How many walls have a wall at their mirror image around the hub, away from it."""
    height, width = grid.shape
    y, x = np.indices(grid.shape)
    edge = np.minimum.reduce([y, x, height - 1 - y, width - 1 - x])
    inner = away & (edge >= (9 if min(grid.shape) >= 80 else 0))
    cells = np.argwhere((grid == "#") & inner)
    shares = {}
    for name, flip_y in (("mirror image (left-right)", False), ("half-turn image", True)):
        images = np.stack(
            [2 * hub[0] - cells[:, 0] if flip_y else cells[:, 0], 2 * hub[1] - cells[:, 1]], axis=1
        )
        inside = ((images >= 0) & (images < grid.shape)).all(axis=1)
        images = images[inside]
        hits = (grid[tuple(images.T)] == "#") & inner[tuple(images.T)]
        shares[f"walls whose {name} is wall, share"] = float(hits.mean()) if len(hits) else 0.0
    return shares
