"""The seeded team of a world, and teams mapped back to their vibes."""

from __future__ import annotations

from collections.abc import Sequence

from kinfolk.policies.role_domain import RoleDomain
from kinfolk.roles.catalog import RoleCatalog, map_role_to_vibe
from kinfolk.roles.model import RoleDef


def seeded_team(domain: RoleDomain, catalog: RoleCatalog, n_agents: int) -> tuple[int, ...]:
    """Return the role ids of a seeded team, sorted.

    Args:
        domain: Role domain of the world, which lists the seeded roles.
        catalog: Catalog that holds the roles.
        n_agents: Number of agents of the team.
    """
    names = [domain.seeded_roles[agent % len(domain.seeded_roles)] for agent in range(n_agents)]
    return tuple(sorted(catalog.role(name).id for name in names))


def seeded_roles(domain: RoleDomain, catalog: RoleCatalog) -> list[RoleDef]:
    """Return the seeded roles that are in a catalog; one made by a user may lack some."""
    known = {role.name for role in catalog.roles}
    return [catalog.role(name) for name in dict.fromkeys(domain.seeded_roles) if name in known]


def reduce_to_vibes(
    domain: RoleDomain, catalog: RoleCatalog, team: Sequence[int]
) -> tuple[int, ...]:
    """Return a control team in which each role is replaced by the seeded role with the same vibe.

    What the given team scores above the control team is due to the evolved programs of its roles.
    In cogames-agents evolved teams were played in this reduced form.

    Args:
        domain: Role domain of the world, which lists the seeded roles.
        catalog: Catalog that holds the roles.
        team: Role id of each agent of the given team.

    Returns:
        Role ids, sorted as in every team, so that equal compositions play equal games.
    """
    return tuple(sorted(assign_vibe_roles(domain, catalog, team)))


def assign_vibe_roles(
    domain: RoleDomain, catalog: RoleCatalog, team: Sequence[int]
) -> tuple[int, ...]:
    """Return a seeded role id for each agent: one with the vibe of the agent's role.

    Seeded roles with the same vibe are dealt out in the order of the seeded team. An agent whose
    vibe no seeded role has gets the last seeded role.

    Args:
        domain: Role domain of the world, which lists the seeded roles.
        catalog: Catalog that holds the roles.
        team: Role id of each agent.
    """
    seeded, others = seeded_team(domain, catalog, len(team)), seeded_roles(domain, catalog)
    by_vibe: dict[str, list[int]] = {}
    for i in (*seeded, *(role.id for role in others if role.id not in seeded)):
        by_vibe.setdefault(map_role_to_vibe(catalog, catalog.roles[i]), []).append(i)
    assigned = []
    for i in team:
        candidates = by_vibe.get(map_role_to_vibe(catalog, catalog.roles[i]), [others[-1].id])
        assigned.append(candidates.pop(0) if len(candidates) > 1 else candidates[0])
    return tuple(assigned)
