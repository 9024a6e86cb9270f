"""Perception: from what is observed now into what is remembered. Nothing else ever enters a mind.

Counters are kept up here, so that behaviours can ask in no time whether they can start.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import allocation_free_kernel, inline
from kinfolk.policies.scripted.cogsguard.memory import (
    CELL,
    CHEST_CELL,
    CLOCK,
    ENEMY_CELL,
    EXTRACTOR_COUNTS,
    FRUITLESS_TICKS,
    HUB_CELL,
    JUNCTION_COUNTS,
    KIND,
    KNOWN,
    LAST_CHANGED,
    LAST_FOUND,
    LAST_SEEN,
    MAP_VERSION,
    MAX_NEARBY,
    N_EXTRACTORS,
    N_JUNCTIONS,
    NEARBY_CELL,
    NEARBY_GEAR,
    NEARBY_OWNER,
    OBJECT_CELL,
    OBJECT_SHIFT,
    OWNER,
    PREVIOUS_OWNER,
    RANDOM_KEY,
    RETRY_AT,
    STATION_CELL,
    TICK,
    WORD_MASK,
    AgentMemory,
    agent_cell,
)
from kinfolk.policies.scripted.cogsguard.parameters import (
    FACTS_OFFSET,
    MAX_EXTRACTORS,
    MAX_JUNCTIONS,
    MAX_STEPS,
    RADIUS,
    STRIDE,
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
from kinfolk.worlds.cogsguard.spec import ELAPSED_FACT

Words: TypeAlias = npt.NDArray[np.uint16]
Float32s: TypeAlias = npt.NDArray[np.float32]


@inline
def store_facts(memory: AgentMemory, agent: int, facts: Float32s, i: int, key: int) -> None:
    """Take over the vector of facts; the share of the episode becomes the tick of the game."""
    notes, start = memory.state, memory.rules[FACTS_OFFSET] // 4
    for fact in range(ELAPSED_FACT):
        notes[agent, fact] = int(facts[i, start + fact])
    gone = float(facts[i, start + ELAPSED_FACT])
    notes[agent, TICK] = int(gone * memory.rules[MAX_STEPS] + 0.5)
    notes[agent, RANDOM_KEY] = key
    notes[agent, CELL] = agent_cell(memory, agent)


@inline
def add_object(memory: AgentMemory, agent: int, cell: int, kind: int, owner: int) -> int:
    """Remember a new junction or extractor; returns its number, from 1. 0: there is no room."""
    notes, objects, clock = memory.state, memory.objects, memory.state[agent, CLOCK]
    if kind == JUNCTION:
        number, room = notes[agent, N_JUNCTIONS], memory.rules[MAX_JUNCTIONS]
        counter, first, column = JUNCTION_COUNTS + owner, 0, N_JUNCTIONS
        notes[agent, FRUITLESS_TICKS] = 0
    else:
        number, room = notes[agent, N_EXTRACTORS], memory.rules[MAX_EXTRACTORS]
        counter, first, column = (
            EXTRACTOR_COUNTS + kind - EXTRACTOR,
            memory.rules[MAX_JUNCTIONS],
            N_EXTRACTORS,
        )
    if number >= room:
        return 0
    notes[agent, column] = number + 1
    notes[agent, counter] += 1
    notes[agent, LAST_FOUND] = clock
    entry = first + number
    objects[agent, entry, OBJECT_CELL] = cell
    objects[agent, entry, KIND] = kind
    objects[agent, entry, OWNER] = owner
    objects[agent, entry, LAST_SEEN] = clock
    objects[agent, entry, LAST_CHANGED] = 0
    objects[agent, entry, PREVIOUS_OWNER] = owner
    objects[agent, entry, RETRY_AT] = 0
    return int(entry + 1)


@inline
def record_building(memory: AgentMemory, agent: int, cell: int, kind: int, owner: int) -> None:
    """Remember where the team's own hub, chest and stations are."""
    notes = memory.state
    if owner != OWN:
        return
    column = (
        HUB_CELL if kind == HUB else CHEST_CELL if kind == CHEST else STATION_CELL + kind - STATION
    )
    if notes[agent, column] == 0:
        notes[agent, column] = cell
        notes[agent, LAST_FOUND] = notes[agent, CLOCK]


@inline
def update_object(memory: AgentMemory, agent: int, entry: int, kind: int, owner: int) -> None:
    """A known object has another owner, or is gone."""
    notes, objects = memory.state, memory.objects
    if kind != objects[agent, entry, KIND]:
        notes[agent, EXTRACTOR_COUNTS + objects[agent, entry, KIND] - EXTRACTOR] -= 1
        objects[agent, entry, OBJECT_CELL] = 0
    elif owner != objects[agent, entry, OWNER]:
        former = objects[agent, entry, OWNER]
        notes[agent, JUNCTION_COUNTS + former] -= 1
        notes[agent, JUNCTION_COUNTS + owner] += 1
        objects[agent, entry, PREVIOUS_OWNER] = former
        objects[agent, entry, OWNER] = owner
        objects[agent, entry, LAST_CHANGED] = notes[agent, CLOCK]
        objects[agent, entry, RETRY_AT] = 0


@inline
def update_cell(memory: AgentMemory, agent: int, cell: int, word: int) -> None:
    """A cell is not as it was remembered: unknown until now, or changed."""
    known = int(memory.cells[agent, cell])
    kind, owner, number = word & KIND_MASK, word >> OWNER_SHIFT & 3, known >> OBJECT_SHIFT
    if word & KIND_MASK != known & KIND_MASK or known == 0:
        memory.state[agent, MAP_VERSION] += 1
    if number > 0:
        update_object(memory, agent, number - 1, kind, owner)
        if kind == EMPTY:
            number = 0
    elif kind == JUNCTION or EXTRACTOR <= kind < HUB:
        number = add_object(memory, agent, cell, kind, owner)
    elif HUB <= kind < JUNCTION:
        record_building(memory, agent, cell, kind, owner)
    if word & ENEMY_AREA != 0:
        memory.state[agent, ENEMY_CELL] = cell
    elif cell == memory.state[agent, ENEMY_CELL]:
        memory.state[agent, ENEMY_CELL] = 0
    memory.cells[agent, cell] = number << OBJECT_SHIFT | word


@inline
def record_nearby_agent(memory: AgentMemory, agent: int, cell: int, word: int) -> None:
    """Note an agent in view."""
    count = memory.nearby[agent, 0] + 1
    if count <= MAX_NEARBY and cell != memory.state[agent, CELL]:
        owner, gear, vibe = word >> OWNER_SHIFT & 3, word >> GEAR_SHIFT & 7, word >> VIBE_SHIFT & 7
        memory.nearby[agent, 0] = count
        memory.nearby[agent, count] = (
            cell << NEARBY_CELL | owner << NEARBY_OWNER | gear << NEARBY_GEAR | vibe
        )


@inline
def scan_window(memory: AgentMemory, agent: int, words: Words, i: int) -> None:
    """Go over the window, cell by cell; most are as they were, and that is told by one comparison.

    Indices are cast to uint64: those cannot count from the end, which spares a check.
    """
    cells, seen = memory.cells.reshape(-1), words.reshape(-1)
    stride, radius, clock = memory.rules[STRIDE], memory.rules[RADIUS], memory.state[agent, CLOCK]
    side, corner = 2 * radius + 1, memory.state[agent, CELL] - radius * stride - radius
    first, own = i * words.shape[1], agent * memory.cells.shape[1]
    for y in range(side):
        for x in range(side):
            word, cell = int(seen[np.uint64(first + y * side + x)]), corner + y * stride + x
            if int(cells[np.uint64(own + cell)]) == word | KNOWN:
                continue
            if word & KIND_MASK == AGENT:
                record_nearby_agent(memory, agent, cell, word)
                word &= AREA_MASK
            if int(cells[np.uint64(own + cell)]) & WORD_MASK != word | KNOWN:
                update_cell(memory, agent, cell, word | KNOWN)
            number = int(cells[np.uint64(own + cell)]) >> OBJECT_SHIFT
            if number > 0:
                memory.objects[agent, number - 1, LAST_SEEN] = clock


@allocation_free_kernel
def perceive(memory: AgentMemory, words: Words, facts: Float32s, agents: Ints, keys: Ints) -> None:
    """Take what every row observes into the memory of its place."""
    for i in range(agents.shape[0]):
        at = agents[i]
        memory.state[at, CLOCK] += 1
        store_facts(memory, at, facts, i, keys[i])
        memory.nearby[at, 0] = 0
        scan_window(memory, at, words, i)
