"""Sharing a captured prey or a carcass among the predators that caught it and those beside it."""

from __future__ import annotations

from kinfolk.core.jit import inline_always
from kinfolk.worlds.savanna import codes
from kinfolk.worlds.savanna.codes import PREDATOR, PREY
from kinfolk.worlds.savanna.rules import SavannaRules
from kinfolk.worlds.savanna.state import EventBuffer, RowIndices, add_event_details, record_event
from kinfolk.worlds.savanna.step.context import SavannaAgents
from kinfolk.worlds.savanna.step.occupancy import get_cell, kill_agent, refresh_occupied_cell
from kinfolk.worlds.savanna.step.predation import add_energy


@inline_always
def feed_riders(
    agents: SavannaAgents,
    rules: SavannaRules,
    events: EventBuffer,
    w: int,
    prey: int,
    riders: RowIndices,
    scavenged: float,
) -> float:
    """Share a part of a prey among predators that did not join its capture.

    Args:
        agents: Writes energies and accounts.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
        prey: Row of the prey.
        riders: Rows of the predators.
        scavenged: Energy that they share.

    Returns:
        Energy that none of them could bite off.
    """
    remaining, prey_cell, share = 0.0, get_cell(agents, w, prey), scavenged / len(riders)
    for row in riders:
        before = agents.energy[w, row]
        bite = min(share, rules.max_prey_bite)
        remaining += share - bite
        gained = add_energy(agents, w, PREDATOR, row, bite, rules)
        agents.energy_accounts[w, codes.WASTED] += bite - gained
        agents.step_event[w, row] = codes.ATE
        record_event(events, w, codes.SCAVENGE, agents.uid[w, row], agents.uid[w, prey], gained)
        after, cell = agents.energy[w, row], get_cell(agents, w, row)
        add_event_details(events, w, after, before, cell, prey_cell, agents.energy[w, prey])
    return remaining


@inline_always
def feed_helpers(
    agents: SavannaAgents,
    rules: SavannaRules,
    events: EventBuffer,
    w: int,
    prey: int,
    helpers: RowIndices,
    pool: float,
    total_energy: float,
) -> float:
    """Share a prey among its helpers, each up to one bite, and charge them the cost of joining.

    Args:
        agents: Writes energies, rewards and accounts.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
        prey: Row of the prey.
        helpers: Rows of the helpers.
        pool: Energy that they share.
        total_energy: Sum of their energy.

    Returns:
        Energy that none of them could bite off.
    """
    remaining, reward_sum, n_helpers = 0.0, 0.0, len(helpers)
    prey_energy, prey_cell = agents.energy[w, prey], get_cell(agents, w, prey)
    was_carcass = agents.carcass[w, prey]
    kind = codes.CARCASS_BITE if was_carcass else codes.CAPTURE
    for row in helpers:
        reward_sum += rules.meal_reward[agents.group[w, row]]
    for row in helpers:
        before = agents.energy[w, row]
        share = pool / n_helpers
        if not rules.equal_split:
            fraction = agents.energy[w, row] / total_energy if total_energy > 0.0 else 0.0
            share = pool * fraction
        bite = min(share, rules.max_prey_bite)
        remaining += share - bite
        gained = add_energy(agents, w, PREDATOR, row, bite, rules)
        agents.energy_accounts[w, codes.WASTED] += bite - gained
        agents.step_event[w, row] = codes.ATE
        own_reward = rules.meal_reward[agents.group[w, row]]
        reward = reward_sum if rules.mean_catch_reward else own_reward
        agents.reward[w, row] = reward / n_helpers
        if rules.join_cost > 0.0 and not was_carcass:
            agents.energy[w, row] -= rules.join_cost
            agents.energy_accounts[w, codes.JOIN_COSTS] += rules.join_cost
            refresh_occupied_cell(agents, w, PREDATOR, row)
        record_event(events, w, kind, agents.uid[w, row], agents.uid[w, prey], gained)
        after, cell = agents.energy[w, row], get_cell(agents, w, row)
        add_event_details(events, w, after, before, cell, prey_cell, prey_energy)
    return remaining


@inline_always
def count_capture(agents: SavannaAgents, w: int, prey: int, n_helpers: int) -> None:
    """Count a successful capture, or the bites of a carcass.

    Args:
        agents: Writes counters.
        w: World.
        prey: Row of the prey.
        n_helpers: How many predators share it.
    """
    counters = agents.counters
    if agents.carcass[w, prey]:
        counters[w, codes.CARCASS_BITES] += n_helpers
        return
    counters[w, codes.SUCCESSES] += 1
    counters[w, codes.HELPER_TOTAL] += n_helpers
    counters[w, codes.LAST_HELPERS] = n_helpers
    if n_helpers > 1:
        counters[w, codes.COOP_SUCCESSES] += 1


@inline_always
def share_prey(
    agents: SavannaAgents,
    rules: SavannaRules,
    events: EventBuffer,
    w: int,
    prey: int,
    helpers: RowIndices,
    riders: RowIndices,
    total_energy: float,
) -> None:
    """Share a prey among its helpers; energy left over becomes a carcass.

    Predators beside the prey that did not join the capture share `scavenger_fraction` of it. The
    cost of joining, which helpers pay after their meal, may kill them.

    Args:
        agents: Writes energies, rewards, counters and accounts; written for a death.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
        prey: Row of the prey.
        helpers: Rows of the helpers.
        riders: Rows of the predators that did not join.
        total_energy: Sum of the helpers' energy.
    """
    prey_energy, was_carcass = agents.energy[w, prey], agents.carcass[w, prey]
    count_capture(agents, w, prey, len(helpers))
    scavenged = prey_energy * rules.scavenger_fraction if len(riders) > 0 else 0.0
    pool = prey_energy - scavenged
    remaining = feed_helpers(agents, rules, events, w, prey, helpers, pool, total_energy)
    if scavenged > 0.0:
        remaining += feed_riders(agents, rules, events, w, prey, riders, scavenged)
    else:
        for row in riders:
            record_event(events, w, codes.FREE_RIDE, agents.uid[w, row], agents.uid[w, prey], 0.0)
    for row in helpers:
        if agents.energy[w, row] <= 0.0 and rules.join_cost > 0.0:
            kill_agent(agents, w, PREDATOR, row, codes.EXHAUSTED)
    agents.energy[w, prey] = remaining
    if remaining <= 0.0 or not rules.leave_carcass:
        kill_agent(agents, w, PREY, prey, codes.EATEN)
        agents.reward[w, prey] = rules.caught_reward[2 + agents.group[w, prey] - rules.n_types]
        return
    refresh_occupied_cell(agents, w, PREY, prey)
    if not was_carcass:
        agents.carcass[w, prey] = True
        agents.counters[w, codes.CARCASSES] += 1
        uid, other = agents.uid[w, prey], agents.uid[w, helpers[0]]
        record_event(events, w, codes.CARCASS, uid, other, remaining)
