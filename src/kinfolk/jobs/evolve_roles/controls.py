"""Control experiments: teams that must gain nothing if the evolved roles are what gains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from kinfolk.core.random import fold_in
from kinfolk.jobs.evolve_roles.state import seeded_roles, seeded_team
from kinfolk.policies.role_domain import RoleDomain
from kinfolk.roles.catalog import RoleCatalog, map_role_to_vibe
from kinfolk.roles.keyed_rng import KeyedRng

T = TypeVar("T")


def shuffle_results(results: Sequence[T], n_teams: int, key: int) -> list[T]:
    """Shuffle the results of each episode among its teams, except the first, seeded one.

    >>> shuffle_results(["seeded", 1, 2, 3, "seeded", 1, 2, 3], 3, 5)
    ['seeded', 2, 3, 1, 'seeded', 3, 2, 1]

    Args:
        results: Results of all games, episode by episode, the seeded team first.
        n_teams: Teams besides the seeded one.
        key: Random key.
    """
    shuffled: list[T] = []
    for episode, start in enumerate(range(0, len(results), n_teams + 1)):
        rng, rest = KeyedRng(fold_in(key, episode)), list(results[start + 1 : start + 1 + n_teams])
        shuffled.append(results[start])
        while rest:
            shuffled.append(rest.pop(rng.randint(len(rest))))
    return shuffled


def reduce_to_vibes(
    domain: RoleDomain, catalog: RoleCatalog, team: Sequence[int]
) -> tuple[int, ...]:
    """Return a team in which each role is replaced by the seeded role of its vibe.

    This is how the original played. Sorted, as teams are, so that equal compositions play equal
    games.

    Args:
        domain: The role domain of the world.
        catalog: The catalog of roles.
        team: Role ids.
    """
    return tuple(sorted(assign_vibe_roles(domain, catalog, team)))


def assign_vibe_roles(
    domain: RoleDomain, catalog: RoleCatalog, team: Sequence[int]
) -> tuple[int, ...]:
    """Return the seeded role for each agent, by vibe; where there is none, the last one.

    Seeded roles that show the same vibe are dealt out in the order of the seeded team.

    Args:
        domain: The role domain of the world.
        catalog: The catalog of roles.
        team: Role ids.
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
