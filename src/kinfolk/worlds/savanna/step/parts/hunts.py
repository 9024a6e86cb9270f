"""Grazing and hunts of a large world: safe prey in parts, prey in reach of predators in bands."""

from __future__ import annotations

import numpy as np

from kinfolk.core.arrays import Bytes, Ints
from kinfolk.core.jit import allocation_free_kernel, inline_always, prefetch
from kinfolk.worlds.savanna import codes
from kinfolk.worlds.savanna.codes import PREY
from kinfolk.worlds.savanna.rules import SavannaRules
from kinfolk.worlds.savanna.state import EventBuffer, RowIndices
from kinfolk.worlds.savanna.step.context import (
    LOOKAHEAD,
    SavannaAgents,
    StepPart,
    get_slice,
)
from kinfolk.worlds.savanna.step.parts.bands import N_BANDS, Bands
from kinfolk.worlds.savanna.step.predation import graze, run_grazing, run_solo_predation
from kinfolk.worlds.savanna.step.team_capture import attack_prey, is_in_reach, prefetch_prey


@allocation_free_kernel
def graze_safe_prey(
    agents: SavannaAgents,
    rules: SavannaRules,
    events: EventBuffer,
    reach_stamps: Bytes,
    bands: Bands,
    w: int,
    part: StepPart,
) -> None:
    """Let prey out of reach of predators eat grass, and list the others.

    Args:
        agents: Written for meals.
        rules: Rules of the batch.
        events: Buffer, appended to.
        reach_stamps: Cells in reach of predators.
        bands: Writes the list.
        w: World.
        part: Which prey.
    """
    rows, n_listed = agents.alive_rows[w, PREY], 0
    first, last = get_slice(part, agents.n_alive[w, PREY])
    for i in range(first, last):
        prey = rows[np.uint64(i)]
        if rules.exceeds_cache:
            prefetch_prey(agents, w, rows, i, last, reach_stamps)
        if not agents.alive[w, prey]:
            continue
        if is_in_reach(agents, w, prey, reach_stamps):
            bands.hunted[first + n_listed] = prey
            n_listed += 1
        else:
            graze(agents, rules, events, w, prey)
    bands.first_hunted[part.number] = first
    bands.n_hunted[part.number] = n_listed


@inline_always
def hunt(
    agents: SavannaAgents,
    rules: SavannaRules,
    events: EventBuffer,
    w: int,
    actions: Ints,
    prey: int,
    helpers: RowIndices,
) -> bool:
    """Let predators attack a prey, which eats grass if it is not caught; return whether it is.

    Args:
        agents: Written for captures, meals and deaths.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
        actions: `[W * N, heads]`, read with `join_choice`.
        prey: Row of the prey.
        helpers: `[N]`, scratch.
    """
    before = agents.counters[w, codes.SUCCESSES]
    if not attack_prey(agents, rules, events, w, actions, prey, helpers):
        graze(agents, rules, events, w, prey)
    is_caught: bool = agents.counters[w, codes.SUCCESSES] > before  # rather than a carcass shared
    return is_caught


@inline_always
def claim_neighborhood(bands: Bands, size: int, x: int, y: int, claim: int) -> None:
    """Claim the cells from which prey share a predator in reach with the prey on a cell.

    Args:
        bands: Writes `claimed`.
        size: Side of the grid.
        x: x of the cell.
        y: y of the cell.
        claim: Stamp.
    """
    for to_x in range(max(x - 2, 0), min(x + 3, size)):
        for to_y in range(max(y - 2, 0), min(y + 3, size)):
            bands.claimed[to_x * size + to_y] = claim


@inline_always
def prefetch_hunt(agents: SavannaAgents, w: int, row: int) -> None:
    """Start to load the lists of predators around a prey.

    Args:
        agents: Cells of agents.
        w: World.
        row: Row of the prey.
    """
    size = agents.size
    corner = w * 2 * size * size + (agents.x[w, row] - 1) * size + agents.y[w, row]
    for line in range(3):
        prefetch(agents.first_in_cell, corner + line * size)


@allocation_free_kernel
def hunt_band(
    agents: SavannaAgents,
    rules: SavannaRules,
    events: EventBuffer,
    actions: Ints,
    helpers: RowIndices,
    bands: Bands,
    w: int,
    band: int,
    stamp: int,
) -> None:
    """Give the hunted prey of a band of lines their turns, or postpone them; see `bands`.

    A turn touches the predators around the prey. Those of another band's first prey can be one line
    inside of this band, so prey within two lines of its borders are postponed.

    Args:
        agents: Written for captures, meals and deaths; its counters and accounts are the band's.
        rules: Rules of the batch.
        events: Buffer, appended to.
        actions: `[W * N, heads]`, read with `join_choice`.
        helpers: `[N]`, scratch of the thread.
        bands: Reads the list of hunted prey; writes `postponed`, `claimed` and `last_captures`.
        w: World.
        band: Number of the band.
        stamp: Stamp of the cells that postponed prey claim.
    """
    size = rules.size
    low, high = size * band // N_BANDS, size * (band + 1) // N_BANDS
    inner_low, inner_high = low + 2 if band > 0 else 0, high - 2 if band < N_BANDS - 1 else size
    bands.last_captures[band] = -1
    for number in range(bands.n_hunted.shape[0]):
        first = bands.first_hunted[number]
        last = first + bands.n_hunted[number]
        for i in range(first, last):
            if rules.exceeds_cache and i + LOOKAHEAD < last:
                ahead = bands.hunted[i + LOOKAHEAD]
                if low <= agents.x[w, ahead] < high:
                    prefetch_hunt(agents, w, ahead)
            prey = bands.hunted[i]
            x, y = agents.x[w, prey], agents.y[w, prey]
            if x < low or x >= high:
                continue
            is_inside = inner_low <= x < inner_high
            if not is_inside or bands.claimed[x * size + y] == stamp:
                claim_neighborhood(bands, size, x, y, stamp)
                bands.postponed[i] = True
            elif hunt(agents, rules, events, w, actions, prey, helpers):
                bands.last_captures[band] = agents.uid[w, prey]


@allocation_free_kernel
def finish_hunts(
    agents: SavannaAgents,
    rules: SavannaRules,
    events: EventBuffer,
    actions: Ints,
    helpers: RowIndices,
    bands: Bands,
    w: int,
) -> int:
    """Give the postponed prey their turns.

    Args:
        agents: Written for captures, meals and deaths.
        rules: Rules of the batch.
        events: Buffer, appended to.
        actions: `[W * N, heads]`, read with `join_choice`.
        helpers: `[N]`, scratch.
        bands: Reads the list of hunted prey; reads and clears `postponed`.
        w: World.

    Returns:
        The uid of the prey caught last, -1 if none.
    """
    last_capture = -1
    for number in range(bands.n_hunted.shape[0]):
        first = bands.first_hunted[number]
        for i in range(first, first + bands.n_hunted[number]):
            if not bands.postponed[i]:
                continue
            bands.postponed[i] = False
            prey = bands.hunted[i]
            if hunt(agents, rules, events, w, actions, prey, helpers):
                last_capture = int(agents.uid[w, prey])
    return last_capture


@allocation_free_kernel
def graze_all(
    agents: SavannaAgents, rules: SavannaRules, events: EventBuffer, w: int, part: StepPart
) -> None:
    """Let a part of the prey eat grass, where predators hunt alone.

    Args:
        agents: Written for meals.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
        part: Which prey.
    """
    run_grazing(agents, rules, events, w, part)


@allocation_free_kernel
def hunt_alone(agents: SavannaAgents, rules: SavannaRules, events: EventBuffer, w: int) -> None:
    """Let predators bite the prey on their cells.

    Args:
        agents: Written for bites and deaths.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
    """
    run_solo_predation(agents, rules, events, w)
