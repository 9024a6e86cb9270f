"""A tick of one world from within another kernel: the kernels of `phases`, called by address."""

from __future__ import annotations

from typing import NamedTuple

from kinfolk.core.arrays import Bytes, Ints
from kinfolk.core.jit import call_kernel, inline
from kinfolk.worlds.cogsguard.rules import CogsguardRules
from kinfolk.worlds.cogsguard.state import CogsguardState, GameArrays

AGENTS_CALL, CLIPS_CALL, UPKEEP_CALL, FINISH_CALL, OBSERVE_CALL, N_CALLS = range(6)


class StepCalls(NamedTuple):
    """What the kernels of a tick take, with their addresses."""

    addresses: Ints  # [N_CALLS]; -1: there is no such phase
    state: CogsguardState
    game: GameArrays
    rules: CogsguardRules
    events: Ints
    actions: Ints  # [W * N, 2]
    order: Ints  # [N] scratch
    world: Ints  # [W, 1] each world's own number
    facts_offset: int
    observations: Bytes  # flat [W, N, row_bytes]


@inline
def step_world(calls: StepCalls, w: int) -> None:
    """Step one world that is not done with the actions of its agents, and observe it.

    Args:
        calls: The batch of worlds; state and observations are written.
        w: World.
    """
    addresses, state, rules, events = calls.addresses, calls.state, calls.rules, calls.events
    arguments = (state, rules, events, calls.actions, calls.order, w, w + 1)
    clips, has_clips = addresses[CLIPS_CALL], addresses[CLIPS_CALL] >= 0
    if has_clips and not rules.territory:
        call_kernel(clips, (state, rules, events, w, w + 1))
    call_kernel(addresses[AGENTS_CALL], arguments)
    if has_clips and rules.territory:
        call_kernel(clips, (state, rules, events, w, w + 1))
    call_kernel(addresses[UPKEEP_CALL], (state, rules, events, w, w + 1))
    call_kernel(addresses[FINISH_CALL], (state, rules, w, w + 1))
    game, tick, offset = calls.game, state.tick, calls.facts_offset
    observed = (game, tick, rules, offset, calls.world[w], calls.observations)
    call_kernel(addresses[OBSERVE_CALL], observed)
