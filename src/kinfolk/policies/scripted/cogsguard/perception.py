"""Perception: update an agent's memory from its observation, the only source of what it knows.

Counters of known objects are kept up to date here, so that behaviors can check quickly whether they
can start.
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

Words: TypeAlias = npt.NDArray[np.uint16]  # observations, viewed as words of cells
Float32s: TypeAlias = npt.NDArray[np.float32]


@inline
def store_facts(memory: AgentMemory, agent: int, facts: Float32s, i: int, key: int) -> None:
    """Copy the observed facts into the state; the elapsed share becomes the tick of the game.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        facts: `[n, columns]`, observations viewed as floats.
        i: Row of the agent's observation.
        key: Random key of this tick.
    """
    state, start = memory.state, memory.rules[FACTS_OFFSET] // 4
    for fact in range(ELAPSED_FACT):
        state[agent, fact] = int(facts[i, start + fact])
    elapsed = float(facts[i, start + ELAPSED_FACT])
    state[agent, TICK] = int(elapsed * memory.rules[MAX_STEPS] + 0.5)
    state[agent, RANDOM_KEY] = key
    state[agent, CELL] = agent_cell(memory, agent)


@inline
def add_object(memory: AgentMemory, agent: int, cell: int, kind: int, owner: int) -> int:
    """Add a new junction or extractor to the known objects, and count it.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        cell: Where the object is.
        kind: Kind code of the object.
        owner: Owner code of the object.

    Returns:
        Its number, from 1; 0 if there is no room.
    """
    state, objects, clock = memory.state, memory.objects, memory.state[agent, CLOCK]
    if kind == JUNCTION:
        number, capacity = state[agent, N_JUNCTIONS], memory.rules[MAX_JUNCTIONS]
        counter, first, column = JUNCTION_COUNTS + owner, 0, N_JUNCTIONS
        state[agent, FRUITLESS_TICKS] = 0
    else:
        number, capacity = state[agent, N_EXTRACTORS], memory.rules[MAX_EXTRACTORS]
        counter, first, column = (
            EXTRACTOR_COUNTS + kind - EXTRACTOR,
            memory.rules[MAX_JUNCTIONS],
            N_EXTRACTORS,
        )
    if number >= capacity:
        return 0
    state[agent, column] = number + 1
    state[agent, counter] += 1
    state[agent, LAST_FOUND] = clock
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
    """Remember the cell of the team's own hub, chest or station.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        cell: Where the building is.
        kind: Kind code of the building.
        owner: Owner code of the building.
    """
    state = memory.state
    if owner != OWN:
        return
    column = (
        HUB_CELL if kind == HUB else CHEST_CELL if kind == CHEST else STATION_CELL + kind - STATION
    )
    if state[agent, column] == 0:
        state[agent, column] = cell
        state[agent, LAST_FOUND] = state[agent, CLOCK]


@inline
def update_object(memory: AgentMemory, agent: int, entry: int, kind: int, owner: int) -> None:
    """Update a known object that has another owner, or is gone, and the counters.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        entry: Index of the object.
        kind: Kind code that is now on its cell.
        owner: Owner code that is now on its cell.
    """
    state, objects = memory.state, memory.objects
    if kind != objects[agent, entry, KIND]:
        state[agent, EXTRACTOR_COUNTS + objects[agent, entry, KIND] - EXTRACTOR] -= 1
        objects[agent, entry, OBJECT_CELL] = 0
    elif owner != objects[agent, entry, OWNER]:
        previous = objects[agent, entry, OWNER]
        state[agent, JUNCTION_COUNTS + previous] -= 1
        state[agent, JUNCTION_COUNTS + owner] += 1
        objects[agent, entry, PREVIOUS_OWNER] = previous
        objects[agent, entry, OWNER] = owner
        objects[agent, entry, LAST_CHANGED] = state[agent, CLOCK]
        objects[agent, entry, RETRY_AT] = 0


@inline
def update_cell(memory: AgentMemory, agent: int, cell: int, word: int) -> None:
    """Update a cell that was unknown or has changed, and the objects and counters it affects.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        cell: The cell.
        word: The observed word without agents, with the flag KNOWN.
    """
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
    """Append another agent in view to `memory.nearby`.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        cell: Where the other agent stands.
        word: The observed word.
    """
    count = memory.nearby[agent, 0] + 1
    if count <= MAX_NEARBY and cell != memory.state[agent, CELL]:
        owner, gear, vibe = word >> OWNER_SHIFT & 3, word >> GEAR_SHIFT & 7, word >> VIBE_SHIFT & 7
        memory.nearby[agent, 0] = count
        memory.nearby[agent, count] = (
            cell << NEARBY_CELL | owner << NEARBY_OWNER | gear << NEARBY_GEAR | vibe
        )


@inline
def scan_window(memory: AgentMemory, agent: int, words: Words, i: int) -> None:
    """Compare the window with the known map and update what differs; most cells cost one comparison.

    Indices are cast to uint64, which cannot be negative, so that numba leaves out the wraparound.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        words: `[n, columns]`, observations viewed as words.
        i: Row of the agent's observation.
    """
    cells, flat_words = memory.cells.reshape(-1), words.reshape(-1)
    stride, radius, clock = memory.rules[STRIDE], memory.rules[RADIUS], memory.state[agent, CLOCK]
    side, corner = 2 * radius + 1, memory.state[agent, CELL] - radius * stride - radius
    first, start = i * words.shape[1], agent * memory.cells.shape[1]
    for y in range(side):
        for x in range(side):
            word, cell = int(flat_words[np.uint64(first + y * side + x)]), corner + y * stride + x
            if int(cells[np.uint64(start + cell)]) == word | KNOWN:
                continue
            if word & KIND_MASK == AGENT:
                record_nearby_agent(memory, agent, cell, word)
                word &= AREA_MASK
            if int(cells[np.uint64(start + cell)]) & WORD_MASK != word | KNOWN:
                update_cell(memory, agent, cell, word | KNOWN)
            number = int(cells[np.uint64(start + cell)]) >> OBJECT_SHIFT
            if number > 0:
                memory.objects[agent, number - 1, LAST_SEEN] = clock


@allocation_free_kernel
def perceive(memory: AgentMemory, words: Words, facts: Float32s, agents: Ints, keys: Ints) -> None:
    """Update the memory of every agent from its observation.

    Args:
        memory: Memory of all agents, changed at `agents`.
        words: `[n, columns]`, observations viewed as uint16.
        facts: The same, viewed as float32.
        agents: `[n]`, the agents' rows in memory.
        keys: `[n]`, random keys of this tick.
    """
    for i in range(agents.shape[0]):
        agent = agents[i]
        memory.state[agent, CLOCK] += 1
        store_facts(memory, agent, facts, i, keys[i])
        memory.nearby[agent, 0] = 0
        scan_window(memory, agent, words, i)
