"""How threads share the moves and hunts of a large world, with the results of taking turns.

Agents take turns in the order of their uids, and a turn touches few cells. The grid is cut into strips
of whole lines, which threads share. In its strip, each thread gives agents their turns in order, but
postpones those whose cells other strips could touch, and those whose cells a postponed agent will
touch, which it claims. Afterwards one thread gives the postponed agents their turns, in order. So any
two agents that touch the same cell have their turns in the order of their uids, and agents that do
not are independent of each other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kinfolk.core.arrays import Bytes, Ints
from kinfolk.core.jit import inline, inline_always
from kinfolk.worlds.savanna.rules import SavannaRules
from kinfolk.worlds.savanna.state import RowIndices

# Bits of `Strips.pending`: an agent's turn is postponed; it has no energy left after its move.
POSTPONED, STARVED = 1, 2

# Two strips of four per 256 lines: about 64 lines, whose cells stay in a cache of 1 MB. A multiple of
# four, so that two and four threads have equal shares.
_LINES_PER_FOUR_STRIPS = 256
N_BANDS = 4  # wider strips, of prey in reach of predators: few agents, and each touches nine cells
_LAST_STAMP = 252
_STAMPS_PER_STEP = 3  # moves of predators, moves of prey, hunts
_CHUNK = 64  # flags that are looked at together


class Strips(NamedTuple):
    """Working memory of a large world, which its threads share."""

    strip_of_line: Bytes  # [size] strip of each line x of the grid
    first_line: Ints  # [strips + 1] first line of each strip, and the end of the last
    reach: int  # most lines that a move crosses
    # [N, 4] planned moves, by part and strip: entry in the order of moves, row, cell, target. Predators
    # come before prey; cells are packed by `pack_cell`.
    plans: RowIndices
    starts: Ints  # [parts, 2, strips + 2] first plan of each strip
    pending: Bytes  # [N] bits, by entry; all zero between stages
    claimed: Bytes  # [cells] stamp of those that a postponed agent will touch
    hunted: RowIndices  # [N] rows of prey in reach of predators, by part
    first_hunted: Ints  # [parts] first entry of a part in it
    n_hunted: Ints  # [parts] entries of a part in it
    last_captures: Ints  # [bands] uid of the prey caught last, -1 if none
    candidates: RowIndices  # [N] rows that may reproduce, by part
    leavers: RowIndices  # [N] rows of the dead and of carcasses, by part
    # [parts, 2, 3] survivors, leavers and candidates of each part and species
    settled: Ints


def allocate_strips(rules: SavannaRules, n_rows: int, n_parts: int) -> Strips:
    """Return working memory for a world of these rules.

    Args:
        rules: Reads the size of the grid and moves.
        n_rows: Rows of the world.
        n_parts: Parts that agents are planned in.
    """
    size = rules.size
    n_strips = 4 * max(1, round(size / _LINES_PER_FOUR_STRIPS))
    n_strips = max(1, min(n_strips, size // 2, 255))
    first_line = np.arange(n_strips + 1) * size // n_strips
    strip_of_line = np.searchsorted(first_line, np.arange(size), side="right") - 1
    return Strips(
        strip_of_line.astype(np.uint8),
        first_line.astype(np.int64),
        int(np.abs(rules.moves).max()),
        np.zeros((n_rows, 4), np.uint32),
        np.zeros((n_parts, 2, n_strips + 2), np.int64),
        np.zeros(n_rows, np.uint8),
        np.zeros(size * size, np.uint8),
        np.zeros(n_rows, np.uint32),
        np.zeros(n_parts, np.int64),
        np.zeros(n_parts, np.int64),
        np.full(N_BANDS, -1),
        np.zeros(n_rows, np.uint32),
        np.zeros(n_rows, np.uint32),
        np.zeros((n_parts, 2, 3), np.int64),
    )


class StampCounter:
    """Gives the stages of each step stamps of their own for `Strips.claimed`."""

    def __init__(self) -> None:
        self._last = 0

    def advance(self, claimed: Bytes) -> int:
        """Return the first stamp of a step; after the last one all cells are cleared.

        Args:
            claimed: `[cells]`, cleared when stamps have been used up.
        """
        if self._last + _STAMPS_PER_STEP > _LAST_STAMP:
            claimed.fill(0)
            self._last = 0
        first = self._last + 1
        self._last += _STAMPS_PER_STEP
        return first


@inline_always
def pack_cell(x: int, y: int) -> int:
    """Return a position as one number of 32 bits: a grid of 65,536 lines fits into no memory."""
    return x << 16 | y


@inline_always
def unpack_cell(packed: int) -> tuple[int, int]:
    """Return x and y of a packed position."""
    x, y = np.int64(packed) >> 16, np.int64(packed) & 0xFFFF
    return int(x), int(y)


@inline
def find_pending(pending: Bytes, start: int, end: int) -> int:
    """Return the first entry from `start` on with a bit set, or `end`.

    Args:
        pending: Bits of entries.
        start: First entry.
        end: End of the entries.
    """
    i = start
    while i + _CHUNK <= end:
        bits = np.uint8(0)
        for j in range(_CHUNK):  # with vector instructions
            bits |= pending[np.uint64(i + j)]
        if bits != 0:
            break
        i += _CHUNK
    while i < end and pending[np.uint64(i)] == 0:
        i += 1
    return i
