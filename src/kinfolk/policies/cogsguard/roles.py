"""Role policies: agents that run the programs of their roles on what they remember."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays, Bytes, Ints
from kinfolk.core.errors import SettingsError
from kinfolk.core.hooks import PLAIN, address_of
from kinfolk.core.settings import read
from kinfolk.core.spaces import WorldSpec
from kinfolk.policies.base import Cell, Memory, MemoryLayout, Rows, allocate, no_rows
from kinfolk.policies.cogsguard.aims import aim
from kinfolk.policies.cogsguard.catalog import catalog_of, cogs_catalog, is_compiled
from kinfolk.policies.cogsguard.explaining import IDLE_NAME, nothing_told, reasons_of, told
from kinfolk.policies.cogsguard.exploring import explore
from kinfolk.policies.cogsguard.homing import homewards
from kinfolk.policies.cogsguard.knowledge import (
    AIM_TOOL,
    EXPLORE_TOOL,
    FIND_TOOL,
    HOME_TOOL,
    WALK_TOOL,
    Tuning,
    rules_row,
)
from kinfolk.policies.cogsguard.memory import LIFE, Mind, mind_layout, mind_of, scratch_for
from kinfolk.policies.cogsguard.paths import walk
from kinfolk.policies.cogsguard.perceive import perceive
from kinfolk.policies.cogsguard.plain import ask_plainly
from kinfolk.policies.cogsguard.searches import find_way
from kinfolk.policies.cogsguard.smart import follow_callings
from kinfolk.policies.reasons import Reasons, Why
from kinfolk.policies.simple import Reactive
from kinfolk.roles.catalog import RoleCatalog
from kinfolk.roles.execution import Seats, Table, new_round, run, run_options
from kinfolk.roles.materialise import (
    RoleTables,
    materialise_rows,
    role_from_tables,
    role_tables,
)
from kinfolk.roles.model import MOST_BEHAVIORS, RoleDef, RoleTier
from kinfolk.roles.vibes import map_role_to_vibe
from kinfolk.worlds.cogsguard.codes import VIBES

_TOOLS = (
    (FIND_TOOL, find_way),
    (WALK_TOOL, walk),
    (EXPLORE_TOOL, explore),
    (AIM_TOOL, aim),
    (HOME_TOOL, homewards),
)


class RolePolicy(Reactive):
    """Plays for every row a role of its tables: the one that `rows.member` names.

    Args:
        spec: The face of CogsGuard.
        catalog: Behaviours, and the roles that make the tables until `load` brings others; or
            the import path of a function that makes such a catalogue.
        tuning: Settings of `knowledge.Tuning`.
    """

    def __init__(
        self, spec: WorldSpec, catalog: RoleCatalog | str | None = None, **tuning: Any
    ) -> None:
        self.catalog = catalog_of(catalog)
        self.rules = rules_row(spec, read(Tuning, tuning))
        self._scratch = scratch_for(self.rules)
        self.tables = role_tables(self.catalog.roles)
        self._vibes: dict[bytes, int] = {}
        self._explains = False
        self._told = nothing_told()
        self._compile(spec)

    @classmethod
    def kernels(cls) -> tuple[Callable[..., Any], ...]:
        """Those that are compiled when a policy is made, apart from the behaviours."""
        return (perceive, follow_callings, run_options, materialise_rows)

    @classmethod
    def prepare(cls, spec: WorldSpec) -> None:
        """Compile the tools, in a process beside the one that makes a policy."""
        rules = rules_row(spec, Tuning())
        _compile_tools(mind_of(allocate(mind_layout(rules), 0), scratch_for(rules), rules))

    @property
    def memory(self) -> MemoryLayout:
        """The mind, the program, and where in it the agent is."""
        return {
            **mind_layout(self.rules),
            "program": Cell((MOST_BEHAVIORS,), "int16"),
            "active": Cell((), "int16"),
            "held": Cell((), "int8"),
            "role": Cell((), "int64"),
            "vibe": Cell((), "int64"),
        }

    def load(self, arrays: Arrays) -> None:
        """Take other roles: the arrays of `RoleTables` by name.

        Raises:
            SettingsError: One is missing, of another shape, or names an unknown behaviour.
        """
        missing = [name for name in RoleTables._fields if name not in arrays]
        if missing:
            raise SettingsError(f"Role tables need the array '{missing[0]}', which is not there.")
        shape = (len(arrays["behaviors"]), MOST_BEHAVIORS)
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

    def begin(self, rows: Rows, memory: Memory, keys: Ints) -> None:
        """Give new lives their roles, programs and vibes."""
        roles = self.roles_of(rows, memory, keys)
        memory["role"][rows.place] = roles
        memory["notes"][rows.place, LIFE] = rows.uid
        self.write_programs(rows, roles, memory, keys)
        for place in rows.place.tolist():
            memory["vibe"][place] = self._vibe_of(memory["program"][place])

    def roles_of(self, rows: Rows, memory: Memory, keys: Ints) -> Ints:
        """Which role each new life takes on: a row of the tables, or SMART.

        Raises:
            SettingsError: A member is seated for which there is no role.
        """
        del memory, keys
        most = int(rows.member.max(initial=0))
        if most >= len(self.tables.behaviors):
            raise SettingsError(
                f"Member {most} was seated; the tables have {len(self.tables.behaviors)} roles."
            )
        return rows.member.copy()

    def write_programs(self, rows: Rows, roles: Ints, memory: Memory, keys: Ints) -> None:
        """Draw the programs of roles, each from the key of its life."""
        programs = np.full((len(roles), MOST_BEHAVIORS), -1, dtype=np.int16)
        named = np.flatnonzero(roles >= 0)
        drawn = np.ascontiguousarray(programs[named])
        materialise_rows(self.tables, roles[named], keys[named], drawn)
        programs[named] = drawn
        memory["program"][rows.place] = programs

    def ask(self, observations: Bytes, rows: Rows, memory: Memory, keys: Ints) -> None:
        """Look, remember, and act by the program."""
        fit = np.require(observations, requirements=["C", "W"])
        mind = mind_of(memory, self._scratch, self.rules)
        seats = Seats(memory["program"], memory["active"], memory["held"])
        perceive(mind, fit.view(np.uint16), fit.view(np.float32), rows.place, keys)
        follow_callings(mind, seats, rows.place, memory["role"], memory["vibe"], self._callings)
        asked = new_round(rows.place, self._explains)
        run(
            self._table,
            seats,
            mind,
            asked,
            lambda b, h, i: self._plainly(mind, asked.place, b, h, i),
        )
        if self._explains:
            roles = len(self.tables.behaviors)
            self._told = told(asked.trace, memory["program"], memory["role"], rows.place, roles)
        self._actions = np.stack([asked.action, memory["vibe"][rows.place]], axis=1)

    @property
    def reasons(self) -> Reasons:
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
            known.append(names.get(role.tiers) or self.catalog.written(role))
        return reasons_of([one.name for one in self.catalog.behaviors], known)

    def explain(self, on: bool) -> None:
        """Keep the reasons of the last question from now on, or stop; free when off."""
        self._explains, self._told = on, nothing_told()

    def why(self) -> Why:
        """Which behaviour of each row acted in the last question, and what kept those above it."""
        return self._told

    def _plainly(self, mind: Mind, place: Ints, behavior: int, hook: int, i: int) -> int:
        return ask_plainly(self.catalog.behaviors[behavior], hook, mind, int(place[i]))

    def _vibe_of(self, program: AnyArray) -> int:
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
        memory = allocate(self.memory, 0)
        mind = mind_of(memory, self._scratch, self.rules)
        self._table = hook_table(self.catalog, mind)
        self._callings = self._calling_programs()
        rows = no_rows()
        nobody = rows.uid
        self.ask(np.zeros((0, spec.row_bytes), dtype=np.uint8), rows, memory, nobody)
        self.write_programs(rows, nobody, memory, nobody)
        _compile_tools(mind)

    def _calling_programs(self) -> Ints:
        """Programs and vibes of the seeded roles, `[4, 12 + 1]`, for smart agents."""
        seeded = role_tables(cogs_catalog().roles).behaviors.astype(np.int64)
        vibes = [[self._vibe_of(row.astype(np.int16))] for row in seeded]
        return np.ascontiguousarray(np.hstack([seeded, np.array(vibes)]))


def _compile_tools(mind: Mind) -> None:
    """Compile the routines that behaviours share, and write down where they are."""
    for column, tool in _TOOLS:
        mind.rules[column] = address_of(tool, mind, 0, 0, 0)


def hook_table(catalog: RoleCatalog, mind: Mind) -> Table:
    """The behaviours of a catalogue as addresses; those in plain Python are marked."""
    hooks = [
        [
            address_of(hook, mind, 0) if is_compiled(hook) else PLAIN
            for hook in (one.can_start, one.act, one.should_terminate)
        ]
        for one in catalog.behaviors
    ]
    interruptible = [one.interruptible for one in catalog.behaviors]
    return Table(np.array(hooks, dtype=np.int64), np.array(interruptible, dtype=np.bool_))
