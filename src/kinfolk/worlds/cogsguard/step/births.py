"""Births at the hub, if the temple is open: two parents, one heart."""

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

_BIRTH_KEY = 2  # of a tick's key
_ADJACENT_SQUARED = 2  # squared: the eight cells around one
_SPAWN_RADIUS = 2  # cells from the hub
_SPAWN_SIDE = 2 * _SPAWN_RADIUS + 1


class PopulationArrays(NamedTuple):
    """The part of the state that says who lives where and from whom."""

    uid: Ints
    alive: Bools
    seen: SeenBits
    parents: Ints
    parent_rows: Ints


@inline
def get_population_arrays(state: CogsguardState) -> PopulationArrays:
    """The lives of a state: the same arrays."""
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
    """Begin a life without parents: hp as set, energy full, nothing in its hands."""
    uid = 0  # nobody dies, so the next uid is how many there are
    for each in range(rules.teams):
        uid += map_arrays.teams[w, each, N_AGENTS]
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
    """The cell at `index` of the square around a hub if it is near enough and free, else -1."""
    hub = map_arrays.home_cell[w, team]
    y, x = index // _SPAWN_SIDE - _SPAWN_RADIUS, index % _SPAWN_SIDE - _SPAWN_RADIUS
    if y * y + x * x > _SPAWN_RADIUS * _SPAWN_RADIUS:
        return -1
    y, x = hub // rules.stride + y, hub % rules.stride + x
    # Cells off the map must not be looked up: the wall around it may be one cell wide.
    if not (rules.pad <= y < rules.pad + rules.height and rules.pad <= x < rules.pad + rules.width):
        return -1
    cell = y * rules.stride + x
    return int(cell) if int(map_arrays.team_view[w, team, cell]) & KIND_MASK == EMPTY else -1


@inline
def draw_spawn_cell(
    map_arrays: MapArrays, rules: CogsguardRules, w: int, team: int, key: int
) -> int:
    """A free cell near the hub by chance, -1 if there is none."""
    free = 0
    for place in range(_SPAWN_SIDE * _SPAWN_SIDE):
        if check_spawn_cell(map_arrays, rules, w, team, place) >= 0:
            free += 1
    if free == 0:
        return -1
    left = randint(key, team, free)
    for place in range(_SPAWN_SIDE * _SPAWN_SIDE):
        cell = check_spawn_cell(map_arrays, rules, w, team, place)
        if cell >= 0:
            if left == 0:
                return cell
            left -= 1
    return -1


@inline
def can_reproduce(
    body: Ints, hub_cell: int, stride: int, w: int, first_row: int, second_row: int
) -> bool:
    """Whether two agents stand beside each other, and both beside their hub."""
    one, other = body[w, first_row, CELL], body[w, second_row, CELL]
    return bool(
        squared_distance(stride, one, hub_cell) <= _ADJACENT_SQUARED
        and squared_distance(stride, other, hub_cell) <= _ADJACENT_SQUARED
        and squared_distance(stride, one, other) <= _ADJACENT_SQUARED
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
    """A child of two agents begins its life on `cell`, for a heart of the store; returns its row."""
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
    """The first pair of each team that stands by its hub has a child, if all else allows it."""
    for team in range(rules.teams):
        adults, first = map_arrays.teams[w, team, N_AGENTS], team * rules.rows_per_team
        if (
            adults >= rules.rows_per_team
            or tick < map_arrays.teams[w, team, NEXT_BIRTH_TICK]
            or agents.store[w, team, STORE_HEARTS] < 1
        ):
            continue
        mother, father = -1, -1
        for a in range(first, first + adults):
            for b in range(a + 1, first + adults):
                if mother < 0 and can_reproduce(
                    agents.body, map_arrays.home_cell[w, team], rules.stride, w, a, b
                ):
                    mother, father = a, b
        if mother < 0:
            continue
        cell = draw_spawn_cell(map_arrays, rules, w, team, fold_in(key, _BIRTH_KEY))
        if cell >= 0:
            child = spawn_child(
                population, map_arrays, agents, rules, w, team, mother, father, cell
            )
            map_arrays.teams[w, team, NEXT_BIRTH_TICK] = tick + rules.temple_cooldown
            record_event(events, w, BIRTH, child, mother, father)
