"""Births beside the hub, if the setting `temple` is on: two parents and one heart."""

from __future__ import annotations

from typing import NamedTuple

from kinfolk.core.arrays import Bools, Ints
from kinfolk.core.jit import inline
from kinfolk.core.random import fold_in, randint
from kinfolk.worlds.cogsguard.codes import (
    ACTION_SUCCEEDED,
    BIRTHS,
    CELL,
    EMPTY,
    ENERGY,
    ENERGY_LIMIT,
    HP,
    HP_LIMIT,
    KIND_MASK,
    N_AGENTS,
    NEXT_BIRTH_TICK,
    NO_GEAR,
    SPAWN_CELL,
    STORE_HEARTS,
)
from kinfolk.worlds.cogsguard.events import BIRTH, record_event
from kinfolk.worlds.cogsguard.inventory import AgentArrays, mark_window_seen, write_agent_cell
from kinfolk.worlds.cogsguard.rules import CogsguardRules
from kinfolk.worlds.cogsguard.state import CogsguardState, SeenBits
from kinfolk.worlds.cogsguard.territory import MapArrays, squared_distance

_BIRTH_KEY = 2  # folded into a tick's key
_ADJACENT_SQUARED = 2  # squared distance to the eight cells around one
_SPAWN_RADIUS = 2  # cells from the hub
_SPAWN_SIDE = 2 * _SPAWN_RADIUS + 1


class PopulationArrays(NamedTuple):
    """The arrays of a state that describe agents' lives and parents."""

    uid: Ints
    alive: Bools
    seen: SeenBits
    parents: Ints
    parent_rows: Ints


@inline
def get_population_arrays(state: CogsguardState) -> PopulationArrays:
    """Return the arrays of a state that describe agents' lives and parents."""
    return PopulationArrays(state.uid, state.alive, state.seen, state.parents, state.parent_rows)


@inline
def start_life(
    population: PopulationArrays,
    map_arrays: MapArrays,
    agents: AgentArrays,
    rules: CogsguardRules,
    w: int,
    row: int,
    team: int,
    cell: int,
) -> None:
    """Initialise an agent without parents: initial hp, full energy, no gear and no cargo.

    Args:
        population: Writes `uid`, `alive` and `seen`.
        map_arrays: Writes `teams`, `team_view` and `cell_detail`.
        agents: Writes `body` and `stats`.
        rules: Rules of the batch.
        w: World.
        row: Row of the agent.
        team: Its team.
        cell: Its cell.
    """
    uid = 0  # nobody dies, so the next uid is how many there are
    for any_team in range(rules.teams):
        uid += map_arrays.teams[w, any_team, N_AGENTS]
    map_arrays.teams[w, team, N_AGENTS] += 1
    population.uid[w, row] = uid
    population.alive[w, row] = True
    body = agents.body
    for column in range(body.shape[2]):
        body[w, row, column] = 0
    body[w, row, HP] = min(rules.start_hp, rules.limits[HP_LIMIT, NO_GEAR])
    body[w, row, ENERGY] = rules.limits[ENERGY_LIMIT, NO_GEAR]
    body[w, row, ACTION_SUCCEEDED] = 1
    body[w, row, CELL] = cell
    body[w, row, SPAWN_CELL] = cell
    map_arrays.cell_detail[w, cell] = row
    write_agent_cell(map_arrays.team_view, body, w, row, team)
    mark_window_seen(population.seen, agents.stats, rules, w, row, cell, 0)


@inline
def check_spawn_cell(
    map_arrays: MapArrays, rules: CogsguardRules, w: int, team: int, index: int
) -> int:
    """Return a cell of the square around a hub if it is near enough and empty, else -1.

    Args:
        map_arrays: Read.
        rules: Rules of the batch.
        w: World.
        team: Whose hub.
        index: Which cell of the square, in reading order.
    """
    hub = map_arrays.home_cell[w, team]
    y, x = index // _SPAWN_SIDE - _SPAWN_RADIUS, index % _SPAWN_SIDE - _SPAWN_RADIUS
    if y * y + x * x > _SPAWN_RADIUS * _SPAWN_RADIUS:
        return -1
    y, x = hub // rules.stride + y, hub % rules.stride + x
    # Cells off the map must not be read: the padding may be one cell wide.
    if not (rules.pad <= y < rules.pad + rules.height and rules.pad <= x < rules.pad + rules.width):
        return -1
    cell = y * rules.stride + x
    return int(cell) if int(map_arrays.team_view[w, team, cell]) & KIND_MASK == EMPTY else -1


@inline
def draw_spawn_cell(
    map_arrays: MapArrays, rules: CogsguardRules, w: int, team: int, key: int
) -> int:
    """Draw an empty cell near a hub at random; -1 if there is none.

    Args:
        map_arrays: Read.
        rules: Rules of the batch.
        w: World.
        team: Whose hub.
        key: Random key.
    """
    n_free = 0
    for index in range(_SPAWN_SIDE * _SPAWN_SIDE):
        if check_spawn_cell(map_arrays, rules, w, team, index) >= 0:
            n_free += 1
    if n_free == 0:
        return -1
    chosen = randint(key, team, n_free)
    for index in range(_SPAWN_SIDE * _SPAWN_SIDE):
        cell = check_spawn_cell(map_arrays, rules, w, team, index)
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
    first_cell, second_cell = body[w, first_row, CELL], body[w, second_row, CELL]
    return bool(
        squared_distance(stride, first_cell, hub_cell) <= _ADJACENT_SQUARED
        and squared_distance(stride, second_cell, hub_cell) <= _ADJACENT_SQUARED
        and squared_distance(stride, first_cell, second_cell) <= _ADJACENT_SQUARED
    )


@inline
def spawn_child(
    population: PopulationArrays,
    map_arrays: MapArrays,
    agents: AgentArrays,
    rules: CogsguardRules,
    w: int,
    team: int,
    first_parent: int,
    second_parent: int,
    cell: int,
) -> int:
    """Place a child of two agents on `cell`, for a heart of the store.

    Args:
        population: Written.
        map_arrays: Written.
        agents: Written.
        rules: Rules of the batch.
        w: World.
        team: Team of the child.
        first_parent: Row of the first parent.
        second_parent: Row of the second parent.
        cell: Cell of the child.

    Returns:
        The child's row.
    """
    row = team * rules.rows_per_team + map_arrays.teams[w, team, N_AGENTS]
    agents.store[w, team, STORE_HEARTS] -= 1
    start_life(population, map_arrays, agents, rules, w, row, team, cell)
    population.parents[w, row, 0] = population.uid[w, first_parent]
    population.parents[w, row, 1] = population.uid[w, second_parent]
    population.parent_rows[w, row, 0] = first_parent
    population.parent_rows[w, row, 1] = second_parent
    map_arrays.teams[w, team, BIRTHS] += 1
    return int(row)


@inline
def run_births(
    population: PopulationArrays,
    map_arrays: MapArrays,
    agents: AgentArrays,
    rules: CogsguardRules,
    events: Ints,
    w: int,
    tick: int,
    key: int,
) -> None:
    """Let the first pair of each team that is beside its hub have a child.

    Args:
        population: Written.
        map_arrays: Written.
        agents: Written.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
        tick: Current tick.
        key: Random key of the tick.
    """
    for team in range(rules.teams):
        n_agents, first_row = map_arrays.teams[w, team, N_AGENTS], team * rules.rows_per_team
        if (
            n_agents >= rules.rows_per_team
            or tick < map_arrays.teams[w, team, NEXT_BIRTH_TICK]
            or agents.store[w, team, STORE_HEARTS] < 1
        ):
            continue
        first_parent, second_parent = -1, -1
        for a in range(first_row, first_row + n_agents):
            for b in range(a + 1, first_row + n_agents):
                if first_parent < 0 and can_reproduce(
                    agents.body, map_arrays.home_cell[w, team], rules.stride, w, a, b
                ):
                    first_parent, second_parent = a, b
        if first_parent < 0:
            continue
        cell = draw_spawn_cell(map_arrays, rules, w, team, fold_in(key, _BIRTH_KEY))
        if cell >= 0:
            child = spawn_child(
                population, map_arrays, agents, rules, w, team, first_parent, second_parent, cell
            )
            map_arrays.teams[w, team, NEXT_BIRTH_TICK] = tick + rules.temple_cooldown
            record_event(events, w, BIRTH, child, first_parent, second_parent)
