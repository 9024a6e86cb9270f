"""The end of a step: kin are paid, the clock goes on, and the episode may be over."""

from __future__ import annotations

from kinfolk.core.arrays import Bools, Floats, Ints
from kinfolk.core.jit import inline
from kinfolk.lineage.kernels import compute_lineage_reward, update_descendant_change
from kinfolk.worlds.savanna.events import LINEAGE_REWARD, EventBuffer, record_event
from kinfolk.worlds.savanna.state import PREDATOR, PREY
from kinfolk.worlds.savanna.step.deaths import LineageArrays
from kinfolk.worlds.savanna.step.metabolism import AliveArrays


@inline
def pay_lineage_rewards(
    population: AliveArrays,
    lineage: LineageArrays,
    events: EventBuffer,
    group: Ints,
    coefficient: Floats,
    n_types: int,
    symmetric: bool,
    first: int,
    last: int,
) -> None:
    """All the living, carcasses too, are paid for the change in their live descendants."""
    for w in range(first, last):
        if population.done[w]:
            continue
        for k in range(2):
            for i in range(population.n_alive[w, k]):
                row = population.alive_rows[w, k, i]
                uid = population.uid[w, row]
                change = update_descendant_change(
                    lineage.live_descendants, lineage.prev_live_descendants, w, uid
                )
                if change != 0:
                    own = coefficient[2 * k + group[w, row] - k * n_types]
                    pay = compute_lineage_reward(own, change, symmetric)
                    population.reward[w, row] += pay
                    record_event(events, w, LINEAGE_REWARD, uid, -1, pay)


@inline
def finish_step(
    population: AliveArrays,
    tick: Ints,
    active: Ints,
    truncated: Bools,
    max_steps: int,
    zero_terminal: bool,
    first: int,
    last: int,
) -> None:
    """The episode ends when one species is gone or time is up; survivors are cut off."""
    for w in range(first, last):
        if population.done[w]:
            continue
        if zero_terminal:
            for i in range(population.n_ended[w]):
                population.reward[w, population.ended_rows[w, i]] = 0.0
        tick[w] += 1
        extinct = active[w, PREDATOR] <= 0 or active[w, PREY] <= 0
        if extinct or tick[w] >= max_steps:
            population.done[w] = True
            for k in range(2):
                for i in range(population.n_alive[w, k]):
                    truncated[w, population.alive_rows[w, k, i]] = True
