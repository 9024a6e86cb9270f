"""`role_history.json`: what evolution remembers, as plain data that people can read and compare.

Behaviours are named, never numbered, so that a history outlives a change of the catalogue. A line
holds one behaviour or one role: two histories differ in the lines of the roles that differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

from pydantic import Field

from kinfolk.core.errors import UnknownNameError, format_suggestion
from kinfolk.core.settings import Settings
from kinfolk.lineage.family import Family, FamilyMember
from kinfolk.roles.catalog import RoleCatalog
from kinfolk.roles.model import Origin, RoleDef, RoleTier, TierSelection

FORMAT = 1

SelectionName: TypeAlias = Literal["fixed", "shuffle", "weighted"]


class TierEntry(Settings):
    """A tier, by names."""

    behaviors: tuple[str, ...] = Field(min_length=1)
    selection: SelectionName
    weights: tuple[float, ...] | None = None


class RoleEntry(Settings):
    """A role and how it did."""

    id: int = Field(ge=0)
    name: str = Field(min_length=1)
    origin: Origin
    locked: bool
    fitness: float = Field(ge=0.0, le=1.0)
    games: int = Field(ge=0)
    wins: int = Field(ge=0)
    parents: tuple[int, ...]
    generation: int = Field(ge=0)
    retired: int | None
    tiers: tuple[TierEntry, ...] = Field(min_length=1)


class BehaviorEntry(Settings):
    """A behaviour and how it did."""

    name: str
    fitness: float = Field(ge=0.0, le=1.0)
    games: int = Field(ge=0)
    uses: int = Field(ge=0)


class TeamEntry(Settings):
    """A mix of roles, by their ids, and how it did."""

    roles: tuple[int, ...] = Field(min_length=1)
    prior: float
    total: float
    games: float = Field(ge=0)


class RoleHistory(Settings):
    """All of it. `roles` stand in order of their ids."""

    format: Literal[1]
    generation: int = Field(ge=0)
    seed: int = Field(ge=0)
    games: int = Field(ge=0)
    nextNameId: int = Field(ge=1)  # noqa: N815, the name its earlier readers know
    behaviors: tuple[BehaviorEntry, ...]
    roles: tuple[RoleEntry, ...]
    teams: tuple[TeamEntry, ...] = ()


def restore_history(history: RoleHistory, catalog: RoleCatalog, source: str) -> list[int]:
    """Enter a history in a catalogue of behaviours; its roles take the place of those there.

    Returns:
        The pool: ids of the roles that are not retired.

    Raises:
        UnknownNameError: The history names behaviours that the catalogue does not have.
    """
    ids = {behavior.name: behavior.id for behavior in catalog.behaviors}
    named = {name for role in history.roles for tier in role.tiers for name in tier.behaviors}
    unknown = sorted((named | {b.name for b in history.behaviors}) - ids.keys())
    if unknown:
        which = ", ".join(f"'{name}'" for name in unknown)
        raise UnknownNameError(
            f"{source} names behaviours that are not registered: {which}."
            f"{format_suggestion(unknown[0], ids)}"
        )
    for entry in history.behaviors:
        i = ids[entry.name]
        catalog.behaviors[i] = replace(
            catalog.behaviors[i], fitness=entry.fitness, games=entry.games, uses=entry.uses
        )
    catalog.roles[:] = [role_from_entry(entry, ids) for entry in history.roles]
    catalog.next_name_id = history.nextNameId
    return [role.id for role in catalog.roles if role.retired is None]


def role_from_entry(entry: RoleEntry, ids: Mapping[str, int]) -> RoleDef:
    """The role that an entry tells of."""
    tiers = tuple(
        RoleTier(
            tuple(ids[name] for name in tier.behaviors),
            tier.weights,
            TierSelection[tier.selection.upper()],
        )
        for tier in entry.tiers
    )
    return RoleDef(
        tiers,
        entry.name,
        entry.id,
        entry.origin,
        entry.locked,
        entry.fitness,
        entry.games,
        entry.wins,
        entry.parents,
        entry.generation,
        entry.retired,
    )


def role_ids_by_name(history: RoleHistory, names: Sequence[str]) -> list[int]:
    """The newest role of each name.

    Raises:
        UnknownNameError: There is none of a name.
    """
    newest = {role.name: role.id for role in history.roles}
    for name in names:
        if name not in newest:
            raise UnknownNameError(f"No role is named '{name}'.{format_suggestion(name, newest)}")
    return [newest[name] for name in names]


def extract_roles(history: RoleHistory, role_ids: Sequence[int]) -> RoleHistory:
    """Only these roles, without their past, and the line-ups that are made of them alone."""
    places = {role_id: at for at, role_id in enumerate(dict.fromkeys(role_ids))}
    chosen = [history.roles[role_id] for role_id in places]
    held = {name for role in chosen for tier in role.tiers for name in tier.behaviors}
    lineups = [one for one in history.teams if set(one.roles) <= places.keys()]
    return history.model_copy(
        update={
            "generation": 0,
            "games": 0,
            "behaviors": tuple(b for b in history.behaviors if b.name in held),
            "roles": tuple(
                role.model_copy(update={"id": at, "parents": (), "generation": 0, "retired": None})
                for at, role in enumerate(chosen)
            ),
            "teams": tuple(_renumber_roles(one, places) for one in lineups),
        }
    )


def _renumber_roles(team: TeamEntry, new_ids: dict[int, int]) -> TeamEntry:
    return team.model_copy(update={"roles": tuple(sorted(new_ids[i] for i in team.roles))})


def role_family(history: RoleHistory) -> Family:
    """Every role that ever was; time counts generations, the group is the role's name."""
    return Family.from_members(
        FamilyMember(
            role.id,
            role.parents,
            role.name,
            role.generation,
            role.retired,
            None if role.retired is None else "retired",
        )
        for role in history.roles
    )


def origins_of(history: RoleHistory) -> dict[int, str]:
    """By which operator each role was made."""
    return {role.id: role.origin for role in history.roles}
