"""Outcomes of a team capture: the cost of a failure, and the sharing of a prey."""

from __future__ import annotations

from kinfolk.core.arrays import Floats
from kinfolk.core.jit import inline_always
from kinfolk.worlds.savanna.events import (
    CAPTURE,
    CARCASS,
    CARCASS_BITE,
    FAILED_CAPTURE,
    EventBuffer,
    record_event,
)
from kinfolk.worlds.savanna.rules import SavannaRules
from kinfolk.worlds.savanna.state import (
    ATE,
    CARCASS_BITES,
    CARCASSES,
    COOP_FAILURES,
    COOP_SUCCESSES,
    EATEN,
    FAILED_ATTACKS,
    FAILURES,
    HELPER_TOTAL,
    LAST_HELPERS,
    PREDATOR,
    PREY,
    STARVED,
    SUCCESSES,
    RowIndices,
)
from kinfolk.worlds.savanna.step.arrays import DeathArrays, PredatorArrays
from kinfolk.worlds.savanna.step.eating import add_energy
from kinfolk.worlds.savanna.step.metabolism import kill_agent
from kinfolk.worlds.savanna.step.occupancy import OccupancyArrays, refresh_occupied_cell


@inline_always
def apply_failed_capture(
    occupancy: OccupancyArrays,
    deaths: DeathArrays,
    predators: PredatorArrays,
    rules: SavannaRules,
    events: EventBuffer,
    energy_accounts: Floats,
    w: int,
    prey: int,
    helpers: RowIndices,
    n_helpers: int,
    total_energy: float,
) -> None:
    """Charge the helpers for a failed attack in proportion to their energy, which may kill them.

    Args:
        occupancy: Writes `energy` and `visible_energy`.
        deaths: Written for every death.
        predators: Writes counters.
        rules: Rules of the batch.
        events: Buffer, appended to.
        energy_accounts: `[W, ENERGY_ACCOUNTS]`, adds the cost.
        w: World.
        prey: Row of the prey.
        helpers: Rows of the helpers.
        n_helpers: How many.
        total_energy: Sum of the helpers' energy.
    """
    predators.counters[w, FAILURES] += 1
    if n_helpers > 1:
        predators.counters[w, COOP_FAILURES] += 1
    total_cost = occupancy.energy[w, prey] * rules.failure_cost
    for i in range(n_helpers):
        row = helpers[i]
        cost = 0.0
        if total_cost > 0.0 and total_energy > 0.0:
            cost = total_cost * (occupancy.energy[w, row] / total_energy)
            occupancy.energy[w, row] -= cost
            energy_accounts[w, FAILED_ATTACKS] += cost
            if occupancy.energy[w, row] <= 0.0:
                kill_agent(
                    occupancy,
                    deaths,
                    rules.size,
                    rules.cell_erasure,
                    rules.dead_prey_bitten,
                    w,
                    PREDATOR,
                    row,
                    STARVED,
                )
            else:
                cell = occupancy.x[w, row] * rules.size + occupancy.y[w, row]
                refresh_occupied_cell(occupancy, rules.cell_erasure, w, PREDATOR, cell, row)
        record_event(events, w, FAILED_CAPTURE, predators.uid[w, row], predators.uid[w, prey], cost)


@inline_always
def settle_prey(
    occupancy: OccupancyArrays,
    deaths: DeathArrays,
    predators: PredatorArrays,
    rules: SavannaRules,
    events: EventBuffer,
    reward: Floats,
    w: int,
    prey: int,
    killer: int,
    remaining: float,
) -> None:
    """Turn a prey that was shared into a carcass, or kill it if no energy is left.

    Args:
        occupancy: Writes `energy` and `visible_energy`.
        deaths: Writes `carcass`; written for a death.
        predators: Writes counters.
        rules: Rules of the batch.
        events: Buffer, appended to.
        reward: `[W, N]`, written for a prey that dies.
        w: World.
        prey: Row of the prey.
        killer: Row of the first helper, recorded with a carcass.
        remaining: Energy that is left.
    """
    occupancy.energy[w, prey] = remaining
    if remaining > 0.0:
        cell = occupancy.x[w, prey] * rules.size + occupancy.y[w, prey]
        refresh_occupied_cell(occupancy, rules.cell_erasure, w, PREY, cell, prey)
        if not deaths.carcass[w, prey]:
            deaths.carcass[w, prey] = True
            predators.counters[w, CARCASSES] += 1
            record_event(
                events, w, CARCASS, predators.uid[w, prey], predators.uid[w, killer], remaining
            )
    else:
        kill_agent(
            occupancy,
            deaths,
            rules.size,
            rules.cell_erasure,
            rules.dead_prey_bitten,
            w,
            PREY,
            prey,
            EATEN,
        )
        reward[w, prey] = rules.caught_reward[2 + predators.group[w, prey] - rules.n_types]


@inline_always
def share_prey(
    occupancy: OccupancyArrays,
    deaths: DeathArrays,
    predators: PredatorArrays,
    rules: SavannaRules,
    events: EventBuffer,
    reward: Floats,
    energy_accounts: Floats,
    w: int,
    prey: int,
    helpers: RowIndices,
    n_helpers: int,
    total_energy: float,
) -> None:
    """Share a prey among its helpers, each up to one bite; energy left over becomes a carcass.

    Args:
        occupancy: Writes `energy` and `visible_energy`.
        deaths: Writes `carcass`; written for a death.
        predators: Writes `step_event` and counters.
        rules: Rules of the batch.
        events: Buffer, appended to.
        reward: `[W, N]`, written for helpers and prey.
        energy_accounts: `[W, ENERGY_ACCOUNTS]`, adds the wasted energy.
        w: World.
        prey: Row of the prey.
        helpers: Rows of the helpers.
        n_helpers: How many.
        total_energy: Sum of the helpers' energy.
    """
    prey_energy = occupancy.energy[w, prey]
    was_carcass = deaths.carcass[w, prey]
    remaining, reward_sum = 0.0, 0.0
    if was_carcass:
        predators.counters[w, CARCASS_BITES] += n_helpers
    else:
        predators.counters[w, SUCCESSES] += 1
        predators.counters[w, HELPER_TOTAL] += n_helpers
        predators.counters[w, LAST_HELPERS] = n_helpers
        if n_helpers > 1:
            predators.counters[w, COOP_SUCCESSES] += 1
    for i in range(n_helpers):
        reward_sum += rules.meal_reward[predators.group[w, helpers[i]]]
    for i in range(n_helpers):
        row = helpers[i]
        share = prey_energy / n_helpers
        if not rules.equal_split:
            share = (
                prey_energy * (occupancy.energy[w, row] / total_energy)
                if total_energy > 0.0
                else 0.0
            )
        bite = min(share, rules.max_prey_bite)
        remaining += share - bite
        predators.step_event[w, row] = ATE
        gained = add_energy(
            occupancy.energy,
            energy_accounts,
            w,
            row,
            bite,
            rules.transfer_efficiency,
            rules.max_energy[PREDATOR],
        )
        cell = occupancy.x[w, row] * rules.size + occupancy.y[w, row]
        refresh_occupied_cell(occupancy, rules.cell_erasure, w, PREDATOR, cell, row)
        catch_reward = (
            reward_sum if rules.mean_catch_reward else rules.meal_reward[predators.group[w, row]]
        )
        reward[w, row] = catch_reward / n_helpers
        record_event(
            events,
            w,
            CARCASS_BITE if was_carcass else CAPTURE,
            predators.uid[w, row],
            predators.uid[w, prey],
            gained,
        )
    settle_prey(occupancy, deaths, predators, rules, events, reward, w, prey, helpers[0], remaining)
