"""`role_history.json`: what evolution remembers, as plain data that people can read and compare.

Behaviours are named, never numbered, so that a history outlives a change of the catalogue. A line
holds one behaviour or one role: two histories differ in the lines of the roles that differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, TypeAlias

from pydantic import Field

from kinfolk.core.errors import UnknownNameError, suggestion
from kinfolk.core.settings import Settings
from kinfolk.roles.catalog import RoleCatalog
from kinfolk.roles.model import Origin, RoleDef, RoleTier, TierSelection

FORMAT = 1
Mode: TypeAlias = Literal["fixed", "shuffle", "weighted"]


class TierEntry(Settings):
    """A tier, by names."""

    behaviors: tuple[str, ...] = Field(min_length=1)
    selection: Mode
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


class LineupEntry(Settings):
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
    lineups: tuple[LineupEntry, ...] = ()


def restore(history: RoleHistory, catalog: RoleCatalog, source: str) -> list[int]:
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
            f"{suggestion(unknown[0], ids)}"
        )
    for entry in history.behaviors:
        i = ids[entry.name]
        catalog.behaviors[i] = replace(
            catalog.behaviors[i], fitness=entry.fitness, games=entry.games, uses=entry.uses
        )
    catalog.roles[:] = [role_of(entry, ids) for entry in history.roles]
    catalog.next_name_id = history.nextNameId
    return [role.id for role in catalog.roles if role.retired is None]


def role_of(entry: RoleEntry, ids: Mapping[str, int]) -> RoleDef:
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
