"""The observation transform `map_features`: a CogsGuard net reads features of its agent's own map.

A net that sees only the window would have to learn mapping before it could learn to play. Scripted
roles keep a map already, so the same memory (`memory.AgentMemory`) serves both: it holds what the agent
itself has observed and nothing else. Features are the agent's own state and, by one breadth-first
search, the distance of the nearest landmark of each kind and the moves that lead there.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from kinfolk.core.arrays import Bytes, Ints
from kinfolk.core.jit import allocation_free_kernel, get_function_address, inline
from kinfolk.core.spaces import ObservationField, WorldSpec
from kinfolk.policies.base import (
    AgentBatch,
    Memory,
    MemoryField,
    MemoryLayout,
    allocate_memory,
    empty_batch,
)
from kinfolk.policies.scripted.cogsguard import columns as col
from kinfolk.policies.scripted.cogsguard import primitives
from kinfolk.policies.scripted.cogsguard.behaviors.junctions import influence_needed
from kinfolk.policies.scripted.cogsguard.distance_map import (
    HEADING,
    LANDMARKS,
    LAST_CELL,
    TRAIL_COLUMNS,
    compute_distance_map,
)
from kinfolk.policies.scripted.cogsguard.exploration import N_SECTORS, SECTOR_TICKS
from kinfolk.policies.scripted.cogsguard.memory import (
    AgentMemory,
    BehaviorParams,
    agent_memory_layout,
    allocate_scratch,
    is_free,
    is_occupied,
    move_offset,
    parameter_row,
    view_memory,
    write_parameters,
)
from kinfolk.policies.scripted.cogsguard.perception import perceive
from kinfolk.policies.scripted.cogsguard.targets import choose_target
from kinfolk.worlds.cogsguard import codes
from kinfolk.worlds.cogsguard.spec import FACT_SCALES, FACTS, N_FACTS

# Of each landmark; a move is 1 if a shortest path begins with it.
LANDMARK_COLUMNS = ("reachable", "proximity", "adjacent", *codes.MOVES[1:])
REACHABLE, PROXIMITY, ADJACENT, FIRST_MOVE = range(4)
MAX_DISTANCE = 40.0  # steps at which proximity is 0
MAX_SPARE = 20.0  # hp or influence at which the spare columns are 1
MAX_NUMBERS = 8  # numbers in a team that have a column of their own
MANY_OBJECTS = 10.0  # known objects of a kind at which the counting columns are 1

COLUMN_NAMES = (
    *FACTS,  # scaled
    *(f"wears_{gear}" for gear in codes.GEARS),
    *(f"store_pays_{gear}" for gear in codes.GEARS[1:]),
    "store_pays_heart",
    "cargo_full",
    "hp_share",  # of the limit with its gear
    "energy_share",
    "can_move",
    "spare_hp",  # beyond what the path home takes
    "spare_influence",  # beyond what the path to the junction takes
    "hour",
    "is_day",
    *(f"likes_{element}" for element in codes.ELEMENTS),  # preferences, as scripted roles have
    *(
        f"is_number_{number}" for number in range(MAX_NUMBERS)
    ),  # in the team; the last for all beyond
    *(f"searches_sector_{sector}" for sector in range(N_SECTORS)),
    *(f"{move}_is_free" for move in codes.MOVES[1:]),
    *(f"{move}_is_taken" for move in codes.MOVES[1:]),
    *(f"{element}_extractors_known" for element in codes.ELEMENTS),
    *(f"junctions_of_{owner}_known" for owner in codes.OWNERS),
    "moved",  # in the last tick
    *(f"heading_{move}" for move in codes.MOVES[1:]),  # direction of the last step
    *(f"{landmark}_{column}" for landmark in LANDMARKS for column in LANDMARK_COLUMNS),
)
COLUMNS = -(-len(COLUMN_NAMES) // 8) * 8  # rounded up to a multiple of 8, padded with zeros
WEARS = COLUMN_NAMES.index("wears_none")
STORE_PAYS = COLUMN_NAMES.index("store_pays_aligner")
CARGO_FULL = COLUMN_NAMES.index("cargo_full")
HP_SHARE = COLUMN_NAMES.index("hp_share")
SPARE_HP = COLUMN_NAMES.index("spare_hp")
HOUR = COLUMN_NAMES.index("hour")
LIKES = COLUMN_NAMES.index("likes_carbon")
NUMBER = COLUMN_NAMES.index("is_number_0")
SEARCHES = COLUMN_NAMES.index("searches_sector_0")
FREE = COLUMN_NAMES.index("north_is_free")
TAKEN = COLUMN_NAMES.index("north_is_taken")
EXTRACTORS_KNOWN = COLUMN_NAMES.index("carbon_extractors_known")
MOVED = COLUMN_NAMES.index("moved")
LANDMARKS_OFFSET = COLUMN_NAMES.index("hub_reachable")
COLUMNS_PER_LANDMARK = len(LANDMARK_COLUMNS)
Float32s = npt.NDArray[np.float32]


@inline
def write_landmark_features(memory: AgentMemory, out: Float32s) -> None:
    """Write distance and first moves of every landmark that `compute_distance_map` reached.

    Args:
        memory: Memory of all agents; only its scratch is read.
        out: `[COLUMNS]`, the features of the agent.
    """
    for landmark in range(len(LANDMARKS)):
        cell = int(memory.scratch[col.DEFERRED, landmark])
        first = LANDMARKS_OFFSET + landmark * COLUMNS_PER_LANDMARK
        if cell == 0:
            continue
        steps, moves = int(memory.scratch[col.COST, cell]), int(memory.scratch[col.CAME_FROM, cell])
        out[first + REACHABLE] = 1.0
        out[first + PROXIMITY] = max(0.0, 1.0 - steps / MAX_DISTANCE)
        out[first + ADJACENT] = steps <= 1
        for move in range(4):
            out[first + FIRST_MOVE + move] = float(moves >> move & 1) if steps > 0 else 0.0


@inline
def clip_unit(share: float) -> float:
    """Clip a number to -1..1."""
    return max(-1.0, min(1.0, share))


@inline
def write_agent_features(memory: AgentMemory, agent: int, scales: Float32s, out: Float32s) -> None:
    """Write the agent's facts, what follows from them, and its neighbouring cells.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        scales: `[N_FACTS]`, by which the facts are divided.
        out: `[COLUMNS]`, the features of the agent.
    """
    state = memory.state[agent]
    for fact in range(N_FACTS):
        out[fact] = state[fact] / scales[fact]
    out[WEARS + state[codes.GEAR]] = 1.0
    for gear in range(1, 5):
        out[STORE_PAYS + gear - 1] = primitives.can_afford_gear(memory, agent, gear, 0)
    out[STORE_PAYS + 4] = primitives.can_afford_heart(memory, agent)
    out[CARGO_FULL] = primitives.is_cargo_full(memory, agent)
    hp, energy = int(state[codes.HP]), int(state[codes.ENERGY])
    out[HP_SHARE] = hp / primitives.hp_limit(memory, state[codes.GEAR])
    out[HP_SHARE + 1] = energy / primitives.energy_limit(memory, state[codes.GEAR])
    out[HP_SHARE + 2] = energy >= memory.rules[col.MOVE_COST]
    home = primitives.travel_ticks(memory, agent, primitives.home_distance(memory, agent), energy)
    out[SPARE_HP] = clip_unit((hp - home - memory.state[agent, col.HOME_MARGIN]) / MAX_SPARE)
    spare_influence = state[codes.INFLUENCE] - influence_needed(memory, agent)
    out[SPARE_HP + 1] = clip_unit(spare_influence / MAX_SPARE)
    hour = state[col.TICK] % memory.rules[col.DAY_PERIOD]
    out[HOUR] = hour / memory.rules[col.DAY_PERIOD]
    out[HOUR + 1] = hour < memory.rules[col.DAY_LENGTH]
    out[LIKES + state[col.UID] % 4] = 1.0
    number = state[col.UID] % memory.rules[col.AGENTS]  # uids number the teams one after another
    out[NUMBER + min(number, MAX_NUMBERS - 1)] = 1.0
    out[SEARCHES + (state[col.UID] + state[col.CLOCK] // SECTOR_TICKS) % N_SECTORS] = 1.0
    for move in range(1, 5):
        to = int(state[col.CELL]) + move_offset(memory, move)
        out[FREE + move - 1] = is_free(memory, agent, to)
        out[TAKEN + move - 1] = is_occupied(memory, agent, to)


@inline
def write_trail_features(memory: AgentMemory, agent: int, trail: Ints, out: Float32s) -> None:
    """Write the numbers of known objects and the agent's last step, which is added to the trail.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        trail: The agent's trail.
        out: `[COLUMNS]`, the features of the agent.
    """
    state = memory.state[agent]
    for i in range(8):  # extractors by element, then junctions by owner
        out[EXTRACTORS_KNOWN + i] = state[col.EXTRACTOR_COUNTS + i] / MANY_OBJECTS
    out[MOVED] = state[col.CELL] != trail[LAST_CELL]
    for move in range(1, 5):
        if trail[LAST_CELL] > 0 and state[col.CELL] - trail[LAST_CELL] == move_offset(memory, move):
            trail[HEADING] = move
    trail[LAST_CELL] = state[col.CELL]
    if trail[HEADING] > 0:
        out[MOVED + trail[HEADING]] = 1.0


@allocation_free_kernel
def write_map_features(
    memory: AgentMemory, trail: Ints, agents: Ints, scales: Float32s, out: Float32s
) -> None:
    """Write the map features of every agent.

    Args:
        memory: Memory of all agents; targets and frontier of `agents` are updated.
        trail: `[capacity, TRAIL_COLUMNS]`, trails of all agents; those of `agents` are updated.
        agents: `[n]`, the agents' rows in memory.
        scales: `[N_FACTS]`, by which the facts are divided.
        out: `[n, COLUMNS]`, zeros, filled with the features.
    """
    for i in range(agents.shape[0]):
        agent = agents[i]
        compute_distance_map(memory, agent, trail[agent])
        write_landmark_features(memory, out[i])
        write_agent_features(memory, agent, scales, out[i])
        write_trail_features(memory, agent, trail[agent], out[i])


class MapFeatures:
    """Keeps a map of what each agent observes, and returns features of it instead of the window.

    Args:
        spec: Spec of CogsGuard.

    Raises:
        SettingsError: The world is not CogsGuard.
    """

    def __init__(self, spec: WorldSpec) -> None:
        self._rules = parameter_row(spec, BehaviorParams())
        self._scratch = allocate_scratch(self._rules)
        self._scales = FACT_SCALES.copy()
        self._scales[col.TICK] = self._rules[col.MAX_STEPS]
        empty_memory = allocate_memory(self.memory_layout, 0)
        empty = view_memory(empty_memory, self._scratch, self._rules)
        self._rules[col.TARGET_KERNEL] = get_function_address(choose_target, empty, 0, 0, 0)
        fields = (ObservationField("map_features", (COLUMNS,), "float32"),)
        self.spec = replace(spec, groups=tuple(replace(g, fields=fields) for g in spec.groups))
        # Compile the kernels, or load them from the cache, by transforming an empty batch.
        batch, observations = empty_batch(), np.zeros((0, spec.row_bytes), dtype=np.uint8)
        self.transform(observations, batch, empty_memory, batch.uid)

    @property
    def memory_layout(self) -> MemoryLayout:
        """The same memory as that of scripted roles, and the agent's trail."""
        return {**agent_memory_layout(self._rules), "trail": MemoryField((TRAIL_COLUMNS,), "int64")}

    def reset_agents(self, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Store the uids of new agents, from which their preferences follow, as in scripted roles."""
        del keys
        memory["state"][batch.memory_index, col.UID] = batch.uid
        write_parameters(memory["state"], batch.memory_index, BehaviorParams())

    def transform(
        self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints
    ) -> Bytes:
        """Update the agents' maps and return features of them."""
        rows = np.require(observations, requirements=["C", "W"])
        agent_memory = view_memory(memory, self._scratch, self._rules)
        agents = batch.memory_index
        perceive(agent_memory, rows.view(np.uint16), rows.view(np.float32), agents, keys)
        out = np.zeros((len(agents), COLUMNS), dtype=np.float32)
        write_map_features(agent_memory, memory["trail"], agents, self._scales, out)
        return out.view(np.uint8)
