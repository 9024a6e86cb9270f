"""Role policies with evolution: hybrids for newborns, a pool that evolves in play, a frozen pool."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from kinfolk.core.arrays import Ints
from kinfolk.core.errors import SettingsError, require
from kinfolk.core.imports import import_object
from kinfolk.core.random import KeyedRng, fold_in, seed_key
from kinfolk.core.settings import validate_settings
from kinfolk.core.spaces import WorldSpec
from kinfolk.core.trust import require_trust_to_write
from kinfolk.policies.base import AgentBatch, Memory, MemoryField, MemoryLayout
from kinfolk.policies.role_domain import ROLE_PREFIX, role_tables_in_memory, score_agents
from kinfolk.policies.scripted.cogsguard import columns as col
from kinfolk.policies.scripted.cogsguard import teams
from kinfolk.policies.scripted.cogsguard.catalog import (
    COGSGUARD_ROLES,
    build_cogsguard_behavior_hooks,
    load_catalog,
)
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
from kinfolk.worlds.cogsguard.world import CogsguardWorld

CoordinatorSource: TypeAlias = (
    EvolutionaryRoleCoordinator | type[EvolutionaryRoleCoordinator] | str | None
)
HYBRID, EXPLORED = -2, -3  # role ids of roles that are in no table, only in memory
EVOLUTION_FLAGS = ("evolution", "evolutionary", "evolve")
_ON, _OFF = ("1", "true", "yes", "on"), ("0", "false", "no", "off")
_REMEDY = (
    "An evaluation does so (kf.evaluate, kinfolk eval); &learn=0 plays a pool without learning."
)
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


class CogsguardPolicy:
    """`kin://roles` and `metta://policy/role_py`: counts of roles, or roles that evolve in play.

    It is a slot of an evaluation by its URI, or, for a coordinator of your own, as
    `slots={"cogs": lambda spec: kf.CogsguardPolicy(spec, coordinator=mine)}`.

    Args:
        spec: Spec of CogsGuard.
        **kwargs: `evolution=1` (or `evolutionary`, `evolve`; 1, true, yes or on) or a `coordinator`
            builds an `EvolvingRolePolicy`, with `learn=0` a `SampledRolePolicy`, which does not
            learn; without them it is a `RoleCountPolicy`. All other arguments are theirs.

    Raises:
        SettingsError: A flag is neither on nor off, or flags contradict each other.
    """

    kernels, prepare = RolePolicy.kernels, RolePolicy.prepare

    def __new__(cls, spec: WorldSpec, **kwargs: Any) -> Any:
        """Return the policy that the flags choose."""
        learns = cls.learns(kwargs)
        is_evolved = _is_evolution_on(kwargs)
        chosen = {k: v for k, v in kwargs.items() if k not in (*EVOLUTION_FLAGS, "learn")}
        if learns:
            return EvolvingRolePolicy(spec, **chosen)
        return (
            SampledRolePolicy(spec, **chosen)
            if is_evolved
            else teams.RoleCountPolicy(spec, **chosen)
        )

    @classmethod
    def learns(cls, settings: Mapping[str, Any]) -> bool:
        """Return whether a policy with these settings learns between episodes.

        Raises:
            SettingsError: As of the constructor.
        """
        is_evolved = _is_evolution_on(settings)
        has_coordinator = settings.get("coordinator") is not None
        learn = is_on("learn", settings.get("learn", is_evolved or has_coordinator))
        require(
            is_evolved or has_coordinator or not learn,
            "learn=1 needs evolution=1: only a pool that evolves can learn.",
        )
        given = any(flag in settings for flag in EVOLUTION_FLAGS)
        contradicts = has_coordinator and ((given and not is_evolved) or not learn)
        require(not contradicts, "A coordinator evolves roles: leave evolution=0 and learn=0 out.")
        return learn


def _is_evolution_on(settings: Mapping[str, Any]) -> bool:
    """Return whether any flag of evolution is on, after a check of all of them."""
    flags = [is_on(flag, settings[flag]) for flag in EVOLUTION_FLAGS if flag in settings]
    return any(flags)


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


class EvolvingRolePolicy(HybridRolePolicy):
    """Plays roles that a coordinator assigns, scores and evolves from one episode to the next.

    Counts fix the roles of the first agents; the coordinator assigns the others. After each episode
    every agent is scored by its team's share of all junction-ticks, blended with its own deeds by
    `team_weight`, and the coordinator ends the game. So episodes are played one at a time, in order and in
    one process: `kf.evaluate` does that.

    Args:
        spec: Spec of CogsGuard.
        coordinator: An `EvolutionaryRoleCoordinator`, whose state is changed, a subclass of it, or the
            import path of either; by default the class itself. Behaviors that lack a hook in its
            `behavior_hooks` get those of `build_cogsguard_behavior_hooks`.
        history: A `role_history.json` to go on from, written after every episode; without it, roles
            are lost with the policy.
        games_per_generation: Games of a generation.
        seed: Seed of all draws of the coordinator.
        catalog: Import path of a function that returns a catalog; that of the coordinator if None.
        **counts_and_params: Counts by role name, fields of `BehaviorParams` and of
            `EvolutionConfig`.

    Raises:
        SettingsError: The counts exceed a team, a name is unknown, or settings are given that a
            coordinator, or its history, has already.
        UntrustedCodeError: A file that is not trusted, such as a run, names the history.
    """

    def __init__(
        self,
        spec: WorldSpec,
        coordinator: CoordinatorSource = None,
        history: str | None = None,
        games_per_generation: int | None = None,
        seed: int | None = None,
        catalog: str | None = None,
        **counts_and_params: Any,
    ) -> None:
        evolution = teams.pop_settings(counts_and_params, EvolutionConfig)
        params = teams.pop_settings(counts_and_params, BehaviorParams)
        self._team_size = dict(spec.rules)["agents"]
        if history is not None:
            require_trust_to_write(history)
        self._history = None if history is None else Path(history)
        given = {"games_per_generation": games_per_generation, "seed": seed, "catalog": catalog}
        settings = {name: value for name, value in given.items() if value is not None} | evolution
        self.coordinator = self._make_coordinator(coordinator, settings)
        self._bind_hooks()
        loaded, config = self.coordinator.catalog, self.coordinator.config
        self._fixed_roles = teams.expand_role_counts(loaded, counts_and_params)
        teams.check_team_size(self._fixed_roles, self._team_size)
        super().__init__(spec, config.model_dump(), catalog=loaded, **params)
        self._team = 0
        self._rows_per_team = spec.rows // int(self.rules[col.TEAMS])

    def _make_coordinator(
        self, source: CoordinatorSource, settings: dict[str, Any]
    ) -> EvolutionaryRoleCoordinator:
        """Return the given coordinator, one that goes on from the history, or a new one.

        Args:
            source: A coordinator, its class, or an import path.
            settings: What a new coordinator is made with: games_per_generation, seed, catalog and
                fields of `EvolutionConfig`.
        """
        found = import_object(source) if isinstance(source, str) else source
        names = ", ".join(settings)
        if isinstance(found, EvolutionaryRoleCoordinator):
            require(not settings, f"The coordinator has its own settings: leave {names} out.")
            return found
        make = EvolutionaryRoleCoordinator if found is None else found
        if not (isinstance(make, type) and issubclass(make, EvolutionaryRoleCoordinator)):
            raise SettingsError(
                f"coordinator must be an EvolutionaryRoleCoordinator or a subclass, not {source!r}."
            )
        path = settings.pop("catalog", None)
        catalog = None if path is None else load_catalog(path)
        if self._history is not None and self._history.exists():
            require(not settings, f"{self._history} has its own settings: leave {names} out.")
            return make.load(self._history, self._team_size, catalog)
        arguments: dict[str, Any] = {} if catalog is None else {"catalog": catalog}
        games = settings.pop("games_per_generation", 10)
        seed = settings.pop("seed", 0)
        if settings:
            arguments["config"] = validate_settings(EvolutionConfig, settings)
        return make(self._team_size, games, seed, **arguments)

    def _bind_hooks(self) -> None:
        """Let behaviors act by the hooks of the coordinator, and by those of the game without one."""
        catalog, own_hooks = self.coordinator.catalog, self.coordinator.behavior_hooks
        for behavior in catalog.behaviors:
            hook = own_hooks.get(behavior.name)
            if hook is not None and hook is not behavior.act:
                catalog.behaviors[behavior.id] = replace(behavior, act=hook)
        self.coordinator.behavior_hooks = {**build_cogsguard_behavior_hooks(), **own_hooks}

    def assign_roles(self, batch: AgentBatch, memory: Memory, keys: Ints) -> Ints:
        """Return the roles that the coordinator assigns; a newborn gets the hybrid queued for it."""
        del keys
        one_game = len(set(batch.world.tolist())) == 1
        require(one_game, "Roles that evolve are played one game at a time, in order. " + _REMEDY)
        numbers = set((batch.row // self._rows_per_team).tolist())
        require(len(numbers) == 1, "Roles evolve for one team: give every team a slot.")
        self._team = numbers.pop()
        role_ids, assigned = memory["role"], self.coordinator.agent_assignments
        agents = (batch.row % self._rows_per_team).tolist()
        for agent, parents in zip(agents, batch.parent_memory_index.tolist(), strict=True):
            if agent < len(self._fixed_roles):
                assigned.setdefault(agent, self._fixed_roles[agent])
            elif min(parents) >= 0 and agent not in assigned:
                self.coordinator.queue_hybrid(int(role_ids[parents[0]]), int(role_ids[parents[1]]))
            self.coordinator.assign_role(agent)
        self.tables = program.role_tables(self.catalog.roles, self.catalog)
        return np.array([assigned[agent] for agent in agents], np.int64)

    def end_episode(self, world: CogsguardWorld, game: int, memory: Memory) -> None:
        """Score the agents of an episode that has ended, and let the coordinator learn from it.

        Args:
            world: The batch of worlds.
            game: Index of the world whose episode has ended.
            memory: The policy's memory.
        """
        rows = COGSGUARD_ROLES.team_rows(world)[self._team]
        counters = COGSGUARD_ROLES.agent_counters(world)
        scores, won = score_agents(
            COGSGUARD_ROLES,
            COGSGUARD_ROLES.side_scores(world)[[game]],
            {name: counters[name][[game]][:, rows] for name in COGSGUARD_ROLES.counters},
            self.coordinator.config.team_weight,
            self._team,
        )
        is_won = bool(won[0])
        for agent in sorted(self.coordinator.agent_assignments):
            ticks = memory["acted"][game * world.spec.rows + rows[agent]].tolist()
            acted = {behavior: n for behavior, n in enumerate(ticks) if n > 0}
            score = float(scores[0, agent])
            self.coordinator.record_agent_performance(agent, score, is_won, acted)
        self.coordinator.end_game(is_won)
        if self._history is not None:
            self.coordinator.save(self._history)
