"""One tick of a game, as a list of phases.

The tick is cut into kernels so that a game compiles only what it plays: the clips of its edition,
and births only with the temple.
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

_TICK_KEY = 3  # of an episode's key; `founding` has the others


@inline
def make_tick_key(key: int, tick: int) -> int:
    """The key from which all chance of one tick follows."""
    made: int = fold_in(fold_in(key, _TICK_KEY), tick)
    return made


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
    """The clock goes on, agents act, then change their vibes; `order` is scratch."""
    land, folk, key, seen = get_map_arrays(state), get_agent_arrays(state), state.key, state.seen
    for w in range(first, last):
        events[w, 0, 0] = 0
        if state.done[w]:
            continue
        state.tick[w] += 1
        own = make_tick_key(key[w], state.tick[w])
        execute_actions(land, folk, rules, events, order, seen, w, own, actions)
        update_vibes(land, folk, rules, w, actions)


@allocation_free_kernel
def step_clips_events(
    state: CogsguardState, rules: CogsguardRules, events: Ints, first: int, last: int
) -> None:
    """Edition F: the events of the clips."""
    land = get_map_arrays(state)
    for w in range(first, last):
        if not state.done[w]:
            run_clips_events(
                land, rules, events, w, state.tick[w], make_tick_key(state.key[w], state.tick[w])
            )


@allocation_free_kernel
def step_clips_ships(
    state: CogsguardState, rules: CogsguardRules, events: Ints, first: int, last: int
) -> None:
    """Edition A: networks that agents broke shrink, then the clips' ships do their deeds."""
    land = get_map_arrays(state)
    for w in range(first, last):
        if not state.done[w]:
            release_unlinked_junctions(land, rules, events, w)
            run_clips_ships(land, rules, events, w, state.tick[w])


@allocation_free_kernel
def step_upkeep(
    state: CogsguardState, rules: CogsguardRules, events: Ints, first: int, last: int
) -> None:
    """Upkeep, then the effects of areas."""
    land, folk = get_map_arrays(state), get_agent_arrays(state)
    for w in range(first, last):
        if not state.done[w]:
            apply_upkeep(land.teams, folk.body, rules, w, state.tick[w])
            apply_area_effects(land, folk, rules, events, w)


@allocation_free_kernel
def step_births(
    state: CogsguardState, rules: CogsguardRules, events: Ints, first: int, last: int
) -> None:
    """Births, if the temple is open."""
    land, folk, lives = get_map_arrays(state), get_agent_arrays(state), get_population_arrays(state)
    for w in range(first, last):
        if not state.done[w]:
            key = make_tick_key(state.key[w], state.tick[w])
            run_births(lives, land, folk, rules, events, w, state.tick[w], key)


@allocation_free_kernel
def finish_tick(state: CogsguardState, rules: CogsguardRules, first: int, last: int) -> None:
    """Agents are credited and paid, and the episode ends when time is up."""
    teams, reward, truncated = state.teams, state.reward, state.truncated
    for w in range(first, last):
        if not state.done[w]:
            credit_junction_holders(state.junction, state.stats, w)
            state.done[w] = assign_rewards(teams, rules, reward, truncated, w, state.tick[w])
