"""Policies by URI: line-ups of roles, one role for all, one behaviour for all, and the baseline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kinfolk.core.arrays import Ints
from kinfolk.core.errors import SettingsError, format_suggestion, require
from kinfolk.core.spaces import WorldSpec
from kinfolk.policies.base import AgentBatch, Memory
from kinfolk.policies.scripted.cogsguard.adaptive_baseline import SMART
from kinfolk.policies.scripted.cogsguard.catalog import SEEDED_ROLES, load_catalog
from kinfolk.policies.scripted.cogsguard.parameters import AGENTS, BehaviorParams
from kinfolk.policies.scripted.cogsguard.role_policy import RolePolicy
from kinfolk.roles.catalog import RoleCatalog
from kinfolk.roles.model import RoleDef, RoleTier
from kinfolk.roles.program import role_tables

_SHORT_NAMES = {name.removeprefix("Base").lower(): name for name in SEEDED_ROLES}


class TeamPolicy(RolePolicy):
    """Agents of a team take the roles of a list, in the order of their rows; the rest are smart.

    A newborn (the temple) takes the role of one of its parents; without any that of the agent
    whose number it would have, counted on from the list's start.
    """

    def __init__(
        self,
        spec: WorldSpec,
        roles: list[int],
        catalog: RoleCatalog | str | None = None,
        **params: Any,
    ) -> None:
        super().__init__(spec, catalog, **params)
        agents = int(self.rules[AGENTS])
        require(
            len(roles) <= agents,
            f"The line-up has {len(roles)} agents; a team has {agents}. Ask for fewer, or set agents.",
        )
        self._team_roles = np.full(agents, SMART, dtype=np.int64)
        self._team_roles[: len(roles)] = roles

    def assign_roles(self, batch: AgentBatch, memory: Memory, keys: Ints) -> Ints:
        """By the number of the agent in its team; uids count founders team by team."""
        roles = self._team_roles[batch.uid % len(self._team_roles)]
        for i, places in enumerate(batch.parent_memory_index.tolist()):
            known = [place for place in places if place >= 0]
            if known:
                roles[i] = memory["role"][known[int(keys[i]) % len(known)]]
        return roles


class RoleCountPolicy(TeamPolicy):
    """`kin://roles?miner=4&scrambler=2`: how many of a team play which role.

    Args:
        spec: The face of CogsGuard.
        catalog: Where roles come from; the seeded four unless given.
        given: Counts by role name (`miner` stands for BaseMiner), and settings of `Tuning`.
    """

    def __init__(
        self, spec: WorldSpec, catalog: RoleCatalog | str | None = None, **counts_and_params: Any
    ) -> None:
        known = load_catalog(catalog)
        tuning = {
            name: counts_and_params.pop(name)
            for name in list(counts_and_params)
            if name in BehaviorParams.model_fields
        }
        super().__init__(spec, expand_role_counts(known, counts_and_params), known, **tuning)


class SmartPolicy(TeamPolicy):
    """`kin://smart`: everybody changes among the seeded roles as the game asks."""

    def __init__(self, spec: WorldSpec, **params: Any) -> None:
        super().__init__(spec, [], **params)


class SingleRolePolicy(TeamPolicy):
    """`kin://role/BaseMiner`: everybody plays one role."""

    def __init__(
        self, spec: WorldSpec, name: str, catalog: RoleCatalog | str | None = None, **params: Any
    ) -> None:
        known = load_catalog(catalog)
        role = known.role(_SHORT_NAMES.get(name, name)).id
        agents = dict(spec.rules).get("agents", 0)
        super().__init__(spec, [role] * agents, known, **params)


class SingleBehaviorPolicy(TeamPolicy):
    """`kin://behavior/explore`: everybody does one thing, and nothing when that cannot be."""

    def __init__(
        self, spec: WorldSpec, name: str, catalog: RoleCatalog | str | None = None, **params: Any
    ) -> None:
        known = load_catalog(catalog)
        role = RoleDef((RoleTier((known.behavior_id(name),)),), name=name)
        agents = dict(spec.rules).get("agents", 0)
        super().__init__(spec, [0] * agents, known, **params)
        self.tables = role_tables([role])


def expand_role_counts(catalog: RoleCatalog, counts: Mapping[str, Any]) -> list[int]:
    """The roles of a line-up, one per agent, in the order they were asked for.

    Raises:
        SettingsError: A name is no role, or a count is not a whole number from 0 on.
    """
    names = [role.name for role in catalog.roles]
    found: list[int] = []
    for name, count in counts.items():
        full = _SHORT_NAMES.get(name.lower(), name)
        if full not in names:
            known = [*_SHORT_NAMES, *names, *BehaviorParams.model_fields]
            raise SettingsError(f"No role is named '{name}'.{format_suggestion(name, known)}")
        if not isinstance(count, int) or isinstance(count, bool) or count < 0:
            raise SettingsError(
                f"A line-up says how many play a role, from 0 on; {name} was {count!r}."
            )
        found += [catalog.role(full).id] * count
    return found
