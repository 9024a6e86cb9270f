"""Controls: what must not gain anything if evolution of roles gains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from kinfolk.core.keys import fold
from kinfolk.jobs.role_state import seeded_lineup, seeded_roles
from kinfolk.policies.role_kits import RoleKit
from kinfolk.roles.catalog import RoleCatalog
from kinfolk.roles.dice import Dice
from kinfolk.roles.vibes import map_role_to_vibe

T = TypeVar("T")


def shuffled(results: Sequence[T], lineups: int, key: int) -> list[T]:
    """Results handed out at random: each episode's among its line-ups, but for the first.

    >>> shuffled(["seeded", 1, 2, 3, "seeded", 1, 2, 3], 3, 5)
    ['seeded', 2, 3, 1, 'seeded', 3, 2, 1]
    """
    found: list[T] = []
    for episode, start in enumerate(range(0, len(results), lineups + 1)):
        dice, left = Dice(fold(key, episode)), list(results[start + 1 : start + 1 + lineups])
        found.append(results[start])
        while left:
            found.append(left.pop(dice.below(len(left))))
    return found


def as_vibes(kit: RoleKit, catalog: RoleCatalog, lineup: Sequence[int]) -> tuple[int, ...]:
    """The line-up if a role were only its vibe: each played as the seeded role of that craft.

    So the original played. Sorted, as line-ups are, so that of equal mixes the games are equal.
    """
    return tuple(sorted(seated_as_vibes(kit, catalog, lineup)))


def seated_as_vibes(kit: RoleKit, catalog: RoleCatalog, lineup: Sequence[int]) -> tuple[int, ...]:
    """The seeded role for each seat of the line-up, by vibe; where there is none, the last one.

    Seeded roles that show the same vibe are handed out as the seeded line-up has them.
    """
    seeded, others = seeded_lineup(kit, catalog, len(lineup)), seeded_roles(kit, catalog)
    left: dict[str, list[int]] = {}
    for i in (*seeded, *(role.id for role in others if role.id not in seeded)):
        left.setdefault(map_role_to_vibe(catalog, catalog.roles[i]), []).append(i)
    found = []
    for i in lineup:
        fitting = left.get(map_role_to_vibe(catalog, catalog.roles[i]), [others[-1].id])
        found.append(fitting.pop(0) if len(fitting) > 1 else fitting[0])
    return tuple(found)
