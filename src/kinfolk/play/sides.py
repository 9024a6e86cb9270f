"""The sides of a world: which agents a policy plays when several policies meet in one episode.

Teams are groups with equal observations and actions whose names differ in a number only, such as
those of CogsGuard's `head_to_head`: a policy can play any of them, so games are repeated until each
policy has played every team. Other groups, such as predators and prey, are sides of their own, and a
policy stays on its side. In a world with one group two policies share it, row by row.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from kinfolk.core.errors import SettingsError, format_suggestion, require
from kinfolk.core.spaces import WorldSpec
from kinfolk.play.slots import SlotMap

SideKind = Literal["teams", "groups", "rows"]
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")


@dataclass(frozen=True)
class WorldSides:
    """The sides of a world, and who plays them in each rotation of a game.

    Attributes:
        kind: `teams` and `rows` can be exchanged, `groups` cannot.
        names: Names of the sides.
        slots: Ids of the slots, one for each policy of a game.
        slot_maps: The slot map of each rotation. In rotation `r` slot `i` plays side `i + r`, modulo
            the number of sides; groups have one rotation.
    """

    kind: SideKind
    names: tuple[str, ...]
    slots: tuple[str, ...]
    slot_maps: tuple[SlotMap, ...]

    @property
    def are_interchangeable(self) -> bool:
        """Whether every policy can play every side."""
        return self.kind != "groups"


def slot_names(n_sides: int) -> tuple[str, ...]:
    """Return the ids of the slots of a game.

    >>> slot_names(3)
    ('first', 'second', 'third')
    """
    return tuple((*_ORDINALS, *(f"slot_{i + 1}" for i in range(len(_ORDINALS), n_sides)))[:n_sides])


def find_sides(
    spec: WorldSpec,
    kind: SideKind | None = None,
    groups: Mapping[str, Sequence[str]] | None = None,
    exchange: bool | None = None,
) -> WorldSides:
    """Return the sides of a world.

    Args:
        spec: Spec of the world.
        kind: `rows` for two policies that share all groups row by row; None for teams or groups, and
            for rows if there is a single group.
        groups: The groups of each side, by its name; None makes a side of every group.
        exchange: Whether every policy plays every side in turn; None if their groups have equal
            observations and actions, and names that differ in a number only.

    Raises:
        SettingsError: A group belongs to no side or to two, there is a single side, or sides that
            differ are to be exchanged.
        UnknownNameError: The world has no such group.
    """
    table = _check_groups(spec, groups) if groups else {g.name: (g.name,) for g in spec.groups}
    if kind == "rows" or (kind is None and len(table) == 1 and not groups):
        slots = slot_names(2)
        rotations = [[slots[(row + shift) % 2] for row in range(spec.rows)] for shift in range(2)]
        return WorldSides("rows", ("even rows", "odd rows"), slots, tuple(rotations))
    require(
        len(table) > 1,
        f"World {spec.world} has one side, {', '.join(table)}; policies meet on two sides or more.",
    )
    names, slots = tuple(table), slot_names(len(table))
    are_alike = have_equal_layouts(spec, table.values())
    require(
        not exchange or are_alike,
        f"The sides {', '.join(names)} have different observations or actions, so that policies cannot "
        f"exchange them.",
    )
    if exchange is None:
        kinds = {
            tuple(re.sub(r"\d+", "#", group) for group in members) for members in table.values()
        }
        exchange = are_alike and len(kinds) == 1
    n_rotations = len(names) if exchange else 1
    maps = []
    for shift in range(n_rotations):
        sides = {name: slots[(i - shift) % len(names)] for i, name in enumerate(names)}
        maps.append({group: sides[name] for name, members in table.items() for group in members})
    return WorldSides("teams" if exchange else "groups", names, slots, tuple(maps))


def have_equal_layouts(spec: WorldSpec, sides: Iterable[Sequence[str]]) -> bool:
    """Return whether sides, each a list of groups, have the same observations and actions."""
    layouts = []
    for names in sides:
        members = [spec.groups[spec.group_index(name)] for name in names]
        layouts.append([(group.fields, group.heads) for group in members])
    return all(layout == layouts[0] for layout in layouts)


def _check_groups(
    spec: WorldSpec, groups: Mapping[str, Sequence[str]]
) -> dict[str, tuple[str, ...]]:
    """Return a table of sides in which every group of the world occurs once.

    Raises:
        SettingsError: A group occurs in no side, or in two.
        UnknownNameError: The world has no such group.
    """
    sides: dict[str, str] = {}
    for side, members in groups.items():
        for group in members:
            spec.group_index(group)  # raises if there is none
            require(
                group not in sides,
                f"Group {group} is on two sides, {sides.get(group)} and {side}; leave out one.",
            )
            sides[group] = side
    missing = [group.name for group in spec.groups if group.name not in sides]
    require(
        not missing,
        f"World {spec.world} has groups that no side names: {', '.join(missing)}. Name each once.",
    )
    return {side: tuple(members) for side, members in groups.items()}


def match_side(name: str, sides: WorldSides) -> str:
    """Return the side that a short name means: `predator` means `type_1_predator` if only that fits.

    The name of a group means the side that it is on.

    Raises:
        SettingsError: No side or several sides fit.
    """
    if name in sides.names:
        return name
    for side, groups in list_side_groups(sides).items():
        if name in groups:
            return side
    fitting = [side for side in sides.names if name in side]
    if len(fitting) != 1:
        hint = format_suggestion(name, sides.names)
        raise SettingsError(f"There is no side '{name}'.{hint}")
    return fitting[0]


def list_side_groups(sides: WorldSides) -> dict[str, list[str]]:
    """Return the groups of each side in the first rotation; none if sides are rows of one group."""
    slot_map = sides.slot_maps[0]
    if not isinstance(slot_map, dict):
        return {}
    return {
        name: [group for group, slot in slot_map.items() if slot == sides.slots[i]]
        for i, name in enumerate(sides.names)
    }
