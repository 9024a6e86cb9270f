"""Moves of a large world: planned in parts, made in strips of the grid; see `strips`."""

from __future__ import annotations

import numpy as np

from kinfolk.core.arrays import Bytes
from kinfolk.core.jit import allocation_free_kernel, inline_always, prefetch
from kinfolk.worlds.savanna import codes
from kinfolk.worlds.savanna.codes import PREDATOR
from kinfolk.worlds.savanna.rules import SavannaRules
from kinfolk.worlds.savanna.state import EventBuffer
from kinfolk.worlds.savanna.step import metabolism
from kinfolk.worlds.savanna.step.context import (
    LOOKAHEAD,
    SavannaAgents,
    StepActions,
    StepPart,
    get_slice,
)
from kinfolk.worlds.savanna.step.donation import run_donations
from kinfolk.worlds.savanna.step.movement import aim, move_agent
from kinfolk.worlds.savanna.step.occupancy import kill_agent
from kinfolk.worlds.savanna.step.parts.strips import (
    POSTPONED,
    STARVED,
    Strips,
    find_pending,
    pack_cell,
    unpack_cell,
)
from kinfolk.worlds.savanna.step.team_capture import advance_stamp, mark_reach


@allocation_free_kernel
def plan_moves(
    agents: SavannaAgents,
    rules: SavannaRules,
    moves: StepActions,
    strips: Strips,
    w: int,
    part: StepPart,
) -> None:
    """List the moves of a part of the agents by strip, in order within each.

    Agents are read in the order of their rows here, so that the moves need not jump to their fields.

    Args:
        agents: Reads positions; writes headings.
        rules: Rules of the batch.
        moves: Actions, and the order of moves.
        strips: Writes plans, and `pending` for carcasses without energy.
        w: World.
        part: Which agents.
    """
    n_before = 0
    for species in range(2):
        n_acting = moves.n_acting[w, species]
        rows, starts = moves.acting_rows[w, species], strips.starts[part.number, species]
        first, last = get_slice(part, n_acting)
        for i in range(starts.shape[0]):
            starts[i] = 0
        for i in range(first, last):
            row = rows[np.uint64(i)]
            if agents.alive[w, row] and not agents.carcass[w, row]:
                starts[np.uint64(strips.strip_of_line[agents.x[w, row]] + 2)] += 1
        starts[0], starts[1] = n_before + first, n_before + first
        for i in range(2, starts.shape[0]):
            starts[i] += starts[i - 1]
        # From here on, entry `strip + 1` is the place of the next plan of a strip.
        for i in range(first, last):
            row = rows[np.uint64(i)]
            if not agents.alive[w, row]:
                continue
            if agents.carcass[w, row]:
                if agents.energy[w, row] <= 0.0:
                    strips.pending[n_before + i] = STARVED
                continue
            x, y = agents.x[w, row], agents.y[w, row]
            to_x, to_y = aim(agents, rules, w, species, row, moves)
            strip = np.uint64(strips.strip_of_line[x])
            plan = np.uint64(starts[strip + np.uint64(1)])
            starts[strip + np.uint64(1)] += 1
            strips.plans[plan, 0] = n_before + i
            strips.plans[plan, 1] = row
            strips.plans[plan, 2] = pack_cell(x, y)
            strips.plans[plan, 3] = pack_cell(to_x, to_y)
        n_before += n_acting


@inline_always
def prefetch_plan(agents: SavannaAgents, strips: Strips, w: int, plan: int) -> None:
    """Start to load the fields of an agent that moves soon.

    Args:
        agents: Arrays of agents.
        strips: Plans.
        w: World.
        plan: Its plan.
    """
    row = w * agents.alive.shape[1] + np.int64(strips.plans[np.uint64(plan), 1])
    prefetch(agents.energy, row)
    prefetch(agents.next_in_cell, row)
    prefetch(agents.x, row)
    prefetch(agents.y, row)


@allocation_free_kernel
def move_strip(
    agents: SavannaAgents,
    rules: SavannaRules,
    events: EventBuffer,
    strips: Strips,
    w: int,
    strip: int,
    stamp: int,
    reach_stamps: Bytes,
) -> None:
    """Move the agents of a strip, but postpone those that could meet others of its neighbours.

    Args:
        agents: Written for moves; its counters and accounts are those of the strip.
        rules: Rules of the batch.
        events: Buffer, appended to.
        strips: Plans; writes `pending` and `claimed`.
        w: World.
        strip: Number of the strip.
        stamp: Stamp of cells that postponed predators claim; the next one is for prey.
        reach_stamps: Written: cells in reach of predators, if prey are caught by teams.
    """
    size, n_parts, n_strips = rules.size, strips.starts.shape[0], strips.first_line.shape[0] - 1
    low, high = strips.first_line[strip], strips.first_line[strip + 1]
    low += strips.reach if strip > 0 else 0
    high -= strips.reach if strip < n_strips - 1 else 0
    for species in range(2):
        claim = np.uint8(stamp + species)
        for number in range(n_parts):
            last = strips.starts[number, species, strip + 1]
            for plan in range(strips.starts[number, species, strip], last):
                if rules.exceeds_cache and plan + LOOKAHEAD < last:
                    prefetch_plan(agents, strips, w, plan + LOOKAHEAD)
                entry, row = strips.plans[np.uint64(plan), 0], strips.plans[np.uint64(plan), 1]
                x, y = unpack_cell(strips.plans[np.uint64(plan), 2])
                to_x, to_y = unpack_cell(strips.plans[np.uint64(plan), 3])
                cell, target = np.uint64(x * size + y), np.uint64(to_x * size + to_y)
                is_inside = low <= min(x, to_x) and max(x, to_x) < high
                if (
                    not is_inside
                    or strips.claimed[cell] == claim
                    or strips.claimed[target] == claim
                ):
                    strips.claimed[cell] = claim
                    strips.claimed[target] = claim
                    strips.pending[entry] = POSTPONED
                    continue
                move_agent(agents, rules, events, w, species, row, x, y, to_x, to_y)
                if check_energy(agents, rules, w, species, row, reach_stamps):
                    strips.pending[entry] = STARVED


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


@allocation_free_kernel
def finish_moves(
    agents: SavannaAgents,
    rules: SavannaRules,
    events: EventBuffer,
    moves: StepActions,
    strips: Strips,
    w: int,
    reach_stamps: Bytes,
) -> None:
    """Make postponed moves, let agents starve, and let them give.

    Args:
        agents: Written for moves, deaths and gifts.
        rules: Rules of the batch.
        events: Buffer, appended to.
        moves: Actions, and the order of moves.
        strips: Reads and clears `pending`.
        w: World.
        reach_stamps: See `mark_reach`; of length 0 if it is not needed.
    """
    pending, n_before = strips.pending, 0
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
            kill_agent(agents, w, species, row, codes.STARVED)
            pending[entry] = 0
            entry = find_pending(pending, entry + 1, n)
        n_before = n
    if rules.donates:
        run_donations(agents, rules, events, w)
