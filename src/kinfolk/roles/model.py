"""The data model of roles: behaviors, tiers and roles, all immutable.

Operators return new roles. So a parent and its child cannot share a tier that one of them modifies,
which is how mutations corrupted the parents in the original.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, ClassVar, Literal, TypeAlias

from kinfolk.core.errors import require

MAX_BEHAVIORS = 12  # in one role; also the length of a program
Origin: TypeAlias = Literal["manual", "sampled", "recombined", "mutated", "hybrid", "explore"]


class BehaviorSource(str):
    """The role type that a behavior comes from: one of CogsGuard's five, or any other text.

    >>> BehaviorSource("healer"), BehaviorSource.MINER
    ('healer', 'miner')
    """

    MINER: ClassVar[BehaviorSource]
    SCOUT: ClassVar[BehaviorSource]
    ALIGNER: ClassVar[BehaviorSource]
    SCRAMBLER: ClassVar[BehaviorSource]
    COMMON: ClassVar[BehaviorSource]


BehaviorSource.MINER = BehaviorSource("miner")
BehaviorSource.SCOUT = BehaviorSource("scout")
BehaviorSource.ALIGNER = BehaviorSource("aligner")
BehaviorSource.SCRAMBLER = BehaviorSource("scrambler")
BehaviorSource.COMMON = BehaviorSource("common")


class TierSelection(IntEnum):
    """How the behaviors of a tier are ordered when an agent is assigned the role."""

    FIXED = 0  # as listed
    SHUFFLE = 1  # every order with equal probability
    WEIGHTED = 2  # drawn one after another without replacement, by weight


@dataclass(frozen=True)
class BehaviorDef:
    """A behavior that an agent can run, and its record in past games.

    The arguments of the three hooks depend on the world; this package never calls them.

    Attributes:
        id: Index in the catalog.
        name: Unique name.
        source: Role type that it comes from.
        can_start: Hook: whether an agent can start it.
        act: Hook: the action of an agent that runs it, or that it cannot act.
        should_terminate: Hook: whether an agent that runs it must stop.
        interruptible: Whether a behavior of higher priority may interrupt it.
        fitness: Moving average of the scores of roles that contain it.
        games: Number of games in which such a role was played.
        uses: The same number, under the name of the design note.
    """

    id: int
    name: str
    source: BehaviorSource
    can_start: Callable[..., Any]
    act: Callable[..., Any]
    should_terminate: Callable[..., Any]
    interruptible: bool = True
    fitness: float = 0.0
    games: int = 0
    uses: int = 0


@dataclass(frozen=True)
class RoleTier:
    """Behaviors of equal priority within a role.

    Attributes:
        behavior_ids: Ids of the behaviors, at least one; a list becomes a tuple.
        weights: One per behavior, from 0.001 to 1000, used with WEIGHTED only; None for equal ones.
        selection: How they are ordered when the role is assigned.
    """

    behavior_ids: tuple[int, ...]
    weights: tuple[float, ...] | None = None
    selection: TierSelection = TierSelection.FIXED

    def __post_init__(self) -> None:
        object.__setattr__(self, "behavior_ids", tuple(self.behavior_ids))
        object.__setattr__(self, "selection", TierSelection(self.selection))
        require(len(self.behavior_ids) > 0, "A tier must hold at least one behavior; it has none.")
        if not self.weights:  # an empty list counts as None
            object.__setattr__(self, "weights", None)
            return
        object.__setattr__(self, "weights", tuple(float(w) for w in self.weights))
        require(
            len(self.weights) == len(self.behavior_ids),
            f"A tier of {len(self.behavior_ids)} behaviors must have as many weights, "
            f"not {len(self.weights)}.",
        )
        require(
            all(0.001 <= w <= 1000 for w in self.weights),
            f"The weights of a tier must lie between 0.001 and 1000, not {self.weights}.",
        )


@dataclass(frozen=True)
class RoleDef:
    """A role, its origin and its record in past games.

    Attributes:
        tiers: Tiers in order of priority.
        name: Name; if empty, the catalog generates one.
        id: Index in the catalog; -1 until it is added.
        origin: Operator that created it.
        locked_name: Whether it has been fit enough to keep its name, also for its mutations.
        fitness: Moving average of its scores.
        games: Number of games it was played in.
        wins: Number of games won.
        parents: Ids of its parents.
        generation: Generation in which it was created.
        retired: Generation in which it left the pool; None while it is active.
    """

    tiers: tuple[RoleTier, ...]
    name: str = ""
    id: int = -1
    origin: Origin = "manual"
    locked_name: bool = False
    fitness: float = 0.0
    games: int = 0
    wins: int = 0
    parents: tuple[int, ...] = ()
    generation: int = 0
    retired: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "tiers", tuple(self.tiers))
        object.__setattr__(self, "parents", tuple(self.parents))
        ids = self.behavior_ids
        require(len(ids) > 0, f"The role '{self.name}' must hold a behavior; it has none.")
        require(
            len(ids) <= MAX_BEHAVIORS,
            f"The role '{self.name}' must hold at most {MAX_BEHAVIORS} behaviors, not {len(ids)}.",
        )

    @property
    def behavior_ids(self) -> tuple[int, ...]:
        """Ids of all its behaviors, tier by tier."""
        return tuple(i for tier in self.tiers for i in tier.behavior_ids)
