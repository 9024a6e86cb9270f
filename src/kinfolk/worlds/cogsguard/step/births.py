"""Births beside the hub, if the setting `temple` is on: two parents and one heart."""

from __future__ import annotations

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import inline, inline_always
from kinfolk.core.random import fold_in, randint
from kinfolk.worlds.cogsguard import codes
from kinfolk.worlds.cogsguard.inventory import mark_window_seen, write_agent_cell
from kinfolk.worlds.cogsguard.rules import CogsguardRules
from kinfolk.worlds.cogsguard.state import CellWords, CogsguardState, record_event
from kinfolk.worlds.cogsguard.territory import squared_distance

_BIRTH_KEY = 2  # folded into a tick's key
_ADJACENT_SQUARED = 2  # squared distance to the eight cells around one
_SPAWN_RADIUS = 2  # cells from the hub
_SPAWN_SIDE = 2 * _SPAWN_RADIUS + 1


@inline_always
def start_life(
    state: CogsguardState, rules: CogsguardRules, w: int, row: int, team: int, cell: int
) -> None:
    """Initialise an agent without parents: initial hp and energy, no gear and no cargo.

    Args:
        state: State of the batch, written.
        rules: Rules of the batch.
        w: World.
        row: Row of the agent.
        team: Team of the agent.
        cell: Cell of the agent.
    """
    uid = 0  # nobody dies, so the next uid is how many there are
    for any_team in range(rules.teams):
        uid += state.teams[w, any_team, codes.N_AGENTS]
    state.teams[w, team, codes.N_AGENTS] += 1
    state.uid[w, row] = uid
    state.alive[w, row] = True
    body = state.body
    for column in range(body.shape[2]):
        body[w, row, column] = 0
    body[w, row, codes.HP] = min(rules.start_hp, rules.limits[codes.HP_LIMIT, codes.NO_GEAR])
    body[w, row, codes.ENERGY] = rules.start_energy
    if state.ledger.shape[1] > 0:
        state.ledger[w, row, codes.HP_START] = body[w, row, codes.HP]
        state.ledger[w, row, codes.ENERGY_START] = rules.start_energy
    body[w, row, codes.ACTION_SUCCEEDED] = 1
    body[w, row, codes.CELL] = cell
    body[w, row, codes.SPAWN_CELL] = cell
    state.cell_detail[w, cell] = row
    write_agent_cell(state.team_view, body, w, row, team)
    mark_window_seen(state.seen, state.stats, rules, w, row, cell, 0)


@inline
def check_spawn_cell(
    view: CellWords, rules: CogsguardRules, w: int, team: int, hub_cell: int, index: int
) -> int:
    """Return a cell of the square around a hub if it is near enough and empty, else -1.

    Args:
        view: `[W, T, cells]`.
        rules: Rules of the batch.
        w: World.
        team: Team of the hub.
        hub_cell: Cell of the hub.
        index: Which cell of the square, in reading order.
    """
    y, x = index // _SPAWN_SIDE - _SPAWN_RADIUS, index % _SPAWN_SIDE - _SPAWN_RADIUS
    if y * y + x * x > _SPAWN_RADIUS * _SPAWN_RADIUS:
        return -1
    y, x = hub_cell // rules.stride + y, hub_cell % rules.stride + x
    # Cells off the map must not be read: the padding may be one cell wide.
    if not (rules.pad <= y < rules.pad + rules.height and rules.pad <= x < rules.pad + rules.width):
        return -1
    cell = y * rules.stride + x
    return int(cell) if int(view[w, team, cell]) & codes.KIND_MASK == codes.EMPTY else -1


@inline
def draw_spawn_cell(
    view: CellWords, rules: CogsguardRules, w: int, team: int, hub_cell: int, key: int
) -> int:
    """Draw an empty cell near a hub at random; -1 if there is none.

    Args:
        view: `[W, T, cells]`.
        rules: Rules of the batch.
        w: World.
        team: Team of the hub.
        hub_cell: Cell of the hub.
        key: Random key.
    """
    n_free = 0
    for index in range(_SPAWN_SIDE * _SPAWN_SIDE):
        if check_spawn_cell(view, rules, w, team, hub_cell, index) >= 0:
            n_free += 1
    if n_free == 0:
        return -1
    chosen = randint(key, team, n_free)
    for index in range(_SPAWN_SIDE * _SPAWN_SIDE):
        cell = check_spawn_cell(view, rules, w, team, hub_cell, index)
        if cell >= 0:
            if chosen == 0:
                return cell
            chosen -= 1
    return -1


@inline
def can_reproduce(
    body: Ints, hub_cell: int, stride: int, w: int, first_row: int, second_row: int
) -> bool:
    """Return whether two agents are beside each other, and both beside their hub.

    Args:
        body: `[W, N, BODY_COLUMNS]`.
        hub_cell: Cell of their hub.
        stride: Cells per line.
        w: World.
        first_row: Row of the first agent.
        second_row: Row of the second agent.
    """
    first_cell, second_cell = body[w, first_row, codes.CELL], body[w, second_row, codes.CELL]
    return bool(
        squared_distance(stride, first_cell, hub_cell) <= _ADJACENT_SQUARED
        and squared_distance(stride, second_cell, hub_cell) <= _ADJACENT_SQUARED
        and squared_distance(stride, first_cell, second_cell) <= _ADJACENT_SQUARED
    )


@inline_always
def run_births(
    state: CogsguardState, rules: CogsguardRules, events: Ints, w: int, tick: int, key: int
) -> None:
    """Let the first pair of each team that is beside its hub have a child, for a heart of the store.

    Args:
        state: State of the batch, written.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
        tick: Current tick.
        key: Random key of the tick.
    """
    teams, store = state.teams, state.store
    for team in range(rules.teams):
        n_agents, next_birth = teams[w, team, codes.N_AGENTS], teams[w, team, codes.NEXT_BIRTH_TICK]
        is_full = n_agents >= rules.rows_per_team
        if is_full or tick < next_birth or store[w, team, codes.STORE_HEARTS] < 1:
            continue
        hub_cell, first_row = state.home_cell[w, team], team * rules.rows_per_team
        child = first_row + n_agents
        first_parent, second_parent = -1, -1
        for a in range(first_row, child):
            for b in range(a + 1, child):
                if first_parent < 0 and can_reproduce(state.body, hub_cell, rules.stride, w, a, b):
                    first_parent, second_parent = a, b
        if first_parent < 0:
            continue
        birth_key = fold_in(key, _BIRTH_KEY)
        cell = draw_spawn_cell(state.team_view, rules, w, team, hub_cell, birth_key)
        if cell < 0:
            continue
        store[w, team, codes.STORE_HEARTS] -= 1
        if state.team_ledger.shape[1] > 0:
            state.team_ledger[w, team, codes.HEARTS_BOOK + codes.HEARTS_BORN] -= 1
        start_life(state, rules, w, child, team, cell)
        state.parents[w, child, 0] = state.uid[w, first_parent]
        state.parents[w, child, 1] = state.uid[w, second_parent]
        state.parent_rows[w, child, 0] = first_parent
        state.parent_rows[w, child, 1] = second_parent
        teams[w, team, codes.BIRTHS] += 1
        teams[w, team, codes.NEXT_BIRTH_TICK] = tick + rules.temple_cooldown
        record_event(events, w, codes.BIRTH_EVENT, child, first_parent, second_parent)
