"""Role policies: agents that run the programs of their roles on what they remember."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays, Bytes, Ints
from kinfolk.core.errors import SettingsError
from kinfolk.core.function_table import PYTHON_ADDRESS, get_function_address
from kinfolk.core.settings import validate_settings
from kinfolk.core.spaces import WorldSpec
from kinfolk.policies.base import (
    AgentBatch,
    Memory,
    MemoryField,
    MemoryLayout,
    allocate_memory,
    empty_batch,
)
from kinfolk.policies.explain import ExplanationBatch, ExplanationSchema
from kinfolk.policies.scripted.cogsguard.adaptive_baseline import update_smart_roles
from kinfolk.policies.scripted.cogsguard.behaviors.explanations import (
    IDLE_NAME,
    empty_explanation,
    explain_step,
    make_schema,
)
from kinfolk.policies.scripted.cogsguard.behaviors.python_behaviors import call_python_hook
from kinfolk.policies.scripted.cogsguard.catalog import cogs_catalog, is_compiled, load_catalog
from kinfolk.policies.scripted.cogsguard.exploration import explore
from kinfolk.policies.scripted.cogsguard.memory import (
    UID,
    AgentMemory,
    agent_memory_layout,
    allocate_scratch,
    view_memory,
)
from kinfolk.policies.scripted.cogsguard.parameters import (
    EXPLORE_KERNEL,
    FIND_PATH_KERNEL,
    HOME_KERNEL,
    STEP_KERNEL,
    TARGET_KERNEL,
    BehaviorParams,
    parameter_row,
)
from kinfolk.policies.scripted.cogsguard.pathfinding import find_path, step_towards
from kinfolk.policies.scripted.cogsguard.perception import perceive
from kinfolk.policies.scripted.cogsguard.shared_kernels import return_home
from kinfolk.policies.scripted.cogsguard.targets import choose_target
from kinfolk.policies.stateless import StatelessPolicy
from kinfolk.roles.catalog import RoleCatalog, map_role_to_vibe
from kinfolk.roles.execution import (
    BehaviorTable,
    ExecutionState,
    new_step,
    run_compiled_hooks,
    run_step,
)
from kinfolk.roles.model import MAX_BEHAVIORS, RoleDef, RoleTier
from kinfolk.roles.program import RoleTables, role_from_tables, role_tables, write_programs
from kinfolk.worlds.cogsguard.codes import VIBES

_SHARED_KERNELS = (
    (FIND_PATH_KERNEL, find_path),
    (STEP_KERNEL, step_towards),
    (EXPLORE_KERNEL, explore),
    (TARGET_KERNEL, choose_target),
    (HOME_KERNEL, return_home),
)


class RolePolicy(StatelessPolicy):
    """Plays for every row a role of its tables: the one that `rows.member` names.

    Args:
        spec: The face of CogsGuard.
        catalog: Behaviours, and the roles that make the tables until `load` brings others; or
            the import path of a function that makes such a catalogue.
        tuning: Settings of `knowledge.Tuning`.
    """

    def __init__(
        self, spec: WorldSpec, catalog: RoleCatalog | str | None = None, **params: Any
    ) -> None:
        self.catalog = load_catalog(catalog)
        self.rules = parameter_row(spec, validate_settings(BehaviorParams, params))
        self._scratch = allocate_scratch(self.rules)
        self.tables = role_tables(self.catalog.roles)
        self._vibes: dict[bytes, int] = {}
        self._is_explaining = False
        self._explanation = empty_explanation()
        self._compile(spec)

    @classmethod
    def kernels(cls) -> tuple[Callable[..., Any], ...]:
        """Those that are compiled when a policy is made, apart from the behaviours."""
        return (perceive, update_smart_roles, run_compiled_hooks, write_programs)

    @classmethod
    def prepare(cls, spec: WorldSpec) -> None:
        """Compile the tools, in a process beside the one that makes a policy."""
        rules = parameter_row(spec, BehaviorParams())
        _compile_shared_kernels(
            view_memory(
                allocate_memory(agent_memory_layout(rules), 0), allocate_scratch(rules), rules
            )
        )

    @property
    def memory_layout(self) -> MemoryLayout:
        """The mind, the program, and where in it the agent is."""
        return {
            **agent_memory_layout(self.rules),
            "program": MemoryField((MAX_BEHAVIORS,), "int16"),
            "active": MemoryField((), "int16"),
            "held": MemoryField((), "int8"),
            "role": MemoryField((), "int64"),
            "vibe": MemoryField((), "int64"),
        }

    def load(self, arrays: Arrays) -> None:
        """Take other roles: the arrays of `RoleTables` by name.

        Raises:
            SettingsError: One is missing, of another shape, or names an unknown behaviour.
        """
        missing = [name for name in RoleTables._fields if name not in arrays]
        if missing:
            raise SettingsError(f"Role tables need the array '{missing[0]}', which is not there.")
        shape = (len(arrays["behaviors"]), MAX_BEHAVIORS)
        for name in RoleTables._fields:
            if arrays[name].shape != shape:
                raise SettingsError(
                    f"The array '{name}' of role tables must be {shape}, not {arrays[name].shape}."
                )
        most = int(np.max(arrays["behaviors"], initial=-1))
        if most >= len(self.catalog.behaviors):
            raise SettingsError(
                f"Role tables name behaviour {most}; there are {len(self.catalog.behaviors)}."
            )
        fit = {
            name: np.ascontiguousarray(arrays[name], dtype=getattr(self.tables, name).dtype)
            for name in RoleTables._fields
        }
        self.tables = RoleTables(**fit)

    def reset_agents(self, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Give new lives their roles, programs and vibes."""
        roles = self.assign_roles(batch, memory, keys)
        memory["role"][batch.memory_index] = roles
        memory["state"][batch.memory_index, UID] = batch.uid
        self.write_programs(batch, roles, memory, keys)
        for place in batch.memory_index.tolist():
            memory["vibe"][place] = self._vibe_of_program(memory["program"][place])

    def assign_roles(self, batch: AgentBatch, memory: Memory, keys: Ints) -> Ints:
        """Which role each new life takes on: a row of the tables, or SMART.

        Raises:
            SettingsError: A member is seated for which there is no role.
        """
        del memory, keys
        most = int(batch.member.max(initial=0))
        if most >= len(self.tables.behaviors):
            raise SettingsError(
                f"Member {most} was seated; the tables have {len(self.tables.behaviors)} roles."
            )
        return batch.member.copy()

    def write_programs(self, batch: AgentBatch, roles: Ints, memory: Memory, keys: Ints) -> None:
        """Draw the programs of roles, each from the key of its life."""
        programs = np.full((len(roles), MAX_BEHAVIORS), -1, dtype=np.int16)
        named = np.flatnonzero(roles >= 0)
        drawn = np.ascontiguousarray(programs[named])
        write_programs(self.tables, roles[named], keys[named], drawn)
        programs[named] = drawn
        memory["program"][batch.memory_index] = programs

    def act_async(self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Look, remember, and act by the program."""
        fit = np.require(observations, requirements=["C", "W"])
        mind = view_memory(memory, self._scratch, self.rules)
        seats = ExecutionState(memory["program"], memory["active"], memory["held"])
        perceive(mind, fit.view(np.uint16), fit.view(np.float32), batch.memory_index, keys)
        update_smart_roles(
            mind, seats, batch.memory_index, memory["role"], memory["vibe"], self._smart_programs
        )
        asked = new_step(batch.memory_index, self._is_explaining)
        run_step(
            self._behavior_table,
            seats,
            mind,
            asked,
            lambda b, h, i: self._call_python_hook(mind, asked.agents, b, h, i),
        )
        if self._is_explaining:
            roles = len(self.tables.behaviors)
            self._explanation = explain_step(
                asked.trace, memory["program"], memory["role"], batch.memory_index, roles
            )
        self._actions = np.stack([asked.action, memory["vibe"][batch.memory_index]], axis=1)

    @property
    def explanation_schema(self) -> ExplanationSchema:
        """The behaviours, what can come of each, and the roles: by name where they have one.

        Tables that were loaded hold roles without names; those that are in the catalogue too are
        called as they are there, any other is written out.
        """
        names = {role.tiers: role.name for role in self.catalog.roles}
        known = []
        for row in range(len(self.tables.behaviors)):
            if self.tables.behaviors[row, 0] < 0:
                known.append(IDLE_NAME)
                continue
            role = role_from_tables(self.tables, row)
            known.append(names.get(role.tiers) or self.catalog.format_role(role))
        return make_schema([one.name for one in self.catalog.behaviors], known)

    def enable_explanations(self, enabled: bool) -> None:
        """Keep the reasons of the last question from now on, or stop; free when off."""
        self._is_explaining, self._explanation = enabled, empty_explanation()

    def last_explanation(self) -> ExplanationBatch:
        """Which behaviour of each row acted in the last question, and what kept those above it."""
        return self._explanation

    def _call_python_hook(
        self, memory: AgentMemory, agents: Ints, behavior: int, hook: int, i: int
    ) -> int:
        return call_python_hook(self.catalog.behaviors[behavior], hook, memory, int(agents[i]))

    def _vibe_of_program(self, program: AnyArray) -> int:
        key = program.tobytes()
        if key not in self._vibes:
            ids = tuple(program[program >= 0].tolist())
            name = map_role_to_vibe(self.catalog, RoleDef((RoleTier(ids),))) if ids else VIBES[0]
            self._vibes[key] = VIBES.index(name) if name in VIBES else 0
        return self._vibes[key]

    def _compile(self, spec: WorldSpec) -> None:
        """Compile all that is called, or load it from the cache, before anybody waits.

        The tools come last: a process that helps begins with them; see `prepare`.
        """
        memory = allocate_memory(self.memory_layout, 0)
        mind = view_memory(memory, self._scratch, self.rules)
        self._behavior_table = build_behavior_table(self.catalog, mind)
        self._smart_programs = self._seeded_programs()
        rows = empty_batch()
        nobody = rows.uid
        self.act_async(np.zeros((0, spec.row_bytes), dtype=np.uint8), rows, memory, nobody)
        self.write_programs(rows, nobody, memory, nobody)
        _compile_shared_kernels(mind)

    def _seeded_programs(self) -> Ints:
        """Programs and vibes of the seeded roles, `[4, 12 + 1]`, for smart agents."""
        seeded = role_tables(cogs_catalog().roles).behaviors.astype(np.int64)
        vibes = [[self._vibe_of_program(row.astype(np.int16))] for row in seeded]
        return np.ascontiguousarray(np.hstack([seeded, np.array(vibes)]))


def _compile_shared_kernels(memory: AgentMemory) -> None:
    """Compile the routines that behaviours share, and write down where they are."""
    for column, tool in _SHARED_KERNELS:
        memory.rules[column] = get_function_address(tool, memory, 0, 0, 0)


def build_behavior_table(catalog: RoleCatalog, memory: AgentMemory) -> BehaviorTable:
    """The behaviours of a catalogue as addresses; those in plain Python are marked."""
    hooks = [
        [
            get_function_address(hook, memory, 0) if is_compiled(hook) else PYTHON_ADDRESS
            for hook in (one.can_start, one.act, one.should_terminate)
        ]
        for one in catalog.behaviors
    ]
    interruptible = [one.interruptible for one in catalog.behaviors]
    return BehaviorTable(np.array(hooks, dtype=np.int64), np.array(interruptible, dtype=np.bool_))
