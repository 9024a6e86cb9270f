"""One tick of a game as a list of phases.

The tick is split into kernels so that a game compiles only what it needs: the clips of its
edition, and births only with the temple.
"""

from __future__ import annotations

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import allocation_free_kernel, inline
from kinfolk.core.random import fold_in
from kinfolk.worlds.cogsguard.inventory import get_agent_arrays
from kinfolk.worlds.cogsguard.rules import CogsguardRules
from kinfolk.worlds.cogsguard.state import CogsguardState
from kinfolk.worlds.cogsguard.step.actions import execute_actions, update_vibes
from kinfolk.worlds.cogsguard.step.births import get_population_arrays, run_births
from kinfolk.worlds.cogsguard.step.clips import run_clips_events, run_clips_ships
from kinfolk.worlds.cogsguard.step.network import release_unlinked_junctions
from kinfolk.worlds.cogsguard.step.upkeep import (
    apply_area_effects,
    apply_upkeep,
    assign_rewards,
    credit_junction_holders,
)
from kinfolk.worlds.cogsguard.territory import get_map_arrays

_TICK_KEY = 3  # folded into an episode's key; `reset` uses 1 and 2


@inline
def make_tick_key(key: int, tick: int) -> int:
    """Return the random key of one tick, from which all its randomness derives."""
    tick_key: int = fold_in(fold_in(key, _TICK_KEY), tick)
    return tick_key


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
    map_arrays, agents, key, seen = (
        get_map_arrays(state),
        get_agent_arrays(state),
        state.key,
        state.seen,
    )
    for w in range(first, last):
        events[w, 0, 0] = 0
        if state.done[w]:
            continue
        state.tick[w] += 1
        tick_key = make_tick_key(key[w], state.tick[w])
        execute_actions(map_arrays, agents, rules, events, order, seen, w, tick_key, actions)
        update_vibes(map_arrays, agents, rules, w, actions)


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
    map_arrays = get_map_arrays(state)
    for w in range(first, last):
        if not state.done[w]:
            run_clips_events(
                map_arrays,
                rules,
                events,
                w,
                state.tick[w],
                make_tick_key(state.key[w], state.tick[w]),
            )


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
    map_arrays = get_map_arrays(state)
    for w in range(first, last):
        if not state.done[w]:
            release_unlinked_junctions(map_arrays, rules, events, w)
            run_clips_ships(map_arrays, rules, events, w, state.tick[w])


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
    map_arrays, agents = get_map_arrays(state), get_agent_arrays(state)
    for w in range(first, last):
        if not state.done[w]:
            apply_upkeep(map_arrays.teams, agents.body, rules, w, state.tick[w])
            apply_area_effects(map_arrays, agents, rules, events, w)


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
    map_arrays, agents, population = (
        get_map_arrays(state),
        get_agent_arrays(state),
        get_population_arrays(state),
    )
    for w in range(first, last):
        if not state.done[w]:
            key = make_tick_key(state.key[w], state.tick[w])
            run_births(population, map_arrays, agents, rules, events, w, state.tick[w], key)


@allocation_free_kernel
def finish_tick(state: CogsguardState, rules: CogsguardRules, first: int, last: int) -> None:
    """Credit and reward agents, and end the episode when time is up.

    Args:
        state: Writes statistics, `reward`, `truncated` and `done`.
        rules: Rules of the batch.
        first: First world.
        last: End of the range of worlds, exclusive.
    """
    teams, reward, truncated = state.teams, state.reward, state.truncated
    for w in range(first, last):
        if not state.done[w]:
            credit_junction_holders(state.junction, state.stats, w)
            state.done[w] = assign_rewards(teams, rules, reward, truncated, w, state.tick[w])
