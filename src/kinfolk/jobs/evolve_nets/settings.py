"""What an evolution of nets follows from."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from kinfolk.core.settings import Settings
from kinfolk.nets.heads import HEADS


class ArchiveAxis(Settings):
    """One side of a map of behaviours."""

    name: str  # a measure: `ticks`, a counter of the world, or `mean:N` of what is shown
    low: float
    high: float
    cells: int = Field(default=20, ge=1)

    @model_validator(mode="after")
    def _ordered(self) -> ArchiveAxis:
        if self.low >= self.high:
            raise ValueError(
                f"The axis {self.name} must go up; it goes from {self.low} to {self.high}."
            )
        return self


class EvolveNets(Settings):
    """A task, nets, and how they evolve. The results follow from these and nothing else."""

    task: str = "gym:CartPole-v1"
    preset: str | None = None
    world_settings: dict[str, Any] = Field(default={})
    fixed: dict[str, str] = Field(default={})  # groups that do not evolve, and who plays them
    held_out_opponents: dict[str, str] = Field(
        default={}
    )  # who plays the other groups when one is held out
    populations_per_group: int = Field(
        default=1, ge=1
    )  # populations dealt among the agents of the only group
    fitness: dict[str, str] = Field(default={})  # by population; else `return`

    net: Literal["feedforward", "recurrent", "dynamic"] = "feedforward"
    hidden: tuple[int, ...] = (16,)
    head: str = "argmax"
    zero_init: bool = False
    algorithm: Literal["ga", "cma", "sep-cma", "openai-es", "lm-ma"] = "ga"
    population: int = Field(default=64, ge=2)
    generations: int = Field(default=100, ge=1)
    max_evaluations: int | None = Field(default=None, ge=1)  # stop when so many members were tried
    sigma: float | None = Field(default=None, ge=0.0)  # None: 0.01 for ga, 0.5 for strategies
    self_adaptive: bool = False
    learning_rate: float = Field(default=0.5, gt=0.0)  # of openai-es
    selection: Literal["truncation", "tournament"] = "truncation"
    tournament_size: int = Field(default=3, ge=1)
    elites: int = Field(default=0, ge=0)
    keep_running_stats: bool = True  # False only to show that it matters

    inherit: tuple[Literal["env", "mem", "fit"], ...] = ()
    matches: int = Field(default=1, ge=1)
    steps: int | None = Field(default=None, ge=1)  # ticks of a match; None: whole episodes
    imitate: str | None = None  # a policy, or a file of what somebody saw and did
    adversarial: str | None = None  # a policy to be told apart from
    target_episodes: int = Field(default=8, ge=1)  # of the policy that is imitated
    archive: tuple[ArchiveAxis, ...] = ()

    held_out_episodes: int = Field(default=100, ge=0)  # episodes; 0: none
    held_out_every: int | None = Field(default=None, ge=1)  # None: at the end only
    goal: float | None = None  # stop when reached
    goal_of: Literal["mean", "elite", "center"] = "elite"
    seed: int = Field(default=0, ge=0)
    chunk_size: int = Field(default=32, ge=1)  # members of a task; changes nothing
    checkpoint_every: int = Field(default=10, ge=1)

    @field_validator("head")
    @classmethod
    def _known_head(cls, head: str) -> str:
        if head not in HEADS:
            raise ValueError(f"EvolveNets.head must be one of {', '.join(HEADS)}, not '{head}'.")
        return head

    @model_validator(mode="after")
    def _fits(self) -> EvolveNets:
        strategy = self.algorithm != "ga"
        if strategy and self.net == "dynamic":
            raise ValueError(
                f"Dynamic nets have no fixed set of parameters, which {self.algorithm} needs. "
                f"Use the algorithm ga, or feedforward or recurrent nets."
            )
        if strategy and self.inherit:
            raise ValueError(
                f"Members drawn by {self.algorithm} have no parents to inherit {self.inherit[0]} from. "
                f"Use the algorithm ga."
            )
        if strategy and self.elites:
            raise ValueError(f"Elites are of the algorithm ga; {self.algorithm} has none.")
        if self.elites >= self.population:
            raise ValueError(
                f"EvolveNets.elites must be fewer than the {self.population} members, not {self.elites}."
            )
        if "env" in self.inherit and self.steps is None:
            raise ValueError(
                "To inherit env a generation must have an end before the episode's: set steps."
            )
        if self.imitate and self.adversarial:
            raise ValueError(
                "A run imitates by comparing or adversarially: give imitate or adversarial."
            )
        if (self.imitate or self.adversarial) and (self.inherit or self.archive):
            raise ValueError(
                "Imitation has no worlds of its own to inherit or to map: leave those out."
            )
        if self.archive and (strategy or self.net == "dynamic" or len(self.archive) > 2):
            raise ValueError(
                "A map of behaviours has 1 or 2 axes, and needs ga and nets of fixed shape."
            )
        if self.archive and (self.inherit or self.elites):
            raise ValueError("Parents of a map are its elites: leave out inherit and elites.")
        if self.goal is not None and self.goal_of == "center" and not strategy:
            raise ValueError(
                "Only strategies have a search centre: take the goal of elite or mean."
            )
        return self

    @property
    def step_size(self) -> float:
        """Sigma, or what suits the algorithm."""
        if self.sigma is not None:
            return self.sigma
        return 0.01 if self.algorithm == "ga" else 0.5
