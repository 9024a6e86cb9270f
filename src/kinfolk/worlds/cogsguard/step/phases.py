"""One tick of a game as a list of phases.

The tick is split into kernels so that a game compiles only what it needs: the clips of its
edition, and births only with the temple. Upkeep, areas and rewards, which every game has, are here.
"""

from __future__ import annotations

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import allocation_free_kernel, inline, inline_always
from kinfolk.core.random import fold_in
from kinfolk.worlds.cogsguard import codes
from kinfolk.worlds.cogsguard.inventory import (
    add_resources,
    book,
    take_off_gear,
    write_agent_cell,
)
from kinfolk.worlds.cogsguard.rules import CogsguardRules
from kinfolk.worlds.cogsguard.state import CogsguardState, GameArrays, get_game_arrays, record_event
from kinfolk.worlds.cogsguard.step.actions import execute_actions, update_vibes
from kinfolk.worlds.cogsguard.step.births import run_births
from kinfolk.worlds.cogsguard.step.clips import run_clips_events
from kinfolk.worlds.cogsguard.step.ships import run_clips_ships

_TICK_KEY = 3  # folded into an episode's key; `reset` uses 1 and 2


@inline
def make_tick_key(key: int, tick: int) -> int:
    """Return the random key of one tick, from which all its randomness derives."""
    tick_key: int = fold_in(fold_in(key, _TICK_KEY), tick)
    return tick_key


@inline
def exhaust_agent(
    game: GameArrays, rules: CogsguardRules, events: Ints, w: int, row: int, team: int
) -> None:
    """Take gear and hearts from an agent, whose hp is 0.

    It keeps only the cargo that it can carry without gear.

    Args:
        game: Writes `body`, `ledger` and the agent's cell in `team_view`.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
        row: Row of the agent.
        team: Team of the agent.
    """
    body = game.body
    gear, hearts = body[w, row, codes.GEAR], body[w, row, codes.HEARTS]
    if gear != codes.NO_GEAR or hearts > 0:
        body[w, row, codes.HEARTS] = 0
        book(game.ledger, w, row, codes.HEARTS_EXHAUSTED, -hearts)
        take_off_gear(game, rules.limits, w, row)
        write_agent_cell(game.team_view, body, w, row, team)
        record_event(events, w, codes.EXHAUSTED_EVENT, row, gear, hearts)


@inline_always
def apply_upkeep(
    game: GameArrays, rules: CogsguardRules, events: Ints, w: int, row: int, team: int, solar: int
) -> None:
    """Subtract hp and influence from an agent and add solar energy.

    If its hp is then 0, it loses gear and hearts, before areas can heal it.

    Args:
        game: Writes `body`, `ledger` and the agent's cell in `team_view`.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
        row: Row of the agent.
        team: Team of the agent.
        solar: Energy that an agent gains in this tick.
    """
    body, ledger = game.body, game.ledger
    hp, influence = -rules.hp_upkeep, -rules.influence_upkeep
    add_resources(body, ledger, rules.limits, w, row, hp, solar, influence)
    if ledger.shape[1] > 0:
        ledger[w, row, codes.HP_UPKEEP] += hp
        ledger[w, row, codes.ENERGY_SOLAR] += solar
        ledger[w, row, codes.INFLUENCE_UPKEEP] += influence
    if body[w, row, codes.HP] == 0:
        exhaust_agent(game, rules, events, w, row, team)


@inline_always
def apply_areas_to_agent(
    game: GameArrays, rules: CogsguardRules, events: Ints, w: int, row: int, team: int
) -> None:
    """Apply the areas around an agent to it: in edition F once for every hub and junction.

    Enemies come first. In edition F an agent whose hp they bring to 0 loses gear and hearts before
    friends can heal it; in A that waits for the next upkeep. Influence changes by the sum of both.

    Args:
        game: Reads areas; writes `body`, `ledger` and the agent's cell in `team_view`.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
        row: Row of the agent.
        team: Team of the agent.
    """
    cell, limits, ledger = game.body[w, row, codes.CELL], rules.limits, game.ledger
    word = int(game.team_view[w, team, cell])
    friends, enemies = word >> codes.FRIENDLY_SHIFT & 1, word >> codes.ENEMY_SHIFT & 1
    if not rules.territory:
        friends, enemies = int(game.area_cover[w, team, cell]), 0
        for side in range(game.area_cover.shape[1]):
            if side != team:
                enemies += int(game.area_cover[w, side, cell])
    if enemies > 0:
        hp = -enemies * rules.hp_enemy_area
        add_resources(game.body, game.ledger, limits, w, row, hp, 0, 0)
        book(game.ledger, w, row, codes.HP_ENEMY, hp)
        if not rules.territory and game.body[w, row, codes.HP] == 0:
            exhaust_agent(game, rules, events, w, row, team)
    hp, energy = friends * rules.hp_friendly_area, friends * rules.energy_friendly_area
    gained = friends * rules.influence_friendly_area
    lost = enemies * rules.influence_enemy_area
    add_resources(game.body, ledger, limits, w, row, hp, energy, gained - lost)
    if ledger.shape[1] > 0:
        ledger[w, row, codes.HP_FRIENDLY] += hp
        ledger[w, row, codes.ENERGY_FRIENDLY] += energy
        ledger[w, row, codes.INFLUENCE_FRIENDLY] += gained
        ledger[w, row, codes.INFLUENCE_ENEMY] -= lost


@inline_always
def fill_agent(body: Ints, rules: CogsguardRules, w: int, row: int) -> bool:
    """Apply upkeep and friendly areas to an agent if one source is enough to fill it up.

    How many sources there are is then not read, which is most of the cost.

    Args:
        body: `[W, N, BODY_COLUMNS]`, written.
        rules: Rules of the batch.
        w: World.
        row: Row of the agent.

    Returns:
        Whether the agent was filled.
    """
    gear, limits = body[w, row, codes.GEAR], rules.limits
    limit, energy_limit = limits[codes.HP_LIMIT, gear], limits[codes.ENERGY_LIMIT, gear]
    influence_limit = limits[codes.INFLUENCE_LIMIT, gear]
    hp = body[w, row, codes.HP] - rules.hp_upkeep
    influence = max(0, body[w, row, codes.INFLUENCE] - rules.influence_upkeep)
    if (
        hp <= 0
        or hp + rules.hp_friendly_area < limit
        or body[w, row, codes.ENERGY] + rules.energy_friendly_area < energy_limit
        or influence + rules.influence_friendly_area < influence_limit
    ):
        return False
    body[w, row, codes.HP] = limit
    body[w, row, codes.ENERGY] = energy_limit
    body[w, row, codes.INFLUENCE] = influence_limit
    return True


@inline
def update_agents(game: GameArrays, rules: CogsguardRules, events: Ints, w: int, tick: int) -> None:
    """Apply upkeep and then areas to all agents; there is more solar energy by day.

    Args:
        game: Reads areas; writes `body`, `stats`, `ledger` and agents' cells in `team_view`.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
        tick: Current tick.
    """
    is_day = tick % rules.day_period < rules.day_length
    solar, body = rules.solar_day if is_day else rules.solar_night, game.body
    for team in range(rules.teams):
        for i in range(game.teams[w, team, codes.N_AGENTS]):
            row = team * rules.rows_per_team + i
            area = int(game.team_view[w, team, body[w, row, codes.CELL]]) & codes.AREA_MASK
            is_plain = area == codes.FRIENDLY_AREA and game.ledger.shape[1] == 0
            if is_plain and fill_agent(body, rules, w, row):
                continue
            apply_upkeep(game, rules, events, w, row, team, solar)
            if area != 0:
                apply_areas_to_agent(game, rules, events, w, row, team)
            if body[w, row, codes.HP] == 0:
                game.stats[w, row, codes.EXHAUSTED_TICKS] += 1


@inline
def begin_tick(state: CogsguardState, events: Ints, w: int) -> None:
    """Empty the buffer of events of a world and advance its clock, in the first phase of a tick.

    Args:
        state: Writes `tick` of worlds that are not done.
        events: Buffer, emptied.
        w: World.
    """
    events[w, 0, 0] = 0
    if not state.done[w]:
        state.tick[w] += 1


@allocation_free_kernel
def step_agents(
    state: CogsguardState,
    rules: CogsguardRules,
    events: Ints,
    actions: Ints,
    order: Ints,
    first: int,
    last: int,
) -> None:
    """Run the agents' actions, then their vibes.

    Args:
        state: State of the batch, written.
        rules: Rules of the batch.
        events: Buffer, appended to; emptied first unless the clips have acted.
        actions: `[W * N, 2]`.
        order: `[N]`, scratch.
        first: First world.
        last: End of the range of worlds, exclusive.
    """
    game, key, tick = get_game_arrays(state), state.key, state.tick
    for w in range(first, last):
        if rules.territory or not rules.clips:  # else the clips have begun it
            begin_tick(state, events, w)
        if state.done[w]:
            continue
        tick_key = make_tick_key(key[w], tick[w])
        execute_actions(game, rules, events, order, state.seen, w, tick_key, actions)
        update_vibes(game, rules, w, actions)


@allocation_free_kernel
def step_clips_events(
    state: CogsguardState, rules: CogsguardRules, events: Ints, first: int, last: int
) -> None:
    """Run the clips of edition F, the first phase of a tick.

    Args:
        state: State of the batch, written.
        rules: Rules of the batch.
        events: Buffer, emptied and written.
        first: First world.
        last: End of the range of worlds, exclusive.
    """
    game = get_game_arrays(state)
    for w in range(first, last):
        begin_tick(state, events, w)
        if not state.done[w]:
            tick_key = make_tick_key(state.key[w], state.tick[w])
            run_clips_events(game, rules, events, w, state.tick[w], tick_key)


@allocation_free_kernel
def step_clips_ships(
    state: CogsguardState, rules: CogsguardRules, events: Ints, first: int, last: int
) -> None:
    """Run the clips of edition A.

    Args:
        state: State of the batch, written.
        rules: Rules of the batch.
        events: Buffer, appended to.
        first: First world.
        last: End of the range of worlds, exclusive.
    """
    game = get_game_arrays(state)
    for w in range(first, last):
        if not state.done[w]:
            tick_key = make_tick_key(state.key[w], state.tick[w])
            run_clips_ships(game, rules, events, w, state.tick[w], tick_key)


@allocation_free_kernel
def step_upkeep(
    state: CogsguardState, rules: CogsguardRules, events: Ints, first: int, last: int
) -> None:
    """Apply upkeep, then the effects of areas.

    Args:
        state: State of the batch, written.
        rules: Rules of the batch.
        events: Buffer, appended to.
        first: First world.
        last: End of the range of worlds, exclusive.
    """
    game = get_game_arrays(state)
    for w in range(first, last):
        if not state.done[w]:
            update_agents(game, rules, events, w, state.tick[w])


@allocation_free_kernel
def step_births(
    state: CogsguardState, rules: CogsguardRules, events: Ints, first: int, last: int
) -> None:
    """Run the births of all worlds that are not done.

    Args:
        state: State of the batch, written.
        rules: Rules of the batch.
        events: Buffer, appended to.
        first: First world.
        last: End of the range of worlds, exclusive.
    """
    for w in range(first, last):
        if not state.done[w]:
            tick_key = make_tick_key(state.key[w], state.tick[w])
            run_births(state, rules, events, w, state.tick[w], tick_key)


@allocation_free_kernel
def finish_tick(state: CogsguardState, rules: CogsguardRules, first: int, last: int) -> None:
    """Credit and reward agents, and end the episode when time is up.

    Every agent is rewarded with its team's junctions / max_steps. Those that aligned junctions which
    their teams still hold are credited with a tick of holding them.

    Args:
        state: Writes statistics, `reward`, `truncated` and `done`.
        rules: Rules of the batch.
        first: First world.
        last: End of the range of worlds, exclusive.
    """
    junction, teams, reward, truncated = state.junction, state.teams, state.reward, state.truncated
    for w in range(first, last):
        if state.done[w]:
            continue
        n_held = 0
        for team in range(rules.teams):
            n_held += teams[w, team, codes.JUNCTIONS_HELD]
        for j in range(junction.shape[1] if n_held > 0 else 0):
            row = junction[w, j, codes.JUNCTION_ALIGNED_BY]
            if junction[w, j, codes.JUNCTION_CELL] > 0 and row >= 0:
                state.stats[w, row, codes.HELD_TICKS] += 1
        for owner in range(rules.teams + 1):
            teams[w, owner, codes.JUNCTION_TICKS] += teams[w, owner, codes.JUNCTIONS_HELD]
        is_over = state.tick[w] >= rules.max_steps
        for team in range(rules.teams):
            team_reward = teams[w, team, codes.JUNCTIONS_HELD] / rules.max_steps
            for i in range(teams[w, team, codes.N_AGENTS]):
                row = team * rules.rows_per_team + i
                reward[w, row] = team_reward
                truncated[w, row] = is_over
        state.done[w] = is_over
