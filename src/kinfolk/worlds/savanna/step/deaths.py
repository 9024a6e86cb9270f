"""Removal of the dead from the lists of the living, from lineages and from cells."""

from __future__ import annotations

from kinfolk.core.arrays import Bools, Floats, Ints
from kinfolk.core.jit import inline
from kinfolk.lineage.kernels import record_death
from kinfolk.worlds.savanna.events import DEATH, EventBuffer, record_event
from kinfolk.worlds.savanna.state import DEATHS, LOST_WITH_DEAD, PREY
from kinfolk.worlds.savanna.step.arrays import AliveArrays, DeathArrays, LineageArrays
from kinfolk.worlds.savanna.step.occupancy import OccupancyArrays, remove_from_cell


@inline
def remove_dead(
    population: AliveArrays,
    occupancy: OccupancyArrays,
    deaths: DeathArrays,
    lineage: LineageArrays,
    events: EventBuffer,
    terminated: Bools,
    counters: Ints,
    energy_accounts: Floats,
    size: int,
    dead_prey_stay: bool,
    first: int,
    last: int,
) -> None:
    """Remove the dead from `alive_rows`; their rows stay occupied until the next step.

    A prey that became a carcass is dead to its kin from the first bite on.

    Args:
        population: Writes `alive_rows`, `n_alive`, `ended_rows` and `n_ended`.
        occupancy: Reads `alive` and `energy`; with `dead_prey_stay` writes chains of cells.
        deaths: Reads `carcass` and `death_cause`.
        lineage: Written for every death.
        events: Buffer, appended to.
        terminated: `[W, N]`, written.
        counters: `[W, COUNTERS]`, counts deaths by cause and species.
        energy_accounts: `[W, ENERGY_ACCOUNTS]`, adds the energy lost with the dead.
        size: Side of the grid.
        dead_prey_stay: Quirk: dead prey are still on their cells and are removed here.
        first: First world.
        last: End of the range of worlds, exclusive.
    """
    for w in range(first, last):
        if population.done[w]:
            continue
        for species in range(2):
            n_survivors = 0
            for i in range(population.n_alive[w, species]):
                row = population.alive_rows[w, species, i]
                if occupancy.alive[w, row]:
                    population.alive_rows[w, species, n_survivors] = row
                    n_survivors += 1
                    if deaths.carcass[w, row]:
                        record_death(
                            lineage.parent,
                            lineage.living,
                            lineage.live_descendants,
                            w,
                            population.uid[w, row],
                        )
                    continue
                record_death(
                    lineage.parent,
                    lineage.living,
                    lineage.live_descendants,
                    w,
                    population.uid[w, row],
                )
                terminated[w, row] = True
                population.ended_rows[w, population.n_ended[w]] = row
                population.n_ended[w] += 1
                energy_accounts[w, LOST_WITH_DEAD] += occupancy.energy[w, row]
                counters[w, DEATHS + 2 * (deaths.death_cause[w, row] - 1) + species] += 1
                if species == PREY and dead_prey_stay:
                    remove_from_cell(
                        occupancy, w, species, occupancy.x[w, row] * size + occupancy.y[w, row], row
                    )
                record_event(
                    events, w, DEATH, population.uid[w, row], -1, deaths.death_cause[w, row]
                )
            population.n_alive[w, species] = n_survivors
