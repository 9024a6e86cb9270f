"""The arrays of the savanna, with the world as first axis; its events; the start of an episode."""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple, get_args, get_type_hints

import numpy as np
import numpy.typing as npt

from kinfolk.core.arrays import Bools, Floats, Ints
from kinfolk.core.jit import allocation_free_kernel, inline
from kinfolk.core.random import randint
from kinfolk.worlds.savanna.codes import (
    COUNTERS,
    ENERGY_ACCOUNTS,
    EVENT_COLUMNS,
    EVENT_KINDS,
    GRASS,
    NO_BIRTH_TICK,
    PREDATOR,
    SECOND_PREY,
)
from kinfolk.worlds.savanna.rules import SavannaRules
from kinfolk.worlds.savanna.settings import Savanna

# Unsigned, so that kernels need not check for negative indices.
RowIndices = npt.NDArray[np.uint32]
Links = npt.NDArray[np.int32]  # rows or patches, -1 for none
Plane = npt.NDArray[np.float32]
# Small numbers, of which more fit into a processor's cache.
ShortInts = npt.NDArray[np.int32]
Codes = npt.NDArray[np.int8]

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
    active: Ints  # [W, 2] running counters of PredPreyGrass, predators and prey, see `golden_trace`
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
    number: ShortInts  # number within its type: the i of type_1_prey_i
    x: ShortInts
    y: ShortInts
    energy: Floats
    age: ShortInts
    carcass: Bools
    step_event: Codes  # in this step: NO_EVENT, ATE or DIET_BLOCKED
    death_cause: Codes  # index into DEATH_CAUSES
    last_birth_tick: Ints  # tick of its last birth, NO_BIRTH_TICK if none
    kickbacks: Ints  # kick-back rewards it received
    satiated_until: Ints  # [W, N or 0] tick from which it hunts again
    heading: Ints  # [W, N or 0] last direction: 3 * (dx + 1) + dy + 1
    energy_before: Floats  # [W, N or 0] energy at the start of the step
    traits: Floats  # [W, N, traits]
    trait_totals: (
        Floats  # [W, 2 species, traits, 2] sums over all lives, and over parents of births
    )
    death_view: Plane  # [W, N, cells of a window x 3 or 0] what the dying saw, with `view_at_death`
    next_in_cell: Links  # the next row of the same species on the same cell, -1
    first_in_cell: Links  # [W, 2, cells] first row on a cell, -1
    visible_energy: Plane  # [W, 3 or 4, cells] energies as agents see and meet them
    patch_in_cell: Links  # [W, cells] the grass patch on a cell, -1
    patch_cell: Ints  # [W, patches]
    grass_energy: Floats  # [W, patches]
    parent: Ints  # [W, uids], as are the next three: see kinfolk.lineage.kernels
    living: Bools
    live_descendants: Ints
    prev_live_descendants: Ints
    counters: Ints  # [W, COUNTERS]
    energy_accounts: Floats  # [W, ENERGY_ACCOUNTS]
    lineage_rewards: Floats  # [W, 2] paid to predators and to prey since the reset


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
    shapes |= dict.fromkeys(("n_alive", "active", "lineage_rewards"), (w, 2))
    shapes |= dict.fromkeys(("parents", "parent_rows"), (w, n, 2))
    shapes |= dict.fromkeys(("patch_cell", "grass_energy"), (w, settings.initial_num_grass))
    shapes |= dict.fromkeys(PER_UID_FIELDS, (w, INITIAL_UID_CAPACITY))
    shapes |= {"next_number": (w, 4), "alive_rows": (w, 2, n), "patch_in_cell": (w, cells)}
    planes = 4 if settings.separate_prey_channels else 3
    shapes |= {"first_in_cell": (w, 2, cells), "visible_energy": (w, planes, cells)}
    n_traits, window = (
        len(settings.traits),
        max(settings.predator_obs_range, settings.prey_obs_range),
    )
    shapes |= {"traits": (w, n, n_traits), "trait_totals": (w, 2, n_traits, 2)}
    shapes["death_view"] = (w, n, 3 * window**2 if settings.quirks.view_at_death else 0)
    for name, is_used in (
        ("satiated_until", settings.predator_satiation_cooldown > 0),
        ("heading", settings.forward_view),
        ("energy_before", any(settings.energy_change_reward.model_dump().values())),
    ):
        shapes[name] = (w, n if is_used else 0)
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

    entries: Floats  # [W, capacity, EVENT_COLUMNS]
    n_events: Ints  # [W] entries used


def allocate_event_buffer(n_worlds: int, n_rows: int, enabled: bool) -> EventBuffer:
    """Allocate a buffer for the events of one step.

    Args:
        n_worlds: Worlds of the batch.
        n_rows: Rows per world, which bound the number of events.
        enabled: False for a buffer of capacity 0.
    """
    capacity = MAX_EVENTS_PER_ROW * n_rows if enabled else 0
    entries = np.zeros((n_worlds, capacity, len(EVENT_COLUMNS)))
    return EventBuffer(entries, np.zeros(n_worlds, dtype=np.int64))


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


@inline
def add_event_details(
    events: EventBuffer,
    w: int,
    energy_after: float,
    energy_before: float,
    cell: int,
    other_cell: int,
    other_energy: float,
) -> None:
    """Fill the further columns of the event recorded last; see `EVENT_COLUMNS`.

    Args:
        events: Buffer to write to.
        w: World.
        energy_after: Energy of the agent after the event.
        energy_before: Its energy before the event.
        cell: Its cell.
        other_cell: Cell of the second agent or grass patch.
        other_energy: Its energy before the event.
    """
    entry = events.n_events[w] - 1
    if 0 <= entry < events.entries.shape[1]:
        events.entries[w, entry, 4] = energy_after
        events.entries[w, entry, 5] = energy_before
        events.entries[w, entry, 6] = cell
        events.entries[w, entry, 7] = other_cell
        events.entries[w, entry, 8] = other_energy


ZEROED_FIELDS = (
    *("tick", "done", "next_uid", "next_number", "active", "n_alive", "n_ended", "alive"),
    *("terminated", "truncated", "carcass", "reward", "energy", "age", "step_event"),
    *("death_cause", "kickbacks", "group", "x", "y", "number"),
    *("satiated_until", "heading", "energy_before", "traits", "trait_totals"),
    *("visible_energy", "counters", "energy_accounts", "lineage_rewards"),
)


@allocation_free_kernel
def draw_cells(free: Ints, deck: Ints, keys: Ints, cells: Ints) -> None:
    """Draw distinct free cells for founders and grass.

    Args:
        free: Cells without a wall.
        deck: Scratch of the same length.
        keys: `[worlds]` random keys.
        cells: `[worlds, needed]`, written.
    """
    for i in range(keys.shape[0]):
        for j in range(free.shape[0]):
            deck[j] = free[j]
        for j in range(cells.shape[1]):
            other = j + randint(keys[i], j, deck.shape[0] - j)
            chosen = deck[other]
            deck[other] = deck[j]
            deck[j] = chosen
            cells[i, j] = chosen


def reset_worlds(
    state: SavannaState,
    rules: SavannaRules,
    founder_counts: Ints,
    worlds: Ints,
    keys: Ints,
    cells: Ints,
) -> None:
    """Start episodes: place predators of type 1 and 2, prey of type 1 and 2, then grass.

    Args:
        state: State of the batch, written.
        rules: Rules of the batch.
        founder_counts: `[4]`, founders of each species and type.
        worlds: Indices of the worlds to reset.
        keys: `[worlds]` random keys.
        cells: `[worlds, founders + grass]`, cells in that order.
    """
    for name in ZEROED_FIELDS:
        getattr(state, name)[worlds] = 0
    for name in INDEX_FIELDS:
        getattr(state, name)[worlds] = -1
    n_rows = state.uid.shape[1]
    state.last_birth_tick[worlds] = NO_BIRTH_TICK
    state.n_free[worlds] = n_rows
    state.free_rows[worlds] = np.arange(n_rows)[::-1]  # a stack: the lowest row is used first
    state.key[worlds] = keys
    column = worlds[:, None]
    first = 0
    for kind in range(4):
        k, count = kind // 2, int(founder_counts[kind])
        rows = np.arange(first, first + count)
        start_cells = cells[:, first : first + count]
        state.uid[column, rows] = rows
        state.number[column, rows] = np.arange(count)
        state.alive[column, rows] = True
        state.group[column, rows] = k * rules.n_types + kind % 2
        state.x[column, rows] = start_cells // rules.size
        state.y[column, rows] = start_cells % rules.size
        state.energy[column, rows] = rules.initial_energy[kind]
        if k == PREDATOR and rules.juvenile_age[kind] >= 0:
            state.age[column, rows] = rules.juvenile_age[kind]
        state.first_in_cell[column, k, start_cells] = rows
        plane = SECOND_PREY if rules.separate_prey and kind == SECOND_PREY else k
        state.visible_energy[column, plane, start_cells] = rules.initial_energy[kind]
        state.alive_rows[column, k, state.n_alive[column, k] + np.arange(count)] = rows
        state.n_alive[worlds, k] += count
        state.next_number[worlds, kind] = count
        first += count
    state.active[worlds] = state.n_alive[worlds]
    state.next_uid[worlds] = first
    state.n_free[worlds] -= first
    state.parent[worlds, :first] = -1
    state.living[worlds, :first] = True
    state.live_descendants[worlds, :first] = 0
    state.prev_live_descendants[worlds, :first] = 0
    grass = cells[:, first:]
    state.patch_in_cell[column, grass] = np.arange(grass.shape[1])
    state.patch_cell[worlds] = grass
    state.grass_energy[worlds] = rules.initial_grass
    state.visible_energy[column, GRASS, grass] = rules.initial_grass
