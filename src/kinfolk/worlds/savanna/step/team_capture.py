"""Team capture: predators in a prey's Moore neighbourhood pull together, without a choice.

One kill per predator and step. After a failure the same predators still attack the next prey in
reach, and pay again. A carcass does not resist: those around it share it.
"""

from __future__ import annotations

from typing import NamedTuple

from kinfolk.core.arrays import Floats, Ints
from kinfolk.core.jit import inline, inline_always
from kinfolk.worlds.savanna.events import (
    CAPTURE,
    CARCASS,
    CARCASS_BITE,
    CARCASS_ONLY_BLOCK,
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
    DIET_BLOCKED,
    DIET_BLOCKS,
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
from kinfolk.worlds.savanna.step.eating import EatingArrays, add_energy, eat_grass
from kinfolk.worlds.savanna.step.metabolism import AliveArrays, DeathArrays, kill_agent
from kinfolk.worlds.savanna.step.occupancy import OccupancyArrays, refresh_occupied_cell

_TIE_TOLERANCE = 1e-9  # a tie is a tie in spite of rounding, as published


class PredatorArrays(NamedTuple):
    """The part of the state that says which predators may hunt."""

    step_event: Ints
    age: Ints
    uid: Ints
    group: Ints
    counters: Ints
    juvenile_age: Ints


@inline_always
def mark_predator_reach(
    population: AliveArrays, occupancy: OccupancyArrays, reach_stamps: Ints, size: int, w: int
) -> int:
    """Stamp the cells that predators reach, and return the stamp: most prey are out of it.

    `reach_stamps` is scratch with a border of one cell all round; its last entry is the stamp used last.
    Nine stores per predator are far fewer than nine looks per prey.
    """
    wide = size + 2
    stamp = reach_stamps[reach_stamps.shape[0] - 1] + 1
    reach_stamps[reach_stamps.shape[0] - 1] = stamp
    for i in range(population.n_alive[w, PREDATOR]):
        row = population.alive_rows[w, PREDATOR, i]
        if occupancy.alive[w, row]:
            corner = occupancy.x[w, row] * wide + occupancy.y[w, row]
            for line in range(3):
                for column in range(3):
                    reach_stamps[corner + line * wide + column] = stamp
    return int(stamp)


@inline_always
def list_helpers(
    occupancy: OccupancyArrays,
    predators: PredatorArrays,
    events: EventBuffer,
    size: int,
    is_carcass: bool,
    w: int,
    prey: int,
    helpers: RowIndices,
) -> int:
    """List the predators that take part, in uid order; juveniles may not, unless it is dead."""
    found = 0
    x, y = occupancy.x[w, prey], occupancy.y[w, prey]
    for to_x in range(max(x - 1, 0), min(x + 2, size)):
        for to_y in range(max(y - 1, 0), min(y + 2, size)):
            row = occupancy.first_in_cell[w, PREDATOR, to_x * size + to_y]
            while row >= 0:
                if occupancy.alive[w, row] and predators.step_event[w, row] != ATE:
                    if (
                        not is_carcass
                        and predators.age[w, row] < predators.juvenile_age[predators.group[w, row]]
                    ):
                        if predators.step_event[w, row] != DIET_BLOCKED:
                            predators.step_event[w, row] = DIET_BLOCKED
                            predators.counters[w, DIET_BLOCKS] += 1
                            record_event(
                                events,
                                w,
                                CARCASS_ONLY_BLOCK,
                                predators.uid[w, row],
                                predators.uid[w, prey],
                                predators.age[w, row],
                            )
                    else:
                        at = found
                        while at > 0 and predators.uid[w, helpers[at - 1]] > predators.uid[w, row]:
                            helpers[at] = helpers[at - 1]
                            at -= 1
                        helpers[at] = row
                        found += 1
                row = occupancy.next_in_cell[w, row]
    return found


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
    """The attack fails; its cost is shared in proportion to energy, and may kill."""
    predators.counters[w, FAILURES] += 1
    if n_helpers > 1:
        predators.counters[w, COOP_FAILURES] += 1
    whole = occupancy.energy[w, prey] * rules.failure_cost
    for i in range(n_helpers):
        row = helpers[i]
        cost = 0.0
        if whole > 0.0 and total_energy > 0.0:
            cost = whole * (occupancy.energy[w, row] / total_energy)
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
    """Helpers eat their shares, each up to one bite; what is left over is a carcass."""
    meal = occupancy.energy[w, prey]
    was_carcass = deaths.carcass[w, prey]
    rest, mean = 0.0, 0.0
    if was_carcass:
        predators.counters[w, CARCASS_BITES] += n_helpers
    else:
        predators.counters[w, SUCCESSES] += 1
        predators.counters[w, HELPER_TOTAL] += n_helpers
        predators.counters[w, LAST_HELPERS] = n_helpers
        if n_helpers > 1:
            predators.counters[w, COOP_SUCCESSES] += 1
    for i in range(n_helpers):
        mean += rules.meal_reward[predators.group[w, helpers[i]]]
    for i in range(n_helpers):
        row = helpers[i]
        part = meal / n_helpers
        if not rules.equal_split:
            part = meal * (occupancy.energy[w, row] / total_energy) if total_energy > 0.0 else 0.0
        bite = min(part, rules.max_prey_bite)
        rest += part - bite
        predators.step_event[w, row] = ATE
        got = add_energy(
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
        own = mean if rules.mean_catch_reward else rules.meal_reward[predators.group[w, row]]
        reward[w, row] = own / n_helpers
        record_event(
            events,
            w,
            CARCASS_BITE if was_carcass else CAPTURE,
            predators.uid[w, row],
            predators.uid[w, prey],
            got,
        )
    occupancy.energy[w, prey] = rest
    if rest > 0.0:
        cell = occupancy.x[w, prey] * rules.size + occupancy.y[w, prey]
        refresh_occupied_cell(occupancy, rules.cell_erasure, w, PREY, cell, prey)
        if not was_carcass:
            deaths.carcass[w, prey] = True
            predators.counters[w, CARCASSES] += 1
            record_event(
                events, w, CARCASS, predators.uid[w, prey], predators.uid[w, helpers[0]], rest
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


@inline
def run_team_capture(
    population: AliveArrays,
    occupancy: OccupancyArrays,
    deaths: DeathArrays,
    eating: EatingArrays,
    predators: PredatorArrays,
    rules: SavannaRules,
    events: EventBuffer,
    helpers: RowIndices,
    reach_stamps: Ints,
    first: int,
    last: int,
) -> None:
    """Prey after prey: is it caught? If not, it grazes."""
    step_reward, meal_reward = rules.step_reward, rules.meal_reward
    size, types, erase, margin = rules.size, rules.n_types, rules.cell_erasure, rules.capture_margin
    for w in range(first, last):
        if population.done[w]:
            continue
        for i in range(population.n_alive[w, PREDATOR]):
            row = population.alive_rows[w, PREDATOR, i]
            if occupancy.alive[w, row]:
                population.reward[w, row] = step_reward[predators.group[w, row]]
        stamp = mark_predator_reach(population, occupancy, reach_stamps, size, w)
        for i in range(population.n_alive[w, PREY]):
            prey = population.alive_rows[w, PREY, i]
            if not occupancy.alive[w, prey]:
                continue
            dead = deaths.carcass[w, prey]
            n = 0
            if (
                reach_stamps[(occupancy.x[w, prey] + 1) * (size + 2) + occupancy.y[w, prey] + 1]
                == stamp
            ):
                n = list_helpers(occupancy, predators, events, size, dead, w, prey, helpers)
            if n > 0:
                total = 0.0
                for j in range(n):
                    total += occupancy.energy[w, helpers[j]]
                needed = occupancy.energy[w, prey] + margin
                if (
                    dead
                    or total > needed
                    or (rules.tie_succeeds and total + _TIE_TOLERANCE >= needed)
                ):
                    share_prey(
                        occupancy,
                        deaths,
                        predators,
                        rules,
                        events,
                        population.reward,
                        eating.energy_accounts,
                        w,
                        prey,
                        helpers,
                        n,
                        total,
                    )
                    continue
                apply_failed_capture(
                    occupancy,
                    deaths,
                    predators,
                    rules,
                    events,
                    eating.energy_accounts,
                    w,
                    prey,
                    helpers,
                    n,
                    total,
                )
            kind = 2 + predators.group[w, prey] - types
            cell = occupancy.x[w, prey] * size + occupancy.y[w, prey]
            if dead or eating.patch_in_cell[w, cell] < 0:
                population.reward[w, prey] = step_reward[kind]
            else:
                eat_grass(occupancy, eating, events, erase, w, prey, cell, meal_reward[kind])
