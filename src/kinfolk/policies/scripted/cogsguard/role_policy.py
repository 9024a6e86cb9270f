"""Run the programs of roles on the memory of agents: the base of all role policies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays, Bytes, Ints
from kinfolk.core.errors import SettingsError, require
from kinfolk.core.jit import PYTHON_ADDRESS, get_function_address
from kinfolk.core.settings import validate_settings
from kinfolk.core.spaces import WorldSpec
from kinfolk.policies.base import (
    AgentBatch,
    ExplanationBatch,
    ExplanationSchema,
    Memory,
    MemoryField,
    MemoryLayout,
    StatelessPolicy,
    allocate_memory,
    empty_batch,
)
from kinfolk.policies.scripted.cogsguard import columns as col
from kinfolk.policies.scripted.cogsguard import (
    exploration,
    guards,
    pathfinding,
    primitives,
    targets,
)
from kinfolk.policies.scripted.cogsguard.adaptive_baseline import SMART, update_smart_roles
from kinfolk.policies.scripted.cogsguard.behaviors import python_behaviors, reasons
from kinfolk.policies.scripted.cogsguard.catalog import (
    CatalogLike,
    CompiledHook,
    find_parameter_columns,
    load_catalog,
)
from kinfolk.policies.scripted.cogsguard.fused import (
    FusedRolePlayer,
    compile_play_ticks,
    play_ticks,
)
from kinfolk.policies.scripted.cogsguard.memory import (
    AgentMemory,
    BehaviorParams,
    agent_memory_layout,
    allocate_scratch,
    parameter_row,
    view_memory,
    write_parameters,
)
from kinfolk.policies.scripted.cogsguard.perception import perceive
from kinfolk.roles import execution
from kinfolk.roles.catalog import RoleCatalog, map_role_to_vibe
from kinfolk.roles.model import MAX_BEHAVIORS, RoleDef, RoleTier
from kinfolk.roles.program import (
    NO_VALUE,
    RoleTables,
    role_from_tables,
    role_tables,
    write_programs,
)
from kinfolk.worlds.cogsguard import codes
from kinfolk.worlds.cogsguard.world import CogsguardWorld

_SHARED_KERNELS = (
    (col.FIND_PATH_KERNEL, pathfinding.find_path),
    (col.STEP_KERNEL, pathfinding.step_towards),
    (col.EXPLORE_KERNEL, exploration.explore),
    (col.TARGET_KERNEL, targets.choose_target),
    (col.HOME_KERNEL, primitives.return_home),
)


class RolePolicy(StatelessPolicy):
    """Plays for every agent the role of its tables that `batch.member` names.

    Args:
        spec: Spec of CogsGuard.
        catalog: Behaviors, and the roles of the tables until `load` replaces them; or the import path
            of a function that returns such a catalog; the game's own if None.
        **params: Fields of `BehaviorParams`.

    Raises:
        SettingsError: The world is not CogsGuard, or a parameter is wrong.
    """

    def __init__(self, spec: WorldSpec, catalog: CatalogLike = None, **params: Any) -> None:
        self.catalog = load_catalog(catalog)
        self._params = validate_settings(BehaviorParams, params)
        self.rules = parameter_row(spec, self._params)
        self._scratch = allocate_scratch(self.rules)
        self.tables = role_tables(self.catalog.roles, self.catalog)
        self._column_of_parameter = find_parameter_columns(self.catalog)
        self._vibes: dict[bytes, int] = {}
        self._is_explaining = False
        self._explanation = reasons.empty_explanation()
        self._compile(spec)

    @classmethod
    def kernels(cls) -> tuple[Callable[..., Any], ...]:
        """Return the kernels that the constructor compiles, apart from the behaviors."""
        deciding = (update_smart_roles, guards.apply_guards, execution.run_compiled_hooks)
        return (perceive, *deciding, write_programs, play_ticks)

    @classmethod
    def prepare(cls, spec: WorldSpec) -> None:
        """Compile the shared kernels into the cache, in parallel to a process that builds a policy."""
        rules = parameter_row(spec, BehaviorParams())
        memory = allocate_memory(agent_memory_layout(rules), 0)
        _compile_shared_kernels(view_memory(memory, allocate_scratch(rules), rules))

    @property
    def memory_layout(self) -> MemoryLayout:
        """The memory of an agent, its program, and the state of executing it."""
        return {
            **agent_memory_layout(self.rules),
            "program": MemoryField((MAX_BEHAVIORS,), "int16"),
            "active": MemoryField((), "int16"),
            "is_uninterruptible": MemoryField((), "int8"),
            "guard": MemoryField((MAX_BEHAVIORS,), "int16"),
            "threshold": MemoryField((MAX_BEHAVIORS,), "int32"),
            "acted": MemoryField((max(1, len(self.catalog.behaviors)),), "int32"),
            "role": MemoryField((), "int64"),
            "vibe": MemoryField((), "int64"),
        }

    def load(self, arrays: Arrays) -> None:
        """Replace the roles by the arrays of a `RoleTables`, by name.

        Raises:
            SettingsError: An array is missing, of another shape, or names an unknown behavior.
        """
        missing = [name for name in RoleTables._fields if name not in arrays]
        if missing:
            raise SettingsError(f"Role tables need the array '{missing[0]}', which is missing.")
        n_roles = len(arrays["behaviors"])
        for name, current in self.tables._asdict().items():
            expected, shape = (n_roles, *current.shape[1:]), arrays[name].shape
            message = f"The array '{name}' of role tables must be {expected}, not {shape}."
            require(shape == expected, message)
        max_id, n_known = int(np.max(arrays["behaviors"], initial=-1)), len(self.catalog.behaviors)
        require(max_id < n_known, f"Role tables name behavior {max_id}; there are {n_known}.")
        columns = {}
        for name, current in self.tables._asdict().items():
            columns[name] = np.ascontiguousarray(arrays[name], dtype=current.dtype)
        self.tables = RoleTables(**columns)

    def reset_agents(self, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Give new agents their roles, programs and vibes."""
        roles = self.assign_roles(batch, memory, keys)
        memory["role"][batch.memory_index] = roles
        memory["state"][batch.memory_index, col.UID] = batch.uid
        self._write_default_parameters(memory["state"], batch.memory_index)
        self.write_programs(batch, roles, memory, keys)
        in_tables = np.flatnonzero(roles >= 0)
        self.write_genes(self.tables, roles[in_tables], batch.memory_index[in_tables], memory)
        for index in batch.memory_index.tolist():
            memory["vibe"][index] = self._find_vibe(memory["program"][index])

    def assign_roles(self, batch: AgentBatch, memory: Memory, keys: Ints) -> Ints:
        """Return the role of each new agent: a row of the tables, or SMART.

        Args:
            batch: The new agents.
            memory: The policy's memory; "role" holds the roles of parents.
            keys: `[n]`, random keys of the agents' lives.

        Raises:
            SettingsError: An agent's member number is beyond the tables.
        """
        del memory, keys
        max_member = int(batch.member.max(initial=0))
        n_roles = len(self.tables.behaviors)
        message = f"An agent was assigned member {max_member}; the tables have {n_roles} roles."
        require(max_member < n_roles, message)
        return batch.member.copy()

    def write_programs(self, batch: AgentBatch, roles: Ints, memory: Memory, keys: Ints) -> None:
        """Sample the programs of roles and store them in memory.

        Args:
            batch: The new agents.
            roles: `[n]`, what `assign_roles` returned; agents without a table row get no program.
            memory: The policy's memory; "program" is written.
            keys: `[n]`, random keys of the agents' lives, which order tiers that are shuffled.
        """
        programs = np.full((len(roles), MAX_BEHAVIORS), -1, dtype=np.int16)
        in_tables = np.flatnonzero(roles >= 0)
        sampled = programs[in_tables]
        write_programs(self.tables, roles[in_tables], keys[in_tables], sampled)
        programs[in_tables] = sampled
        memory["program"][batch.memory_index] = programs

    def write_genes(self, tables: RoleTables, rows: Ints, agents: Ints, memory: Memory) -> None:
        """Write the guards and parameters of roles into the memory of new agents.

        Args:
            tables: Tables with the roles.
            rows: `[n]`, row of each agent's role.
            agents: `[n]`, rows of the agents in memory.
            memory: The policy's memory; "guard", "threshold" and "state" are written.
        """
        memory["guard"][agents], memory["threshold"][agents] = (
            tables.guard[rows],
            tables.threshold[rows],
        )
        for index, column in enumerate(self._column_of_parameter.values()):
            values = tables.parameters[rows, index].astype(np.int64)
            default = memory["state"][agents, column]
            memory["state"][agents, column] = np.where(values == NO_VALUE, default, values)

    def _write_default_parameters(self, state: Ints, agents: Ints) -> None:
        """Write the parameters that hold for roles which do not set them."""
        for parameter in self.catalog.parameters:
            state[agents, self._column_of_parameter[parameter.name]] = parameter.default
        write_parameters(state, agents, self._params)

    def act_async(self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Update the agents' memory, then run one step of their programs."""
        rows, agents = np.require(observations, requirements=["C", "W"]), batch.memory_index
        agent_memory = view_memory(memory, self._scratch, self.rules)
        programs, roles = memory["program"], memory["role"]
        state = execution.ExecutionState(programs, memory["active"], memory["is_uninterruptible"])
        perceive(agent_memory, rows.view(np.uint16), rows.view(np.float32), agents, keys)
        smart = agents[roles[agents] == SMART]
        update_smart_roles(agent_memory, state, smart, memory["vibe"], self._smart_programs)
        genes = guards.GuardState(memory["guard"], memory["threshold"], memory["acted"])
        guards.apply_guards(agent_memory, state, genes, agents)
        step = execution.new_step(agents, self._is_explaining)

        def call_hook(behavior: int, hook: int, i: int) -> int:
            """Call a hook in plain Python for row `i` of the batch."""
            view = self.view_agent(memory, int(step.agents[i]))
            return python_behaviors.call_python_hook(self.catalog.behaviors[behavior], hook, view)

        execution.run_step(self._behavior_table, state, agent_memory, step, call_hook)
        if self._is_explaining:
            sizes = len(self.tables.behaviors), len(self.catalog.behaviors)
            self._explanation = reasons.explain_step(step.trace, programs, roles, agents, *sizes)
        self._actions = np.stack([step.action, memory["vibe"][agents]], axis=1)

    def view_agent(self, memory: Memory, memory_index: int) -> python_behaviors.AgentView:
        """Return the state of an agent as behaviors take it.

        Args:
            memory: The policy's memory.
            memory_index: The agent's row in memory, such as `batch.memory_index[0]`.
        """
        agent_memory = view_memory(memory, self._scratch, self.rules)
        return python_behaviors.AgentView(agent_memory, memory_index, self._column_of_parameter)

    def make_fused_player(
        self, world: object, memory: Memory, observations: Bytes, actions: Ints
    ) -> FusedRolePlayer | None:
        """Return a player of whole stretches of ticks; None if Python is needed in between.

        It is, for explanations, behaviors in plain Python, and newborns, which need roles.

        Args:
            world: The batch of worlds.
            memory: The policy's memory.
            observations: `[W * N, row_bytes]`, observations of the batch.
            actions: `[W * N, 2]`, actions of the batch.
        """
        has_python = bool((self._behavior_table.hooks == PYTHON_ADDRESS).any())
        if not isinstance(world, CogsguardWorld) or world.settings.temple:
            return None
        if self._is_explaining or has_python:
            return None
        agent_memory = view_memory(memory, self._scratch, self.rules)
        table, programs = self._behavior_table, self._smart_programs
        return FusedRolePlayer(world, table, agent_memory, memory, programs, observations, actions)

    @property
    def explanation_schema(self) -> ExplanationSchema:
        """Names of behaviors, outcomes and roles.

        Loaded tables hold roles without names; a role that is also in the catalog has its name there,
        any other is written out.
        """
        names = {role.genome: role.name for role in self.catalog.roles}
        role_names = []
        for row in range(len(self.tables.behaviors)):
            if self.tables.behaviors[row, 0] < 0:
                role_names.append(reasons.IDLE_NAME)
                continue
            role = role_from_tables(self.tables, row, self.catalog)
            role_names.append(names.get(role.genome) or self.catalog.format_role(role))
        behavior_names = [behavior.name for behavior in self.catalog.behaviors]
        return reasons.make_schema(behavior_names, role_names)

    def enable_explanations(self, enabled: bool) -> None:
        """Start or stop recording explanations, which cost nothing while disabled."""
        self._is_explaining, self._explanation = enabled, reasons.empty_explanation()

    def last_explanation(self) -> ExplanationBatch:
        """Return which behavior of each agent acted last, and why those above it did not."""
        return self._explanation

    def _find_vibe(self, program: AnyArray) -> int:
        """Return the vibe that shows the role of a program; cached by program."""
        key = program.tobytes()
        if key not in self._vibes:
            ids = tuple(program[program >= 0].tolist())
            name = codes.VIBES[0]
            if ids:
                name = map_role_to_vibe(self.catalog, RoleDef((RoleTier(ids),)))
            self._vibes[key] = codes.VIBES.index(name) if name in codes.VIBES else 0
        return self._vibes[key]

    def _compile(self, spec: WorldSpec) -> None:
        """Compile the kernels, or load them from the cache, by acting for an empty batch.

        The shared kernels come last: a helper process begins with them; see `prepare`.
        """
        memory = allocate_memory(self.memory_layout, 0)
        agent_memory = view_memory(memory, self._scratch, self.rules)
        self._behavior_table = build_behavior_table(self.catalog, agent_memory)
        self._smart_programs = self._make_seeded_programs()
        batch = empty_batch()
        self.act_async(np.zeros((0, spec.row_bytes), dtype=np.uint8), batch, memory, batch.uid)
        self.write_programs(batch, batch.uid, memory, batch.uid)
        compile_play_ticks(self._behavior_table, agent_memory, memory, self._smart_programs)
        _compile_shared_kernels(agent_memory)

    def _make_seeded_programs(self) -> Ints:
        """Return `[4, MAX_BEHAVIORS + 1]`: the program of each seeded role, then its vibe."""
        seeded = role_tables(load_catalog(None).roles).behaviors.astype(np.int64)
        vibes = [[self._find_vibe(row.astype(np.int16))] for row in seeded]
        return np.ascontiguousarray(np.hstack([seeded, np.array(vibes)]))


def _compile_shared_kernels(memory: AgentMemory) -> None:
    """Compile the kernels that behaviors share, and store their addresses in the rules."""
    for column, shared_kernel in _SHARED_KERNELS:
        memory.rules[column] = get_function_address(shared_kernel, memory, 0, 0, 0)


def build_behavior_table(catalog: RoleCatalog, memory: AgentMemory) -> execution.BehaviorTable:
    """Return the addresses of a catalog's hooks; PYTHON_ADDRESS for those in plain Python.

    The second half of the rows are the disabled twins of the behaviors; see `guards`.
    """
    addresses = [
        get_function_address(hook.kernel, memory, 0)
        if isinstance(hook, CompiledHook)
        else PYTHON_ADDRESS
        for behavior in catalog.behaviors
        for hook in (behavior.can_start, behavior.act, behavior.should_terminate)
    ]
    hooks_of_twin = (guards.is_disabled, guards.is_disabled, guards.stop_disabled)
    disabled = [get_function_address(hook, memory, 0) for hook in hooks_of_twin]
    addresses += disabled * len(catalog.behaviors)
    hooks = np.array(addresses, dtype=np.int64).reshape(-1, 3)
    interruptible = [behavior.interruptible for behavior in catalog.behaviors] * 2
    return execution.BehaviorTable(hooks, np.array(interruptible, dtype=np.bool_))
