"""Team capture: all predators in a prey's Moore neighbourhood attack it together.

A predator takes part in one kill per step. After a failure the same predators still attack the next
prey in reach, and pay again. A carcass does not resist: the predators around it share it.
"""

from __future__ import annotations

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import inline_always
from kinfolk.worlds.savanna import codes
from kinfolk.worlds.savanna.codes import PREDATOR, PREY
from kinfolk.worlds.savanna.rules import SavannaRules
from kinfolk.worlds.savanna.state import EventBuffer, RowIndices, add_event_details, record_event
from kinfolk.worlds.savanna.step.context import CaptureScratch, SavannaAgents
from kinfolk.worlds.savanna.step.occupancy import get_cell, kill_agent, refresh_occupied_cell
from kinfolk.worlds.savanna.step.predation import add_energy, block_bite, graze

_TIE_TOLERANCE = 1e-9  # rounding does not break a tie, as in PredPreyGrass


@inline_always
def mark_predator_reach(agents: SavannaAgents, w: int, reach_stamps: Ints) -> int:
    """Stamp the cells that predators reach, so that prey out of reach are skipped.

    Nine stores per predator are far fewer than nine reads per prey.

    Args:
        agents: Reads the living and their positions.
        w: World.
        reach_stamps: `[(size + 2)**2 + 1]`, written: the grid with a border of one cell; the last
            entry is the stamp used last, so that it need not be cleared.

    Returns:
        The stamp of this call.
    """
    stride = agents.size + 2
    stamp = reach_stamps[reach_stamps.shape[0] - 1] + 1
    reach_stamps[reach_stamps.shape[0] - 1] = stamp
    for i in range(agents.n_alive[w, PREDATOR]):
        row = agents.alive_rows[w, PREDATOR, i]
        if agents.alive[w, row]:
            corner = agents.x[w, row] * stride + agents.y[w, row]
            for line in range(3):
                for column in range(3):
                    reach_stamps[corner + line * stride + column] = stamp
    return int(stamp)


@inline_always
def list_helpers(
    agents: SavannaAgents,
    rules: SavannaRules,
    events: EventBuffer,
    w: int,
    prey: int,
    helpers: RowIndices,
) -> int:
    """List the predators that attack a prey, in uid order; juveniles only attack carcasses.

    Args:
        agents: Reads the lists of cells; written for blocked juveniles.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
        prey: Row of the prey.
        helpers: `[N]`, written.

    Returns:
        Number of helpers.
    """
    size, uid = rules.size, agents.uid
    n_helpers = 0
    x, y = agents.x[w, prey], agents.y[w, prey]
    for to_x in range(max(x - 1, 0), min(x + 2, size)):
        for to_y in range(max(y - 1, 0), min(y + 2, size)):
            row = agents.first_in_cell[w, PREDATOR, to_x * size + to_y]
            while row >= 0:
                event, next_row = agents.step_event[w, row], agents.next_in_cell[w, row]
                if agents.alive[w, row] and event != codes.ATE:
                    is_juvenile = agents.age[w, row] < rules.juvenile_age[agents.group[w, row]]
                    if not is_juvenile or agents.carcass[w, prey]:
                        position = n_helpers
                        while position > 0 and uid[w, helpers[position - 1]] > uid[w, row]:
                            helpers[position] = helpers[position - 1]
                            position -= 1
                        helpers[position] = row
                        n_helpers += 1
                    elif event != codes.DIET_BLOCKED:
                        block_bite(agents, events, w, row, prey)
                row = next_row
    return n_helpers


@inline_always
def apply_failed_capture(
    agents: SavannaAgents,
    rules: SavannaRules,
    events: EventBuffer,
    w: int,
    prey: int,
    helpers: RowIndices,
    total_energy: float,
) -> None:
    """Charge the helpers for a failed attack in proportion to their energy, which may kill them.

    Args:
        agents: Writes energies, counters and accounts; written for deaths.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
        prey: Row of the prey.
        helpers: Rows of the helpers.
        total_energy: Sum of the helpers' energy.
    """
    agents.counters[w, codes.FAILURES] += 1
    if len(helpers) > 1:
        agents.counters[w, codes.COOP_FAILURES] += 1
    agents.counters[w, codes.FAILED_HELPER_TOTAL] += len(helpers)
    prey_energy, prey_cell = agents.energy[w, prey], get_cell(agents, w, prey)
    total_cost = prey_energy * rules.failure_cost
    for row in helpers:
        cost, before = 0.0, agents.energy[w, row]
        if rules.lethal_failure:
            kill_agent(agents, w, PREDATOR, row, codes.FAILED_ATTACK)
        elif total_cost > 0.0 and total_energy > 0.0:
            cost = total_cost * (agents.energy[w, row] / total_energy)
            agents.energy[w, row] -= cost
            agents.energy_accounts[w, codes.FAILED_ATTACKS] += cost
            if agents.energy[w, row] <= 0.0:
                kill_agent(agents, w, PREDATOR, row, codes.STARVED)
            else:
                refresh_occupied_cell(agents, w, PREDATOR, row)
        uid, other = agents.uid[w, row], agents.uid[w, prey]
        record_event(events, w, codes.FAILED_CAPTURE, uid, other, cost)
        after, cell = agents.energy[w, row], get_cell(agents, w, row)
        add_event_details(events, w, after, before, cell, prey_cell, prey_energy)


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
def put_joiners_first(actions: Ints, first_row: int, near: RowIndices, n_near: int) -> int:
    """Reorder predators beside a prey: those that want to join its capture come first.

    Args:
        actions: `[W * N, 2]`, the second head says who joins.
        first_row: First batch row of the world.
        near: Rows of the predators, in uid order, which each part keeps; written.
        n_near: How many.

    Returns:
        Number of joiners.
    """
    n_joiners = 0
    for i in range(n_near):
        row = near[i]
        if actions[first_row + row, 1] != 0:
            for j in range(i, n_joiners, -1):
                near[j] = near[j - 1]
            near[n_joiners] = row
            n_joiners += 1
    return n_joiners


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
    """Share a prey among its helpers, each up to one bite; energy left over becomes a carcass.

    Predators beside the prey that did not join the capture share `scavenger_fraction` of it. Then
    the helpers pay the cost of joining, which may kill them.

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
    counters, n_helpers = agents.counters, len(helpers)
    prey_energy, was_carcass = agents.energy[w, prey], agents.carcass[w, prey]
    prey_cell = get_cell(agents, w, prey)
    if was_carcass:
        counters[w, codes.CARCASS_BITES] += n_helpers
    else:
        counters[w, codes.SUCCESSES] += 1
        counters[w, codes.HELPER_TOTAL] += n_helpers
        counters[w, codes.LAST_HELPERS] = n_helpers
        if n_helpers > 1:
            counters[w, codes.COOP_SUCCESSES] += 1
    kind = codes.CARCASS_BITE if was_carcass else codes.CAPTURE
    remaining, reward_sum = 0.0, 0.0
    scavenged = prey_energy * rules.scavenger_fraction if len(riders) > 0 else 0.0
    pool = prey_energy - scavenged
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
    if scavenged > 0.0:
        remaining += feed_riders(agents, rules, events, w, prey, riders, scavenged)
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
        counters[w, codes.CARCASSES] += 1
        uid, other = agents.uid[w, prey], agents.uid[w, helpers[0]]
        record_event(events, w, codes.CARCASS, uid, other, remaining)


@inline_always
def run_team_capture(
    agents: SavannaAgents,
    rules: SavannaRules,
    events: EventBuffer,
    w: int,
    actions: Ints,
    scratch: CaptureScratch,
) -> None:
    """Let helpers attack each prey in turn; a prey that is not caught eats grass.

    Args:
        agents: Written for every capture, meal and death.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
        actions: `[W * N, heads]`, read with `join_choice`.
        scratch: Working memory.
    """
    helpers = scratch.helpers
    for i in range(agents.n_alive[w, PREDATOR]):
        row = agents.alive_rows[w, PREDATOR, i]
        if agents.alive[w, row]:
            agents.reward[w, row] = rules.step_reward[agents.group[w, row]]
    stamp = mark_predator_reach(agents, w, scratch.reach_stamps)
    for i in range(agents.n_alive[w, PREY]):
        prey = agents.alive_rows[w, PREY, i]
        if not agents.alive[w, prey]:
            continue
        bordered_cell = (agents.x[w, prey] + 1) * (rules.size + 2) + agents.y[w, prey] + 1
        n_near = 0
        if scratch.reach_stamps[bordered_cell] == stamp:
            n_near = list_helpers(agents, rules, events, w, prey, helpers)
        n_helpers = n_near
        if rules.join_choice and n_near > 0 and not agents.carcass[w, prey]:
            n_helpers = put_joiners_first(actions, w * agents.alive.shape[1], helpers, n_near)
            agents.counters[w, codes.JOINS] += n_helpers
        team, riders, total_energy = helpers[:n_helpers], helpers[n_helpers:n_near], 0.0
        for row in team:
            total_energy += agents.energy[w, row]
        needed = agents.energy[w, prey] + rules.capture_margin
        wins_tie = rules.tie_succeeds and total_energy + _TIE_TOLERANCE >= needed
        if n_helpers > 0 and (agents.carcass[w, prey] or total_energy > needed or wins_tie):
            agents.counters[w, codes.FREE_RIDES] += len(riders)
            share_prey(agents, rules, events, w, prey, team, riders, total_energy)
            continue
        if n_helpers > 0:
            apply_failed_capture(agents, rules, events, w, prey, team, total_energy)
        graze(agents, rules, events, w, prey)
