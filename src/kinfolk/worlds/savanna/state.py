"""The arrays of the savanna; the first axis is the world."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from kinfolk.core.arrays import AnyArray, Bools, Floats, Ints
from kinfolk.worlds.savanna.settings import Savanna

# Unsigned, so that kernels need not check for negative indices.
RowIndices = npt.NDArray[np.uint32]

PREDATOR, PREY, GRASS = 0, 1, 2  # species, and planes of `visible_energy`
NO_CAUSE, STARVED, EATEN, MAX_AGE = 0, 1, 2, 3
DEATH_CAUSES = ("none", "starved", "eaten", "max_age")
_CACHE_LINE_BYTES = 64
INITIAL_UID_CAPACITY = 512  # uids that fit at first; doubled when a world comes near it

# Counted since the reset, under the published names where there are any.
COUNTERS = (
    "spawned_predators",
    "spawned_prey",
    "deaths_starved_predator",
    "deaths_starved_prey",
    "deaths_eaten_predator",
    "deaths_eaten_prey",
    "deaths_max_age_predator",
    "deaths_max_age_prey",
    "team_capture_successes",
    "team_capture_failures",
    "team_capture_coop_successes",
    "team_capture_coop_failures",
    "team_capture_helper_total",
    "team_capture_last_helpers",
    "reproduction_blocked_due_to_capacity_predator",
    "reproduction_blocked_due_to_capacity_prey",
    "reproduction_blocked_due_to_fertility_predator",
    "reproduction_blocked_due_to_fertility_prey",
    "carcass_only_live_prey_blocks_predator",
    "moves_blocked_wall",
    "moves_blocked_occupied",
    "moves_blocked_corner_cut",
    "moves_blocked_los",
    "live_bites",
    "carcass_bites",
    "grass_bites",
    "carcasses",
    "kin_kickbacks",
    "newborns_placed_at_random",
    "type_mutations",
)
(
    SPAWNED,
    _SPAWNED_PREY,
    DEATHS,
    *_DEATHS_REST,
    SUCCESSES,
    FAILURES,
    COOP_SUCCESSES,
    COOP_FAILURES,
    HELPER_TOTAL,
    LAST_HELPERS,
    CAPACITY_BLOCKS,
    _CAPACITY_PREY,
    FERTILITY_BLOCKS,
    _FERTILITY_PREY,
    DIET_BLOCKS,
    BLOCKED_WALL,
    BLOCKED_OCCUPIED,
    BLOCKED_CORNER,
    BLOCKED_LOS,
    LIVE_BITES,
    CARCASS_BITES,
    GRASS_BITES,
    CARCASSES,
    KICKBACKS,
    RANDOM_PLACEMENTS,
    MUTATIONS,
) = range(len(COUNTERS))

# Where energy came from and went: bodies + grass = start + grown - all the others.
ENERGY_ACCOUNTS = (
    "energy_grown",
    "energy_decayed",
    "energy_moved",
    "energy_failed_attacks",
    "energy_wasted",
    "energy_lost_with_the_dead",
)
GROWN, DECAYED, MOVE_COST, FAILED_ATTACKS, WASTED, LOST_WITH_DEAD = range(len(ENERGY_ACCOUNTS))


class SavannaState(NamedTuple):
    """The complete state of a batch of savannas; `[W]` or `[W, N]` unless stated."""

    key: Ints  # random key of the episode
    tick: Ints  # steps since the reset
    done: Bools
    next_uid: Ints
    next_number: Ints  # [W, 4] how many of each species and type were ever born: the next id
    active: Ints  # [W, 2] published running counters of predators and prey, see `golden_trace`
    n_alive: Ints  # [W, 2] entries of `alive_rows`
    alive_rows: RowIndices  # [W, 2, N] rows of the living of each species, in uid order
    ended_rows: RowIndices  # [W, N] rows of agents that died in this step
    n_ended: Ints  # [W] entries of `ended_rows`
    free_rows: RowIndices  # [W, N] a stack of empty rows
    n_free: Ints  # [W] entries of `free_rows`
    uid: Ints  # to `parent_rows`: see `AgentColumns`
    alive: Bools
    reward: Floats
    terminated: Bools
    truncated: Bools
    group: Ints
    parents: Ints
    parent_rows: Ints
    number: Ints  # number within its type: the i of type_1_prey_i
    x: Ints
    y: Ints
    energy: Floats
    age: Ints
    carcass: Bools
    step_event: Ints  # in this step: NO_EVENT, ATE or DIET_BLOCKED
    death_cause: Ints  # index into DEATH_CAUSES
    last_birth_tick: Ints  # tick of its last birth, NO_BIRTH_TICK if none
    kickbacks: Ints  # kick-back rewards it received
    next_in_cell: npt.NDArray[np.int32]  # the next row of the same species on the same cell, -1
    first_in_cell: npt.NDArray[np.int32]  # [W, 2, cells] first row on a cell, -1
    visible_energy: npt.NDArray[np.float32]  # [W, 3, cells] energies as agents see and meet them
    patch_in_cell: npt.NDArray[np.int32]  # [W, cells] the grass patch on a cell, -1
    patch_cell: Ints  # [W, patches]
    grass_energy: Floats  # [W, patches]
    parent: Ints  # [W, uids], as are the next three: see kinfolk.lineage.kernels
    living: Bools
    live_descendants: Ints
    prev_live_descendants: Ints
    counters: Ints  # [W, COUNTERS]
    energy_accounts: Floats  # [W, ENERGY_ACCOUNTS]


NO_EVENT, ATE, DIET_BLOCKED = 0, 1, 2
PER_UID_FIELDS = ("parent", "living", "live_descendants", "prev_live_descendants")


def allocate_state(settings: Savanna, n_worlds: int) -> SavannaState:
    """Allocate the state of `n_worlds` worlds, which are done until their first reset."""
    w, n, cells = n_worlds, settings.rows, settings.grid_size**2

    def ints(*shape: int, fill: int = 0) -> Ints:
        return np.full(shape, fill, dtype=np.int64)

    def bools(*shape: int) -> Bools:
        return np.zeros(shape, dtype=np.bool_)

    def links(*shape: int) -> npt.NDArray[np.int32]:
        return np.full(shape, -1, dtype=np.int32)

    arrays: dict[str, Any] = {}
    rows_of_ints = (
        "number",
        "x",
        "y",
        "age",
        "step_event",
        "death_cause",
        "last_birth_tick",
        "kickbacks",
        "group",
    )
    arrays |= {name: ints(w) for name in ("key", "tick", "next_uid", "n_ended", "n_free")}
    arrays |= {name: ints(w, n) for name in rows_of_ints}
    arrays |= {name: np.zeros((w, n), dtype=np.uint32) for name in ("ended_rows", "free_rows")}
    arrays |= {name: bools(w, n) for name in ("alive", "terminated", "truncated", "carcass")}
    arrays |= {name: np.zeros((w, n)) for name in ("reward", "energy")}
    state = SavannaState(
        **arrays,
        done=np.ones(w, dtype=np.bool_),
        next_number=ints(w, 4),
        active=ints(w, 2),
        n_alive=ints(w, 2),
        alive_rows=np.zeros((w, 2, n), dtype=np.uint32),
        uid=ints(w, n, fill=-1),
        parents=ints(w, n, 2, fill=-1),
        parent_rows=ints(w, n, 2, fill=-1),
        next_in_cell=links(w, n),
        first_in_cell=links(w, 2, cells),
        visible_energy=np.zeros((w, 3, cells), dtype=np.float32),
        patch_in_cell=links(w, cells),
        patch_cell=ints(w, settings.initial_num_grass),
        grass_energy=np.zeros((w, settings.initial_num_grass)),
        parent=ints(w, INITIAL_UID_CAPACITY, fill=-1),
        living=bools(w, INITIAL_UID_CAPACITY),
        live_descendants=ints(w, INITIAL_UID_CAPACITY),
        prev_live_descendants=ints(w, INITIAL_UID_CAPACITY),
        counters=ints(w, len(COUNTERS)),
        energy_accounts=np.zeros((w, len(ENERGY_ACCOUNTS))),
    )
    return _pack_contiguously(state)


def _pack_contiguously(state: SavannaState) -> SavannaState:
    """Return a state whose arrays lie side by side in one block of memory.

    A world is spread over forty arrays. Large blocks get huge pages, which saves address
    translation when kernels jump between a world's arrays.
    """
    arrays: list[AnyArray] = list(state)
    sizes = [-(-array.nbytes // _CACHE_LINE_BYTES) * _CACHE_LINE_BYTES for array in arrays]
    block = np.zeros(sum(sizes) + _CACHE_LINE_BYTES, dtype=np.uint8)
    offset = -block.ctypes.data % _CACHE_LINE_BYTES
    packed = []
    for array, size in zip(arrays, sizes, strict=True):
        view = block[offset : offset + array.nbytes].view(array.dtype).reshape(array.shape)
        view[...] = array
        packed.append(view)
        offset += size
    return SavannaState(*packed)


def grow_uid_capacity(state: SavannaState, capacity: int) -> SavannaState:
    """Return the state with room for `capacity` uids per world; the other arrays are shared."""
    grown = {}
    for name in PER_UID_FIELDS:
        old = getattr(state, name)
        new = np.zeros((old.shape[0], capacity), dtype=old.dtype)
        new[:, : old.shape[1]] = old
        grown[name] = new
    return state._replace(**grown)
