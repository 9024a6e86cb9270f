"""Schema of `role_history.json`: all roles of an evolution, their fitness and parents."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import Field

from kinfolk.core.settings import Settings
from kinfolk.roles.model import EvolutionConfig, Origin, Relation

FORMAT = 3

SelectionName: TypeAlias = Literal["fixed", "shuffle", "weighted"]


class GuardEntry(Settings):
    """The guard of a tier; the fields are those of `TierGuard`."""

    fact: str
    relation: Relation
    threshold: int


class TierEntry(Settings):
    """A tier of a role, with behaviors by name."""

    behaviors: tuple[str, ...] = Field(min_length=1)
    selection: SelectionName
    weights: tuple[float, ...] | None = None  # per behavior, for `weighted`
    guard: GuardEntry | None = None


class RoleEntry(Settings):
    """A role, its origin and its record; the fields are those of `RoleDef`."""

    id: int = Field(ge=0)
    name: str = Field(min_length=1)
    origin: Origin
    locked: bool
    fitness: float = Field(allow_inf_nan=False)
    games: int = Field(ge=0)
    own_games: int = Field(ge=0)
    wins: int = Field(ge=0)
    parents: tuple[int, ...]
    generation: int = Field(ge=0)
    retired: int | None
    tiers: tuple[TierEntry, ...] = Field(min_length=1)
    parameters: dict[str, int] = Field(default_factory=dict)


class BehaviorEntry(Settings):
    """A behavior and its record; the fields are those of `BehaviorDef`."""

    name: str
    fitness: float = Field(allow_inf_nan=False)
    games: int = Field(ge=0)
    uses: int = Field(ge=0)


class TeamEntry(Settings):
    """A team composition and its record; the fields are those of `TeamComposition`."""

    roles: tuple[int, ...] = Field(min_length=1)
    value: float
    games: int = Field(ge=0)


class CoordinatorEntry(Settings):
    """What a coordinator needs to go on, beside its roles.

    Attributes:
        num_agents: Agents of a team.
        games_per_generation: Games per generation.
        games_this_generation: Games of the current generation so far.
        wins: Games won.
        hybrids: Hybrids made.
        pool: Ids of the living roles.
        pending: Ids of hybrids that wait for an agent.
        assignments: Role id by agent.
        config: Hyperparameters of evolution.
    """

    num_agents: int = Field(ge=1)
    games_per_generation: int = Field(ge=1)
    games_this_generation: int = Field(ge=0)
    wins: int = Field(ge=0)
    hybrids: int = Field(ge=0)
    pool: tuple[int, ...]
    pending: tuple[int, ...]
    assignments: dict[str, int]
    config: EvolutionConfig


class RoleHistory(Settings):
    """The whole content of `role_history.json`.

    Attributes:
        format: Version of the file format.
        sha256: Checksum of the file; null in a file that was edited by hand.
        generation: Number of the last generation.
        seed: Seed of the evolution.
        games: Number of games played.
        nextNameId: Number in the next generated name.
        behaviors: All behaviors of the catalog.
        roles: All roles ever created, in order of their ids.
        teams: The best teams of the last generation, best first.
        coordinator: State of the coordinator that wrote the file; None in the files of runs.
    """

    format: Literal[3]
    sha256: str | None
    generation: int = Field(ge=0)
    seed: int = Field(ge=0)
    games: int = Field(ge=0)
    nextNameId: int = Field(ge=1)  # noqa: N815, as in files of cogames
    behaviors: tuple[BehaviorEntry, ...]
    roles: tuple[RoleEntry, ...]
    teams: tuple[TeamEntry, ...] = ()
    coordinator: CoordinatorEntry | None = None
