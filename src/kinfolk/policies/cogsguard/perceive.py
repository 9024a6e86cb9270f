"""Perception: from what is observed now into what is remembered. Nothing else ever enters a mind.

Counters are kept up here, so that behaviours can ask in no time whether they can start.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import inline, lean_kernel
from kinfolk.policies.cogsguard.knowledge import (
    FACTS_AT,
    MAX_STEPS,
    MOST_EXTRACTORS,
    MOST_JUNCTIONS,
    RADIUS,
    STRIDE,
)
from kinfolk.policies.cogsguard.memory import (
    CELL,
    CHANGED,
    CHEST_AT,
    CLOCK,
    ENEMY_AT,
    EXTRACTORS,
    FORMER,
    FOUND,
    HUB_AT,
    JUNCTIONS,
    KEY,
    KIND,
    KNOWN,
    LOOKED,
    MOST_NEAR,
    NEAR_CELL,
    NEAR_GEAR,
    NEAR_OWNER,
    NEXT_EXTRACTOR,
    NEXT_JUNCTION,
    OBJECT_SHIFT,
    OWNER,
    RETRY,
    SEEN,
    STATION_AT,
    TICK,
    VERSION,
    WHERE,
    WORD,
    Mind,
    position,
)
from kinfolk.worlds.cogsguard.codes import (
    AGENT,
    AREA_MASK,
    CHEST,
    EMPTY,
    ENEMY_AREA,
    EXTRACTOR,
    GEAR_SHIFT,
    HUB,
    JUNCTION,
    KIND_MASK,
    OWN,
    OWNER_SHIFT,
    STATION,
    VIBE_SHIFT,
)
from kinfolk.worlds.cogsguard.layout import GONE_FACT

Words: TypeAlias = npt.NDArray[np.uint16]
Reals: TypeAlias = npt.NDArray[np.float32]


@inline
def note_facts(m: Mind, at: int, facts: Reals, i: int, key: int) -> None:
    """Take over the vector of facts; the share of the episode becomes the tick of the game."""
    notes, start = m.notes, m.rules[FACTS_AT] // 4
    for fact in range(GONE_FACT):
        notes[at, fact] = int(facts[i, start + fact])
    gone = float(facts[i, start + GONE_FACT])
    notes[at, TICK] = int(gone * m.rules[MAX_STEPS] + 0.5)
    notes[at, KEY] = key
    notes[at, CELL] = position(m, at)


@inline
def add_object(m: Mind, at: int, cell: int, kind: int, owner: int) -> int:
    """Remember a new junction or extractor; returns its number, from 1. 0: there is no room."""
    notes, objects, clock = m.notes, m.objects, m.notes[at, CLOCK]
    if kind == JUNCTION:
        number, room = notes[at, NEXT_JUNCTION], m.rules[MOST_JUNCTIONS]
        counter, first, column = JUNCTIONS + owner, 0, NEXT_JUNCTION
        notes[at, LOOKED] = 0
    else:
        number, room = notes[at, NEXT_EXTRACTOR], m.rules[MOST_EXTRACTORS]
        counter, first, column = (
            EXTRACTORS + kind - EXTRACTOR,
            m.rules[MOST_JUNCTIONS],
            NEXT_EXTRACTOR,
        )
    if number >= room:
        return 0
    notes[at, column] = number + 1
    notes[at, counter] += 1
    notes[at, FOUND] = clock
    entry = first + number
    objects[at, entry, WHERE] = cell
    objects[at, entry, KIND] = kind
    objects[at, entry, OWNER] = owner
    objects[at, entry, SEEN] = clock
    objects[at, entry, CHANGED] = 0
    objects[at, entry, FORMER] = owner
    objects[at, entry, RETRY] = 0
    return int(entry + 1)


@inline
def note_building(m: Mind, at: int, cell: int, kind: int, owner: int) -> None:
    """Remember where the team's own hub, chest and stations are."""
    notes = m.notes
    if owner != OWN:
        return
    column = HUB_AT if kind == HUB else CHEST_AT if kind == CHEST else STATION_AT + kind - STATION
    if notes[at, column] == 0:
        notes[at, column] = cell
        notes[at, FOUND] = notes[at, CLOCK]


@inline
def update_object(m: Mind, at: int, entry: int, kind: int, owner: int) -> None:
    """A known object has another owner, or is gone."""
    notes, objects = m.notes, m.objects
    if kind != objects[at, entry, KIND]:
        notes[at, EXTRACTORS + objects[at, entry, KIND] - EXTRACTOR] -= 1
        objects[at, entry, WHERE] = 0
    elif owner != objects[at, entry, OWNER]:
        former = objects[at, entry, OWNER]
        notes[at, JUNCTIONS + former] -= 1
        notes[at, JUNCTIONS + owner] += 1
        objects[at, entry, FORMER] = former
        objects[at, entry, OWNER] = owner
        objects[at, entry, CHANGED] = notes[at, CLOCK]
        objects[at, entry, RETRY] = 0


@inline
def learn(m: Mind, at: int, cell: int, word: int) -> None:
    """A cell is not as it was remembered: unknown until now, or changed."""
    known = int(m.cells[at, cell])
    kind, owner, number = word & KIND_MASK, word >> OWNER_SHIFT & 3, known >> OBJECT_SHIFT
    if word & KIND_MASK != known & KIND_MASK or known == 0:
        m.notes[at, VERSION] += 1
    if number > 0:
        update_object(m, at, number - 1, kind, owner)
        if kind == EMPTY:
            number = 0
    elif kind == JUNCTION or EXTRACTOR <= kind < HUB:
        number = add_object(m, at, cell, kind, owner)
    elif HUB <= kind < JUNCTION:
        note_building(m, at, cell, kind, owner)
    if word & ENEMY_AREA != 0:
        m.notes[at, ENEMY_AT] = cell
    elif cell == m.notes[at, ENEMY_AT]:
        m.notes[at, ENEMY_AT] = 0
    m.cells[at, cell] = number << OBJECT_SHIFT | word


@inline
def meet(m: Mind, at: int, cell: int, word: int) -> None:
    """Note an agent in view."""
    count = m.near[at, 0] + 1
    if count <= MOST_NEAR and cell != m.notes[at, CELL]:
        owner, gear, vibe = word >> OWNER_SHIFT & 3, word >> GEAR_SHIFT & 7, word >> VIBE_SHIFT & 7
        m.near[at, 0] = count
        m.near[at, count] = cell << NEAR_CELL | owner << NEAR_OWNER | gear << NEAR_GEAR | vibe


@inline
def look(m: Mind, at: int, words: Words, i: int) -> None:
    """Go over the window, cell by cell; most are as they were, and that is told by one comparison.

    Indices are cast to uint64: those cannot count from the end, which spares a check.
    """
    cells, seen = m.cells.reshape(-1), words.reshape(-1)
    stride, radius, clock = m.rules[STRIDE], m.rules[RADIUS], m.notes[at, CLOCK]
    side, corner = 2 * radius + 1, m.notes[at, CELL] - radius * stride - radius
    first, own = i * words.shape[1], at * m.cells.shape[1]
    for y in range(side):
        for x in range(side):
            word, cell = int(seen[np.uint64(first + y * side + x)]), corner + y * stride + x
            if int(cells[np.uint64(own + cell)]) == word | KNOWN:
                continue
            if word & KIND_MASK == AGENT:
                meet(m, at, cell, word)
                word &= AREA_MASK
            if int(cells[np.uint64(own + cell)]) & WORD != word | KNOWN:
                learn(m, at, cell, word | KNOWN)
            number = int(cells[np.uint64(own + cell)]) >> OBJECT_SHIFT
            if number > 0:
                m.objects[at, number - 1, SEEN] = clock


@lean_kernel
def perceive(m: Mind, words: Words, facts: Reals, place: Ints, keys: Ints) -> None:
    """Take what every row observes into the memory of its place."""
    for i in range(place.shape[0]):
        at = place[i]
        m.notes[at, CLOCK] += 1
        note_facts(m, at, facts, i, keys[i])
        m.near[at, 0] = 0
        look(m, at, words, i)
