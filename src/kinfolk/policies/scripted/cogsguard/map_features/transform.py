"""The observation transform `map_features`: a CogsGuard net reads features of its agent's own map.

A net that sees only the window would have to learn mapping before it could learn to play. Scripted
roles keep a map already, so the same memory (`memory.AgentMemory`) serves both: it holds what the agent
itself has observed and nothing else. One breadth-first search gives, for each kind of landmark, the
distance of the nearest one and the moves that lead there.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from kinfolk.core.arrays import Bytes, Ints
from kinfolk.core.function_table import get_function_address
from kinfolk.core.jit import allocation_free_kernel, inline
from kinfolk.core.spaces import ObservationField, WorldSpec
from kinfolk.policies.base import AgentBatch, Memory, MemoryLayout, allocate_memory, empty_batch
from kinfolk.policies.scripted.cogsguard.behaviors.aligner import influence_needed
from kinfolk.policies.scripted.cogsguard.exploration import N_SECTORS, SECTOR_TICKS
from kinfolk.policies.scripted.cogsguard.map_features.columns import (
    ADJACENT,
    CARGO_FULL,
    COLUMNS,
    COLUMNS_PER_LANDMARK,
    FIRST_MOVE,
    FREE,
    HOUR,
    HP_SHARE,
    LANDMARKS,
    LANDMARKS_OFFSET,
    LIKES,
    MAX_DISTANCE,
    MAX_SPARE,
    PROXIMITY,
    REACHABLE,
    SEARCHES,
    SPARE_HP,
    STORE_PAYS,
    TAKEN,
    WEARS,
)
from kinfolk.policies.scripted.cogsguard.map_features.distance_map import compute_distance_map
from kinfolk.policies.scripted.cogsguard.memory import (
    CELL,
    CLOCK,
    MINE_TARGET,
    TICK,
    UID,
    AgentMemory,
    agent_memory_layout,
    allocate_scratch,
    is_free,
    is_occupied,
    move_offset,
    view_memory,
)
from kinfolk.policies.scripted.cogsguard.parameters import (
    DAY_LENGTH,
    DAY_PERIOD,
    HOME_MARGIN,
    MAX_STEPS,
    MOVE_COST,
    TARGET_KERNEL,
    BehaviorParams,
    parameter_row,
)
from kinfolk.policies.scripted.cogsguard.pathfinding import (
    CAME_FROM,
    COST,
    DEFERRED,
)
from kinfolk.policies.scripted.cogsguard.perception import perceive
from kinfolk.policies.scripted.cogsguard.requirements import (
    can_afford_gear,
    can_afford_heart,
    cargo_limit,
    cargo_size,
    energy_limit,
    hp_limit,
    travel_ticks,
)
from kinfolk.policies.scripted.cogsguard.shared_kernels import home_distance
from kinfolk.policies.scripted.cogsguard.targets import choose_target
from kinfolk.worlds.cogsguard.codes import ENERGY, GEAR, HP, INFLUENCE
from kinfolk.worlds.cogsguard.spec import FACT_SCALES, N_FACTS

Float32s = npt.NDArray[np.float32]


@inline
def write_landmark_features(memory: AgentMemory, out: Float32s, i: int) -> None:
    """Write distance and first moves of every landmark that `compute_distance_map` reached.

    Args:
        memory: Memory of all agents; only its scratch is read.
        out: `[n, COLUMNS]`, filled in row `i`.
        i: Row of the agent's features.
    """
    for landmark in range(len(LANDMARKS)):
        cell = int(memory.scratch[DEFERRED, landmark])
        first = LANDMARKS_OFFSET + landmark * COLUMNS_PER_LANDMARK
        if cell == 0:
            continue
        steps, moves = int(memory.scratch[COST, cell]), int(memory.scratch[CAME_FROM, cell])
        out[i, first + REACHABLE] = 1.0
        out[i, first + PROXIMITY] = max(0.0, 1.0 - steps / MAX_DISTANCE)
        out[i, first + ADJACENT] = 1.0 if steps <= 1 else 0.0
        for move in range(4):
            out[i, first + FIRST_MOVE + move] = float(moves >> move & 1) if steps > 0 else 0.0


@inline
def clip_unit(share: float) -> float:
    """Clip a number to -1..1."""
    return max(-1.0, min(1.0, share))


@inline
def write_agent_features(
    memory: AgentMemory, agent: int, scales: Float32s, out: Float32s, i: int
) -> None:
    """Write the agent's facts, what follows from them, and its neighbouring cells.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        scales: `[N_FACTS]`, by which the facts are divided.
        out: `[n, COLUMNS]`, filled in row `i`.
        i: Row of the agent's features.
    """
    state = memory.state
    for fact in range(N_FACTS):
        out[i, fact] = state[agent, fact] / scales[fact]
    out[i, WEARS + state[agent, GEAR]] = 1.0
    for gear in range(1, 5):
        out[i, STORE_PAYS + gear - 1] = 1.0 if can_afford_gear(memory, agent, gear, 0) else 0.0
    out[i, STORE_PAYS + 4] = 1.0 if can_afford_heart(memory, agent) else 0.0
    out[i, CARGO_FULL] = (
        1.0 if cargo_size(memory, agent) >= cargo_limit(memory, state[agent, GEAR]) else 0.0
    )
    hp, energy = int(state[agent, HP]), int(state[agent, ENERGY])
    out[i, HP_SHARE] = hp / hp_limit(memory, state[agent, GEAR])
    out[i, HP_SHARE + 1] = energy / energy_limit(memory, state[agent, GEAR])
    out[i, HP_SHARE + 2] = 1.0 if energy >= memory.rules[MOVE_COST] else 0.0
    home = travel_ticks(memory, agent, home_distance(memory, agent), energy)
    out[i, SPARE_HP] = clip_unit((hp - home - memory.rules[HOME_MARGIN]) / MAX_SPARE)
    out[i, SPARE_HP + 1] = clip_unit(
        (state[agent, INFLUENCE] - influence_needed(memory, agent)) / MAX_SPARE
    )
    hour = state[agent, TICK] % memory.rules[DAY_PERIOD]
    out[i, HOUR] = hour / memory.rules[DAY_PERIOD]
    out[i, HOUR + 1] = 1.0 if hour < memory.rules[DAY_LENGTH] else 0.0
    out[i, LIKES + state[agent, UID] % 4] = 1.0
    out[i, SEARCHES + (state[agent, UID] + state[agent, CLOCK] // SECTOR_TICKS) % N_SECTORS] = 1.0
    for move in range(1, 5):
        to = int(state[agent, CELL]) + move_offset(memory, move)
        out[i, FREE + move - 1] = 1.0 if is_free(memory, agent, to) else 0.0
        out[i, TAKEN + move - 1] = 1.0 if is_occupied(memory, agent, to) else 0.0


@allocation_free_kernel
def compute_map_features(
    memory: AgentMemory, agents: Ints, scales: Float32s, out: Float32s
) -> None:
    """Write the map features of every agent.

    Args:
        memory: Memory of all agents; targets and frontier of `agents` are updated.
        agents: `[n]`, the agents' rows in memory.
        scales: `[N_FACTS]`, by which the facts are divided.
        out: `[n, COLUMNS]`, zeros, filled with the features.
    """
    for i in range(agents.shape[0]):
        agent = agents[i]
        if cargo_size(memory, agent) == 0:
            memory.state[agent, MINE_TARGET] = 0  # as a miner does after a deposit
        compute_distance_map(memory, agent)
        write_landmark_features(memory, out, i)
        write_agent_features(memory, agent, scales, out, i)


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
        self._scales[TICK] = self._rules[MAX_STEPS]
        empty = view_memory(allocate_memory(self.memory_layout, 0), self._scratch, self._rules)
        self._rules[TARGET_KERNEL] = get_function_address(choose_target, empty, 0, 0, 0)
        fields = (ObservationField("map_features", (COLUMNS,), "float32"),)
        self.spec = replace(spec, groups=tuple(replace(g, fields=fields) for g in spec.groups))
        self._compile(spec)

    @property
    def memory_layout(self) -> MemoryLayout:
        """Return the memory of scripted roles."""
        return agent_memory_layout(self._rules)

    def reset_agents(self, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Store the uids of new agents, from which their preferences follow, as in scripted roles."""
        del keys
        memory["state"][batch.memory_index, UID] = batch.uid

    def transform(
        self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints
    ) -> Bytes:
        """Update the agents' maps and return features of them."""
        rows = np.require(observations, requirements=["C", "W"])
        agent_memory = view_memory(memory, self._scratch, self._rules)
        agents = batch.memory_index
        perceive(agent_memory, rows.view(np.uint16), rows.view(np.float32), agents, keys)
        out = np.zeros((len(agents), COLUMNS), dtype=np.float32)
        compute_map_features(agent_memory, agents, self._scales, out)
        return out.view(np.uint8)

    def _compile(self, spec: WorldSpec) -> None:
        """Compile the kernels, or load them from the cache, by transforming an empty batch."""
        batch, observations = empty_batch(), np.zeros((0, spec.row_bytes), dtype=np.uint8)
        self.transform(observations, batch, allocate_memory(self.memory_layout, 0), batch.uid)
