"""Team policies by URI: counts of roles, one role, one behavior, and the adaptive baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from pydantic import BaseModel

from kinfolk.core.arrays import Ints
from kinfolk.core.errors import SettingsError, format_suggestion, require
from kinfolk.core.spaces import WorldSpec
from kinfolk.policies.base import AgentBatch, Memory
from kinfolk.policies.scripted.cogsguard import columns as col
from kinfolk.policies.scripted.cogsguard.adaptive_baseline import SMART
from kinfolk.policies.scripted.cogsguard.catalog import SEEDED_ROLES, CatalogLike, load_catalog
from kinfolk.policies.scripted.cogsguard.memory import BehaviorParams
from kinfolk.policies.scripted.cogsguard.role_policy import RolePolicy
from kinfolk.roles.catalog import RoleCatalog, map_role_to_vibe
from kinfolk.roles.model import RoleDef, RoleTier
from kinfolk.roles.program import role_tables
from kinfolk.roles.smart_coordinator import SmartRoleCoordinator

_SHORT_NAMES = {name.removeprefix("Base").lower(): name for name in SEEDED_ROLES}


class TeamPolicy(RolePolicy):
    """Assigns the roles of a list to the agents of a team, in the order of their rows.

    Agents beyond the list are smart (see `adaptive_baseline`). A newborn (of the temple) takes the
    role of one of its parents; without parents, that of the list entry for its uid.

    Args:
        spec: Spec of CogsGuard.
        roles: Row of the role tables of each agent.
        catalog: Catalog or import path of a function that returns one; the game's own if None.
        **params: Fields of `BehaviorParams`.

    Raises:
        SettingsError: There are more roles than agents in a team.
    """

    def __init__(
        self, spec: WorldSpec, roles: list[int], catalog: CatalogLike = None, **params: Any
    ) -> None:
        super().__init__(spec, catalog, **params)
        agents = int(self.rules[col.AGENTS])
        check_team_size(roles, agents)
        self._team_roles = np.full(agents, SMART, dtype=np.int64)
        self._team_roles[: len(roles)] = roles

    def assign_roles(self, batch: AgentBatch, memory: Memory, keys: Ints) -> Ints:
        """Return the role of each new agent by its number in its team.

        Uids number the initial agents team by team.
        """
        roles = self._team_roles[batch.uid % len(self._team_roles)]
        for i, indices in enumerate(batch.parent_memory_index.tolist()):
            parents = [index for index in indices if index >= 0]
            if parents:
                roles[i] = memory["role"][parents[int(keys[i]) % len(parents)]]
        return roles


class RoleCountPolicy(TeamPolicy):
    """`kin://roles?miner=4&scrambler=2`: the number of agents of a team that play each role.

    A `SmartRoleCoordinator` gives the agents beyond the counts the seeded roles that the team lacks.

    Args:
        spec: Spec of CogsGuard.
        catalog: Catalog or import path of a function that returns one; the game's own if None.
        **counts_and_params: Counts by role name (`miner` stands for BaseMiner), and fields of
            `BehaviorParams`.

    Raises:
        SettingsError: A name is no role, or there are more roles than agents in a team.
    """

    def __init__(
        self, spec: WorldSpec, catalog: CatalogLike = None, **counts_and_params: Any
    ) -> None:
        loaded = load_catalog(catalog)
        params = pop_settings(counts_and_params, BehaviorParams)
        roles = expand_role_counts(loaded, counts_and_params)
        team_size = dict(spec.rules).get("agents", 0)
        check_team_size(roles, team_size)
        super().__init__(spec, complete_team(loaded, roles, team_size), loaded, **params)


class SmartPolicy(TeamPolicy):
    """`kin://smart`: every agent switches among the seeded roles as the game requires.

    Args:
        spec: Spec of CogsGuard.
        **params: Fields of `BehaviorParams`.
    """

    def __init__(self, spec: WorldSpec, **params: Any) -> None:
        super().__init__(spec, [], **params)


class SingleRolePolicy(TeamPolicy):
    """`kin://role/BaseMiner`: every agent plays the same role.

    Args:
        spec: Spec of CogsGuard.
        name: Name of the role; `miner` stands for BaseMiner.
        catalog: Catalog or import path of a function that returns one; the game's own if None.
        **params: Fields of `BehaviorParams`.
    """

    def __init__(
        self, spec: WorldSpec, name: str, catalog: CatalogLike = None, **params: Any
    ) -> None:
        loaded = load_catalog(catalog)
        role = loaded.role(_SHORT_NAMES.get(name, name)).id
        agents = dict(spec.rules).get("agents", 0)
        super().__init__(spec, [role] * agents, loaded, **params)


class SingleBehaviorPolicy(TeamPolicy):
    """`kin://behavior/explore`: every agent runs one behavior, and does nothing when it cannot.

    Args:
        spec: Spec of CogsGuard.
        name: Name of the behavior.
        catalog: Catalog or import path of a function that returns one; the game's own if None.
        **params: Fields of `BehaviorParams`.
    """

    def __init__(
        self, spec: WorldSpec, name: str, catalog: CatalogLike = None, **params: Any
    ) -> None:
        loaded = load_catalog(catalog)
        role = RoleDef((RoleTier((loaded.behavior_id(name),)),), name=name)
        agents = dict(spec.rules).get("agents", 0)
        super().__init__(spec, [0] * agents, loaded, **params)
        self.tables = role_tables([role])


def expand_role_counts(catalog: RoleCatalog, counts: Mapping[str, Any]) -> list[int]:
    """Return the role ids of a team, one per agent, in the order of `counts`.

    Raises:
        SettingsError: A name is no role, or a count is no integer of at least 0.
    """
    names = [role.name for role in catalog.roles]
    roles: list[int] = []
    for name, count in counts.items():
        full_name = _SHORT_NAMES.get(name.lower(), name)
        if full_name not in names:
            known = [*_SHORT_NAMES, *names, *BehaviorParams.model_fields]
            raise SettingsError(f"No role is named '{name}'.{format_suggestion(name, known)}")
        is_count = isinstance(count, int) and not isinstance(count, bool) and count >= 0
        expected = f"The number of agents with role {name} must be an integer of at least 0"
        require(is_count, f"{expected}, not {count!r}.")
        roles += [catalog.role(full_name).id] * count
    return roles


def complete_team(catalog: RoleCatalog, roles: Sequence[int], team_size: int) -> list[int]:
    """Return the roles of a whole team: the given ones, then what a `SmartRoleCoordinator` chooses.

    Args:
        catalog: Catalog with the seeded roles.
        roles: Role id of the first agents.
        team_size: Number of agents.

    Raises:
        UnknownNameError: Agents are left over, and the catalog lacks the seeded role of one.
    """
    completed = list(roles)
    smart = SmartRoleCoordinator(max(1, team_size))
    for agent, role in enumerate(roles):
        smart.roles[agent] = map_role_to_vibe(catalog, catalog.roles[role])
    for agent in range(len(roles), team_size):
        completed.append(catalog.role(_SHORT_NAMES[smart.choose_role(agent)]).id)
    return completed


def check_team_size(roles: Sequence[int], team_size: int) -> None:
    """Raise SettingsError if there are more roles than agents in a team."""
    counts = f"The roles are for {len(roles)} agents; a team has {team_size}."
    require(len(roles) <= team_size, f"{counts} Use fewer, or set agents.")


def pop_settings(kwargs: dict[str, Any], settings_class: type[BaseModel]) -> dict[str, Any]:
    """Remove and return the keyword arguments that are fields of a settings class."""
    return {name: kwargs.pop(name) for name in list(kwargs) if name in settings_class.model_fields}
