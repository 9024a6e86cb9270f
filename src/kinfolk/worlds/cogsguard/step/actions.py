"""Primary actions: agents move or bump, one after the other in an order drawn from the key."""

from __future__ import annotations

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import inline
from kinfolk.core.random import randint
from kinfolk.worlds.cogsguard.codes import (
    ACTION_SUCCEEDED,
    ACTIONS_WITHOUT_ENERGY,
    BUMPS_FAILED,
    CELL,
    EMPTY,
    ENERGY,
    KIND_MASK,
    MOTIONLESS_TICKS,
    MOVES_MADE,
    N_AGENTS,
    VIBE,
)
from kinfolk.worlds.cogsguard.inventory import AgentArrays, mark_window_seen, write_agent_cell
from kinfolk.worlds.cogsguard.rules import CogsguardRules
from kinfolk.worlds.cogsguard.state import SeenBits
from kinfolk.worlds.cogsguard.step.bumps import bump_object
from kinfolk.worlds.cogsguard.territory import MapArrays, clear_cell


@inline
def cell_offset(stride: int, direction: int) -> int:
    """How far in the numbering of cells the next cell to the north, south, west or east is."""
    if direction <= 2:
        return -stride if direction == 1 else stride
    return -1 if direction == 3 else 1


@inline
def move_agent(
    map_arrays: MapArrays,
    agents: AgentArrays,
    rules: CogsguardRules,
    w: int,
    row: int,
    team: int,
    direction: int,
) -> None:
    """Go one cell, which is free."""
    body, cell = agents.body, agents.body[w, row, CELL]
    clear_cell(map_arrays, w, cell)
    cell += cell_offset(rules.stride, direction)
    body[w, row, CELL] = cell
    map_arrays.cell_detail[w, cell] = row
    write_agent_cell(map_arrays.team_view, body, w, row, team)
    agents.stats[w, row, MOVES_MADE] += 1


@inline
def execute_action(
    map_arrays: MapArrays,
    agents: AgentArrays,
    rules: CogsguardRules,
    events: Ints,
    w: int,
    row: int,
    team: int,
    direction: int,
) -> bool:
    """Do one agent's primary action; returns whether it moved. Success costs energy."""
    body, stats = agents.body, agents.stats
    body[w, row, ACTION_SUCCEEDED] = 1
    if direction == 0:
        return False
    if body[w, row, ENERGY] < rules.move_cost:
        stats[w, row, ACTIONS_WITHOUT_ENERGY] += 1
        body[w, row, ACTION_SUCCEEDED] = 0
        return False
    target = body[w, row, CELL] + cell_offset(rules.stride, direction)
    free = int(map_arrays.team_view[w, team, target]) & KIND_MASK == EMPTY
    if free:
        move_agent(map_arrays, agents, rules, w, row, team, direction)
    elif not bump_object(map_arrays, agents, rules, events, w, row, team, target):
        stats[w, row, BUMPS_FAILED] += 1
        body[w, row, ACTION_SUCCEEDED] = 0
        return False
    # Taken from what is left: a bump can change gear, and with it how much energy can be held.
    body[w, row, ENERGY] = max(0, body[w, row, ENERGY] - rules.move_cost)
    return bool(free)


@inline
def execute_actions(
    map_arrays: MapArrays,
    agents: AgentArrays,
    rules: CogsguardRules,
    events: Ints,
    order: Ints,
    seen: SeenBits,
    w: int,
    key: int,
    actions: Ints,
) -> None:
    """Everybody acts once; each next agent is drawn from those that are left."""
    total, rows = 0, agents.body.shape[1]
    for team in range(rules.teams):
        for i in range(map_arrays.teams[w, team, N_AGENTS]):
            order[total] = team * rules.rows_per_team + i
            total += 1
    for i in range(total):
        j = i + randint(key, i, total - i)
        row = order[j]
        order[j] = order[i]
        team, way = row // rules.rows_per_team, actions[w * rows + row, 0]
        if execute_action(map_arrays, agents, rules, events, w, row, team, way):
            mark_window_seen(seen, agents.stats, rules, w, row, agents.body[w, row, CELL], way)
        else:
            agents.stats[w, row, MOTIONLESS_TICKS] += 1


@inline
def update_vibes(
    map_arrays: MapArrays, agents: AgentArrays, rules: CogsguardRules, w: int, actions: Ints
) -> None:
    """Vibes have no effect on the rules, but others see them."""
    rows = agents.body.shape[1]
    for team in range(rules.teams):
        for i in range(map_arrays.teams[w, team, N_AGENTS]):
            row = team * rules.rows_per_team + i
            vibe = actions[w * rows + row, 1]
            if vibe != agents.body[w, row, VIBE]:
                agents.body[w, row, VIBE] = vibe
                write_agent_cell(map_arrays.team_view, agents.body, w, row, team)
