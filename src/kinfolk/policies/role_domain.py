"""What the role job needs to know of a world, as a value per world.

Another package adds one for its own world by an entry point in the group `kinfolk.role_domains`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kinfolk.core.arrays import AnyArray, Ints
from kinfolk.core.registry import Registry, RegistryEntry
from kinfolk.policies.base import Memory
from kinfolk.roles.catalog import RoleCatalog
from kinfolk.roles.program import RoleTables, tables_from_arrays

ROLE_PREFIX = "own_"  # begins the names of arrays in memory that hold the role itself
ROLE_DOMAINS = Registry(
    "world with roles",
    "role_domains",
    {
        "cogsguard": RegistryEntry(
            "kinfolk.policies.scripted.cogsguard.role_domain:COGSGUARD_ROLES",
            "thirteen behaviours, four roles",
        )
    },
)


@dataclass(frozen=True)
class RoleDomain:
    """How a world's roles are made, seated and scored."""

    # Behaviours in a fixed order, then the seeded roles; or what a function at a path makes.
    make_catalog: Callable[[str | None], RoleCatalog]
    policy_class: str  # class path: `load` takes role tables, `rows.member` names a row of them
    hybrid_policy_class: (
        str  # class path: also, newborns get hybrids, and memory holds `own_tables`
    )
    team_policy_class: str  # class path: `roles` lists the rows of loaded tables that a team plays
    seeded_roles: tuple[str, ...]  # roles that agents of a seeded team play, one after another
    baseline_uri: str  # the policy to compare with, in words
    baseline_member: int  # the member that stands for it
    score_name: str  # what `held` counts, in words
    contribution_weights: Mapping[str, float]  # what each deed of an agent is worth
    team_rows: Callable[[Any], Ints]  # a world -> [teams, most agents], founders first
    initial_team_size: Callable[[Any], int]  # a world -> agents of a team at the start
    side_scores: Callable[[Any], AnyArray]  # a world -> [worlds, sides], teams first, then others
    agent_counters: Callable[[Any], Mapping[str, AnyArray]]  # a world -> [worlds, rows] by name


def role_tables_in_memory(memory: Memory) -> RoleTables:
    """The role of every place as its policy keeps it in memory: views, a row per place."""
    return tables_from_arrays({name: memory[f"{ROLE_PREFIX}{name}"] for name in RoleTables._fields})
