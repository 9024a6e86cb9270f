"""The data model of roles: behaviours, tiers, roles. Values: nothing here is changed in place.

A role is bred by making another one. So a parent and its child cannot share a tier that one of
them changes, which is how the original lost its parents.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, ClassVar, Literal, TypeAlias

from kinfolk.core.errors import require

MAX_BEHAVIORS = 12  # in one role: the width of a program
Origin: TypeAlias = Literal["manual", "sampled", "recombined", "mutated", "hybrid", "explore"]


class BehaviorSource(str):
    """The craft a behaviour comes from. The five below are CogsGuard's; any other text is one too.

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
    """How the behaviours of a tier are put in order when a role is taken on."""

    FIXED = 0  # as they stand
    SHUFFLE = 1  # any order with equal chance
    WEIGHTED = 2  # drawn one after the other, by weight


@dataclass(frozen=True)
class BehaviorDef:
    """Something an agent can be about, and how well it has served.

    The three functions take whatever state their world's policies keep; `roles` never calls them.
    """

    id: int  # its place in the catalogue
    name: str
    source: BehaviorSource
    can_start: Callable[..., Any]
    act: Callable[..., Any]  # may say that it cannot
    should_terminate: Callable[..., Any]
    interruptible: bool = True
    fitness: float = 0.0  # moving average of the scores of games in which a role held it
    games: int = 0
    uses: int = 0


@dataclass(frozen=True)
class RoleTier:
    """Behaviours of equal rank. `weights` count with WEIGHTED only; without them all are equal.

    Lists are taken too, and become tuples.
    """

    behavior_ids: tuple[int, ...]
    weights: tuple[float, ...] | None = None
    selection: TierSelection = TierSelection.FIXED

    def __post_init__(self) -> None:
        object.__setattr__(self, "behavior_ids", tuple(self.behavior_ids))
        object.__setattr__(self, "selection", TierSelection(self.selection))
        require(len(self.behavior_ids) > 0, "A tier must hold at least one behaviour; it has none.")
        if not self.weights:  # an empty list means that there are none
            object.__setattr__(self, "weights", None)
            return
        object.__setattr__(self, "weights", tuple(float(w) for w in self.weights))
        require(
            len(self.weights) == len(self.behavior_ids),
            f"A tier of {len(self.behavior_ids)} behaviours must have as many weights, "
            f"not {len(self.weights)}.",
        )
        require(
            all(0.001 <= w <= 1000 for w in self.weights),
            f"The weights of a tier must lie between 0.001 and 1000, not {self.weights}.",
        )


@dataclass(frozen=True)
class RoleDef:
    """Tiers in order of priority, where they came from, and how well they have served."""

    tiers: tuple[RoleTier, ...]
    name: str = ""  # given by the catalogue where empty
    id: int = -1  # its place in the catalogue; -1 until it is added
    origin: Origin = "manual"
    locked_name: bool = False
    fitness: float = 0.0
    games: int = 0
    wins: int = 0
    parents: tuple[int, ...] = ()
    generation: int = 0  # in which it was made
    retired: int | None = None  # the generation in which it left the pool

    def __post_init__(self) -> None:
        object.__setattr__(self, "tiers", tuple(self.tiers))
        object.__setattr__(self, "parents", tuple(self.parents))
        ids = self.behavior_ids
        require(len(ids) > 0, f"The role '{self.name}' must hold a behaviour; it has none.")
        require(
            len(ids) <= MAX_BEHAVIORS,
            f"The role '{self.name}' must hold at most {MAX_BEHAVIORS} behaviours, not {len(ids)}.",
        )

    @property
    def behavior_ids(self) -> tuple[int, ...]:
        """All its behaviours, in order of the tiers."""
        return tuple(i for tier in self.tiers for i in tier.behavior_ids)
