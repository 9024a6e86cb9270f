"""Settings and state arrays of the probe world."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kinfolk.core.arrays import AnyArray, Bools, Floats, Ints
from kinfolk.core.settings import Settings, setting


class Probe(Settings):
    """A ring of cells with food, grazers that eat it and hunters that bite grazers.

    Energies are whole numbers, so that the energy balance is exact.
    """

    cells: int = setting(12, "Cells of the ring.", ge=3)
    rows: int = setting(16, "Most agents alive at once.", ge=2)
    grazers: int = setting(5, "Grazers at the start.", ge=0)
    hunters: int = setting(3, "Hunters at the start.", ge=0)
    max_ticks: int = setting(60, "Length of an episode in ticks.", ge=1)
    start_energy: int = setting(12, "Energy of an agent at the start.", ge=1)
    meal: int = setting(4, "Energy of a meal.", ge=1)
    bite: int = setting(3, "Most energy that a hunter takes from a grazer.", ge=1)
    birth_energy: int = setting(10, "Energy that each parent must have.", ge=2)
    birth_cost: int = setting(4, "Energy that each parent gives to the child.", ge=1)
    max_age: int = setting(40, "Age in ticks at which an agent dies.", ge=1)
    growth: float = setting(
        0.3, "Probability per tick that a meal grows in an empty cell.", ge=0.0, le=1.0
    )


GRAZER, HUNTER = 0, 1  # groups
LOG_FIELDS = 4  # kind, uid, other, value
BIRTH, DEATH, MEAL, BITE = 0, 1, 2, 3
EVENT_KINDS = ("birth", "death", "meal", "bite")
COUNTERS = ("births", "deaths", "blocked", "grown", "spent", "lost")
METRIC_DEFINITIONS = {  # unit and definition of each counter
    "births": ("agents", "births"),
    "deaths": ("agents", "deaths"),
    "blocked": ("events", "births for which there was no room"),
    "grown": ("energy", "energy of the meals that grew"),
    "spent": ("energy", "energy that living cost"),
    "lost": ("energy", "energy of the dead"),
}


class ProbeState(NamedTuple):
    """State of a batch of probe worlds, as arrays for the kernels; W worlds, N rows, C cells."""

    key: Ints  # [W] random key
    tick: Ints  # [W]
    done: Bools  # [W]
    next_uid: Ints  # [W]
    living: Ints  # [W] number of living agents
    order: Ints  # [W, N] their rows, in uid order
    food: Ints  # [W, C] meals
    uid: Ints  # [W, N] -1 for an empty row
    alive: Bools  # [W, N]
    reward: Floats  # [W, N] of the last step
    terminated: Bools  # [W, N] died in the last step
    truncated: Bools  # [W, N] alive when the episode's time was up
    group: Ints  # [W, N]
    parents: Ints  # [W, N, 2] uids, -1 for none
    parent_rows: Ints  # [W, N, 2] rows at the time of birth, -1 for none
    cell: Ints  # [W, N] position
    energy: Ints  # [W, N]
    age: Ints  # [W, N] in ticks
    calling: Bools  # [W, N] calls in this tick
    births: Ints  # [W] counter
    deaths: Ints  # [W] counter
    blocked: Ints  # [W] births for which no row was free
    grown: Ints  # [W] meals that grew
    spent: Ints  # [W] energy paid for moving
    lost: Ints  # [W] energy of agents when they died
    log: Ints  # [W, capacity, LOG_FIELDS] events of the last step
    logged: Ints  # [W] number of events in the log


def empty_state(settings: Probe, n_worlds: int) -> ProbeState:
    """Allocate the state of worlds that are done until their reset."""
    w, n = n_worlds, settings.rows
    per_world = ("key", "tick", "next_uid", "living", *COUNTERS, "logged")
    arrays: dict[str, AnyArray] = {name: np.zeros(w, np.int64) for name in per_world}
    for name in ("order", "group", "cell", "energy", "age"):
        arrays[name] = np.zeros((w, n), np.int64)
    for name in ("alive", "terminated", "truncated", "calling"):
        arrays[name] = np.zeros((w, n), np.bool_)
    return ProbeState(
        done=np.ones(w, np.bool_),
        food=np.zeros((w, settings.cells), np.int64),
        uid=np.full((w, n), -1, np.int64),
        reward=np.zeros((w, n), np.float64),
        parents=np.full((w, n, 2), -1, np.int64),
        parent_rows=np.full((w, n, 2), -1, np.int64),
        # Per row and tick there is at most one meal or bite, one birth and one death.
        log=np.zeros((w, 4 * n, LOG_FIELDS), np.int64),
        **arrays,
    )
