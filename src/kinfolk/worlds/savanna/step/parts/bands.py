"""How threads share the moves and hunts of a large world, with the results of taking turns.

Agents take turns in the order of their uids, and a turn touches few cells. The grid is cut into bands
of whole lines, which threads share. In its band, each thread gives agents their turns in order, but
postpones those whose cells other bands could touch, and those whose cells a postponed agent will
touch, which it claims. Afterwards one thread gives the postponed agents their turns, in order. So any
two agents that touch the same cell have their turns in the order of their uids, and agents that do
not are independent of each other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kinfolk.core.arrays import Bools, Bytes, Ints
from kinfolk.core.jit import inline
from kinfolk.worlds.savanna.rules import SavannaRules
from kinfolk.worlds.savanna.state import RowIndices

# Bits of `Bands.pending`: an agent's turn is postponed; it has no energy left after its move.
POSTPONED, STARVED = 1, 2

N_BANDS = 4  # where sums of energies depend on their number
_LAST_STAMP = 255
_STAMPS_PER_STEP = 3  # moves of predators, moves of prey, hunts
_CHUNK = 64  # flags that are looked at together


class Bands(NamedTuple):
    """Working memory of a large world, which its threads share."""

    reach: int  # most lines that a move crosses
    pending: Bytes  # [N] bits of agents in the order of moves, predators first; 0 between stages
    claimed: Bytes  # [cells] stamp of those that a postponed agent will touch
    hunted: RowIndices  # [N] rows of prey in reach of predators, by part
    first_hunted: Ints  # [parts] first entry of a part in it
    n_hunted: Ints  # [parts] entries of a part in it
    postponed: Bools  # [N] entries of `hunted`; False between stages
    last_captures: Ints  # [bands] uid of the prey caught last, -1 if none
    candidates: RowIndices  # [N] rows that may reproduce, by list
    leavers: RowIndices  # [N] rows of the dead and of carcasses, by list
    listed: Ints  # [lists, 2, 3] of each list and species: survivors, leavers and candidates


def allocate_bands(rules: SavannaRules, n_rows: int, n_parts: int, n_lists: int) -> Bands:
    """Return working memory for a world of these rules.

    Args:
        rules: Reads the size of the grid and moves.
        n_rows: Rows of the world.
        n_parts: Parts of the prey that graze.
        n_lists: Parts of the agents when the dead and parents are listed.
    """
    return Bands(
        int(np.abs(rules.moves).max()),
        np.zeros(n_rows, np.uint8),
        np.zeros(rules.size**2, np.uint8),
        np.zeros(n_rows, np.uint32),
        np.zeros(n_parts, np.int64),
        np.zeros(n_parts, np.int64),
        np.zeros(n_rows, np.bool_),
        np.full(N_BANDS, -1),
        np.zeros(n_rows, np.uint32),
        np.zeros(n_rows, np.uint32),
        np.zeros((n_lists, 2, 3), np.int64),
    )


class StampCounter:
    """Gives the stages of each step stamps of their own for `Bands.claimed`."""

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
