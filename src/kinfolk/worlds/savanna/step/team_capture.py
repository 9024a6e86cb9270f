"""Team capture: all predators in a prey's Moore neighbourhood attack it together.

A predator takes part in one kill per step. After a failure the same predators still attack the next
prey in reach, and pay again. A carcass does not resist: the predators around it share it.
"""

from __future__ import annotations

from kinfolk.core.arrays import Floats, Ints
from kinfolk.core.jit import inline, inline_always
from kinfolk.worlds.savanna.events import CARCASS_ONLY_BLOCK, EventBuffer, record_event
from kinfolk.worlds.savanna.rules import SavannaRules
from kinfolk.worlds.savanna.state import ATE, DIET_BLOCKED, DIET_BLOCKS, PREDATOR, PREY, RowIndices
from kinfolk.worlds.savanna.step.arrays import (
    AliveArrays,
    DeathArrays,
    EatingArrays,
    PredatorArrays,
)
from kinfolk.worlds.savanna.step.capture_outcome import apply_failed_capture, share_prey
from kinfolk.worlds.savanna.step.eating import eat_grass
from kinfolk.worlds.savanna.step.occupancy import OccupancyArrays

_TIE_TOLERANCE = 1e-9  # rounding does not break a tie, as published


@inline_always
def mark_predator_reach(
    population: AliveArrays, occupancy: OccupancyArrays, reach_stamps: Ints, size: int, w: int
) -> int:
    """Stamp the cells that predators reach, so that prey out of reach are skipped.

    Nine stores per predator are far fewer than nine reads per prey.

    Args:
        population: Reads the living.
        occupancy: Reads positions.
        reach_stamps: `[(size + 2)**2 + 1]`, written: the grid with a border of one cell; the last
            entry is the stamp used last, so that it need not be cleared.
        size: Side of the grid.
        w: World.

    Returns:
        The stamp of this call.
    """
    stride = size + 2
    stamp = reach_stamps[reach_stamps.shape[0] - 1] + 1
    reach_stamps[reach_stamps.shape[0] - 1] = stamp
    for i in range(population.n_alive[w, PREDATOR]):
        row = population.alive_rows[w, PREDATOR, i]
        if occupancy.alive[w, row]:
            corner = occupancy.x[w, row] * stride + occupancy.y[w, row]
            for line in range(3):
                for column in range(3):
                    reach_stamps[corner + line * stride + column] = stamp
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
    """List the predators that attack a prey, in uid order; juveniles only attack carcasses.

    Args:
        occupancy: Reads the lists of cells.
        predators: Writes `step_event` and counters of juveniles.
        events: Buffer, appended to.
        size: Side of the grid.
        is_carcass: Whether the prey is a carcass.
        w: World.
        prey: Row of the prey.
        helpers: `[N]`, written.

    Returns:
        Number of helpers.
    """
    n_helpers = 0
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
                        position = n_helpers
                        while (
                            position > 0
                            and predators.uid[w, helpers[position - 1]] > predators.uid[w, row]
                        ):
                            helpers[position] = helpers[position - 1]
                            position -= 1
                        helpers[position] = row
                        n_helpers += 1
                row = occupancy.next_in_cell[w, row]
    return n_helpers


@inline_always
def attempt_capture(
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
) -> bool:
    """Compare the helpers' energy with the prey's, and share the prey or charge for the failure.

    Args:
        occupancy: Writes `energy` and `visible_energy`.
        deaths: Writes `carcass`; written for every death.
        predators: Writes `step_event` and counters.
        rules: Rules of the batch.
        events: Buffer, appended to.
        reward: `[W, N]`, written for a success.
        energy_accounts: `[W, ENERGY_ACCOUNTS]`, written.
        w: World.
        prey: Row of the prey.
        helpers: Rows of the helpers.
        n_helpers: How many, at least one.

    Returns:
        Whether the prey was caught.
    """
    total_energy = 0.0
    for i in range(n_helpers):
        total_energy += occupancy.energy[w, helpers[i]]
    needed = occupancy.energy[w, prey] + rules.capture_margin
    if (
        deaths.carcass[w, prey]
        or total_energy > needed
        or (rules.tie_succeeds and total_energy + _TIE_TOLERANCE >= needed)
    ):
        share_prey(
            occupancy,
            deaths,
            predators,
            rules,
            events,
            reward,
            energy_accounts,
            w,
            prey,
            helpers,
            n_helpers,
            total_energy,
        )
        return True
    apply_failed_capture(
        occupancy,
        deaths,
        predators,
        rules,
        events,
        energy_accounts,
        w,
        prey,
        helpers,
        n_helpers,
        total_energy,
    )
    return False


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
    """Let helpers attack each prey in turn; a prey that is not caught eats grass.

    Args:
        population: Reads the living; writes `reward`.
        occupancy: Writes `energy` and `visible_energy`.
        deaths: Writes `carcass`; written for every death.
        eating: Written for every meal.
        predators: Writes `step_event` and counters.
        rules: Rules of the batch.
        events: Buffer, appended to.
        helpers: `[N]`, scratch.
        reach_stamps: Scratch, see `mark_predator_reach`.
        first: First world.
        last: End of the range of worlds, exclusive.
    """
    step_reward, meal_reward = rules.step_reward, rules.meal_reward
    size, n_types, cell_erasure = rules.size, rules.n_types, rules.cell_erasure
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
            is_carcass = deaths.carcass[w, prey]
            n_helpers = 0
            if (
                reach_stamps[(occupancy.x[w, prey] + 1) * (size + 2) + occupancy.y[w, prey] + 1]
                == stamp
            ):
                n_helpers = list_helpers(
                    occupancy, predators, events, size, is_carcass, w, prey, helpers
                )
            if n_helpers > 0 and attempt_capture(
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
                n_helpers,
            ):
                continue
            kind = 2 + predators.group[w, prey] - n_types
            cell = occupancy.x[w, prey] * size + occupancy.y[w, prey]
            if is_carcass or eating.patch_in_cell[w, cell] < 0:
                population.reward[w, prey] = step_reward[kind]
            else:
                eat_grass(occupancy, eating, events, cell_erasure, w, prey, cell, meal_reward[kind])
