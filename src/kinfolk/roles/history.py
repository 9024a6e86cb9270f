"""The schema of `role_history.json`: all roles of an evolution with their fitness and parents.

Behaviors are identified by name, so that a history stays valid when the catalog changes. Each line
of the file holds one behavior or one role, so that `diff` shows which roles differ.
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
    """A tier of a role, with behaviors by name."""

    behaviors: tuple[str, ...] = Field(min_length=1)
    selection: SelectionName
    weights: tuple[float, ...] | None = None  # per behavior, for `weighted`


class RoleEntry(Settings):
    """A role, its origin and its record; the fields are those of `RoleDef`."""

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
    """A behavior and its record; the fields are those of `BehaviorDef`."""

    name: str
    fitness: float = Field(ge=0.0, le=1.0)
    games: int = Field(ge=0)
    uses: int = Field(ge=0)


class TeamEntry(Settings):
    """A team composition and its record; the fields are those of `TeamComposition`."""

    roles: tuple[int, ...] = Field(min_length=1)
    prior: float
    total: float
    games: float = Field(ge=0)


class RoleHistory(Settings):
    """The whole content of `role_history.json`.

    Attributes:
        format: Version of the file format.
        generation: Number of the last generation.
        seed: Seed of the evolution.
        games: Number of games played.
        nextNameId: Number in the next generated name.
        behaviors: All behaviors of the catalog.
        roles: All roles ever created, in order of their ids.
        teams: Team compositions of the last generation.
    """

    format: Literal[1]
    generation: int = Field(ge=0)
    seed: int = Field(ge=0)
    games: int = Field(ge=0)
    nextNameId: int = Field(ge=1)  # noqa: N815, as in files of the original
    behaviors: tuple[BehaviorEntry, ...]
    roles: tuple[RoleEntry, ...]
    teams: tuple[TeamEntry, ...] = ()


def restore_history(history: RoleHistory, catalog: RoleCatalog, source: str) -> list[int]:
    """Load a history into a catalog, whose roles it replaces.

    Args:
        history: The history.
        catalog: A catalog with all behaviors of the history; it is not changed on errors.
        source: Name of the file, for error messages.

    Returns:
        The pool: ids of the roles that are not retired.

    Raises:
        UnknownNameError: The history names behaviors that the catalog does not have.
    """
    ids = {behavior.name: behavior.id for behavior in catalog.behaviors}
    used = {name for role in history.roles for tier in role.tiers for name in tier.behaviors}
    unknown = sorted((used | {b.name for b in history.behaviors}) - ids.keys())
    if unknown:
        names = ", ".join(f"'{name}'" for name in unknown)
        raise UnknownNameError(
            f"{source} names behaviors that are not registered: {names}."
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
    """Convert an entry of a history to a role.

    Args:
        entry: The entry.
        ids: Ids of behaviors by name.

    Raises:
        SettingsError: The entry is not a valid role.
    """
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
    """Return the id of the newest role with each name.

    Raises:
        UnknownNameError: No role has one of the names.
    """
    newest = {role.name: role.id for role in history.roles}
    for name in names:
        if name not in newest:
            raise UnknownNameError(f"No role is named '{name}'.{format_suggestion(name, newest)}")
    return [newest[name] for name in names]


def extract_roles(history: RoleHistory, role_ids: Sequence[int]) -> RoleHistory:
    """Return a history with only some of the roles, and the teams that consist of them.

    The roles get new ids, in the given order, and no parents.

    Args:
        history: The history.
        role_ids: Ids of the roles.
    """
    new_ids = {role_id: number for number, role_id in enumerate(dict.fromkeys(role_ids))}
    roles = [history.roles[role_id] for role_id in new_ids]
    used = {name for role in roles for tier in role.tiers for name in tier.behaviors}
    teams = [team for team in history.teams if set(team.roles) <= new_ids.keys()]
    return history.model_copy(
        update={
            "generation": 0,
            "games": 0,
            "behaviors": tuple(b for b in history.behaviors if b.name in used),
            "roles": tuple(
                role.model_copy(update={"id": i, "parents": (), "generation": 0, "retired": None})
                for i, role in enumerate(roles)
            ),
            "teams": tuple(
                team.model_copy(update={"roles": tuple(sorted(new_ids[i] for i in team.roles))})
                for team in teams
            ),
        }
    )


def role_family(history: RoleHistory) -> Family:
    """Return the family tree of all roles; times are generations, the group is the role's name."""
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
    """Return the operator that created each role, by id."""
    return {role.id: role.origin for role in history.roles}
