"""Policies by URI: line-ups of roles, one role for all, one behaviour for all, and the baseline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kinfolk.core.arrays import Ints
from kinfolk.core.errors import SettingsError, require, suggestion
from kinfolk.core.spaces import WorldSpec
from kinfolk.policies.base import Memory, Rows
from kinfolk.policies.cogsguard.catalog import ROLES, catalog_of
from kinfolk.policies.cogsguard.knowledge import AGENTS, Tuning
from kinfolk.policies.cogsguard.roles import RolePolicy
from kinfolk.policies.cogsguard.smart import SMART
from kinfolk.roles.catalog import RoleCatalog
from kinfolk.roles.materialise import role_tables
from kinfolk.roles.model import RoleDef, RoleTier

_SHORT = {name.removeprefix("Base").lower(): name for name in ROLES}


class FixedLineUp(RolePolicy):
    """Agents of a team take the roles of a list, in the order of their rows; the rest are smart.

    A newborn (the temple) takes the role of one of its parents; without any that of the agent
    whose number it would have, counted on from the list's start.
    """

    def __init__(
        self,
        spec: WorldSpec,
        roles: list[int],
        catalog: RoleCatalog | str | None = None,
        **tuning: Any,
    ) -> None:
        super().__init__(spec, catalog, **tuning)
        agents = int(self.rules[AGENTS])
        require(
            len(roles) <= agents,
            f"The line-up has {len(roles)} agents; a team has {agents}. Ask for fewer, or set agents.",
        )
        self._lineup = np.full(agents, SMART, dtype=np.int64)
        self._lineup[: len(roles)] = roles

    def roles_of(self, rows: Rows, memory: Memory, keys: Ints) -> Ints:
        """By the number of the agent in its team; uids count founders team by team."""
        roles = self._lineup[rows.uid % len(self._lineup)]
        for i, places in enumerate(rows.parent_places.tolist()):
            known = [place for place in places if place >= 0]
            if known:
                roles[i] = memory["role"][known[int(keys[i]) % len(known)]]
        return roles


class LineUp(FixedLineUp):
    """`kin://roles?miner=4&scrambler=2`: how many of a team play which role.

    Args:
        spec: The face of CogsGuard.
        catalog: Where roles come from; the seeded four unless given.
        given: Counts by role name (`miner` stands for BaseMiner), and settings of `Tuning`.
    """

    def __init__(
        self, spec: WorldSpec, catalog: RoleCatalog | str | None = None, **given: Any
    ) -> None:
        known = catalog_of(catalog)
        tuning = {name: given.pop(name) for name in list(given) if name in Tuning.model_fields}
        super().__init__(spec, counted_roles(known, given), known, **tuning)


class Smart(FixedLineUp):
    """`kin://smart`: everybody changes among the seeded roles as the game asks."""

    def __init__(self, spec: WorldSpec, **tuning: Any) -> None:
        super().__init__(spec, [], **tuning)


class OneRole(FixedLineUp):
    """`kin://role/BaseMiner`: everybody plays one role."""

    def __init__(
        self, spec: WorldSpec, name: str, catalog: RoleCatalog | str | None = None, **tuning: Any
    ) -> None:
        known = catalog_of(catalog)
        role = known.role(_SHORT.get(name, name)).id
        agents = dict(spec.rules).get("agents", 0)
        super().__init__(spec, [role] * agents, known, **tuning)


class OneBehavior(FixedLineUp):
    """`kin://behavior/explore`: everybody does one thing, and nothing when that cannot be."""

    def __init__(
        self, spec: WorldSpec, name: str, catalog: RoleCatalog | str | None = None, **tuning: Any
    ) -> None:
        known = catalog_of(catalog)
        role = RoleDef((RoleTier((known.behavior_id(name),)),), name=name)
        agents = dict(spec.rules).get("agents", 0)
        super().__init__(spec, [0] * agents, known, **tuning)
        self.tables = role_tables([role])


def counted_roles(catalog: RoleCatalog, counts: Mapping[str, Any]) -> list[int]:
    """The roles of a line-up, one per agent, in the order they were asked for.

    Raises:
        SettingsError: A name is no role, or a count is not a whole number from 0 on.
    """
    names = [role.name for role in catalog.roles]
    found: list[int] = []
    for name, count in counts.items():
        full = _SHORT.get(name.lower(), name)
        if full not in names:
            known = [*_SHORT, *names, *Tuning.model_fields]
            raise SettingsError(f"No role is named '{name}'.{suggestion(name, known)}")
        if not isinstance(count, int) or isinstance(count, bool) or count < 0:
            raise SettingsError(
                f"A line-up says how many play a role, from 0 on; {name} was {count!r}."
            )
        found += [catalog.role(full).id] * count
    return found
