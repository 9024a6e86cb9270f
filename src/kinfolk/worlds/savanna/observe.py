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
from kinfolk.core.jit import inline, lean_kernel
from kinfolk.worlds.savanna.layout import (
    ENERGY_STEPS,
    GRASS_SHIFT,
    MOST_CODE,
    PREDATOR_SHIFT,
    PREY_SHIFT,
    Windows,
)
from kinfolk.worlds.savanna.state import GRASS, PREDATOR, PREY, Rows, State

Words = npt.NDArray[np.uint32]
Plane = npt.NDArray[np.float32]


class Scene(NamedTuple):
    """The part of the state that can be seen, and by whom."""

    uid: Ints
    group: Ints
    x: Ints
    y: Ints
    length: Ints
    herd: Rows
    ended: Rows
    ended_count: Ints
    shown: Plane
    patch_cell: Ints


def scene_of(s: State) -> Scene:
    """The scene of a state: views of its arrays."""
    return Scene(*(getattr(s, name) for name in Scene._fields))


class Written(NamedTuple):
    """Which rows of the caller's buffer hold something."""

    known: Bools  # [W] False: the world's part of the buffer may hold anything
    rows: Ints  # [W, N]
    length: Ints  # [W]


@inline
def blank(words: Words, place: int, first: int) -> None:
    """Clear a row from the word `first` on: smaller windows leave some over."""
    for i in range(first, words.shape[1]):
        words[place, i] = 0


@inline
def tidy(uid: Ints, written: Written, w: int, words: Words) -> None:
    """Clear the rows that were written before and are empty now."""
    rows = uid.shape[1]
    if not written.known[w]:
        for row in range(rows):
            blank(words, w * rows + row, 0)
        written.known[w] = True
    else:
        for i in range(written.length[w]):
            row = written.rows[w, i]
            if uid[w, row] < 0:
                blank(words, w * rows + row, 0)
    written.length[w] = 0


@inline
def claim(written: Written, w: int, row: int) -> None:
    """Remember that a row is written."""
    written.rows[w, written.length[w]] = row
    written.length[w] += 1


@inline
def code(value: float, steps: float) -> int:
    """A quantised energy, rounded up."""
    return min(ceil(value * steps), MOST_CODE)


@inline
def planes(
    shown: Plane, v: Windows, k: int, x: int, y: int, world: int, out: Plane, start: int
) -> int:
    """Write the published planes of one agent; returns how many numbers those are.

    `shown` and `out` are flat, and indices are cast to uint64: those cannot count from the end,
    so the compiler copies many numbers at a time.
    """
    reach, size = v.reach[k], v.size
    side = 2 * reach + 1
    area = side * side
    seen = v.seen[k, v.pattern_of[k, x * size + y]]
    x, y = x - reach, y - reach
    low, high = max(0, -y), min(side, size - y)
    if x < 0 or y < 0 or x + side > size or y + side > size:
        edge = np.float32(1.0) if v.draw_border else np.float32(0.0)
        for j in range(start, start + area):
            out[np.uint64(j)] = edge
        for j in range(start + area, start + 4 * area):
            out[np.uint64(j)] = np.float32(0.0)
    for i in range(max(0, -x), min(side, size - x)):
        at = i * side
        cell = (x + i) * size + y
        for j in range(low, high):
            out[np.uint64(start + at + j)] = v.walls[np.uint64(cell + j)]
        for plane in range(3):
            to = start + (plane + 1) * area + at
            source = world + plane * size * size + cell
            if v.mask:
                for j in range(low, high):
                    out[np.uint64(to + j)] = shown[np.uint64(source + j)] * seen[np.uint64(at + j)]
            else:
                for j in range(low, high):
                    out[np.uint64(to + j)] = shown[np.uint64(source + j)]
    if v.channel:
        for j in range(area):
            out[np.uint64(start + 4 * area + j)] = seen[np.uint64(j)]
        return int(5 * area)
    return int(4 * area)


@lean_kernel
def observe_planes(
    s: Scene,
    v: Windows,
    written: Written,
    worlds: Ints,
    first: int,
    last: int,
    words: Words,
    floats: Plane,
) -> None:
    """Write float32 planes for the worlds `worlds[first:last]`; `words` is the same buffer."""
    rows, width = s.uid.shape[1], words.shape[1]
    length, herd, ended, xs, ys = s.length, s.herd, s.ended, s.x, s.y
    shown = s.shown.reshape(-1)
    for at in range(first, last):
        w = worlds[at]
        tidy(s.uid, written, w, words)
        world = w * 3 * v.size * v.size
        for k in range(2):
            for i in range(length[w, k]):
                row = herd[w, k, i]
                place = w * rows + row
                claim(written, w, row)
                used = planes(shown, v, k, xs[w, row], ys[w, row], world, floats, place * width)
                blank(words, place, used)
        for i in range(s.ended_count[w]):
            row = ended[w, i]
            place = w * rows + row
            claim(written, w, row)
            used = 0
            if not v.zero_terminal:
                k = PREDATOR if s.group[w, row] < v.types else PREY
                used = planes(shown, v, k, xs[w, row], ys[w, row], world, floats, place * width)
            blank(words, place, used)


@inline
def paint(s: Scene, v: Windows, w: int, work: Words) -> None:
    """Lay the words of a world into `work`."""
    shown, place, patch_cell = s.shown, v.place, s.patch_cell
    if v.dense:
        for cell in range(place.shape[0]):
            at = place[cell]
            work[at] = (
                np.int64(v.base[at])
                | code(shown[w, PREDATOR, cell], ENERGY_STEPS) << PREDATOR_SHIFT
                | code(shown[w, PREY, cell], ENERGY_STEPS) << PREY_SHIFT
                | code(shown[w, GRASS, cell], v.grass_steps) << GRASS_SHIFT
            )
        return
    for patch in range(patch_cell.shape[1]):
        cell = patch_cell[w, patch]
        at = place[cell]
        work[at] = np.int64(work[at]) | code(shown[w, GRASS, cell], v.grass_steps) << GRASS_SHIFT
    for k in range(2):
        shift = PREDATOR_SHIFT if k == PREDATOR else PREY_SHIFT
        for i in range(s.length[w, k]):
            row = s.herd[w, k, i]
            cell = s.x[w, row] * v.size + s.y[w, row]
            at = place[cell]
            work[at] = np.int64(work[at]) | code(shown[w, k, cell], ENERGY_STEPS) << shift


@inline
def wipe(s: Scene, v: Windows, w: int, work: Words) -> None:
    """Undo `paint`."""
    if v.dense:
        return  # the next world writes every cell anyway
    base, place, patch_cell = v.base, v.place, s.patch_cell
    for patch in range(patch_cell.shape[1]):
        at = place[patch_cell[w, patch]]
        work[at] = base[at]
    for k in range(2):
        for i in range(s.length[w, k]):
            row = s.herd[w, k, i]
            at = place[s.x[w, row] * v.size + s.y[w, row]]
            work[at] = base[at]


@inline
def window(v: Windows, k: int, x: int, y: int, work: Words, out: Words, place: int) -> int:
    """Copy the words around one agent; returns how many. For the casts, see `planes`."""
    reach = v.reach[k]
    side = 2 * reach + 1
    wide = v.size + 2 * v.border
    keep = v.keep[k, v.pattern_of[k, x * v.size + y]]
    corner = (x + v.border - reach) * wide + y + v.border - reach
    for i in range(side):
        source, at = corner + i * wide, i * side
        for j in range(side):
            out[place, np.uint64(at + j)] = work[np.uint64(source + j)] & keep[np.uint64(at + j)]
    return int(side * side)


@lean_kernel
def observe_words(
    s: Scene,
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
    length, herd, ended, xs, ys = s.length, s.herd, s.ended, s.x, s.y
    work = v.work[thread]
    for at in range(first, last):
        w = worlds[at]
        tidy(s.uid, written, w, words)
        paint(s, v, w, work)
        for k in range(2):
            for i in range(length[w, k]):
                row = herd[w, k, i]
                place = w * rows + row
                claim(written, w, row)
                used = window(v, k, xs[w, row], ys[w, row], work, words, place)
                blank(words, place, used)
        for i in range(s.ended_count[w]):
            row = ended[w, i]
            place = w * rows + row
            claim(written, w, row)
            used = 0
            if not v.zero_terminal:
                k = PREDATOR if s.group[w, row] < v.types else PREY
                used = window(v, k, xs[w, row], ys[w, row], work, words, place)
            blank(words, place, used)
        wipe(s, v, w, work)
