"""Team capture: all predators in a prey's Moore neighbourhood attack it together.

A predator takes part in one kill per step. After a failure the same predators still attack the next
prey in reach, and pay again. A carcass does not resist: the predators around it share it.
"""

from __future__ import annotations

import numpy as np

from kinfolk.core.arrays import Bytes, Ints
from kinfolk.core.jit import inline_always, prefetch
from kinfolk.worlds.savanna import codes
from kinfolk.worlds.savanna.codes import PREDATOR, PREY
from kinfolk.worlds.savanna.rules import SavannaRules
from kinfolk.worlds.savanna.state import (
    EventBuffer,
    RowIndices,
    add_event_details,
    record_event,
)
from kinfolk.worlds.savanna.step.context import (
    LOOKAHEAD,
    SavannaAgents,
    StepScratch,
)
from kinfolk.worlds.savanna.step.occupancy import get_cell, kill_agent, refresh_occupied_cell
from kinfolk.worlds.savanna.step.predation import block_bite, graze, prefetch_meal
from kinfolk.worlds.savanna.step.spoils import share_prey

_LAST_STAMP = 255  # a byte per cell, so that the stamps of a large grid stay in the cache
_TIE_TOLERANCE = 1e-9  # rounding does not break a tie, as in PredPreyGrass


@inline_always
def advance_stamp(reach_stamps: Bytes) -> None:
    """Start another marking of the cells that predators reach.

    Args:
        reach_stamps: `[(size + 2)**2 + 1]`, written: the grid with a border of one cell; the last
            entry is the stamp used last, so that it is cleared only after the last stamp.
    """
    end = reach_stamps.shape[0] - 1
    if reach_stamps[end] == _LAST_STAMP:
        for i in range(end + 1):
            reach_stamps[i] = 0
    reach_stamps[end] += np.uint8(1)


@inline_always
def mark_reach(
    agents: SavannaAgents, rules: SavannaRules, w: int, row: int, reach_stamps: Bytes
) -> None:
    """Stamp the cells that a predator reaches, and give it the reward of a step.

    Args:
        agents: Reads positions; writes rewards of predators.
        rules: Rules of the batch.
        w: World.
        row: Row of the predator.
        reach_stamps: See `advance_stamp`, written.
    """
    stride, stamp = agents.size + 2, reach_stamps[reach_stamps.shape[0] - 1]
    agents.reward[w, row] = rules.step_reward[agents.group[w, row]]
    corner = agents.x[w, row] * stride + agents.y[w, row]
    for line in range(3):
        for column in range(3):
            reach_stamps[corner + line * stride + column] = stamp


@inline_always
def mark_predator_reach(
    agents: SavannaAgents, rules: SavannaRules, w: int, reach_stamps: Bytes
) -> None:
    """Stamp the cells that predators reach, so that prey out of reach are skipped.

    Nine stores per predator are far fewer than nine reads per prey. Predators also get the reward of
    a step, which a meal replaces.

    Args:
        agents: Reads the living and their positions; writes rewards of predators.
        rules: Rules of the batch.
        w: World.
        reach_stamps: See `advance_stamp`, written.
    """
    advance_stamp(reach_stamps)
    stride, n_predators = agents.size + 2, agents.n_alive[w, PREDATOR]
    for i in range(n_predators):
        row = agents.alive_rows[w, PREDATOR, i]
        if rules.exceeds_cache and i + LOOKAHEAD < n_predators:
            ahead = agents.alive_rows[w, PREDATOR, i + LOOKAHEAD]
            corner = agents.x[w, ahead] * stride + agents.y[w, ahead]
            for line in range(3):
                prefetch(reach_stamps, corner + line * stride)
        if agents.alive[w, row]:
            mark_reach(agents, rules, w, row, reach_stamps)


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
def attack_prey(
    agents: SavannaAgents,
    rules: SavannaRules,
    events: EventBuffer,
    w: int,
    actions: Ints,
    prey: int,
    helpers: RowIndices,
) -> bool:
    """Let the predators around a prey attack it, and return whether they caught it.

    Args:
        agents: Written for every capture and death.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
        actions: `[W * N, heads]`, read with `join_choice`.
        prey: Row of the prey.
        helpers: `[N]`, scratch.
    """
    n_near = list_helpers(agents, rules, events, w, prey, helpers)
    n_helpers = n_near
    if rules.join_choice and n_near > 0 and not agents.carcass[w, prey]:
        n_helpers = put_joiners_first(actions, w * agents.alive.shape[1], helpers, n_near)
        agents.counters[w, codes.JOINS] += n_helpers
    if n_helpers == 0:
        return False
    team, riders, total_energy = helpers[:n_helpers], helpers[n_helpers:n_near], 0.0
    for row in team:
        total_energy += agents.energy[w, row]
    needed = agents.energy[w, prey] + rules.capture_margin
    wins_tie = rules.tie_succeeds and total_energy + _TIE_TOLERANCE >= needed
    if agents.carcass[w, prey] or total_energy > needed or wins_tie:
        agents.counters[w, codes.FREE_RIDES] += len(riders)
        share_prey(agents, rules, events, w, prey, team, riders, total_energy)
        return True
    apply_failed_capture(agents, rules, events, w, prey, team, total_energy)
    return False


@inline_always
def is_in_reach(agents: SavannaAgents, w: int, prey: int, reach_stamps: Bytes) -> bool:
    """Return whether predators reach a prey; see `mark_reach`.

    Args:
        agents: Reads positions.
        w: World.
        prey: Row of the prey.
        reach_stamps: Cells in reach of predators.
    """
    cell = (agents.x[w, prey] + 1) * (agents.size + 2) + agents.y[w, prey] + 1
    is_reached: bool = reach_stamps[np.uint64(cell)] == reach_stamps[reach_stamps.shape[0] - 1]
    return is_reached


@inline_always
def prefetch_prey(
    agents: SavannaAgents, w: int, rows: RowIndices, i: int, last: int, reach_stamps: Bytes
) -> None:
    """Start to load what the prey that have their turn after `rows[i]` will read.

    Args:
        agents: Cells of agents and grass.
        w: World.
        rows: Rows of prey.
        i: Entry whose turn it is.
        last: End of the entries.
        reach_stamps: Cells in reach of predators.
    """
    size = agents.size
    if i + 2 * LOOKAHEAD < last:
        row = rows[i + 2 * LOOKAHEAD]
        x, y = agents.x[w, row], agents.y[w, row]
        prefetch(reach_stamps, (x + 1) * (size + 2) + y + 1)
        prefetch(agents.patch_in_cell, w * size * size + x * size + y)
    if i + LOOKAHEAD < last:
        prefetch_meal(agents, w, rows[i + LOOKAHEAD])


@inline_always
def run_team_capture(
    agents: SavannaAgents,
    rules: SavannaRules,
    events: EventBuffer,
    w: int,
    actions: Ints,
    scratch: StepScratch,
) -> None:
    """Let helpers attack each prey in turn; a prey that is not caught eats grass.

    Args:
        agents: Written for every capture, meal and death.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
        actions: `[W * N, heads]`, read with `join_choice`.
        scratch: Working memory; reads the cells in reach of predators.
    """
    stamps, rows, last = scratch.reach_stamps, agents.alive_rows[w, PREY], agents.n_alive[w, PREY]
    for i in range(last):
        prey = rows[np.uint64(i)]
        if rules.exceeds_cache:
            prefetch_prey(agents, w, rows, i, last, stamps)
        if not agents.alive[w, prey]:
            continue
        if is_in_reach(agents, w, prey, stamps) and attack_prey(
            agents, rules, events, w, actions, prey, scratch.helpers
        ):
            continue
        graze(agents, rules, events, w, prey)
