"""The arrays of CogsGuard, whose first axis is the world, and the buffer of its events."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kinfolk.core.arrays import Bools, Floats, Ints
from kinfolk.core.jit import inline
from kinfolk.worlds.cogsguard import codes
from kinfolk.worlds.cogsguard.rules import CogsguardRules
from kinfolk.worlds.cogsguard.settings import N_SHIPS, Cogsguard

CellWords = npt.NDArray[np.uint16]  # cells as teams see them, see `spec`
Int32Array = npt.NDArray[np.int32]
SeenBits = npt.NDArray[np.uint32]
N_EVENT_FIELDS = 4
MAX_EVENTS_PER_ROW = 6  # at most: a deposit of four elements, a birth, exhaustion


class CogsguardState(NamedTuple):
    """The complete state of a batch of games; `[W]` or `[W, N]` unless stated."""

    key: Ints  # random key of the episode
    tick: Ints  # steps since the reset
    done: Bools
    team_view: CellWords  # [W, T, cells] what each team sees: see `spec`
    cell_detail: Int32Array  # [W, cells] an agent's row, a junction's index, stock, or owner
    area_cover: Int32Array  # [W, T + 1, cells] strength of each team's and the clips' areas
    junction: Ints  # [W, J, JUNCTION_COLUMNS] see `codes`
    home_cell: Ints  # [W, T + ships] cells of the hubs, then of the ships; 0: there is none
    teams: Ints  # [W, T + 1, TEAM_COLUMNS]
    store: Ints  # [W, T, STORE_COLUMNS]
    uid: Ints  # to `parent_rows`: see `AgentColumns`
    alive: Bools
    reward: Floats
    terminated: Bools
    truncated: Bools
    group: Ints
    parents: Ints
    parent_rows: Ints
    body: Ints  # [W, N, BODY_COLUMNS]
    seen: SeenBits  # [W, N, height, words] a bit per cell that was ever in an agent's window
    stats: Ints  # [W, N, STATISTICS]
    ledger: Ints  # [W, N, LEDGER] where all that an agent holds came from; [W, 0, ...] if not kept
    team_ledger: Ints  # [W, T, TEAM_LEDGER] the same of stores


class GameArrays(NamedTuple):
    """The arrays of a state that actions and areas need; every call copies them, so they are few."""

    team_view: CellWords
    cell_detail: Int32Array
    area_cover: Int32Array
    junction: Ints
    home_cell: Ints
    teams: Ints
    store: Ints
    body: Ints
    stats: Ints
    ledger: Ints
    team_ledger: Ints


@inline
def get_game_arrays(state: CogsguardState) -> GameArrays:
    """Return the arrays of a state that actions and areas need."""
    s, view, detail, cover = state, state.team_view, state.cell_detail, state.area_cover
    books, team_books = state.ledger, state.team_ledger
    return GameArrays(
        view,
        detail,
        cover,
        s.junction,
        s.home_cell,
        s.teams,
        s.store,
        s.body,
        s.stats,
        books,
        team_books,
    )


def count_cells(rules: CogsguardRules) -> int:
    """Return the number of cells of a map and the padding around it."""
    return rules.stride * (rules.height + 2 * rules.pad)


def allocate_state(
    settings: Cogsguard, rules: CogsguardRules, n_worlds: int, keep_books: bool = False
) -> CogsguardState:
    """Allocate the state of `n_worlds` worlds, which are done until their first reset.

    Args:
        settings: Settings of the world.
        rules: Rules made from them.
        n_worlds: Number of worlds in the batch.
        keep_books: Whether to book every change of what agents and stores hold.
    """
    w, t, n, cells = n_worlds, rules.teams, rules.teams * rules.rows_per_team, count_cells(rules)
    junctions, ships = settings.most_junctions, N_SHIPS if settings.has_ships else 0
    if settings.parsed_map is not None:
        ships = int((settings.parsed_map.kind == codes.SHIP).sum())

    def full_ints(*shape: int, fill: int = 0) -> Ints:
        """Return an int64 array of a shape, filled with one number."""
        return np.full(shape, fill, dtype=np.int64)

    return CogsguardState(
        key=full_ints(w),
        tick=full_ints(w),
        done=np.ones(w, dtype=np.bool_),
        team_view=np.zeros((w, t, cells), dtype=np.uint16),
        cell_detail=np.zeros((w, cells), dtype=np.int32),
        area_cover=np.zeros((w, t + 1, cells), dtype=np.int32),
        junction=full_ints(w, junctions, codes.JUNCTION_COLUMNS),
        home_cell=full_ints(w, t + ships),
        teams=full_ints(w, t + 1, codes.TEAM_COLUMNS),
        store=full_ints(w, t, codes.STORE_COLUMNS),
        uid=full_ints(w, n, fill=-1),
        alive=np.zeros((w, n), dtype=np.bool_),
        reward=np.zeros((w, n)),
        terminated=np.zeros((w, n), dtype=np.bool_),
        truncated=np.zeros((w, n), dtype=np.bool_),
        group=np.tile(np.repeat(np.arange(t), rules.rows_per_team), (w, 1)),
        parents=full_ints(w, n, 2, fill=-1),
        parent_rows=full_ints(w, n, 2, fill=-1),
        body=full_ints(w, n, len(codes.BODY_COLUMNS)),
        seen=np.zeros((w, n, rules.height, -(-rules.width // 32)), dtype=np.uint32),
        stats=full_ints(w, n, len(codes.STATISTICS)),
        ledger=full_ints(w, n * keep_books, len(codes.LEDGER)),
        team_ledger=full_ints(w, t * keep_books, len(codes.TEAM_LEDGER)),
    )


def allocate_event_buffer(state: CogsguardState, enabled: bool) -> Ints:
    """Allocate the event buffer `[W, 1 + capacity, N_EVENT_FIELDS]` for one step of a batch.

    The first entry of a world holds the number of entries that follow. The capacity is more than the
    agents and junctions of a world can need, or 0 if recording is not `enabled`.
    """
    n_worlds, n_rows = state.uid.shape
    capacity = MAX_EVENTS_PER_ROW * n_rows + 4 * state.junction.shape[1] + 16 if enabled else 0
    return np.zeros((n_worlds, 1 + capacity, N_EVENT_FIELDS), dtype=np.int64)


@inline
def record_event(events: Ints, w: int, kind: int, row: int, other: int, value: int) -> None:
    """Append an event to the buffer of a world, if there is room.

    Args:
        events: `[W, 1 + capacity, N_EVENT_FIELDS]`, written.
        w: World.
        kind: Index into `EVENT_KINDS`.
        row: Row of the agent, -1 for the clips.
        other: Second row, junction, element, gear or team.
        value: Amount, gear or former owner.
    """
    entry = events[w, 0, 0] + 1
    if entry < events.shape[1]:
        events[w, entry, 0] = kind
        events[w, entry, 1] = row
        events[w, entry, 2] = other
        events[w, entry, 3] = value
        events[w, 0, 0] = entry
