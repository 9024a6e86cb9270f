"""End of a step: lineage rewards, the clock, and the end of the episode."""

from __future__ import annotations

from kinfolk.core.arrays import Bools, Floats, Ints
from kinfolk.core.jit import inline
from kinfolk.lineage.kernels import compute_lineage_reward, update_descendant_change
from kinfolk.worlds.savanna.events import LINEAGE_REWARD, EventBuffer, record_event
from kinfolk.worlds.savanna.state import PREDATOR, PREY
from kinfolk.worlds.savanna.step.arrays import AliveArrays, LineageArrays


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
    """Reward all living agents, carcasses too, for the change in their live descendants.

    Args:
        population: Reads the living; writes `reward`.
        lineage: Reads `live_descendants`; writes `prev_live_descendants`.
        events: Buffer, appended to.
        group: `[W, N]`, group of each agent.
        coefficient: `[4]`, reward per descendant by species and type.
        n_types: Types per species.
        symmetric: Whether losses of descendants are paid too.
        first: First world.
        last: End of the range of worlds, exclusive.
    """
    for w in range(first, last):
        if population.done[w]:
            continue
        for species in range(2):
            for i in range(population.n_alive[w, species]):
                row = population.alive_rows[w, species, i]
                uid = population.uid[w, row]
                change = update_descendant_change(
                    lineage.live_descendants, lineage.prev_live_descendants, w, uid
                )
                if change != 0:
                    type_coefficient = coefficient[2 * species + group[w, row] - species * n_types]
                    lineage_reward = compute_lineage_reward(type_coefficient, change, symmetric)
                    population.reward[w, row] += lineage_reward
                    record_event(events, w, LINEAGE_REWARD, uid, -1, lineage_reward)


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
    """Advance the clock; end the episode when a species is extinct or time is up.

    Args:
        population: Reads the living; writes `done` and, with `zero_terminal`, `reward`.
        tick: `[W]`, written.
        active: `[W, 2]`, published counters of predators and prey.
        truncated: `[W, N]`, written for the survivors of an ended episode.
        max_steps: Time limit.
        zero_terminal: Quirk: rewards of agents that died are 0.
        first: First world.
        last: End of the range of worlds, exclusive.
    """
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
            for species in range(2):
                for i in range(population.n_alive[w, species]):
                    truncated[w, population.alive_rows[w, species, i]] = True
