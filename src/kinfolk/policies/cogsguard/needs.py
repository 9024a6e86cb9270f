"""What agents can hold, pay and endure: limits by gear, prices, and how long a way takes."""

from __future__ import annotations

from kinfolk.core.jit import inline
from kinfolk.policies.cogsguard.knowledge import (
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
from kinfolk.policies.cogsguard.memory import STATION_AT, TICK, Mind
from kinfolk.worlds.cogsguard.codes import (
    ALIGNER,
    CARGO,
    GEAR,
    MINER,
    SCOUT,
    SCRAMBLER,
    STORE_HEARTS,
)
from kinfolk.worlds.cogsguard.layout import STORE_FACT

_NEVER = 1 << 20


@inline
def hp_limit(m: Mind, gear: int) -> int:
    """How much hp an agent with this gear can have."""
    most = m.rules[HP_LIMIT]
    if gear == SCOUT:
        most = max(most, m.rules[HP_SCOUT])
    elif gear == SCRAMBLER:
        most = max(most, m.rules[HP_SCRAMBLER])
    return int(most)


@inline
def energy_limit(m: Mind, gear: int) -> int:
    """How much energy an agent with this gear can have."""
    scout = m.rules[ENERGY_SCOUT] if gear == SCOUT else 0
    return int(max(m.rules[ENERGY_LIMIT], scout))


@inline
def influence_limit(m: Mind, gear: int) -> int:
    """How much influence an agent with this gear can have."""
    aligner = m.rules[INFLUENCE_ALIGNER] if gear == ALIGNER else 0
    return int(max(m.rules[INFLUENCE_LIMIT], aligner))


@inline
def cargo_limit(m: Mind, gear: int) -> int:
    """How many elements an agent with this gear can carry."""
    miner = m.rules[CARGO_MINER] if gear == MINER else 0
    return int(max(m.rules[CARGO_LIMIT], miner))


@inline
def cargo(m: Mind, at: int) -> int:
    """Elements it carries."""
    notes = m.notes
    return int(
        notes[at, CARGO] + notes[at, CARGO + 1] + notes[at, CARGO + 2] + notes[at, CARGO + 3]
    )


@inline
def can_pay_gear(m: Mind, at: int, gear: int, spare: int) -> bool:
    """Whether the store can pay for gear and keep so much of each element."""
    for element in range(4):
        main = element == gear - 1
        price = m.rules[GEAR_PRICE_MAIN] if main else m.rules[GEAR_PRICE_OTHER]
        if m.notes[at, STORE_FACT + element] < price + spare:
            return False
    return True


@inline
def can_have(m: Mind, at: int, gear: int, spare: int) -> bool:
    """Whether it wears gear already, or knows the station and the store can pay."""
    if m.notes[at, GEAR] == gear:
        return True
    return bool(m.notes[at, STATION_AT + gear - 1] > 0 and can_pay_gear(m, at, gear, spare))


@inline
def can_pay_heart(m: Mind, at: int) -> bool:
    """Whether the store has a heart, or the elements for one.

    A heart is of no use without gear: an agent that has none yet leaves enough for it.
    """
    if m.notes[at, STORE_FACT + STORE_HEARTS] > 0:
        return True
    gear = m.notes[at, GEAR]
    left = 0 if gear in (ALIGNER, SCRAMBLER) else m.rules[GEAR_PRICE_MAIN]
    for element in range(4):
        if m.notes[at, STORE_FACT + element] < m.rules[HEART_PRICE] + left:
            return False
    return True


@inline
def solar(m: Mind, at: int) -> int:
    """Energy that the sun gives in the coming tick."""
    day = m.notes[at, TICK] % m.rules[DAY_PERIOD] < m.rules[DAY_LENGTH]
    return int(m.rules[SOLAR_DAY] if day else m.rules[SOLAR_NIGHT])


@inline
def ticks_for(m: Mind, at: int, steps: int, energy: int) -> int:
    """Ticks that so many steps outside friendly areas take, waiting for the sun included."""
    short = m.rules[MOVE_COST] * steps - energy
    if short <= 0:
        return int(steps)
    gain = solar(m, at)
    if gain == 0:
        return _NEVER
    return int(max(steps, (short + gain - 1) // gain + 1))
