"""Deaths and births of a large world: listed in parts, then carried out in order."""

from __future__ import annotations

import numpy as np

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import allocation_free_kernel
from kinfolk.lineage.kernels import count_birth
from kinfolk.worlds.savanna.rules import SavannaRules
from kinfolk.worlds.savanna.state import EventBuffer, SavannaState
from kinfolk.worlds.savanna.step.births import NewbornValues, prefetch_birth, try_reproduce
from kinfolk.worlds.savanna.step.context import (
    SavannaAgents,
    StepPart,
    get_agent_arrays,
    get_slice,
)
from kinfolk.worlds.savanna.step.metabolism import remove_agent
from kinfolk.worlds.savanna.step.parts.bands import Bands

_PARENTS_AHEAD = 6  # how many parents ahead of their turn the cells around them are loaded


@allocation_free_kernel
def list_generations(
    agents: SavannaAgents, rules: SavannaRules, bands: Bands, w: int, part: StepPart
) -> None:
    """List the dead, the survivors and those that may reproduce of a part of the agents.

    Args:
        agents: Writes `alive_rows`: the survivors of the part come first in its slice.
        rules: Rules of the batch.
        bands: Writes the lists.
        w: World.
        part: Which agents.
    """
    n_before = 0
    for species in range(2):
        rows, n_alive = agents.alive_rows[w, species], agents.n_alive[w, species]
        first, last = get_slice(part, n_alive)
        n_survivors, n_leavers, n_candidates, start = 0, 0, 0, n_before + first
        for i in range(first, last):
            row = rows[np.uint64(i)]
            is_alive, is_carcass = agents.alive[w, row], agents.carcass[w, row]
            if not is_alive or is_carcass:
                bands.leavers[start + n_leavers] = row
                n_leavers += 1
            if is_alive:
                rows[first + n_survivors] = row
                n_survivors += 1
                kind = np.uint64(2 * species + agents.group[w, row] - species * rules.n_types)
                if not is_carcass and agents.energy[w, row] >= rules.birth_threshold[kind]:
                    bands.candidates[start + n_candidates] = row
                    n_candidates += 1
        bands.listed[part.number, species, 0] = n_survivors
        bands.listed[part.number, species, 1] = n_leavers
        bands.listed[part.number, species, 2] = n_candidates
        n_before += n_alive


@allocation_free_kernel
def remove_leavers(
    state: SavannaState,
    rules: SavannaRules,
    events: EventBuffer,
    bands: Bands,
    w: int,
    n_predators: int,
    n_prey: int,
) -> None:
    """Remove the dead from lineages, and list them as ended; see `list_generations`.

    Args:
        state: State of the batch, written; not the fields that `reproduce` writes.
        rules: Rules of the batch.
        events: Buffer, appended to.
        bands: Reads the lists.
        w: World.
        n_predators: How many predators were listed.
        n_prey: How many prey were listed.
    """
    agents, n_parts = get_agent_arrays(state, rules), bands.listed.shape[0]
    for species in range(2):
        start, n = (n_predators, n_prey) if species else (0, n_predators)
        for number in range(n_parts):
            first = start + n * number // n_parts
            for i in range(first, first + bands.listed[number, species, 1]):
                remove_agent(agents, rules, state, events, w, species, bands.leavers[i])


@allocation_free_kernel
def reproduce(
    state: SavannaState,
    rules: SavannaRules,
    events: EventBuffer,
    newborns: NewbornValues,
    bands: Bands,
    w: int,
    n_predators: int,
    n_prey: int,
) -> None:
    """Join the lists of survivors, and let the candidates reproduce; see `list_generations`.

    Ancestors do not count the newborns yet, because `remove_leavers` changes their counts at the same time.

    Args:
        state: State of the batch, written.
        rules: Rules of the batch.
        events: Buffer, appended to.
        newborns: See `NewbornValues`.
        bands: Reads the lists.
        w: World.
        n_predators: How many predators were listed.
        n_prey: How many prey were listed.
    """
    n_parts, n_newborns = bands.listed.shape[0], 0
    newborns.free_cells[0] = 0
    for species in range(2):
        rows, n, n_kept = state.alive_rows[w, species], n_prey if species else n_predators, 0
        for number in range(n_parts):
            first = n * number // n_parts
            for i in range(first, first + bands.listed[number, species, 0]):
                rows[np.uint64(n_kept)] = rows[np.uint64(i)]
                n_kept += 1
        for i in range(n_kept, n):  # so that no entry depends on the number of lists
            rows[i] = 0
        state.n_alive[w, species] = n_kept
    for species in range(2):
        start, n = (n_predators, n_prey) if species else (0, n_predators)
        for number in range(n_parts):
            first = start + n * number // n_parts
            last = first + bands.listed[number, species, 2]
            for i in range(first, last):
                if rules.exceeds_cache and i + _PARENTS_AHEAD < last:
                    ahead = bands.candidates[i + _PARENTS_AHEAD]
                    prefetch_birth(state, rules, w, species, ahead)
                row = bands.candidates[i]
                n_newborns += try_reproduce(
                    state, rules, events, w, species, row, newborns, n_newborns, False
                )


@allocation_free_kernel
def count_births(parent: Ints, live_descendants: Ints, w: int, first: int, last: int) -> None:
    """Give the ancestors of newborns a live descendant each.

    Args:
        parent: See `count_birth`.
        live_descendants: Written.
        w: World.
        first: Uid of the first newborn.
        last: End of the uids.
    """
    for uid in range(first, last):
        count_birth(parent, live_descendants, w, uid)
