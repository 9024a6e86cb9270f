"""One tick of a game as a list of phases.

The tick is split into kernels so that a game compiles only what it needs: the clips of its
edition, and births only with the temple. Upkeep, areas and rewards, which every game has, are here.
"""

from __future__ import annotations

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import allocation_free_kernel, inline
from kinfolk.core.random import fold_in
from kinfolk.worlds.cogsguard import codes
from kinfolk.worlds.cogsguard.inventory import add_resources, apply_limits, write_agent_cell
from kinfolk.worlds.cogsguard.rules import CogsguardRules
from kinfolk.worlds.cogsguard.state import CogsguardState, GameArrays, get_game_arrays, record_event
from kinfolk.worlds.cogsguard.step import clips
from kinfolk.worlds.cogsguard.step.actions import execute_actions, update_vibes
from kinfolk.worlds.cogsguard.step.births import run_births

_TICK_KEY = 3  # folded into an episode's key; `reset` uses 1 and 2


@inline
def make_tick_key(key: int, tick: int) -> int:
    """Return the random key of one tick, from which all its randomness derives."""
    tick_key: int = fold_in(fold_in(key, _TICK_KEY), tick)
    return tick_key


@inline
def apply_upkeep(teams: Ints, body: Ints, rules: CogsguardRules, w: int, tick: int) -> None:
    """Subtract hp and influence from all agents and add solar energy, more of it by day.

    Args:
        teams: `[W, T + 1, TEAM_COLUMNS]`.
        body: `[W, N, BODY_COLUMNS]`, written.
        rules: Rules of the batch.
        w: World.
        tick: Current tick.
    """
    is_day = (tick - 1) % rules.day_period < rules.day_length
    solar = rules.solar_day if is_day else rules.solar_night
    limits, hp, influence = rules.limits, -rules.hp_upkeep, -rules.influence_upkeep
    for team in range(rules.teams):
        for i in range(teams[w, team, codes.N_AGENTS]):
            row = team * rules.rows_per_team + i
            add_resources(body, limits, w, row, hp, solar, influence)


@inline
def apply_area_effects(game: GameArrays, rules: CogsguardRules, events: Ints, w: int) -> None:
    """Apply the effects of areas to all agents; those with hp 0 then lose gear and hearts.

    Friendly and enemy effects are summed before limits apply. An exhausted agent keeps only the cargo
    that it can carry without gear.

    Args:
        game: Reads areas; writes `body`, `stats` and agents' cells in `team_view`.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
    """
    body, limits = game.body, rules.limits
    for team in range(rules.teams):
        for i in range(game.teams[w, team, codes.N_AGENTS]):
            row = team * rules.rows_per_team + i
            word = int(game.team_view[w, team, body[w, row, codes.CELL]])
            hp, energy, influence = 0, 0, 0
            if word & codes.FRIENDLY_AREA != 0:
                hp, energy = rules.hp_friendly_area, rules.energy_friendly_area
                influence = rules.influence_friendly_area
            if word & codes.ENEMY_AREA != 0:
                hp -= rules.hp_enemy_area
                influence -= rules.influence_enemy_area
            if word & codes.AREA_MASK != 0:
                add_resources(body, limits, w, row, hp, energy, influence)
            if body[w, row, codes.HP] == 0:
                game.stats[w, row, codes.EXHAUSTED_TICKS] += 1
                gear, hearts = body[w, row, codes.GEAR], body[w, row, codes.HEARTS]
                if gear != codes.NO_GEAR or hearts > 0:
                    body[w, row, codes.GEAR] = codes.NO_GEAR
                    body[w, row, codes.HEARTS] = 0
                    apply_limits(body, limits, w, row)
                    write_agent_cell(game.team_view, body, w, row, team)
                    record_event(events, w, codes.EXHAUSTED_EVENT, row, gear, hearts)


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
    """Advance the clock and run the agents' actions, then their vibes.

    Args:
        state: State of the batch, written.
        rules: Rules of the batch.
        events: Buffer, emptied and written.
        actions: `[W * N, 2]`.
        order: `[N]`, scratch.
        first: First world.
        last: End of the range of worlds, exclusive.
    """
    game, key, tick = get_game_arrays(state), state.key, state.tick
    for w in range(first, last):
        events[w, 0, 0] = 0
        if state.done[w]:
            continue
        tick[w] += 1
        tick_key = make_tick_key(key[w], tick[w])
        execute_actions(game, rules, events, order, state.seen, w, tick_key, actions)
        update_vibes(game, rules, w, actions)


@allocation_free_kernel
def step_clips_events(
    state: CogsguardState, rules: CogsguardRules, events: Ints, first: int, last: int
) -> None:
    """Run the clips of edition F.

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
            clips.run_clips_events(game, rules, events, w, state.tick[w], tick_key)


@allocation_free_kernel
def step_clips_ships(
    state: CogsguardState, rules: CogsguardRules, events: Ints, first: int, last: int
) -> None:
    """Release junctions that agents cut off, then run the clips of edition A.

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
            clips.release_unlinked_junctions(game, rules, events, w)
            clips.run_clips_ships(game, rules, events, w, state.tick[w])


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
            apply_upkeep(game.teams, game.body, rules, w, state.tick[w])
            apply_area_effects(game, rules, events, w)


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
        for j in range(junction.shape[1]):
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
