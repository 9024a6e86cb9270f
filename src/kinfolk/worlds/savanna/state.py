"""The arrays of the savanna, with the world as first axis, and the buffer of its events."""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple, get_args, get_type_hints

import numpy as np
import numpy.typing as npt

from kinfolk.core.arrays import Bools, Floats, Ints
from kinfolk.core.jit import inline
from kinfolk.worlds.savanna.codes import COUNTERS, ENERGY_ACCOUNTS, EVENT_KINDS
from kinfolk.worlds.savanna.settings import Savanna

# Unsigned, so that kernels need not check for negative indices.
RowIndices = npt.NDArray[np.uint32]
Links = npt.NDArray[np.int32]  # rows or patches, -1 for none
Plane = npt.NDArray[np.float32]

_CACHE_LINE_BYTES = 64
INITIAL_UID_CAPACITY = 512  # uids that fit at first; doubled when a world comes near it
# In a step an agent can fail against nine neighbours and have one event of each other kind.
MAX_EVENTS_PER_ROW = 9 + len(EVENT_KINDS)


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
    next_in_cell: Links  # the next row of the same species on the same cell, -1
    first_in_cell: Links  # [W, 2, cells] first row on a cell, -1
    visible_energy: Plane  # [W, 3, cells] energies as agents see and meet them
    patch_in_cell: Links  # [W, cells] the grass patch on a cell, -1
    patch_cell: Ints  # [W, patches]
    grass_energy: Floats  # [W, patches]
    parent: Ints  # [W, uids], as are the next three: see kinfolk.lineage.kernels
    living: Bools
    live_descendants: Ints
    prev_live_descendants: Ints
    counters: Ints  # [W, COUNTERS]
    energy_accounts: Floats  # [W, ENERGY_ACCOUNTS]


PER_UID_FIELDS = ("parent", "living", "live_descendants", "prev_live_descendants")
# Fields whose empty entries are -1.
INDEX_FIELDS = (
    *("uid", "parents", "parent_rows"),
    *("first_in_cell", "next_in_cell", "patch_in_cell"),
)


def allocate_state(settings: Savanna, n_worlds: int) -> SavannaState:
    """Allocate the state of `n_worlds` worlds, which are done until their first reset.

    The arrays lie side by side in one block of memory: large blocks get huge pages, which saves
    address translation when kernels jump between the forty arrays of a world.
    """
    w, n, cells = n_worlds, settings.rows, settings.grid_size**2
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(SavannaState._fields, (w, n))
    shapes |= dict.fromkeys(("key", "tick", "done", "next_uid", "n_ended", "n_free"), (w,))
    shapes |= dict.fromkeys(("n_alive", "active"), (w, 2))
    shapes |= dict.fromkeys(("parents", "parent_rows"), (w, n, 2))
    shapes |= dict.fromkeys(("patch_cell", "grass_energy"), (w, settings.initial_num_grass))
    shapes |= dict.fromkeys(PER_UID_FIELDS, (w, INITIAL_UID_CAPACITY))
    shapes |= {"next_number": (w, 4), "alive_rows": (w, 2, n), "patch_in_cell": (w, cells)}
    shapes |= {"first_in_cell": (w, 2, cells), "visible_energy": (w, 3, cells)}
    shapes |= {"counters": (w, len(COUNTERS)), "energy_accounts": (w, len(ENERGY_ACCOUNTS))}
    hints = get_type_hints(SavannaState)
    dtypes = {name: np.dtype(get_args(get_args(hints[name])[1])[0]) for name in shapes}
    sizes = {name: prod(shape) * dtypes[name].itemsize for name, shape in shapes.items()}
    block = np.zeros(sum(sizes.values()) + (len(sizes) + 1) * _CACHE_LINE_BYTES, dtype=np.uint8)
    offset = -block.ctypes.data % _CACHE_LINE_BYTES
    arrays: dict[str, Any] = {}
    for name, shape in shapes.items():
        part = block[offset : offset + sizes[name]]
        arrays[name] = part.view(dtypes[name]).reshape(shape)
        offset += -(-sizes[name] // _CACHE_LINE_BYTES) * _CACHE_LINE_BYTES
    for name in (*INDEX_FIELDS, "parent"):
        arrays[name][...] = -1
    arrays["done"][:] = True
    return SavannaState(**arrays)


def grow_uid_capacity(state: SavannaState, capacity: int) -> SavannaState:
    """Return the state with room for `capacity` uids per world; the other arrays are shared."""
    arrays = {name: getattr(state, name) for name in PER_UID_FIELDS}
    missing = capacity - state.parent.shape[1]
    return state._replace(**{n: np.pad(a, ((0, 0), (0, missing))) for n, a in arrays.items()})


class EventBuffer(NamedTuple):
    """Buffer of the events of one step; nothing is recorded if its capacity is 0."""

    entries: Floats  # [W, capacity, 4] kind, uid, other, value
    n_events: Ints  # [W] entries used


def allocate_event_buffer(n_worlds: int, n_rows: int, enabled: bool) -> EventBuffer:
    """Allocate a buffer for the events of one step.

    Args:
        n_worlds: Worlds of the batch.
        n_rows: Rows per world, which bound the number of events.
        enabled: False for a buffer of capacity 0.
    """
    capacity = MAX_EVENTS_PER_ROW * n_rows if enabled else 0
    return EventBuffer(np.zeros((n_worlds, capacity, 4)), np.zeros(n_worlds, dtype=np.int64))


@inline
def record_event(
    events: EventBuffer, w: int, kind: int, uid: int, other: int, value: float
) -> None:
    """Append an event to the buffer of a world, if there is room.

    Args:
        events: Buffer to write to.
        w: World.
        kind: Index into `EVENT_KINDS`.
        uid: Agent it happened to.
        other: Second agent or grass patch, -1 if none.
        value: Amount; its meaning depends on the kind.
    """
    entry = events.n_events[w]
    if entry < events.entries.shape[1]:
        events.entries[w, entry, 0] = kind
        events.entries[w, entry, 1] = uid
        events.entries[w, entry, 2] = other
        events.entries[w, entry, 3] = value
        events.n_events[w] = entry + 1
