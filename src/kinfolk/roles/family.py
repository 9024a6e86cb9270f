"""The family tree of roles, for the lineage tools: from the seeded ones to today's champion."""

from __future__ import annotations

from kinfolk.lineage.family import Family, Member
from kinfolk.roles.catalog import RoleCatalog


def role_family(catalog: RoleCatalog) -> Family:
    """Every role that ever was; time counts generations, the group is the role's name."""
    return Family.of(
        Member(
            role.id,
            role.parents,
            role.name,
            role.generation,
            role.retired,
            None if role.retired is None else "retired",
        )
        for role in catalog.roles
    )


def operators_of(catalog: RoleCatalog) -> dict[int, str]:
    """By which operator each role was made."""
    return {role.id: role.origin for role in catalog.roles}
