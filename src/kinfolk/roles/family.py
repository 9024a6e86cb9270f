"""The family tree of roles, for the lineage tools: from the seeded ones to today's champion."""

from __future__ import annotations

from kinfolk.lineage.family import Family, Member
from kinfolk.roles.history import RoleHistory


def role_family(history: RoleHistory) -> Family:
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
        for role in history.roles
    )


def operators_of(history: RoleHistory) -> dict[int, str]:
    """By which operator each role was made."""
    return {role.id: role.origin for role in history.roles}
