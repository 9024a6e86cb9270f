"""What the rules allow and require: limits by gear, prices, and the duration of travel."""

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

_NEVER = 1 << 20  # ticks


@inline
def hp_limit(memory: AgentMemory, gear: int) -> int:
    """Return the most hp that an agent with this gear can have."""
    limit = memory.rules[HP_LIMIT]
    if gear == SCOUT:
        limit = max(limit, memory.rules[HP_SCOUT])
    elif gear == SCRAMBLER:
        limit = max(limit, memory.rules[HP_SCRAMBLER])
    return int(limit)


@inline
def energy_limit(memory: AgentMemory, gear: int) -> int:
    """Return the most energy that an agent with this gear can have."""
    scout = memory.rules[ENERGY_SCOUT] if gear == SCOUT else 0
    return int(max(memory.rules[ENERGY_LIMIT], scout))


@inline
def influence_limit(memory: AgentMemory, gear: int) -> int:
    """Return the most influence that an agent with this gear can have."""
    aligner = memory.rules[INFLUENCE_ALIGNER] if gear == ALIGNER else 0
    return int(max(memory.rules[INFLUENCE_LIMIT], aligner))


@inline
def cargo_limit(memory: AgentMemory, gear: int) -> int:
    """Return the most elements that an agent with this gear can carry."""
    miner = memory.rules[CARGO_MINER] if gear == MINER else 0
    return int(max(memory.rules[CARGO_LIMIT], miner))


@inline
def cargo_size(memory: AgentMemory, agent: int) -> int:
    """Return the number of elements that an agent carries."""
    state = memory.state
    return int(
        state[agent, FIRST_CARGO]
        + state[agent, FIRST_CARGO + 1]
        + state[agent, FIRST_CARGO + 2]
        + state[agent, FIRST_CARGO + 3]
    )


@inline
def can_afford_gear(memory: AgentMemory, agent: int, gear: int, reserve: int) -> bool:
    """Return whether the team's store can pay for gear.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        gear: Gear code.
        reserve: Amount of each element that must be left.
    """
    for element in range(4):
        main = element == gear - 1
        price = memory.rules[GEAR_PRICE_MAIN] if main else memory.rules[GEAR_PRICE_OTHER]
        if memory.state[agent, STORE_FACT + element] < price + reserve:
            return False
    return True


@inline
def can_obtain_gear(memory: AgentMemory, agent: int, gear: int, reserve: int) -> bool:
    """Return whether an agent wears gear, or knows its station and the store can pay.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        gear: Gear code.
        reserve: Amount of each element that must be left.
    """
    if memory.state[agent, GEAR] == gear:
        return True
    return bool(
        memory.state[agent, STATION_CELL + gear - 1] > 0
        and can_afford_gear(memory, agent, gear, reserve)
    )


@inline
def can_afford_heart(memory: AgentMemory, agent: int) -> bool:
    """Return whether the store has a heart, or the elements for one.

    A heart is useless without gear: for an agent that has none yet, enough must be left for it.
    """
    if memory.state[agent, STORE_FACT + STORE_HEARTS] > 0:
        return True
    gear = memory.state[agent, GEAR]
    reserve = 0 if gear in (ALIGNER, SCRAMBLER) else memory.rules[GEAR_PRICE_MAIN]
    for element in range(4):
        if memory.state[agent, STORE_FACT + element] < memory.rules[HEART_PRICE] + reserve:
            return False
    return True


@inline
def solar_energy(memory: AgentMemory, agent: int) -> int:
    """Return the solar energy of the next tick, which differs by day and night."""
    day = memory.state[agent, TICK] % memory.rules[DAY_PERIOD] < memory.rules[DAY_LENGTH]
    return int(memory.rules[SOLAR_DAY] if day else memory.rules[SOLAR_NIGHT])


@inline
def travel_ticks(memory: AgentMemory, agent: int, steps: int, energy: int) -> int:
    """Return the ticks that steps outside friendly areas take, including waiting for solar energy.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        steps: Number of steps.
        energy: Energy at the start.
    """
    missing = memory.rules[MOVE_COST] * steps - energy
    if missing <= 0:
        return int(steps)
    gain = solar_energy(memory, agent)
    if gain == 0:
        return _NEVER
    return int(max(steps, (missing + gain - 1) // gain + 1))
