"""Moves of a large world, in bands of the grid; see `bands`."""

from __future__ import annotations

import numpy as np

from kinfolk.core.arrays import Bytes
from kinfolk.core.jit import allocation_free_kernel, inline_always
from kinfolk.worlds.savanna.codes import PREDATOR, PREY
from kinfolk.worlds.savanna.rules import SavannaRules
from kinfolk.worlds.savanna.state import EventBuffer, RowIndices
from kinfolk.worlds.savanna.step import metabolism
from kinfolk.worlds.savanna.step.context import (
    LOOKAHEAD,
    SavannaAgents,
    StepActions,
    StepPart,
    get_slice,
)
from kinfolk.worlds.savanna.step.donation import run_donations
from kinfolk.worlds.savanna.step.movement import aim, move_agent, prefetch_move
from kinfolk.worlds.savanna.step.parts.bands import POSTPONED, STARVED, Bands, find_pending
from kinfolk.worlds.savanna.step.team_capture import advance_stamp, mark_reach

# Agents that a thread looks at together, to list those of its band.
CHUNK = 512


@allocation_free_kernel
def begin_moves(
    agents: SavannaAgents, rules: SavannaRules, w: int, any_overaged: bool, reach_stamps: Bytes
) -> None:
    """Let agents die of age, and start to mark the reach of predators.

    Args:
        agents: Written for deaths.
        rules: Rules of the batch.
        w: World.
        any_overaged: Whether some agents have reached their maximum age.
        reach_stamps: See `mark_reach`; of length 0 if it is not needed.
    """
    if any_overaged:
        metabolism.kill_overaged(agents, rules, w)
    if reach_stamps.shape[0] > 0:
        advance_stamp(reach_stamps)


@inline_always
def list_band(
    agents: SavannaAgents,
    w: int,
    rows: RowIndices,
    first: int,
    last: int,
    low: int,
    high: int,
    out: RowIndices,
) -> int:
    """List the entries of agents on the lines of a band, without a branch for it.

    Args:
        agents: Reads positions.
        w: World.
        rows: Rows of agents in the order of moves.
        first: First entry.
        last: End of the entries.
        low: First line.
        high: End of the lines.
        out: `[CHUNK]`, written.

    Returns:
        How many they are.
    """
    count = 0
    for i in range(first, last):
        x = agents.x[w, rows[np.uint64(i)]]
        out[np.uint64(count)] = i
        count += 1 if (x >= low) & (x < high) else 0
    return count


@inline_always
def check_energy(
    agents: SavannaAgents, rules: SavannaRules, w: int, species: int, row: int, reach_stamps: Bytes
) -> bool:
    """Return whether an agent has no energy left; mark the reach of predators that live on.

    Args:
        agents: Reads energies and positions; writes rewards of predators.
        rules: Rules of the batch.
        w: World.
        species: PREDATOR or PREY.
        row: Row of the agent.
        reach_stamps: See `mark_reach`; of length 0 if it is not needed.
    """
    if agents.energy[w, row] <= 0.0:
        return True
    if species == PREDATOR and reach_stamps.shape[0] > 0:
        mark_reach(agents, rules, w, row, reach_stamps)
    return False


@inline_always
def postpones(bands: Bands, cell: int, target: int, is_inside: bool, claim: int) -> bool:
    """Return whether a move is postponed; its cells are claimed then.

    Args:
        bands: Writes `claimed`.
        cell: Cell of the agent.
        target: Cell that it wants to enter.
        is_inside: Whether no other band can touch them.
        claim: Stamp of claimed cells.
    """
    claimed, source, goal = bands.claimed, np.uint64(cell), np.uint64(target)
    if is_inside and claimed[source] != claim and claimed[goal] != claim:
        return False
    claimed[source] = claim
    claimed[goal] = claim
    return True


@allocation_free_kernel
def move_band(
    agents: SavannaAgents,
    rules: SavannaRules,
    events: EventBuffer,
    moves: StepActions,
    bands: Bands,
    chunk: RowIndices,
    w: int,
    part: StepPart,
    stamp: int,
    reach_stamps: Bytes,
) -> None:
    """Move the agents of a band, but postpone those that could meet others of its neighbours.

    Args:
        agents: Written for moves; its counters and accounts are those of the band.
        rules: Rules of the batch.
        events: Buffer, appended to.
        moves: Actions, and the order of moves.
        bands: Writes `pending` and `claimed`.
        chunk: `[CHUNK]`, scratch of the thread.
        w: World.
        part: Which band.
        stamp: Stamp of cells that postponed predators claim; the next one is for prey.
        reach_stamps: Written: see `mark_reach`; of length 0 if it is not needed.
    """
    size = rules.size
    low, high = get_slice(part, size)
    inner_low = low + bands.reach if part.number > 0 else 0
    inner_high = high - bands.reach if part.number < part.n_parts - 1 else size
    for turn in range(2):
        # Neighbouring bands begin with another species, which are independent of each other: threads
        # that go through the same rows at the same time would wait for each other's cache lines.
        species = (part.number + turn) % 2
        n_before = moves.n_acting[w, PREDATOR] if species == PREY else 0
        n_acting, rows = moves.n_acting[w, species], moves.acting_rows[w, species]
        for first in range(0, n_acting, CHUNK):
            n_listed = list_band(
                agents, w, rows, first, min(first + CHUNK, n_acting), low, high, chunk
            )
            for i in range(min(LOOKAHEAD, n_listed) if rules.exceeds_cache else 0):
                prefetch_move(agents, rules, w, species, rows[chunk[i]], moves)
            for i in range(n_listed):
                if rules.exceeds_cache and i + LOOKAHEAD < n_listed:
                    ahead = rows[np.uint64(chunk[np.uint64(i + LOOKAHEAD)])]
                    prefetch_move(agents, rules, w, species, ahead, moves)
                entry = chunk[np.uint64(i)]
                row = rows[np.uint64(entry)]
                if not agents.alive[w, row]:
                    continue
                if not agents.carcass[w, row]:
                    x, y = agents.x[w, row], agents.y[w, row]
                    to_x, to_y = aim(agents, rules, w, species, row, moves)
                    if part.n_parts > 1:
                        cell, target = x * size + y, to_x * size + to_y
                        is_inside = inner_low <= min(x, to_x) and max(x, to_x) < inner_high
                        if postpones(bands, cell, target, is_inside, stamp + species):
                            bands.pending[n_before + entry] = POSTPONED
                            continue
                    move_agent(agents, rules, events, w, species, row, x, y, to_x, to_y)
                if check_energy(agents, rules, w, species, row, reach_stamps):
                    bands.pending[n_before + entry] = STARVED


@allocation_free_kernel
def finish_moves(
    agents: SavannaAgents,
    rules: SavannaRules,
    events: EventBuffer,
    moves: StepActions,
    bands: Bands,
    w: int,
    reach_stamps: Bytes,
) -> None:
    """Make postponed moves, let agents starve, and let them give.

    Args:
        agents: Written for moves, deaths and gifts.
        rules: Rules of the batch.
        events: Buffer, appended to.
        moves: Actions, and the order of moves.
        bands: Reads and clears `pending`.
        w: World.
        reach_stamps: See `mark_reach`; of length 0 if it is not needed.
    """
    pending, n_before = bands.pending, 0
    for species in range(2):
        n = n_before + moves.n_acting[w, species]
        entry = find_pending(pending, n_before, n)
        while entry < n:
            if pending[entry] & POSTPONED:
                row = moves.acting_rows[w, species, entry - n_before]
                x, y = agents.x[w, row], agents.y[w, row]
                to_x, to_y = aim(agents, rules, w, species, row, moves)
                move_agent(agents, rules, events, w, species, row, x, y, to_x, to_y)
                is_starved = check_energy(agents, rules, w, species, row, reach_stamps)
                pending[entry] = STARVED if is_starved else 0
            entry = find_pending(pending, entry + 1, n)
        n_before = n
    n_before = 0
    for species in range(2):
        n = n_before + moves.n_acting[w, species]
        entry = find_pending(pending, n_before, n)
        while entry < n:
            row = moves.acting_rows[w, species, entry - n_before]
            metabolism.starve(agents, rules, w, species, row)
            pending[entry] = 0
            entry = find_pending(pending, entry + 1, n)
        n_before = n
    if rules.donates:
        run_donations(agents, rules, events, w)
