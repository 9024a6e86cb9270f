"""What agents see, written in one of the two forms that `layout` describes.

Rows that nobody holds are zero. Only rows written before are cleared again, so a buffer must
come back as it was left; `World.observe` sees to that.
"""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kinfolk.core.arrays import Bools, Ints
from kinfolk.core.jit import inline, kernel
from kinfolk.worlds.savanna.layout import (
    ENERGY_STEPS,
    GRASS_SHIFT,
    MOST_CODE,
    PREDATOR_SHIFT,
    PREY_SHIFT,
    Windows,
)
from kinfolk.worlds.savanna.rules import Rules
from kinfolk.worlds.savanna.state import GRASS, PREDATOR, PREY, State

Words = npt.NDArray[np.uint32]


class Written(NamedTuple):
    """Which rows of the caller's buffer hold something."""

    known: Bools  # [W] False: the world's part of the buffer may hold anything
    rows: Ints  # [W, N]
    count: Ints  # [W]


@inline
def tidy(s: State, written: Written, w: int, words: Words) -> None:
    """Clear the rows that were written before and are empty now."""
    rows = s.uid.shape[1]
    if not written.known[w]:
        words[w * rows : (w + 1) * rows, :] = 0
        written.known[w] = True
    else:
        for i in range(written.count[w]):
            row = written.rows[w, i]
            if s.uid[w, row] < 0:
                words[w * rows + row, :] = 0
    written.count[w] = 0


@inline
def claim(written: Written, w: int, row: int) -> None:
    """Remember that a row is written."""
    written.rows[w, written.count[w]] = row
    written.count[w] += 1


@inline
def code(value: float, steps: float) -> int:
    """A quantised energy, rounded up."""
    return min(ceil(value * steps), MOST_CODE)


@inline
def planes(s: State, r: Rules, v: Windows, w: int, k: int, row: int, out: npt.NDArray[np.float32]) -> int:
    """Write the published planes of one agent into `out`; returns how many numbers those are."""
    reach, size = v.reach[k], r.size
    side = 2 * reach + 1
    area = side * side
    x, y = s.x[w, row] - reach, s.y[w, row] - reach
    low, high = max(0, -y), min(side, size - y)
    seen = v.seen[k, v.pattern_of[k, s.x[w, row] * size + s.y[w, row]]]
    edge = np.float32(1.0) if v.draw_border else np.float32(0.0)
    for i in range(side):
        at = i * side
        if x + i < 0 or x + i >= size:
            for j in range(at, at + side):
                out[j] = edge
                out[area + j] = 0.0
                out[2 * area + j] = 0.0
                out[3 * area + j] = 0.0
            continue
        for j in range(at, at + low):
            out[j] = edge
            out[area + j] = 0.0
            out[2 * area + j] = 0.0
            out[3 * area + j] = 0.0
        for j in range(at + high, at + side):
            out[j] = edge
            out[area + j] = 0.0
            out[2 * area + j] = 0.0
            out[3 * area + j] = 0.0
        cell = (x + i) * size + y - at
        for j in range(at + low, at + high):
            out[j] = 1.0 if r.wall[cell + j] else 0.0
        for plane in range(3):
            start = (plane + 1) * area
            if v.mask:
                for j in range(at + low, at + high):
                    out[start + j] = s.shown[w, plane, cell + j] * seen[j]
            else:
                for j in range(at + low, at + high):
                    out[start + j] = s.shown[w, plane, cell + j]
    if v.channel:
        for j in range(area):
            out[4 * area + j] = seen[j]
        return 5 * area
    return 4 * area


@kernel
def observe_planes(
    s: State,
    r: Rules,
    v: Windows,
    written: Written,
    worlds: Ints,
    first: int,
    last: int,
    words: Words,
    floats: npt.NDArray[np.float32],
) -> None:
    """Write float32 planes for the worlds `worlds[first:last]`; `words` is the same buffer."""
    rows = s.uid.shape[1]
    for at in range(first, last):
        w = worlds[at]
        tidy(s, written, w, words)
        for k in range(2):
            for i in range(s.count[w, k]):
                row = s.herd[w, k, i]
                place = w * rows + row
                claim(written, w, row)
                used = planes(s, r, v, w, k, row, floats[place])
                words[place, used:] = 0
        for i in range(s.ended_count[w]):
            row = s.ended[w, i]
            place = w * rows + row
            claim(written, w, row)
            used = 0
            if not r.zero_terminal:
                k = PREDATOR if s.group[w, row] < r.types else PREY
                used = planes(s, r, v, w, k, row, floats[place])
            words[place, used:] = 0


@inline
def paint(s: State, r: Rules, v: Windows, w: int, work: Words) -> None:
    """Lay the words of a world into `work`."""
    wide = r.size + 2 * v.border
    if v.dense:
        for x in range(r.size):
            for y in range(r.size):
                cell, at = x * r.size + y, (x + v.border) * wide + y + v.border
                work[at] = (
                    np.int64(v.base[at])
                    | code(s.shown[w, PREDATOR, cell], ENERGY_STEPS) << PREDATOR_SHIFT
                    | code(s.shown[w, PREY, cell], ENERGY_STEPS) << PREY_SHIFT
                    | code(s.shown[w, GRASS, cell], v.grass_steps) << GRASS_SHIFT
                )
        return
    for patch in range(s.grass.shape[1]):
        cell = s.patch_cell[w, patch]
        x = cell // r.size
        at = (x + v.border) * wide + cell - x * r.size + v.border
        work[at] = np.int64(work[at]) | code(s.shown[w, GRASS, cell], v.grass_steps) << GRASS_SHIFT
    for k in range(2):
        shift = PREDATOR_SHIFT if k == PREDATOR else PREY_SHIFT
        for i in range(s.count[w, k]):
            row = s.herd[w, k, i]
            cell = s.x[w, row] * r.size + s.y[w, row]
            at = (s.x[w, row] + v.border) * wide + s.y[w, row] + v.border
            work[at] = np.int64(work[at]) | code(s.shown[w, k, cell], ENERGY_STEPS) << shift


@inline
def wipe(s: State, r: Rules, v: Windows, w: int, work: Words) -> None:
    """Undo `paint`."""
    wide = r.size + 2 * v.border
    if v.dense:
        return  # the next world writes every cell anyway
    for patch in range(s.grass.shape[1]):
        cell = s.patch_cell[w, patch]
        x = cell // r.size
        at = (x + v.border) * wide + cell - x * r.size + v.border
        work[at] = v.base[at]
    for k in range(2):
        for i in range(s.count[w, k]):
            row = s.herd[w, k, i]
            at = (s.x[w, row] + v.border) * wide + s.y[w, row] + v.border
            work[at] = v.base[at]


@inline
def window(s: State, r: Rules, v: Windows, w: int, k: int, row: int, work: Words, out: Words) -> int:
    """Copy the words around one agent; returns how many."""
    reach = v.reach[k]
    side = 2 * reach + 1
    wide = r.size + 2 * v.border
    x, y = s.x[w, row], s.y[w, row]
    keep = v.keep[k, v.pattern_of[k, x * r.size + y]]
    corner = (x + v.border - reach) * wide + y + v.border - reach
    for i in range(side):
        for j in range(side):
            out[i * side + j] = work[corner + i * wide + j] & keep[i * side + j]
    return side * side


@kernel
def observe_words(
    s: State,
    r: Rules,
    v: Windows,
    written: Written,
    worlds: Ints,
    first: int,
    last: int,
    words: Words,
    thread: int,
) -> None:
    """Write compact words for the worlds `worlds[first:last]`."""
    rows = s.uid.shape[1]
    work = v.work[thread]
    for at in range(first, last):
        w = worlds[at]
        tidy(s, written, w, words)
        paint(s, r, v, w, work)
        for k in range(2):
            for i in range(s.count[w, k]):
                row = s.herd[w, k, i]
                place = w * rows + row
                claim(written, w, row)
                used = window(s, r, v, w, k, row, work, words[place])
                words[place, used:] = 0
        for i in range(s.ended_count[w]):
            row = s.ended[w, i]
            place = w * rows + row
            claim(written, w, row)
            used = 0
            if not r.zero_terminal:
                k = PREDATOR if s.group[w, row] < r.types else PREY
                used = window(s, r, v, w, k, row, work, words[place])
            words[place, used:] = 0
        wipe(s, r, v, w, work)
