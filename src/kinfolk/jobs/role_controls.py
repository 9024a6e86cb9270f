"""Controls: what must not gain anything if evolution of roles gains, and what must gain still."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import TypeVar

from kinfolk.core.errors import SettingsError
from kinfolk.core.keys import fold
from kinfolk.jobs.role_state import Evolution
from kinfolk.policies.role_kits import RoleKit
from kinfolk.roles.catalog import RoleCatalog
from kinfolk.roles.dice import Dice
from kinfolk.roles.vibes import map_role_to_vibe, same_vibe

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
    """The seeded role for each seat of the line-up, by vibe; where there is none, the last one."""
    seeded = [catalog.role(name) for name in dict.fromkeys(kit.seeded)]
    by_vibe = {map_role_to_vibe(catalog, role): role.id for role in seeded}
    vibes = [map_role_to_vibe(catalog, catalog.roles[i]) for i in lineup]
    return tuple(by_vibe.get(vibe, seeded[-1].id) for vibe in vibes)


def hold_mix(kit: RoleKit, state: Evolution) -> None:
    """From here on a role is exchanged only for one of its vibe: the mix of crafts is the seeded one.

    So every line-up is the seeded one `as_vibes`, and what it gains is its roles' alone. Line-ups
    of a history that have another mix are left out.

    Raises:
        SettingsError: Two seeded roles show the same vibe, which then does not tell them apart.
    """
    if as_vibes(kit, state.catalog, state.seeded) != state.seeded:
        raise SettingsError(
            "EvolveRoles.control 'fixed_mix' needs seeded roles that all show different vibes; "
            "some of this catalogue's show the same."
        )
    mix, state.may_replace = mix_of(state.catalog, state.seeded), partial(same_vibe, state.catalog)
    fitting = [one for one in state.lineups if mix_of(state.catalog, one.roles) == mix]
    state.lineups = fitting or [state.reference]


def mix_of(catalog: RoleCatalog, lineup: Sequence[int]) -> Counter[str]:
    """How many of a line-up show each vibe."""
    return Counter(map_role_to_vibe(catalog, catalog.roles[i]) for i in lineup)
