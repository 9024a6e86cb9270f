"""Role policies with evolution: hybrids for newborns, roles drawn from an evolved pool, online learning.

`kin://roles?evolution=1` builds them; `&learn=1` updates the pool between games.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kinfolk.core.arrays import Ints
from kinfolk.core.errors import SettingsError, require
from kinfolk.core.random import fold_in, seed_key
from kinfolk.core.settings import validate_settings
from kinfolk.core.spaces import WorldSpec
from kinfolk.policies.base import AgentBatch, Memory, MemoryField, MemoryLayout
from kinfolk.policies.role_domain import ROLE_PREFIX, role_tables_in_memory
from kinfolk.policies.scripted.cogsguard.catalog import load_catalog
from kinfolk.policies.scripted.cogsguard.parameters import AGENTS, BehaviorParams
from kinfolk.policies.scripted.cogsguard.role_policy import RolePolicy
from kinfolk.policies.scripted.cogsguard.teams import RoleCountPolicy, expand_role_counts
from kinfolk.roles.config import EvolutionConfig
from kinfolk.roles.coordinator import EvolutionaryRoleCoordinator
from kinfolk.roles.fitness import pick_role_id_weighted
from kinfolk.roles.generations import make_initial_pool
from kinfolk.roles.history import restore_history
from kinfolk.roles.history_text import parse_history
from kinfolk.roles.keyed_rng import KeyedRng
from kinfolk.roles.model import MAX_BEHAVIORS, RoleDef
from kinfolk.roles.operators import make_hybrid, sample_role
from kinfolk.roles.program import (
    RoleTables,
    role_from_tables,
    role_tables,
    tables_from_arrays,
    write_programs,
)

# In place of a row of the tables: the role lies in memory only.
HYBRID, EXPLORED = -2, -3


class HybridRolePolicy(RolePolicy):
    """Plays roles as `RolePolicy` does, and gives every newborn a hybrid.

    A hybrid stands in no catalogue while the game goes on. So the role itself lies in the memory
    of its life, where its own children find it, and the job after the game.
    """

    def __init__(
        self, spec: WorldSpec, evolution: Mapping[str, Any] | None = None, **counts_and_params: Any
    ) -> None:
        self.evolution = validate_settings(EvolutionConfig, evolution or {})
        super().__init__(spec, **counts_and_params)

    @property
    def memory_layout(self) -> MemoryLayout:
        """Also the role."""
        cells = {
            f"{ROLE_PREFIX}{name}": MemoryField((MAX_BEHAVIORS,), str(array.dtype))
            for name, array in role_tables([])._asdict().items()
        }
        return {**super().memory_layout, **cells}

    def assign_roles(self, batch: AgentBatch, memory: Memory, keys: Ints) -> Ints:
        """The member of a founder; HYBRID for a child of roles, else what its parents are.

        Smart agents, and those that do nothing, have no role to hand on.
        """
        roles, own = super().assign_roles(batch, memory, keys), role_tables_in_memory(memory)
        for i, places in enumerate(batch.parent_memory_index.tolist()):
            known = [place for place in places if place >= 0]
            if known:
                has_role = any(own.behaviors[place, 0] >= 0 for place in known)
                roles[i] = HYBRID if has_role else memory["role"][known[0]]
        return roles

    def write_programs(self, batch: AgentBatch, roles: Ints, memory: Memory, keys: Ints) -> None:
        """Lay each life's role in its memory, and draw its program from that."""
        own = role_tables_in_memory(memory)
        for i, (place, role) in enumerate(
            zip(batch.memory_index.tolist(), roles.tolist(), strict=True)
        ):
            source, row = self.tables, role
            if role in (HYBRID, EXPLORED):
                made = self._make_role(
                    role, own, batch.parent_memory_index[i].tolist(), int(keys[i])
                )
                source, row = role_tables([made]), 0
            for name in RoleTables._fields:
                getattr(own, name)[place] = getattr(source, name)[row]
        programs = np.empty((len(roles), MAX_BEHAVIORS), dtype=np.int16)
        drawn = tables_from_arrays(
            {name: a[batch.memory_index] for name, a in own._asdict().items()}
        )
        write_programs(drawn, np.arange(len(roles)), keys, programs)
        memory["program"][batch.memory_index] = programs

    def _make_role(self, kind: int, tables: RoleTables, parents: list[int], key: int) -> RoleDef:
        if kind == EXPLORED:
            return sample_role(self.catalog, key, self.evolution, "explore")
        real = [p for p in parents if p >= 0 and tables.behaviors[p, 0] >= 0]
        left, right = (role_from_tables(tables, place) for place in (real[0], real[-1]))
        return make_hybrid(self.catalog, left, right, key, self.evolution)


EVOLUTION_FLAGS = ("evolution", "evolutionary", "evolve")

_ON, _OFF = ("1", "true", "yes", "on"), ("0", "false", "no", "off")

_POOL, _EXPLORE, _PICK = range(3)  # branches of keys


class RolePolicyFactory:
    """`kin://roles`: a fixed line-up, or one that is drawn, or one that learns, by its flags."""

    kernels, prepare = RolePolicy.kernels, RolePolicy.prepare

    def __new__(cls, spec: WorldSpec, **given: Any) -> Any:
        """The policy that the flags ask for.

        Raises:
            SettingsError: A flag is neither on nor off, or `learn` stands alone.
        """
        on = [is_on(flag, given.pop(flag)) for flag in EVOLUTION_FLAGS if flag in given]
        learn = is_on("learn", given.pop("learn", "0"))
        if learn and not any(on):
            raise SettingsError("learn=1 needs evolution=1: only roles that evolve can learn.")
        if not any(on):
            return RoleCountPolicy(spec, **given)
        return OnlineRolePolicy(spec, **given) if learn else SampledRolePolicy(spec, **given)


def is_on(flag: str, value: Any) -> bool:
    """Whether a flag of a URI is on.

    >>> is_on("evolve", "Yes"), is_on("evolve", 1), is_on("evolve", False)
    (True, True, False)
    """
    word = str(value).lower()
    if word not in (*_ON, *_OFF):
        raise SettingsError(f"{flag} must be one of {', '.join(_ON + _OFF)}, not '{value}'.")
    return word in _ON


class SampledRolePolicy(HybridRolePolicy):
    """Counts fix some agents' roles; the others draw theirs, by fitness or a new one.

    The pool is frozen: the same game gives the same roles, on any number of workers.

    Args:
        spec: The face of CogsGuard.
        history: The text of a `role_history.json`; without it, the seeded roles and sampled ones.
        seed: Where the sampled ones come from.
        catalog: The import path of a function that makes a catalogue of one's own.
        given: Counts by role name, settings of `Tuning` and of `EvolutionConfig`.
    """

    def __init__(
        self,
        spec: WorldSpec,
        history: str | None = None,
        seed: int = 0,
        catalog: str | None = None,
        **counts_and_params: Any,
    ) -> None:
        evolution, tuning = (
            _pop_settings(counts_and_params, EvolutionConfig),
            _pop_settings(counts_and_params, BehaviorParams),
        )
        known = load_catalog(catalog)
        pool = None
        if history is not None:
            pool = restore_history(parse_history(str(history), "The history"), known, "The history")
        fixed = expand_role_counts(known, counts_and_params)
        super().__init__(spec, evolution, catalog=known, **tuning)
        key = fold_in(seed_key(seed), _POOL)
        self.pool = make_initial_pool(known, key, self.evolution) if pool is None else pool
        self.tables = role_tables(known.roles)
        self._fixed_roles, self._team_size = fixed, int(self.rules[AGENTS])
        require(
            len(fixed) <= self._team_size,
            f"The line-up has {len(fixed)} agents; a team has {self._team_size}. "
            f"Ask for fewer, or set agents.",
        )

    def assign_roles(self, batch: AgentBatch, memory: Memory, keys: Ints) -> Ints:
        """A newborn's is a hybrid; a founder's is fixed, or drawn from the key of its life."""
        roles = super().assign_roles(batch, memory, keys)
        for i in np.flatnonzero(roles >= 0).tolist():
            number = int(batch.uid[i]) % self._team_size
            roles[i] = (
                self._fixed_roles[number]
                if number < len(self._fixed_roles)
                else self._sample_role_id(int(keys[i]))
            )
        return roles

    def _sample_role_id(self, key: int) -> int:
        if KeyedRng(fold_in(key, _EXPLORE)).bernoulli(self.evolution.exploration_chance):
            return EXPLORED
        return pick_role_id_weighted(self.catalog, self.pool, fold_in(key, _PICK))


class OnlineRolePolicy(SampledRolePolicy):
    """The same with a coordinator that lives: `finish_game` teaches it, between games.

    It remembers from game to game, so it plays one game at a time, and in one process only:
    see `kinfolk.jobs.evolve_roles.online`. An evaluation, which plays many at once, is refused.
    """

    def __init__(
        self, spec: WorldSpec, games_per_generation: int = 10, **counts_and_params: Any
    ) -> None:
        super().__init__(spec, **counts_and_params)
        self.coordinator = EvolutionaryRoleCoordinator(
            self._team_size,
            self.catalog,
            games_per_generation,
            self.evolution,
            int(counts_and_params.get("seed", 0)),
            self.pool,
        )

    def assign_roles(self, batch: AgentBatch, memory: Memory, keys: Ints) -> Ints:
        """The coordinator assigns: to a newborn the hybrid that was queued for it."""
        require(
            len(set(batch.world.tolist())) == 1,
            "kin://roles?learn=1 learns from one game at a time, and is not for evaluations.",
        )
        known = memory["role"]
        for agent, places in zip(
            batch.uid.tolist(), batch.parent_memory_index.tolist(), strict=True
        ):
            if agent < len(self._fixed_roles):
                self.coordinator.assignments.setdefault(agent, self._fixed_roles[agent])
            elif min(places) >= 0 and agent not in self.coordinator.assignments:
                self.coordinator.queue_hybrid(int(known[places[0]]), int(known[places[1]]))
            self.coordinator.assign_role(agent)
        self.tables = role_tables(self.catalog.roles)
        return np.array([self.coordinator.assignments[a] for a in batch.uid.tolist()], np.int64)

    def finish_game(self, scores: dict[int, float], won: bool) -> bool:
        """Enter what agents scored, by uid; returns whether a new generation began."""
        for agent, score in scores.items():
            self.coordinator.record_agent_performance(agent, score, won)
        return self.coordinator.end_game(won)


def _pop_settings(given: dict[str, Any], settings_class: Any) -> dict[str, Any]:
    """Take the settings of one kind out of all that were given."""
    return {name: given.pop(name) for name in list(given) if name in settings_class.model_fields}
