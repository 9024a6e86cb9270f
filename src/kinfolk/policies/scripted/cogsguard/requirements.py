"""What agents can hold, pay and endure: limits by gear, prices, and how long a way takes."""

from __future__ import annotations

from kinfolk.core.jit import inline
from kinfolk.policies.scripted.cogsguard.memory import STATION_CELL, TICK, AgentMemory
from kinfolk.policies.scripted.cogsguard.parameters import (
    CARGO_LIMIT,
    CARGO_MINER,
    DAY_LENGTH,
    DAY_PERIOD,
    ENERGY_LIMIT,
    ENERGY_SCOUT,
    GEAR_PRICE_MAIN,
    GEAR_PRICE_OTHER,
    HEART_PRICE,
    HP_LIMIT,
    HP_SCOUT,
    HP_SCRAMBLER,
    INFLUENCE_ALIGNER,
    INFLUENCE_LIMIT,
    MOVE_COST,
    SOLAR_DAY,
    SOLAR_NIGHT,
)
from kinfolk.worlds.cogsguard.codes import (
    ALIGNER,
    FIRST_CARGO,
    GEAR,
    MINER,
    SCOUT,
    SCRAMBLER,
    STORE_HEARTS,
)
from kinfolk.worlds.cogsguard.spec import STORE_FACT

_NEVER = 1 << 20


@inline
def hp_limit(memory: AgentMemory, gear: int) -> int:
    """How much hp an agent with this gear can have."""
    most = memory.rules[HP_LIMIT]
    if gear == SCOUT:
        most = max(most, memory.rules[HP_SCOUT])
    elif gear == SCRAMBLER:
        most = max(most, memory.rules[HP_SCRAMBLER])
    return int(most)


@inline
def energy_limit(memory: AgentMemory, gear: int) -> int:
    """How much energy an agent with this gear can have."""
    scout = memory.rules[ENERGY_SCOUT] if gear == SCOUT else 0
    return int(max(memory.rules[ENERGY_LIMIT], scout))


@inline
def influence_limit(memory: AgentMemory, gear: int) -> int:
    """How much influence an agent with this gear can have."""
    aligner = memory.rules[INFLUENCE_ALIGNER] if gear == ALIGNER else 0
    return int(max(memory.rules[INFLUENCE_LIMIT], aligner))


@inline
def cargo_limit(memory: AgentMemory, gear: int) -> int:
    """How many elements an agent with this gear can carry."""
    miner = memory.rules[CARGO_MINER] if gear == MINER else 0
    return int(max(memory.rules[CARGO_LIMIT], miner))


@inline
def cargo_size(memory: AgentMemory, agent: int) -> int:
    """Elements it carries."""
    notes = memory.state
    return int(
        notes[agent, FIRST_CARGO]
        + notes[agent, FIRST_CARGO + 1]
        + notes[agent, FIRST_CARGO + 2]
        + notes[agent, FIRST_CARGO + 3]
    )


@inline
def can_afford_gear(memory: AgentMemory, agent: int, gear: int, reserve: int) -> bool:
    """Whether the store can pay for gear and keep so much of each element."""
    for element in range(4):
        main = element == gear - 1
        price = memory.rules[GEAR_PRICE_MAIN] if main else memory.rules[GEAR_PRICE_OTHER]
        if memory.state[agent, STORE_FACT + element] < price + reserve:
            return False
    return True


@inline
def can_obtain_gear(memory: AgentMemory, agent: int, gear: int, reserve: int) -> bool:
    """Whether it wears gear already, or knows the station and the store can pay."""
    if memory.state[agent, GEAR] == gear:
        return True
    return bool(
        memory.state[agent, STATION_CELL + gear - 1] > 0
        and can_afford_gear(memory, agent, gear, reserve)
    )


@inline
def can_afford_heart(memory: AgentMemory, agent: int) -> bool:
    """Whether the store has a heart, or the elements for one.

    A heart is of no use without gear: an agent that has none yet leaves enough for it.
    """
    if memory.state[agent, STORE_FACT + STORE_HEARTS] > 0:
        return True
    gear = memory.state[agent, GEAR]
    left = 0 if gear in (ALIGNER, SCRAMBLER) else memory.rules[GEAR_PRICE_MAIN]
    for element in range(4):
        if memory.state[agent, STORE_FACT + element] < memory.rules[HEART_PRICE] + left:
            return False
    return True


@inline
def solar_energy(memory: AgentMemory, agent: int) -> int:
    """Energy that the sun gives in the coming tick."""
    day = memory.state[agent, TICK] % memory.rules[DAY_PERIOD] < memory.rules[DAY_LENGTH]
    return int(memory.rules[SOLAR_DAY] if day else memory.rules[SOLAR_NIGHT])


@inline
def travel_ticks(memory: AgentMemory, agent: int, steps: int, energy: int) -> int:
    """Ticks that so many steps outside friendly areas take, waiting for the sun included."""
    short = memory.rules[MOVE_COST] * steps - energy
    if short <= 0:
        return int(steps)
    gain = solar_energy(memory, agent)
    if gain == 0:
        return _NEVER
    return int(max(steps, (short + gain - 1) // gain + 1))
