"""Role policies with evolution: hybrids for newborns, roles sampled from a pool, online evolution.

`kin://roles?evolution=1` builds them; `&learn=1` updates the pool between games.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kinfolk.core.arrays import Ints
from kinfolk.core.errors import SettingsError, require
from kinfolk.core.random import KeyedRng, fold_in, seed_key
from kinfolk.core.settings import validate_settings
from kinfolk.core.spaces import WorldSpec
from kinfolk.policies.base import AgentBatch, Memory, MemoryField, MemoryLayout
from kinfolk.policies.role_domain import ROLE_PREFIX, role_tables_in_memory
from kinfolk.policies.scripted.cogsguard import columns as col
from kinfolk.policies.scripted.cogsguard import teams
from kinfolk.policies.scripted.cogsguard.catalog import load_catalog
from kinfolk.policies.scripted.cogsguard.memory import BehaviorParams
from kinfolk.policies.scripted.cogsguard.role_policy import RolePolicy
from kinfolk.roles import program
from kinfolk.roles.coordinator import EvolutionaryRoleCoordinator
from kinfolk.roles.fitness import pick_role_id_weighted
from kinfolk.roles.generations import make_initial_pool
from kinfolk.roles.history import parse_history, restore_history
from kinfolk.roles.model import MAX_BEHAVIORS, EvolutionConfig, RoleDef
from kinfolk.roles.operators import make_hybrid, sample_role
from kinfolk.roles.program import RoleTables

HYBRID, EXPLORED = -2, -3  # role ids of roles that are in no table, only in memory
EVOLUTION_FLAGS = ("evolution", "evolutionary", "evolve")
_ON, _OFF = ("1", "true", "yes", "on"), ("0", "false", "no", "off")
_POOL, _EXPLORE, _PICK = range(3)  # branches of random keys


class HybridRolePolicy(RolePolicy):
    """Plays roles as `RolePolicy` does, and gives every newborn a hybrid of its parents' roles.

    A hybrid is in no catalog while the game goes on. So the role itself lies in the agent's memory,
    from which its own children inherit, and where the job reads it after the game.

    Args:
        spec: Spec of CogsGuard.
        evolution: Fields of `EvolutionConfig`.
        **kwargs: Further arguments of `RolePolicy`.
    """

    def __init__(
        self, spec: WorldSpec, evolution: Mapping[str, Any] | None = None, **kwargs: Any
    ) -> None:
        self.evolution = validate_settings(EvolutionConfig, evolution or {})
        super().__init__(spec, **kwargs)

    @property
    def memory_layout(self) -> MemoryLayout:
        """The memory of a role policy, and the role itself."""
        role_fields = {
            f"{ROLE_PREFIX}{name}": MemoryField(array.shape[1:], str(array.dtype))
            for name, array in program.role_tables([])._asdict().items()
        }
        return {**super().memory_layout, **role_fields}

    def assign_roles(self, batch: AgentBatch, memory: Memory, keys: Ints) -> Ints:
        """Return an initial agent's member number; for a newborn HYBRID, or its parent's role id.

        Smart and idle parents have no role in memory to inherit.
        """
        roles, tables = super().assign_roles(batch, memory, keys), role_tables_in_memory(memory)
        for i, indices in enumerate(batch.parent_memory_index.tolist()):
            parents = [index for index in indices if index >= 0]
            if parents:
                has_role = any(tables.behaviors[parent, 0] >= 0 for parent in parents)
                roles[i] = HYBRID if has_role else memory["role"][parents[0]]
        return roles

    def write_programs(self, batch: AgentBatch, roles: Ints, memory: Memory, keys: Ints) -> None:
        """Store each new agent's role in its memory, and sample its program from it."""
        tables = role_tables_in_memory(memory)
        for i, (index, role) in enumerate(zip(batch.memory_index, roles.tolist(), strict=True)):
            source, row = self.tables, role
            if role in (HYBRID, EXPLORED):
                parents = batch.parent_memory_index[i].tolist()
                made = self._make_role(role, tables, parents, int(keys[i]))
                source, row = program.role_tables([made], self.catalog), 0
            for name in RoleTables._fields:
                getattr(tables, name)[index] = getattr(source, name)[row]
        programs = np.empty((len(roles), MAX_BEHAVIORS), dtype=np.int16)
        columns = {name: array[batch.memory_index] for name, array in tables._asdict().items()}
        new_tables = program.tables_from_arrays(columns)
        program.write_programs(new_tables, np.arange(len(roles)), keys, programs)
        memory["program"][batch.memory_index] = programs
        self.write_genes(tables, batch.memory_index, batch.memory_index, memory)

    def _make_role(self, role: int, tables: RoleTables, parents: list[int], key: int) -> RoleDef:
        """Return a newly sampled role, or the hybrid of two parents' roles.

        Args:
            role: EXPLORED or HYBRID.
            tables: Roles in memory, one row per agent slot.
            parents: Memory rows of the parents, -1 for a missing one.
            key: Random key of the agent's life.
        """
        if role == EXPLORED:
            return sample_role(self.catalog, key, self.evolution, "explore")
        with_roles = [p for p in parents if p >= 0 and tables.behaviors[p, 0] >= 0]
        first = program.role_from_tables(tables, with_roles[0], self.catalog)
        second = program.role_from_tables(tables, with_roles[-1], self.catalog)
        return make_hybrid(self.catalog, first, second, key, self.evolution)


class RolePolicyFactory:
    """`kin://roles`: fixed counts of roles, roles sampled from a pool, or a pool that evolves.

    Args:
        spec: Spec of CogsGuard.
        **kwargs: `evolution` (or `evolutionary`, `evolve`) and `learn` choose the class; the others
            are arguments of `RoleCountPolicy`, `SampledRolePolicy` or `OnlineRolePolicy`.
    """

    kernels, prepare = RolePolicy.kernels, RolePolicy.prepare

    def __new__(cls, spec: WorldSpec, **kwargs: Any) -> Any:
        """Return the policy that the flags choose.

        Raises:
            SettingsError: A flag is neither on nor off, or `learn` is given without evolution.
        """
        on = [is_on(flag, kwargs.pop(flag)) for flag in EVOLUTION_FLAGS if flag in kwargs]
        learn = is_on("learn", kwargs.pop("learn", "0"))
        if learn and not any(on):
            raise SettingsError("learn=1 needs evolution=1: only a pool that evolves can learn.")
        if not any(on):
            return teams.RoleCountPolicy(spec, **kwargs)
        return OnlineRolePolicy(spec, **kwargs) if learn else SampledRolePolicy(spec, **kwargs)


def is_on(flag: str, value: Any) -> bool:
    """Return whether a flag of a URI is on.

    >>> is_on("evolve", "Yes"), is_on("evolve", 1), is_on("evolve", False)
    (True, True, False)

    Raises:
        SettingsError: The value is neither on nor off.
    """
    text = str(value).lower()
    if text not in (*_ON, *_OFF):
        raise SettingsError(f"{flag} must be one of {', '.join(_ON + _OFF)}, not '{value}'.")
    return text in _ON


class SampledRolePolicy(HybridRolePolicy):
    """Fixes the roles of some agents by counts and samples the others from a pool by fitness.

    With probability `exploration_chance` an agent gets a new role instead. The pool is frozen: the
    same game gives the same roles, on any number of workers.

    Args:
        spec: Spec of CogsGuard.
        history: The text of a `role_history.json`; without it, the pool is the seeded roles and
            sampled ones.
        seed: Seed of the sampled pool.
        catalog: Import path of a function that returns a catalog; the game's own if None.
        **counts_and_params: Counts by role name, fields of `BehaviorParams` and of
            `EvolutionConfig`.

    Raises:
        SettingsError: The counts exceed a team, or a name is unknown.
    """

    def __init__(
        self,
        spec: WorldSpec,
        history: str | None = None,
        seed: int = 0,
        catalog: str | None = None,
        **counts_and_params: Any,
    ) -> None:
        evolution = teams.pop_settings(counts_and_params, EvolutionConfig)
        params = teams.pop_settings(counts_and_params, BehaviorParams)
        loaded = load_catalog(catalog)
        pool = None
        if history is not None:
            entries = parse_history(str(history), "The history")
            pool = restore_history(entries, loaded, "The history")
        fixed = teams.expand_role_counts(loaded, counts_and_params)
        super().__init__(spec, evolution, catalog=loaded, **params)
        key = fold_in(seed_key(seed), _POOL)
        self.pool = make_initial_pool(loaded, key, self.evolution) if pool is None else pool
        self.tables = program.role_tables(loaded.roles, loaded)
        self._fixed_roles, self._team_size = fixed, int(self.rules[col.AGENTS])
        teams.check_team_size(fixed, self._team_size)

    def assign_roles(self, batch: AgentBatch, memory: Memory, keys: Ints) -> Ints:
        """Return a hybrid for a newborn; for an initial agent its fixed role, or a sampled one."""
        roles, fixed = super().assign_roles(batch, memory, keys), self._fixed_roles
        for i in np.flatnonzero(roles >= 0).tolist():
            number = int(batch.uid[i]) % self._team_size
            is_fixed = number < len(fixed)
            roles[i] = fixed[number] if is_fixed else self._sample_role_id(int(keys[i]))
        return roles

    def _sample_role_id(self, key: int) -> int:
        """Return a role of the pool, weighted by fitness, or EXPLORED."""
        if KeyedRng(fold_in(key, _EXPLORE)).bernoulli(self.evolution.exploration_chance):
            return EXPLORED
        return pick_role_id_weighted(self.catalog, self.pool, fold_in(key, _PICK))


class OnlineRolePolicy(SampledRolePolicy):
    """Samples roles from a coordinator that `finish_game` updates between games.

    It keeps state from game to game, so it plays one game at a time, and in one process only: see
    `kinfolk.jobs.evolve_roles.online`. An evaluation, which plays many games at once, is refused.

    Args:
        spec: Spec of CogsGuard.
        games_per_generation: Games after which a new generation of roles begins.
        **counts_and_params: Further arguments of `SampledRolePolicy`.
    """

    def __init__(
        self, spec: WorldSpec, games_per_generation: int = 10, **counts_and_params: Any
    ) -> None:
        super().__init__(spec, **counts_and_params)
        seed = int(counts_and_params.get("seed", 0))
        self.coordinator = EvolutionaryRoleCoordinator(
            self._team_size, self.catalog, games_per_generation, self.evolution, seed, self.pool
        )

    def assign_roles(self, batch: AgentBatch, memory: Memory, keys: Ints) -> Ints:
        """Return the roles that the coordinator assigns; a newborn gets the hybrid queued for it."""
        message = "kin://roles?learn=1 learns from one game at a time, and is not for evaluations."
        require(len(set(batch.world.tolist())) == 1, message)
        role_ids, agents = memory["role"], batch.uid.tolist()
        for agent, parents in zip(agents, batch.parent_memory_index.tolist(), strict=True):
            if agent < len(self._fixed_roles):
                self.coordinator.assignments.setdefault(agent, self._fixed_roles[agent])
            elif min(parents) >= 0 and agent not in self.coordinator.assignments:
                self.coordinator.queue_hybrid(int(role_ids[parents[0]]), int(role_ids[parents[1]]))
            self.coordinator.assign_role(agent)
        self.tables = program.role_tables(self.catalog.roles, self.catalog)
        return np.array([self.coordinator.assignments[a] for a in agents], np.int64)

    def finish_game(self, scores: dict[int, float], won: bool) -> bool:
        """Record the agents' scores by uid; return whether a new generation began."""
        for agent, score in scores.items():
            self.coordinator.record_agent_performance(agent, score, won)
        return self.coordinator.end_game(won)
