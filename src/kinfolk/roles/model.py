"""The data model of roles: behaviors, tiers and roles, all immutable.

Operators return new roles. So a parent and its child cannot share a tier that one of them modifies,
which is how mutations corrupted the parents in cogames.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Any, Literal, TypeAlias

from pydantic import Field, model_validator

from kinfolk.core.errors import require
from kinfolk.core.html_table import html_table
from kinfolk.core.settings import Settings, setting

MAX_BEHAVIORS = 12  # in one role; also the length of a program
MAX_PARAMETERS = 20  # of all behaviors of a catalog together
Origin: TypeAlias = Literal["manual", "sampled", "recombined", "mutated", "hybrid", "explore"]
Relation: TypeAlias = Literal["<", ">="]


class BehaviorSource(StrEnum):
    """The role type that a behavior of CogsGuard comes from; other worlds name theirs by plain text.

    >>> BehaviorSource.MINER == "miner", len(BehaviorSource)
    (True, 5)
    """

    MINER = "miner"
    SCOUT = "scout"
    ALIGNER = "aligner"
    SCRAMBLER = "scrambler"
    COMMON = "common"


class TierSelection(IntEnum):
    """How the behaviors of a tier are ordered when an agent is assigned the role."""

    FIXED = 0  # as listed
    SHUFFLE = 1  # every order with equal probability
    WEIGHTED = 2  # drawn one after another without replacement, by weight


@dataclass(frozen=True)
class BehaviorParameter:
    """An integer that a behavior reads, and that a role may set within a range.

    Attributes:
        name: Unique name, such as `hearts_wanted`.
        default: Value for roles that do not set it.
        low: Lowest value that evolution gives it.
        high: Highest value that evolution gives it.
    """

    name: str
    default: int
    low: int
    high: int

    def __post_init__(self) -> None:
        limits = f"{self.low} to {self.high}, not at {self.default}"
        in_range = self.low <= self.default <= self.high
        require(in_range, f"The default of the parameter '{self.name}' must lie in {limits}.")


@dataclass(frozen=True)
class GuardFact:
    """A number that an agent knows, which guards of tiers compare with a threshold.

    Attributes:
        name: Unique name, such as `hearts`.
        low: Lowest threshold that evolution gives it.
        high: Highest threshold that evolution gives it.
        description: What the number is.
    """

    name: str
    low: int
    high: int
    description: str = ""


@dataclass(frozen=True)
class TierGuard:
    """A condition of a tier: its behaviors run only while a fact is below or above a threshold.

    >>> str(TierGuard("hearts", "<", 2))
    'hearts < 2'
    """

    fact: str  # what an agent knows, as `kinfolk behaviors --facts` lists it
    relation: Relation  # "<" or ">="
    threshold: int  # what the fact is compared with

    def __post_init__(self) -> None:
        known = self.relation in ("<", ">=")
        require(known, f"A guard's relation must be '<' or '>=', not '{self.relation}'.")

    def __str__(self) -> str:
        return f"{self.fact} {self.relation} {self.threshold}"


@dataclass(frozen=True)
class BehaviorDef:
    """A behavior that an agent can run, and its record in past games.

    The hooks take the state of an agent, whose type depends on the world; in CogsGuard it is an
    `AgentView`. This package never calls them.

    Attributes:
        id: Index in the catalog.
        name: Unique name.
        source: Role type that it comes from: a `BehaviorSource`, or any other text.
        can_start: `can_start(state)`: whether an agent can start it.
        act: `act(state)`: the action of an agent that runs it; None if it cannot act.
        should_terminate: `should_terminate(state)`: whether an agent that runs it must stop.
        interruptible: Whether a behavior of higher priority may interrupt it.
        fitness: Moving average of the scores of roles that contain it.
        games: Number of scores in that average. A behavior is scored only where it acted, as far as
            that is known.
        uses: Number of times that a role which contains it was played, whether it acted or not.
        parameters: Integers that it reads and that roles may set.
    """

    id: int
    name: str
    source: BehaviorSource | str
    can_start: Callable[..., Any]
    act: Callable[..., Any]
    should_terminate: Callable[..., Any]
    interruptible: bool = True
    fitness: float = 0.0
    games: int = 0
    uses: int = 0
    parameters: tuple[BehaviorParameter, ...] = ()


@dataclass(frozen=True)
class RoleTier:
    """Behaviors of equal priority within a role.

    Attributes:
        behavior_ids: Ids of the behaviors, at least one; a list becomes a tuple.
        weights: One per behavior, from 0.001 to 1000, used with WEIGHTED only; None for equal ones.
        selection: How they are ordered when the role is assigned.
        guard: Condition under which they run; None for always.
    """

    behavior_ids: tuple[int, ...]
    weights: tuple[float, ...] | None = None
    selection: TierSelection = TierSelection.FIXED
    guard: TierGuard | None = None

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
        fitness: Moving average of its scores; a mutation starts with that of its parent.
        games: Number of games in that average, including the parent's.
        wins: Number of games won, including the parent's.
        own_games: Number of games that this role itself was played in.
        parents: Ids of its parents.
        generation: Generation in which it was created.
        retired: Generation in which it left the pool; None while it is active.
        parameters: Name and value of the parameters that it sets; sorted by name.
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
    parameters: tuple[tuple[str, int], ...] = ()
    own_games: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "tiers", tuple(self.tiers))
        object.__setattr__(self, "parents", tuple(self.parents))
        object.__setattr__(self, "parameters", tuple(sorted(dict(self.parameters).items())))
        n, role = len(self.behavior_ids), f"The role '{self.name}'"
        require(n > 0, f"{role} must hold a behavior; it has none.")
        limit = f"at most {MAX_BEHAVIORS} behaviors"
        require(n <= MAX_BEHAVIORS, f"{role} must hold {limit}, not {n}.")

    def _repr_html_(self) -> str:
        """Return the tiers as a table for a notebook; a catalog knows the names of behaviors."""
        rows = [
            (str(number + 1), ", ".join(map(str, tier.behavior_ids)), tier.selection.name.lower())
            for number, tier in enumerate(self.tiers)
        ]
        record = f"fitness {self.fitness:.3g}, {self.games} games, {self.wins} won"
        caption = f"Role {self.name or self.id} ({self.origin}): {record}"
        return html_table(("tier", "behavior ids", "order"), rows, caption)

    @property
    def behavior_ids(self) -> tuple[int, ...]:
        """Ids of all its behaviors, tier by tier."""
        return tuple(i for tier in self.tiers for i in tier.behavior_ids)

    @property
    def genome(self) -> tuple[tuple[RoleTier, ...], tuple[tuple[str, int], ...]]:
        """Tiers and parameters: roles with equal genomes play alike."""
        return self.tiers, self.parameters


def probability(default: float, description: str) -> Any:
    """Declare a setting that is a probability."""
    return Field(default=default, ge=0.0, le=1.0, description=description)


class EvolutionConfig(Settings):
    """How roles are sampled, bred, scored and named; the defaults are those of the design note."""

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
        0.0, "Probability per assignment that an agent gets a new role; 0.08 in tribal-village."
    )
    role_mutation_chance: float = probability(0.25, "Probability that a hybrid is mutated.")
    injection_chance: float = probability(
        0.35, "Probability that a behavior is injected into a hybrid."
    )
    generated_role_count: int = setting(
        4, "Roles in the pool: those of the catalog, topped up with sampled ones.", ge=2, le=10_000
    )
    fitness_alpha: float = setting(
        0.2, "Weight of the newest score in the moving average of a role's fitness.", gt=0.0, le=1.0
    )
    lock_fitness_threshold: float = probability(0.7, "Fitness from which a role keeps its name.")
    team_weight: float = probability(
        0.5, "Share of the team's score in a role's score; the rest is the agent's own."
    )

    # The following are not in the design note; their defaults have no effect.
    recombination_chance: float = probability(
        1.0, "Probability that a child has two parents; otherwise it is a mutation of one."
    )
    reorder_chance: float = probability(
        0.0, "Probability that a child has one behavior moved to another priority."
    )
    insertion_chance: float = probability(
        0.0, "Probability that a behavior is inserted into a child, at any priority."
    )
    deletion_chance: float = probability(0.0, "Probability that a child loses a behavior.")
    parameter_rate: float = probability(
        0.0, "Probability that a child has one parameter of its behaviors changed."
    )
    guard_rate: float = probability(
        0.0, "Probability that a guard of a child is added, changed or removed."
    )
    weight_rate: float = probability(
        0.0,
        "Probability per tier of several behaviors that it becomes WEIGHTED, or its weights change.",
    )
    switch_chance: float = probability(
        0.0, "Probability that a child plays one parent's role under a guard, else the other's."
    )
    selection_pressure: float = setting(
        1.0, "Exponent of the fitness by which parents and assignments are drawn.", ge=0.0, le=100.0
    )

    selection: Literal["fitness", "uniform"] = setting(
        "fitness",
        "How survivors, parents and assignments are chosen; uniform is a control experiment.",
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
