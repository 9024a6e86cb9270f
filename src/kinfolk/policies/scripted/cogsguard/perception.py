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
from kinfolk.policies.scripted.cogsguard import columns as col
from kinfolk.policies.scripted.cogsguard.memory import AgentMemory, agent_cell
from kinfolk.worlds.cogsguard import codes
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
    state, start = memory.state[agent], memory.rules[col.FACTS_OFFSET] // 4
    for fact in range(ELAPSED_FACT):
        state[fact] = int(facts[i, start + fact])
    elapsed = float(facts[i, start + ELAPSED_FACT])
    state[col.TICK] = int(elapsed * memory.rules[col.MAX_STEPS] + 0.5)
    state[col.RANDOM_KEY] = key
    state[col.CELL] = agent_cell(memory, agent)


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
        Number of the object, from 1; 0 if there is no room for it.
    """
    state, objects = memory.state[agent], memory.objects[agent]
    clock = state[col.CLOCK]
    if kind == codes.JUNCTION:
        number, capacity = state[col.N_JUNCTIONS], memory.rules[col.MAX_JUNCTIONS]
        counter, first, column = col.JUNCTION_COUNTS + owner, 0, col.N_JUNCTIONS
        state[col.FRUITLESS_TICKS] = 0
    else:
        number, capacity = state[col.N_EXTRACTORS], memory.rules[col.MAX_EXTRACTORS]
        first, column = memory.rules[col.MAX_JUNCTIONS], col.N_EXTRACTORS
        counter = col.EXTRACTOR_COUNTS + kind - codes.EXTRACTOR
    if number >= capacity:
        return 0
    state[column] = number + 1
    state[counter] += 1
    state[col.LAST_FOUND] = clock
    entry = first + number
    objects[entry, col.OBJECT_CELL] = cell
    objects[entry, col.KIND] = kind
    objects[entry, col.OWNER] = owner
    objects[entry, col.LAST_SEEN] = clock
    objects[entry, col.LAST_CHANGED] = 0
    objects[entry, col.PREVIOUS_OWNER] = owner
    objects[entry, col.RETRY_AT] = 0
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
    state = memory.state[agent]
    if owner != codes.OWN:
        return
    column = col.HUB_CELL if kind == codes.HUB else col.CHEST_CELL
    if kind >= codes.STATION:
        column = col.STATION_CELL + kind - codes.STATION
    if state[column] == 0:
        state[column] = cell
        state[col.LAST_FOUND] = state[col.CLOCK]


@inline
def update_object(memory: AgentMemory, agent: int, entry: int, kind: int, owner: int) -> None:
    """Update a known object whose cell has changed, and the counters of objects.

    An extractor that is gone is removed; a junction gets its new owner.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        entry: Index of the object in the known objects.
        kind: Kind code that the agent now observes on the object's cell.
        owner: Owner code that the agent now observes on the object's cell.
    """
    state, objects = memory.state[agent], memory.objects[agent]
    if kind != objects[entry, col.KIND]:
        state[col.EXTRACTOR_COUNTS + objects[entry, col.KIND] - codes.EXTRACTOR] -= 1
        objects[entry, col.OBJECT_CELL] = 0
    elif owner != objects[entry, col.OWNER]:
        previous = objects[entry, col.OWNER]
        state[col.JUNCTION_COUNTS + previous] -= 1
        state[col.JUNCTION_COUNTS + owner] += 1
        objects[entry, col.PREVIOUS_OWNER] = previous
        objects[entry, col.OWNER] = owner
        objects[entry, col.LAST_CHANGED] = state[col.CLOCK]
        objects[entry, col.RETRY_AT] = 0


@inline
def update_cell(memory: AgentMemory, agent: int, cell: int, word: int) -> None:
    """Update a cell that was unknown or has changed, and the objects and counters it affects.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        cell: Number of the cell on the agent's map.
        word: The observed word without agents, with the flag KNOWN.
    """
    state, known = memory.state[agent], int(memory.cells[agent, cell])
    kind, owner = word & codes.KIND_MASK, word >> codes.OWNER_SHIFT & 3
    number = known >> col.OBJECT_SHIFT
    if kind != known & codes.KIND_MASK or known == 0:
        state[col.MAP_VERSION] += 1
    if number > 0:
        update_object(memory, agent, number - 1, kind, owner)
        if kind == codes.EMPTY:
            number = 0
    elif kind == codes.JUNCTION or codes.EXTRACTOR <= kind < codes.HUB:
        number = add_object(memory, agent, cell, kind, owner)
    elif codes.HUB <= kind < codes.JUNCTION:
        record_building(memory, agent, cell, kind, owner)
    if word & codes.ENEMY_AREA != 0:
        state[col.ENEMY_CELL] = cell
    elif cell == state[col.ENEMY_CELL]:
        state[col.ENEMY_CELL] = 0
    memory.cells[agent, cell] = number << col.OBJECT_SHIFT | word


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
    if count <= col.MAX_NEARBY and cell != memory.state[agent, col.CELL]:
        owner = (word >> codes.OWNER_SHIFT & 3) << col.NEARBY_OWNER
        gear = (word >> codes.GEAR_SHIFT & 7) << col.NEARBY_GEAR
        vibe = word >> codes.VIBE_SHIFT & 7
        memory.nearby[agent, 0] = count
        memory.nearby[agent, count] = cell << col.NEARBY_CELL | owner | gear | vibe


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
    state = memory.state[agent]
    cells, flat_words = memory.cells.reshape(-1), words.reshape(-1)
    stride, radius, clock = memory.rules[col.STRIDE], memory.rules[col.RADIUS], state[col.CLOCK]
    side, corner = 2 * radius + 1, state[col.CELL] - radius * stride - radius
    first, start = i * words.shape[1], agent * memory.cells.shape[1]
    for y in range(side):
        for x in range(side):
            word, cell = int(flat_words[np.uint64(first + y * side + x)]), corner + y * stride + x
            if int(cells[np.uint64(start + cell)]) == word | col.KNOWN:
                continue
            if word & codes.KIND_MASK == codes.AGENT:
                record_nearby_agent(memory, agent, cell, word)
                word &= codes.AREA_MASK
            if int(cells[np.uint64(start + cell)]) & col.WORD_MASK != word | col.KNOWN:
                update_cell(memory, agent, cell, word | col.KNOWN)
            number = int(cells[np.uint64(start + cell)]) >> col.OBJECT_SHIFT
            if number > 0:
                memory.objects[agent, number - 1, col.LAST_SEEN] = clock


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
        memory.state[agent, col.CLOCK] += 1
        store_facts(memory, agent, facts, i, keys[i])
        memory.nearby[agent, 0] = 0
        scan_window(memory, agent, words, i)
