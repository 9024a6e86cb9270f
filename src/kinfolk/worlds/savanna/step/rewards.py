"""Rewards that are paid at the end of a step, and their events."""

from __future__ import annotations

from kinfolk.core.jit import inline_always
from kinfolk.lineage.kernels import compute_lineage_reward, update_descendant_change
from kinfolk.worlds.savanna.codes import LINEAGE_REWARD, PREDATOR, PREY, REWARD
from kinfolk.worlds.savanna.rules import SavannaRules
from kinfolk.worlds.savanna.state import EventBuffer, SavannaState, record_event
from kinfolk.worlds.savanna.step.context import StepPart, get_slice


@inline_always
def pay_lineage_rewards(
    state: SavannaState, rules: SavannaRules, events: EventBuffer, w: int, part: StepPart
) -> None:
    """Reward all living agents for the change in their live descendants.

    With the quirk `carcasses_live`, carcasses are paid too.

    Args:
        state: Writes `reward`, `lineage_rewards` and `prev_live_descendants`.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
        part: Which agents.
    """
    descendants, previous = state.live_descendants, state.prev_live_descendants
    for species in range(2):
        first, last = get_slice(part, state.n_alive[w, species])
        for i in range(first, last):
            row = state.alive_rows[w, species, i]
            uid = state.uid[w, row]
            change = update_descendant_change(descendants, previous, w, uid)
            if change != 0 and (rules.carcasses_live or not state.carcass[w, row]):
                kind = 2 * species + state.group[w, row] - species * rules.n_types
                coefficient = rules.lineage_coeff[kind]
                reward = compute_lineage_reward(coefficient, change, rules.symmetric_lineage)
                state.reward[w, row] += reward
                state.lineage_rewards[w, species] += reward
                record_event(events, w, LINEAGE_REWARD, uid, -1, reward)


@inline_always
def pay_energy_changes(state: SavannaState, rules: SavannaRules, w: int) -> None:
    """Reward all agents for the change of their energy in this step; the dead have none left.

    Args:
        state: Writes `reward`.
        rules: Rules of the batch.
        w: World.
    """
    for species in range(2):
        for i in range(state.n_alive[w, species]):
            row = state.alive_rows[w, species, i]
            kind = 2 * species + state.group[w, row] - species * rules.n_types
            change = state.energy[w, row] - state.energy_before[w, row]
            state.reward[w, row] += rules.energy_reward[kind] * change
    for i in range(state.n_ended[w]):
        row = state.ended_rows[w, i]
        species = PREDATOR if state.group[w, row] < rules.n_types else PREY
        kind = 2 * species + state.group[w, row] - species * rules.n_types
        state.reward[w, row] -= rules.energy_reward[kind] * state.energy_before[w, row]


@inline_always
def record_rewards(state: SavannaState, events: EventBuffer, w: int) -> None:
    """Record the rewards of this step that are not 0.

    Args:
        state: Reads rewards.
        events: Buffer, appended to.
        w: World.
    """
    for species in range(2):
        for i in range(state.n_alive[w, species]):
            row = state.alive_rows[w, species, i]
            if state.reward[w, row] != 0.0:
                record_event(events, w, REWARD, state.uid[w, row], -1, state.reward[w, row])
    for i in range(state.n_ended[w]):
        row = state.ended_rows[w, i]
        if state.reward[w, row] != 0.0:
            record_event(events, w, REWARD, state.uid[w, row], -1, state.reward[w, row])
