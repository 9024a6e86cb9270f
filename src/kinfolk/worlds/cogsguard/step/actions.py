"""Primary actions: agents move or bump, one after the other in random order."""

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
    """Return the difference of indices to the next cell north, south, west or east."""
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
    """Move an agent to the next cell, which must be empty.

    Args:
        map_arrays: Writes `team_view` and `cell_detail`.
        agents: Writes `body` and `stats`.
        rules: Rules of the batch.
        w: World.
        row: Row of the agent.
        team: Its team.
        direction: Index into `MOVES`, not 0.
    """
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
    """Execute the primary action of one agent; if it succeeds, it costs energy.

    Args:
        map_arrays: Written.
        agents: Written.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
        row: Row of the agent.
        team: Its team.
        direction: Index into `MOVES`.

    Returns:
        Whether the agent moved.
    """
    body, stats = agents.body, agents.stats
    body[w, row, ACTION_SUCCEEDED] = 1
    if direction == 0:
        return False
    if body[w, row, ENERGY] < rules.move_cost:
        stats[w, row, ACTIONS_WITHOUT_ENERGY] += 1
        body[w, row, ACTION_SUCCEEDED] = 0
        return False
    target = body[w, row, CELL] + cell_offset(rules.stride, direction)
    is_free = int(map_arrays.team_view[w, team, target]) & KIND_MASK == EMPTY
    if is_free:
        move_agent(map_arrays, agents, rules, w, row, team, direction)
    elif not bump_object(map_arrays, agents, rules, events, w, row, team, target):
        stats[w, row, BUMPS_FAILED] += 1
        body[w, row, ACTION_SUCCEEDED] = 0
        return False
    # Clamped: a bump can change the gear, and with it lower the limit of energy.
    body[w, row, ENERGY] = max(0, body[w, row, ENERGY] - rules.move_cost)
    return bool(is_free)


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
    """Execute the primary actions of all agents of a world in random order.

    Args:
        map_arrays: Written.
        agents: Written.
        rules: Rules of the batch.
        events: Buffer, appended to.
        order: `[N]`, scratch.
        seen: `[W, N, height, words]`, written for agents that moved.
        w: World.
        key: Random key of the order.
        actions: `[W * N, 2]`.
    """
    n_agents, rows = 0, agents.body.shape[1]
    for team in range(rules.teams):
        for i in range(map_arrays.teams[w, team, N_AGENTS]):
            order[n_agents] = team * rules.rows_per_team + i
            n_agents += 1
    for i in range(n_agents):
        j = i + randint(key, i, n_agents - i)
        row = order[j]
        order[j] = order[i]
        team, direction = row // rules.rows_per_team, actions[w * rows + row, 0]
        if execute_action(map_arrays, agents, rules, events, w, row, team, direction):
            mark_window_seen(
                seen, agents.stats, rules, w, row, agents.body[w, row, CELL], direction
            )
        else:
            agents.stats[w, row, MOTIONLESS_TICKS] += 1


@inline
def update_vibes(
    map_arrays: MapArrays, agents: AgentArrays, rules: CogsguardRules, w: int, actions: Ints
) -> None:
    """Set the vibes of all agents, which others see but no rule reads.

    Args:
        map_arrays: Writes `team_view`.
        agents: Writes `body`.
        rules: Rules of the batch.
        w: World.
        actions: `[W * N, 2]`.
    """
    rows = agents.body.shape[1]
    for team in range(rules.teams):
        for i in range(map_arrays.teams[w, team, N_AGENTS]):
            row = team * rules.rows_per_team + i
            vibe = actions[w * rows + row, 1]
            if vibe != agents.body[w, row, VIBE]:
                agents.body[w, row, VIBE] = vibe
                write_agent_cell(map_arrays.team_view, agents.body, w, row, team)
