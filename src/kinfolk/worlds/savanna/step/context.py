"""Arguments that phases of a step share, as NamedTuples of arrays.

Kernels take only the arrays that they use, in flat tuples: passing the whole state, or tuples in
tuples, costs compile time, and time at every call that is not inlined.
"""

from __future__ import annotations

from typing import NamedTuple

from kinfolk.core.arrays import Bools, Bytes, Floats, Ints
from kinfolk.core.jit import inline, inline_always
from kinfolk.worlds.savanna.rules import SavannaRules
from kinfolk.worlds.savanna.state import (
    Codes,
    Links,
    Plane,
    RowIndices,
    SavannaState,
    ShortInts,
)

# How many agents ahead of their turn a large world starts to load what they will read.
LOOKAHEAD = 12
# Parts of the agents of a large world. It depends on no number of threads, so that sums of energies are
# added in the same order on any number of them.
N_PARTS = 16


class SavannaAgents(NamedTuple):
    """The arrays of agents, cells and meals, with the rules of cells; see `SavannaState`."""

    first_in_cell: Links
    next_in_cell: Links
    visible_energy: Plane
    x: ShortInts
    y: ShortInts
    energy: Floats
    alive: Bools
    carcass: Bools
    death_cause: Codes
    active: Ints
    n_alive: Ints
    alive_rows: RowIndices
    uid: Ints
    group: Ints
    age: ShortInts
    reward: Floats
    step_event: Codes
    tick: Ints
    satiated_until: Ints
    heading: Ints
    energy_before: Floats
    traits: Floats
    death_view: Plane
    patch_in_cell: Links
    grass_energy: Floats
    counters: Ints
    energy_accounts: Floats
    size: int  # side of the grid
    cell_erasure: bool  # quirk, see `refresh_vacated_cell`
    dead_prey_stay: bool  # quirk: dead prey stay on their cells until `remove_dead`
    separate_prey: bool  # prey of type 2, the last group, have a plane of their own
    n_types: int


class StepActions(NamedTuple):
    """The actions of a step, and the order in which agents move."""

    actions: Ints  # [W * N, heads]
    acting_rows: RowIndices  # [W, 2, N] rows of each species that move, in order
    n_acting: Ints  # [W, 2] how many of them
    all_act: bool  # whether these are all living agents


class StepScratch(NamedTuple):
    """Working memory of a step, one per thread; parts of a large world share one, see `Strips`."""

    helpers: RowIndices  # [N] rows of the predators that attack a prey
    reach_stamps: Bytes  # [(size + 2)**2 + 1], see `mark_predator_reach`
    # [parts or worlds of a block] whether some of their agents have reached their maximum age
    any_overaged: Bools


class StepPart(NamedTuple):
    """Which stages of a step a call runs, and for which part of the agents, prey and patches.

    Small worlds run all stages in one call. In a large world the stages that agents go through
    independently of each other are split into parts, which threads share; see `parts`.
    """

    stages: int  # bits, such as `phases.GROW`
    number: int  # of the part, from 0
    n_parts: int


@inline
def get_slice(part: StepPart, n: int) -> tuple[int, int]:
    """Return the first entry and the end of a part of `n` entries."""
    return n * part.number // part.n_parts, n * (part.number + 1) // part.n_parts


@inline_always
def get_agent_arrays(state: SavannaState, rules: SavannaRules) -> SavannaAgents:
    """Return the arrays of a state and the rules that `SavannaAgents` names."""
    return SavannaAgents(
        state.first_in_cell,
        state.next_in_cell,
        state.visible_energy,
        state.x,
        state.y,
        state.energy,
        state.alive,
        state.carcass,
        state.death_cause,
        state.active,
        state.n_alive,
        state.alive_rows,
        state.uid,
        state.group,
        state.age,
        state.reward,
        state.step_event,
        state.tick,
        state.satiated_until,
        state.heading,
        state.energy_before,
        state.traits,
        state.death_view,
        state.patch_in_cell,
        state.grass_energy,
        state.counters,
        state.energy_accounts,
        rules.size,
        rules.cell_erasure,
        rules.dead_prey_bitten,
        rules.separate_prey,
        rules.n_types,
    )
