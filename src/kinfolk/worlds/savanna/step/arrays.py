"""The parts of the state that phases take as arguments, as NamedTuples of arrays.

Kernels take only the arrays that they use: passing the whole state costs compile time and time at
every call.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kinfolk.core.arrays import Bools, Floats, Ints
from kinfolk.core.jit import inline
from kinfolk.worlds.savanna.rules import SavannaRules
from kinfolk.worlds.savanna.state import PREY, RowIndices, SavannaState


class AliveArrays(NamedTuple):
    """The arrays that list the living and the dead of each world."""

    done: Bools
    n_alive: Ints
    alive_rows: RowIndices
    ended_rows: RowIndices
    n_ended: Ints
    uid: Ints
    reward: Floats


@inline
def get_alive_arrays(state: SavannaState) -> AliveArrays:
    """Return the arrays of a state that list the living and the dead."""
    return AliveArrays(
        state.done,
        state.n_alive,
        state.alive_rows,
        state.ended_rows,
        state.n_ended,
        state.uid,
        state.reward,
    )


class DeathArrays(NamedTuple):
    """The arrays that a death changes at once."""

    carcass: Bools  # [W, N]
    death_cause: Ints  # [W, N]
    active: Ints  # [W, 2] published counters of predators and prey


@inline
def get_death_arrays(state: SavannaState) -> DeathArrays:
    """Return the arrays of a state that a death changes at once."""
    return DeathArrays(state.carcass, state.death_cause, state.active)


class LineageArrays(NamedTuple):
    """Family trees, by uid: see `kinfolk.lineage.kernels`."""

    parent: Ints
    living: Bools
    live_descendants: Ints
    prev_live_descendants: Ints


@inline
def get_lineage_arrays(state: SavannaState) -> LineageArrays:
    """Return the family trees of a state."""
    return LineageArrays(
        state.parent, state.living, state.live_descendants, state.prev_live_descendants
    )


class EatingArrays(NamedTuple):
    """The arrays and rules that eating grass needs."""

    patch_in_cell: npt.NDArray[np.int32]
    grass_energy: Floats
    reward: Floats
    step_event: Ints
    uid: Ints
    counters: Ints
    energy_accounts: Floats
    max_bite: float  # energy of a meal of grass
    transfer_efficiency: float
    max_energy: float  # of prey


@inline
def get_eating_arrays(state: SavannaState, rules: SavannaRules) -> EatingArrays:
    """Return the arrays of a state and the rules that eating needs."""
    return EatingArrays(
        state.patch_in_cell,
        state.grass_energy,
        state.reward,
        state.step_event,
        state.uid,
        state.counters,
        state.energy_accounts,
        rules.max_grass_bite,
        rules.transfer_efficiency,
        rules.max_energy[PREY],
    )


class PredatorArrays(NamedTuple):
    """The arrays that decide which predators take part in a hunt."""

    step_event: Ints
    age: Ints
    uid: Ints
    group: Ints
    counters: Ints
    juvenile_age: Ints  # [4] below it, predators eat carcasses only


@inline
def get_predator_arrays(state: SavannaState, rules: SavannaRules) -> PredatorArrays:
    """Return the arrays of a state and the rules that decide which predators hunt."""
    return PredatorArrays(
        state.step_event, state.age, state.uid, state.group, state.counters, rules.juvenile_age
    )
