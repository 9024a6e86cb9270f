"""The settings and the state arrays of the probe world; the first axis is the world."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from pydantic import Field

from kinfolk.core.arrays import Bools, Floats, Ints
from kinfolk.core.settings import Settings


class Probe(Settings):
    """A ring of cells with food, grazers that eat it and hunters that tap grazers.

    Energies are whole numbers, so that every account balances exactly.
    """

    cells: int = Field(default=12, ge=3)
    rows: int = Field(default=16, ge=2)
    grazers: int = Field(default=5, ge=0)
    hunters: int = Field(default=3, ge=0)
    max_ticks: int = Field(default=60, ge=1)
    start_energy: int = Field(default=12, ge=1)
    meal: int = Field(default=4, ge=1)
    bite: int = Field(default=3, ge=1)
    birth_energy: int = Field(default=10, ge=2)
    birth_cost: int = Field(default=4, ge=1)
    max_age: int = Field(default=40, ge=1)
    growth: float = Field(default=0.3, ge=0.0, le=1.0)


GRAZER, HUNTER = 0, 1

LOG_FIELDS = 4  # kind, uid, other, value

BIRTH, DEATH, MEAL, BITE = 0, 1, 2, 3

EVENT_KINDS = ("birth", "death", "meal", "bite")


class ProbeState(NamedTuple):
    """Everything a probe world is. Kernels get these arrays; nobody else does."""

    key: Ints
    tick: Ints
    done: Bools
    next_uid: Ints
    living: Ints  # how many are alive
    order: Ints  # their rows, in uid order
    food: Ints  # per cell, in meals
    uid: Ints
    alive: Bools
    reward: Floats
    terminated: Bools
    truncated: Bools
    group: Ints
    parents: Ints
    parent_rows: Ints
    cell: Ints
    energy: Ints
    age: Ints
    calling: Bools
    births: Ints
    deaths: Ints
    blocked: Ints  # births for which no row was free
    grown: Ints  # meals that grew
    spent: Ints  # energy paid for moving
    lost: Ints  # energy that died with its owner
    log: Ints
    logged: Ints


def empty_state(rules: Probe, worlds: int) -> ProbeState:
    """All arrays, zeroed, for `worlds` worlds that wait for a reset."""
    w, n = worlds, rules.rows

    def ints(*shape: int) -> Ints:
        return np.zeros(shape, dtype=np.int64)

    def bools(*shape: int) -> Bools:
        return np.zeros(shape, dtype=np.bool_)

    return ProbeState(
        key=ints(w),
        tick=ints(w),
        done=np.ones(w, dtype=np.bool_),
        next_uid=ints(w),
        living=ints(w),
        order=ints(w, n),
        food=ints(w, rules.cells),
        uid=np.full((w, n), -1, dtype=np.int64),
        alive=bools(w, n),
        reward=np.zeros((w, n), dtype=np.float64),
        terminated=bools(w, n),
        truncated=bools(w, n),
        group=ints(w, n),
        parents=np.full((w, n, 2), -1, dtype=np.int64),
        parent_rows=np.full((w, n, 2), -1, dtype=np.int64),
        cell=ints(w, n),
        energy=ints(w, n),
        age=ints(w, n),
        calling=bools(w, n),
        births=ints(w),
        deaths=ints(w),
        blocked=ints(w),
        grown=ints(w),
        spent=ints(w),
        lost=ints(w),
        # A tick can hold a meal or a bite, a birth and a death per row, and no more.
        log=ints(w, 4 * n, LOG_FIELDS),
        logged=ints(w),
    )
