"""The data model of roles: behaviors, tiers and roles, all immutable.

Operators return new roles. So a parent and its child cannot share a tier that one of them modifies,
which is how mutations corrupted the parents in cogames.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, ClassVar, Literal, TypeAlias

from pydantic import Field, model_validator

from kinfolk.core.errors import require
from kinfolk.core.settings import Settings, setting

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


for _source in ("miner", "scout", "aligner", "scrambler", "common"):
    setattr(BehaviorSource, _source.upper(), BehaviorSource(_source))


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
        ids = tuple(self.behavior_ids)
        weights = tuple(float(w) for w in self.weights) if self.weights else None
        object.__setattr__(self, "behavior_ids", ids)
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "selection", TierSelection(self.selection))
        require(len(ids) > 0, "A tier must hold at least one behavior; it has none.")
        if weights is not None:
            problem = f"must have as many weights, not {len(weights)}"
            require(len(weights) == len(ids), f"A tier of {len(ids)} behaviors {problem}.")
            problem = f"must lie between 0.001 and 1000, not {weights}"
            in_range = all(0.001 <= w <= 1000 for w in weights)
            require(in_range, f"The weights of a tier {problem}.")


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
        n, role = len(self.behavior_ids), f"The role '{self.name}'"
        require(n > 0, f"{role} must hold a behavior; it has none.")
        limit = f"at most {MAX_BEHAVIORS} behaviors"
        require(n <= MAX_BEHAVIORS, f"{role} must hold {limit}, not {n}.")

    @property
    def behavior_ids(self) -> tuple[int, ...]:
        """Ids of all its behaviors, tier by tier."""
        return tuple(i for tier in self.tiers for i in tier.behavior_ids)


def probability(default: float, description: str) -> Any:
    """Declare a setting that is a probability."""
    return Field(default=default, ge=0.0, le=1.0, description=description)


class EvolutionConfig(Settings):
    """How roles are sampled, bred, scored and named."""

    min_tiers: int = setting(2, "Fewest tiers of a sampled role.", ge=1, le=MAX_BEHAVIORS)
    max_tiers: int = setting(4, "Most tiers of a role.", ge=1, le=MAX_BEHAVIORS)
    min_tier_size: int = setting(1, "Fewest behaviors of a sampled tier.", ge=1, le=MAX_BEHAVIORS)
    max_tier_size: int = setting(3, "Most behaviors of a tier.", ge=1, le=MAX_BEHAVIORS)
    max_behaviors_per_role: int = setting(
        MAX_BEHAVIORS, "Most behaviors of a role.", ge=1, le=MAX_BEHAVIORS
    )
    mutation_rate: float = probability(
        0.15,
        "Probability per tier that a behavior is replaced; half of it that its selection mode flips.",
    )
    sampling_chance: float = probability(
        0.10, "Probability per generation that a new role is sampled instead of the last offspring."
    )
    exploration_chance: float = probability(
        0.08, "Probability per assignment that an agent gets a new role."
    )
    role_mutation_chance: float = probability(0.25, "Probability that a hybrid is mutated.")
    injection_chance: float = probability(
        0.35, "Probability that a behavior is injected into a hybrid."
    )
    generated_role_count: int = setting(16, "Roles in the pool.", ge=2, le=10_000)
    fitness_alpha: float = setting(
        0.2, "Weight of the newest score in the moving average of a role's fitness.", gt=0.0, le=1.0
    )
    lock_fitness_threshold: float = probability(0.7, "Fitness from which a role keeps its name.")
    team_weight: float = probability(
        0.5, "Share of the team's score in a role's score; the rest is the agent's own."
    )

    @model_validator(mode="after")
    def _check_bounds(self) -> EvolutionConfig:
        """Raise ValueError unless each minimum is at most its maximum."""
        for low, high in (("min_tiers", "max_tiers"), ("min_tier_size", "max_tier_size")):
            minimum, maximum = getattr(self, low), getattr(self, high)
            if minimum > maximum:
                limits = f"at most {high}, which is {maximum}; it is {minimum}"
                raise ValueError(f"EvolutionConfig.{low} must be {limits}.")
        return self


DEFAULT_CONFIG = EvolutionConfig()
