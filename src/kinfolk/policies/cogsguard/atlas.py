"""What an agent makes of its own map: where the things it knows of are, and the first step there.

A net that sees the window alone would have to learn to draw maps before it could learn to play.
Scripted roles draw them already, so the same memory (`memory.Mind`) serves both: it holds what the
agent itself has observed and nothing else. One flood over it tells for each kind of thing how far
the nearest is and which move leads there.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import inline, lean_kernel
from kinfolk.policies.cogsguard.atlas_columns import (
    BESIDE,
    CARGO_FULL,
    FREE,
    HORIZON,
    HOUR,
    HP_SHARE,
    LIKES,
    MOVE,
    NEAR,
    PER_THING,
    PLENTY,
    SEARCHES,
    SPARE_HP,
    STORE_PAYS,
    TAKEN,
    THINGS,
    THINGS_AT,
    WAY,
    WEARS,
)
from kinfolk.policies.cogsguard.behaviors.aligner import influence_needed
from kinfolk.policies.cogsguard.exploring import SECTORS, TURN
from kinfolk.policies.cogsguard.flood import flood
from kinfolk.policies.cogsguard.homing import home_distance
from kinfolk.policies.cogsguard.knowledge import (
    DAY_LENGTH,
    DAY_PERIOD,
    MARGIN,
    MOVE_COST,
)
from kinfolk.policies.cogsguard.memory import (
    CELL,
    CLOCK,
    LIFE,
    MINE_AIM,
    TICK,
    Mind,
)
from kinfolk.policies.cogsguard.needs import (
    can_pay_gear,
    can_pay_heart,
    cargo,
    cargo_limit,
    energy_limit,
    hp_limit,
    ticks_for,
)
from kinfolk.policies.cogsguard.paths import is_taken
from kinfolk.policies.cogsguard.searches import (
    BACK,
    COST,
    LATER,
    ahead,
    is_free,
)
from kinfolk.worlds.cogsguard.codes import (
    ENERGY,
    GEAR,
    HP,
    INFLUENCE,
)
from kinfolk.worlds.cogsguard.layout import FACTS_COUNT

Reals = npt.NDArray[np.float32]


@inline
def note_things(m: Mind, out: Reals, i: int) -> None:
    """Write down what the flood met: how far it is, and every first move of a shortest way."""
    for thing in range(len(THINGS)):
        cell, first = int(m.scratch[LATER, thing]), THINGS_AT + thing * PER_THING
        if cell == 0:
            continue
        steps, moves = int(m.scratch[COST, cell]), int(m.scratch[BACK, cell])
        out[i, first + WAY] = 1.0
        out[i, first + NEAR] = max(0.0, 1.0 - steps / HORIZON)
        out[i, first + BESIDE] = 1.0 if steps <= 1 else 0.0
        for move in range(4):
            out[i, first + MOVE + move] = float(moves >> move & 1) if steps > 0 else 0.0


@inline
def clipped(share: float) -> float:
    """Within -1 and 1."""
    return max(-1.0, min(1.0, share))


@inline
def note_self(m: Mind, at: int, scales: Reals, out: Reals, i: int) -> None:
    """What the agent is, has and could have, and what stands beside it."""
    notes = m.notes
    for fact in range(FACTS_COUNT):
        out[i, fact] = notes[at, fact] / scales[fact]
    out[i, WEARS + notes[at, GEAR]] = 1.0
    for gear in range(1, 5):
        out[i, STORE_PAYS + gear - 1] = 1.0 if can_pay_gear(m, at, gear, 0) else 0.0
    out[i, STORE_PAYS + 4] = 1.0 if can_pay_heart(m, at) else 0.0
    out[i, CARGO_FULL] = 1.0 if cargo(m, at) >= cargo_limit(m, notes[at, GEAR]) else 0.0
    hp, energy = int(notes[at, HP]), int(notes[at, ENERGY])
    out[i, HP_SHARE] = hp / hp_limit(m, notes[at, GEAR])
    out[i, HP_SHARE + 1] = energy / energy_limit(m, notes[at, GEAR])
    out[i, HP_SHARE + 2] = 1.0 if energy >= m.rules[MOVE_COST] else 0.0
    home = ticks_for(m, at, home_distance(m, at), energy)
    out[i, SPARE_HP] = clipped((hp - home - m.rules[MARGIN]) / PLENTY)
    out[i, SPARE_HP + 1] = clipped((notes[at, INFLUENCE] - influence_needed(m, at)) / PLENTY)
    hour = notes[at, TICK] % m.rules[DAY_PERIOD]
    out[i, HOUR] = hour / m.rules[DAY_PERIOD]
    out[i, HOUR + 1] = 1.0 if hour < m.rules[DAY_LENGTH] else 0.0
    out[i, LIKES + notes[at, LIFE] % 4] = 1.0
    out[i, SEARCHES + (notes[at, LIFE] + notes[at, CLOCK] // TURN) % SECTORS] = 1.0
    for move in range(1, 5):
        to = int(notes[at, CELL]) + ahead(m, move)
        out[i, FREE + move - 1] = 1.0 if is_free(m, at, to) else 0.0
        out[i, TAKEN + move - 1] = 1.0 if is_taken(m, at, to) else 0.0


@lean_kernel
def survey(m: Mind, place: Ints, scales: Reals, out: Reals) -> None:
    """Row `i` of `out` gets what the agent at `place[i]` knows; `out` begins as zeros."""
    for i in range(place.shape[0]):
        at = place[i]
        if cargo(m, at) == 0:
            m.notes[at, MINE_AIM] = 0  # with empty hands a miner chooses anew
        flood(m, at)
        note_things(m, out, i)
        note_self(m, at, scales, out, i)
