"""What to go for: the extractor, depot or junction that a behaviour chooses, kept until it no longer fits."""

from __future__ import annotations

from kinfolk.core.jit import inline
from kinfolk.policies.scripted.cogsguard.memory import (
    CELL,
    CLOCK,
    HUB_CELL,
    KIND,
    LAST_CHANGED,
    MINE_RETRY,
    MINE_TARGET,
    N_EXTRACTORS,
    N_JUNCTIONS,
    NEARBY_CELL,
    NEARBY_GEAR,
    NEARBY_OWNER,
    OBJECT_CELL,
    OBJECT_SHIFT,
    OWNER,
    PREVIOUS_OWNER,
    RETRY_AT,
    TRAVEL_STEPS,
    UID,
    AgentMemory,
    grid_distance,
)
from kinfolk.policies.scripted.cogsguard.parameters import (
    ALIGN_HUB_REACH,
    ALIGN_REACH,
    AREA_RADIUS,
    EDITION_A,
    ENERGY_LIMIT,
    INFLUENCE_ALIGNER,
    MAX_JUNCTIONS,
    RECENT_TICKS,
    SHIFT,
    STRIDE,
)
from kinfolk.policies.scripted.cogsguard.requirements import travel_ticks
from kinfolk.worlds.cogsguard.codes import (
    ALIGNER,
    CLIPS,
    ENEMY_AREA,
    EXTRACTOR,
    HP,
    JUNCTION,
    NOBODY,
    OWN,
    SCRAMBLER,
)
from kinfolk.worlds.cogsguard.spec import STORE_FACT

MINE, ALIGN, SCRAMBLE, DEPOT = range(4)  # what for
_NONE = 1 << 30
_RETRY_TICKS = 10  # ticks before another look, when nothing fitted
_SCARCE_BONUS, _PREFERENCE, _ENEMY_AREA_COST, _RIVAL_COST, _RECENT_BONUS = (
    16,
    6,
    40,
    30,
    25,
)  # steps that these are worth


@inline
def depot_distance(memory: AgentMemory, agent: int, cell: int) -> int:
    """Steps from a cell to the nearest known hub or own junction."""
    hub, least = int(memory.state[agent, HUB_CELL]), _NONE
    if hub > 0:
        least = grid_distance(memory, cell, hub)
    for entry in range(memory.state[agent, N_JUNCTIONS]):
        if memory.objects[agent, entry, OWNER] == OWN:
            least = min(
                least, grid_distance(memory, cell, int(memory.objects[agent, entry, OBJECT_CELL]))
            )
    return least


@inline
def scarcest_element(memory: AgentMemory, agent: int) -> int:
    """The element that the team's store has least of."""
    best = 0
    for element in range(1, 4):
        if memory.state[agent, STORE_FACT + element] < memory.state[agent, STORE_FACT + best]:
            best = element
    return best


@inline
def is_in_enemy_area(memory: AgentMemory, agent: int, cell: int) -> bool:
    """Whether a cell was in an enemy area when it was seen last."""
    return int(memory.cells[agent, cell]) & ENEMY_AREA != 0


@inline
def has_closer_teammate(memory: AgentMemory, agent: int, cell: int, gear: int) -> bool:
    """Whether a team-mate in view with this gear is nearer to a cell than the agent is."""
    own = grid_distance(memory, memory.state[agent, CELL], cell)
    for i in range(1, memory.nearby[agent, 0] + 1):
        other = int(memory.nearby[agent, i])
        alike = other >> NEARBY_OWNER & 3 == OWN and other >> NEARBY_GEAR & 7 == gear
        if alike and grid_distance(memory, other >> NEARBY_CELL, cell) < own:
            return True
    return False


@inline
def choose_extractor(memory: AgentMemory, agent: int) -> int:
    """Near, near a depot, of the element that is scarce, outside enemy areas; 0 if none is known."""
    objects, notes, clock = memory.objects, memory.state, memory.state[agent, CLOCK]
    first, here = memory.rules[MAX_JUNCTIONS], notes[agent, CELL]
    best, least, wanted = 0, _NONE, scarcest_element(memory, agent)
    for entry in range(first, first + notes[agent, N_EXTRACTORS]):
        cell = int(objects[agent, entry, OBJECT_CELL])
        if cell == 0 or objects[agent, entry, RETRY_AT] > clock:
            continue
        home = depot_distance(memory, agent, cell)
        far = grid_distance(memory, here, cell)
        cost = far + min(home, 1000)
        element = objects[agent, entry, KIND] - EXTRACTOR
        cost -= _SCARCE_BONUS if element == wanted else 0
        cost -= _PREFERENCE if element == notes[agent, UID] % 4 else 0
        cost += (
            _ENEMY_AREA_COST
            if is_in_enemy_area(memory, agent, cell) or far + home > notes[agent, HP]
            else 0
        )
        if cost < least:
            best, least = cell, cost
    return best


@inline
def choose_depot(memory: AgentMemory, agent: int) -> int:
    """The nearest hub or own junction; 0 if none is known."""
    objects, notes, clock = memory.objects, memory.state, memory.state[agent, CLOCK]
    best, least = 0, _NONE
    if notes[agent, HUB_CELL] > 0:
        best, least = (
            int(notes[agent, HUB_CELL]),
            grid_distance(memory, notes[agent, CELL], notes[agent, HUB_CELL]),
        )
    for entry in range(notes[agent, N_JUNCTIONS]):
        cell = int(objects[agent, entry, OBJECT_CELL])
        if objects[agent, entry, OWNER] == OWN and objects[agent, entry, RETRY_AT] <= clock:
            far = grid_distance(memory, notes[agent, CELL], cell)
            if far < least:
                best, least = cell, far
    return best


@inline
def is_in_align_range(memory: AgentMemory, agent: int, cell: int) -> bool:
    """Edition A: whether the team may align a junction here, as far as the agent knows."""
    hub = memory.state[agent, HUB_CELL]
    if hub > 0 and squared_distance(memory, cell, hub) <= memory.rules[ALIGN_HUB_REACH] ** 2:
        return True
    for entry in range(memory.state[agent, N_JUNCTIONS]):
        near = (
            squared_distance(memory, cell, int(memory.objects[agent, entry, OBJECT_CELL]))
            <= memory.rules[ALIGN_REACH] ** 2
        )
        if memory.objects[agent, entry, OWNER] == OWN and near:
            return True
    return False


@inline
def squared_distance(memory: AgentMemory, a: int, b: int) -> int:
    """The squared distance of two cells."""
    shift, last = memory.rules[SHIFT], memory.rules[STRIDE] - 1
    y, x = (a >> shift) - (b >> shift), (a & last) - (b & last)
    return int(y * y + x * x)


@inline
def steps_outside_area(memory: AgentMemory, agent: int, cell: int) -> int:
    """Steps to a cell from the friendly area nearest to it, about."""
    return int(max(0, depot_distance(memory, agent, cell) - memory.rules[AREA_RADIUS]))


@inline
def can_align(memory: AgentMemory, agent: int, entry: int) -> bool:
    """Whether a junction can be aligned by an aligner with a heart, as far as the agent knows."""
    cell, owner = (
        int(memory.objects[agent, entry, OBJECT_CELL]),
        memory.objects[agent, entry, OWNER],
    )
    if memory.rules[EDITION_A] == 1:
        return bool(owner != OWN and is_in_align_range(memory, agent, cell))
    if owner != NOBODY or is_in_enemy_area(memory, agent, cell):
        return False
    full = travel_ticks(
        memory, agent, steps_outside_area(memory, agent, cell), memory.rules[ENERGY_LIMIT]
    )
    return bool(full + 1 <= memory.rules[INFLUENCE_ALIGNER])


@inline
def choose_junction(memory: AgentMemory, agent: int, purpose: int) -> int:
    """Near, recently scrambled, not one that a team-mate is nearer to; 0 if none fits."""
    objects, notes, clock = memory.objects, memory.state, memory.state[agent, CLOCK]
    best, least = 0, _NONE
    for entry in range(notes[agent, N_JUNCTIONS]):
        cell, owner = int(objects[agent, entry, OBJECT_CELL]), objects[agent, entry, OWNER]
        if objects[agent, entry, RETRY_AT] > clock or owner == OWN:
            continue
        if purpose == SCRAMBLE and owner == NOBODY:
            continue
        if purpose == ALIGN and not can_align(memory, agent, entry):
            continue
        cost = grid_distance(memory, notes[agent, CELL], cell)
        changed = objects[agent, entry, LAST_CHANGED]
        if purpose == ALIGN and changed > 0 and objects[agent, entry, PREVIOUS_OWNER] >= CLIPS:
            cost -= _RECENT_BONUS if clock - changed <= memory.rules[RECENT_TICKS] else 0
        cost += (
            _RIVAL_COST
            if has_closer_teammate(memory, agent, cell, ALIGNER if purpose == ALIGN else SCRAMBLER)
            else 0
        )
        if cost < least:
            best, least = cell, cost
    return best


@inline
def is_valid_target(memory: AgentMemory, agent: int, purpose: int, cell: int) -> bool:
    """Whether what was chosen is still there to be used."""
    if purpose == DEPOT and cell == memory.state[agent, HUB_CELL]:
        return True
    number = int(memory.cells[agent, cell]) >> OBJECT_SHIFT
    if number == 0 or memory.objects[agent, number - 1, RETRY_AT] > memory.state[agent, CLOCK]:
        return False
    kind, owner = memory.objects[agent, number - 1, KIND], memory.objects[agent, number - 1, OWNER]
    if purpose == MINE:
        return bool(kind < JUNCTION)
    if purpose == DEPOT:
        return bool(owner == OWN)
    if purpose == SCRAMBLE:
        return bool(owner >= CLIPS)
    if memory.rules[EDITION_A] == 1:
        return bool(owner != OWN)
    return bool(owner == NOBODY and not is_in_enemy_area(memory, agent, cell))


def choose_target(memory: AgentMemory, agent: int, purpose: int, _unused: int) -> int:
    """The cell of what to go for; chosen anew when it no longer fits. 0 if there is nothing."""
    notes = memory.state
    cell = int(notes[agent, MINE_TARGET + purpose])
    if cell > 0 and is_valid_target(memory, agent, purpose, cell):
        return cell
    notes[agent, MINE_TARGET + purpose] = 0
    if notes[agent, CLOCK] < notes[agent, MINE_RETRY + purpose]:
        return 0
    if purpose == MINE:
        cell = choose_extractor(memory, agent)
    elif purpose == DEPOT:
        cell = choose_depot(memory, agent)
    else:
        cell = choose_junction(memory, agent, purpose)
        notes[agent, TRAVEL_STEPS] = (
            steps_outside_area(memory, agent, cell)
            if cell > 0 and purpose == ALIGN
            else notes[agent, TRAVEL_STEPS]
        )
    if cell == 0:
        notes[agent, MINE_RETRY + purpose] = notes[agent, CLOCK] + _RETRY_TICKS
    notes[agent, MINE_TARGET + purpose] = cell
    return cell


@inline
def abandon_target(memory: AgentMemory, agent: int, purpose: int, ticks: int) -> None:
    """Leave what was chosen alone for some ticks."""
    cell = int(memory.state[agent, MINE_TARGET + purpose])
    number = int(memory.cells[agent, cell]) >> OBJECT_SHIFT if cell > 0 else 0
    if number > 0:
        memory.objects[agent, number - 1, RETRY_AT] = memory.state[agent, CLOCK] + ticks
    memory.state[agent, MINE_TARGET + purpose] = 0
