"""The arrays of the probe world; the first axis is the world."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kinfolk.core.arrays import Bools, Floats, Ints
from kinfolk.testing.probe.settings import Probe

GRAZER, HUNTER = 0, 1
LOG_FIELDS = 4  # kind, uid, other, value
BIRTH, DEATH, MEAL, BITE = 0, 1, 2, 3
HAPPENINGS = ("birth", "death", "meal", "bite")


class State(NamedTuple):
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


def empty_state(rules: Probe, worlds: int) -> State:
    """All arrays, zeroed, for `worlds` worlds that wait for a reset."""
    w, n = worlds, rules.rows

    def ints(*shape: int) -> Ints:
        return np.zeros(shape, dtype=np.int64)

    def bools(*shape: int) -> Bools:
        return np.zeros(shape, dtype=np.bool_)

    return State(
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
