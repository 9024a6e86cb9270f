"""Primary actions: agents move or bump, one after the other in random order."""

from __future__ import annotations

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import inline
from kinfolk.core.random import randint
from kinfolk.worlds.cogsguard import codes
from kinfolk.worlds.cogsguard.inventory import book, mark_window_seen, write_agent_cell
from kinfolk.worlds.cogsguard.rules import CogsguardRules
from kinfolk.worlds.cogsguard.state import GameArrays, SeenBits
from kinfolk.worlds.cogsguard.step.bumps import bump_object
from kinfolk.worlds.cogsguard.territory import clear_cell


@inline
def cell_offset(stride: int, direction: int) -> int:
    """Return the difference of indices to the next cell north, south, west or east."""
    if direction <= 2:
        return -stride if direction == 1 else stride
    return -1 if direction == 3 else 1


@inline
def move_agent(game: GameArrays, w: int, row: int, team: int, target: int) -> None:
    """Move an agent to a cell, which must be empty.

    Args:
        game: Writes `team_view`, `cell_detail`, `body` and `stats`.
        w: World.
        row: Row of the agent.
        team: Team of the agent.
        target: Its cell after the move.
    """
    clear_cell(game, w, game.body[w, row, codes.CELL])
    game.body[w, row, codes.CELL] = target
    game.cell_detail[w, target] = row
    write_agent_cell(game.team_view, game.body, w, row, team)
    game.stats[w, row, codes.MOVES_MADE] += 1


@inline
def execute_action(
    game: GameArrays, rules: CogsguardRules, events: Ints, w: int, row: int, direction: int
) -> bool:
    """Execute the primary action of one agent; if it succeeds, it costs energy.

    Args:
        game: Written.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
        row: Row of the agent.
        direction: Index into `MOVES`.

    Returns:
        Whether the agent moved.
    """
    body, stats, team = game.body, game.stats, row // rules.rows_per_team
    body[w, row, codes.ACTION_SUCCEEDED] = 1
    if direction == 0:
        return False
    if body[w, row, codes.ENERGY] < rules.move_cost:
        stats[w, row, codes.ACTIONS_WITHOUT_ENERGY] += 1
        body[w, row, codes.ACTION_SUCCEEDED] = 0
        return False
    target = body[w, row, codes.CELL] + cell_offset(rules.stride, direction)
    kind = int(game.team_view[w, team, target]) & codes.KIND_MASK
    is_free = kind == codes.EMPTY
    is_usable = kind >= codes.EXTRACTOR and kind != codes.SHIP
    if is_free:
        move_agent(game, w, row, team, target)
    elif not is_usable or not bump_object(game, rules, events, w, row, team, target):
        stats[w, row, codes.BUMPS_FAILED] += 1
        body[w, row, codes.ACTION_SUCCEEDED] = 0
        return False
    # At most what it has: a bump can change the gear, and with it lower the limit of energy.
    cost = min(rules.move_cost, body[w, row, codes.ENERGY])
    body[w, row, codes.ENERGY] -= cost
    book(game.ledger, w, row, codes.ENERGY_ACTIONS, -cost)
    return bool(is_free)


@inline
def execute_actions(
    game: GameArrays,
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
        game: Written.
        rules: Rules of the batch.
        events: Buffer, appended to.
        order: `[N]`, scratch.
        seen: `[W, N, height, words]`, written for agents that moved.
        w: World.
        key: Random key of the order.
        actions: `[W * N, 2]`.
    """
    n_agents, rows, stats = 0, game.body.shape[1], game.stats
    for team in range(rules.teams):
        for i in range(game.teams[w, team, codes.N_AGENTS]):
            order[n_agents] = team * rules.rows_per_team + i
            n_agents += 1
    for i in range(n_agents):
        j = i + randint(key, i, n_agents - i)
        row = order[j]
        order[j] = order[i]
        direction = actions[w * rows + row, 0]
        if execute_action(game, rules, events, w, row, direction):
            cell = game.body[w, row, codes.CELL]
            mark_window_seen(seen, stats, rules, w, row, cell, direction)
        else:
            stats[w, row, codes.MOTIONLESS_TICKS] += 1


@inline
def update_vibes(game: GameArrays, rules: CogsguardRules, w: int, actions: Ints) -> None:
    """Set the vibes of all agents, which others see but no rule reads.

    With the quirk `vibe_success`, an agent whose vibe changed has succeeded.

    Args:
        game: Writes `team_view` and `body`.
        rules: Rules of the batch.
        w: World.
        actions: `[W * N, 2]`.
    """
    body = game.body
    for team in range(rules.teams):
        for i in range(game.teams[w, team, codes.N_AGENTS]):
            row = team * rules.rows_per_team + i
            vibe = actions[w * body.shape[1] + row, 1]
            if vibe != body[w, row, codes.VIBE]:
                body[w, row, codes.VIBE] = vibe
                if rules.vibe_success:
                    body[w, row, codes.ACTION_SUCCEEDED] = 1
                write_agent_cell(game.team_view, body, w, row, team)
