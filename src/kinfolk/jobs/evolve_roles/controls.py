"""Controls: what must not gain anything if evolution of roles gains."""

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
    """Results handed out at random: each episode's among its line-ups, but for the first.

    >>> shuffle_results(["seeded", 1, 2, 3, "seeded", 1, 2, 3], 3, 5)
    ['seeded', 2, 3, 1, 'seeded', 3, 2, 1]
    """
    found: list[T] = []
    for episode, start in enumerate(range(0, len(results), n_teams + 1)):
        dice, left = KeyedRng(fold_in(key, episode)), list(results[start + 1 : start + 1 + n_teams])
        found.append(results[start])
        while left:
            found.append(left.pop(dice.randint(len(left))))
    return found


def reduce_to_vibes(
    domain: RoleDomain, catalog: RoleCatalog, team: Sequence[int]
) -> tuple[int, ...]:
    """The line-up if a role were only its vibe: each played as the seeded role of that craft.

    So the original played. Sorted, as line-ups are, so that of equal mixes the games are equal.
    """
    return tuple(sorted(assign_vibe_roles(domain, catalog, team)))


def assign_vibe_roles(
    domain: RoleDomain, catalog: RoleCatalog, team: Sequence[int]
) -> tuple[int, ...]:
    """The seeded role for each seat of the line-up, by vibe; where there is none, the last one.

    Seeded roles that show the same vibe are handed out as the seeded line-up has them.
    """
    seeded, others = seeded_team(domain, catalog, len(team)), seeded_roles(domain, catalog)
    left: dict[str, list[int]] = {}
    for i in (*seeded, *(role.id for role in others if role.id not in seeded)):
        left.setdefault(map_role_to_vibe(catalog, catalog.roles[i]), []).append(i)
    found = []
    for i in team:
        fitting = left.get(map_role_to_vibe(catalog, catalog.roles[i]), [others[-1].id])
        found.append(fitting.pop(0) if len(fitting) > 1 else fitting[0])
    return tuple(found)
