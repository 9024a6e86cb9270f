"""The catalogue of a coordinator that is given none.

A registry, because behaviours are functions of a world's policies, which stand above this layer.
"""

from __future__ import annotations

from kinfolk.core.registry import Entry, Registry
from kinfolk.roles.catalog import RoleCatalog

CATALOGS = Registry(
    "catalogue of roles",
    "role_catalogs",
    {
        "cogsguard": Entry(
            "kinfolk.policies.cogsguard.catalog:cogs_catalog", "thirteen behaviours, four roles"
        )
    },
)


def default_catalog() -> RoleCatalog:
    """Return a new catalogue with CogsGuard's thirteen behaviours and four seeded roles."""
    made: RoleCatalog = CATALOGS.load("cogsguard")()
    return made
