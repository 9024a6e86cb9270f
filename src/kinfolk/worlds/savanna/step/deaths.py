"""Removal: the dead leave the herds, their kin are told, and the accounts are closed."""

from __future__ import annotations

from typing import NamedTuple

from kinfolk.core.arrays import Bools, Floats, Ints
from kinfolk.core.jit import inline
from kinfolk.lineage.kernels import record_death
from kinfolk.worlds.savanna.events import DEATH, EventBuffer, record_event
from kinfolk.worlds.savanna.state import DEATHS, LOST_WITH_DEAD, PREY
from kinfolk.worlds.savanna.step.metabolism import AliveArrays, DeathArrays
from kinfolk.worlds.savanna.step.occupancy import OccupancyArrays, remove_from_cell


class LineageArrays(NamedTuple):
    """Family trees, by uid: see `kinfolk.lineage.kernels`."""

    parent: Ints
    living: Bools
    live_descendants: Ints
    prev_live_descendants: Ints


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
    """Compact the herds. The rows of the dead stay theirs until the next step.

    A prey that became a carcass is dead to its kin from the first bite on. With `dead_prey_stay`, dead
    prey are still on the ground.
    """
    for w in range(first, last):
        if population.done[w]:
            continue
        for k in range(2):
            kept = 0
            for i in range(population.n_alive[w, k]):
                row = population.alive_rows[w, k, i]
                if occupancy.alive[w, row]:
                    population.alive_rows[w, k, kept] = row
                    kept += 1
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
                counters[w, DEATHS + 2 * (deaths.death_cause[w, row] - 1) + k] += 1
                if k == PREY and dead_prey_stay:
                    remove_from_cell(
                        occupancy, w, k, occupancy.x[w, row] * size + occupancy.y[w, row], row
                    )
                record_event(
                    events, w, DEATH, population.uid[w, row], -1, deaths.death_cause[w, row]
                )
            population.n_alive[w, k] = kept
