"""What the role job needs to know of a world, as a value per world.

Another package adds one for its own world by an entry point in the group `kinfolk.role_kits`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kinfolk.core.arrays import AnyArray, Ints
from kinfolk.core.registry import Entry, Registry
from kinfolk.policies.base import Memory
from kinfolk.roles.catalog import RoleCatalog
from kinfolk.roles.materialise import RoleTables, tables_from

OWN = "own_"  # begins the names of arrays in memory that hold the role itself
ROLE_KITS = Registry(
    "world with roles",
    "role_kits",
    {"cogsguard": Entry("kinfolk.policies.cogsguard.kit:KIT", "thirteen behaviours, four roles")},
)


@dataclass(frozen=True)
class RoleKit:
    """How a world's roles are made, seated and scored."""

    # Behaviours in a fixed order, then the seeded roles; or what a function at a path makes.
    catalog: Callable[[str | None], RoleCatalog]
    policy: str  # class path: `load` takes role tables, `rows.member` names a row of them
    temple_policy: str  # class path: also, newborns get hybrids, and memory holds `own_tables`
    lineup_policy: str  # class path: `roles` lists the rows of loaded tables that a team plays
    seeded: tuple[str, ...]  # roles that agents of a seeded team play, one after another
    baseline: str  # the policy to compare with, in words
    baseline_member: int  # the member that stands for it
    measure: str  # what `held` counts, in words
    worth: Mapping[str, float]  # what each deed of an agent is worth
    rows: Callable[[Any], Ints]  # a world -> [teams, most agents], founders first
    founders: Callable[[Any], int]  # a world -> agents of a team at the start
    held: Callable[[Any], AnyArray]  # a world -> [worlds, sides], teams first, then others
    deeds: Callable[[Any], Mapping[str, AnyArray]]  # a world -> [worlds, rows] by name


def own_tables(memory: Memory) -> RoleTables:
    """The role of every place as its policy keeps it in memory: views, a row per place."""
    return tables_from({name: memory[f"{OWN}{name}"] for name in RoleTables._fields})
