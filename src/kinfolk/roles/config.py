"""The numbers that role evolution goes by."""

from __future__ import annotations

from typing import Any

from pydantic import Field, model_validator

from kinfolk.core.settings import Settings
from kinfolk.roles.model import MAX_BEHAVIORS


def probability(default: float) -> Any:
    """A setting that is a chance: 0 to 1."""
    return Field(default=default, ge=0.0, le=1.0)


class EvolutionConfig(Settings):
    """How roles are sampled, bred, scored and named. `min_tiers` binds sampling only."""

    min_tiers: int = Field(default=2, ge=1, le=MAX_BEHAVIORS)
    max_tiers: int = Field(default=4, ge=1, le=MAX_BEHAVIORS)
    min_tier_size: int = Field(default=1, ge=1, le=MAX_BEHAVIORS)
    max_tier_size: int = Field(default=3, ge=1, le=MAX_BEHAVIORS)
    max_behaviors_per_role: int = Field(default=MAX_BEHAVIORS, ge=1, le=MAX_BEHAVIORS)
    mutation_rate: float = probability(
        0.15
    )  # per tier: a behaviour replaced; half of it: a mode flipped
    sampling_chance: float = probability(
        0.10
    )  # per generation: the last child is a new role instead
    exploration_chance: float = probability(0.08)  # per assignment: a new role
    role_mutation_chance: float = probability(0.25)  # per hybrid
    injection_chance: float = probability(0.35)  # per hybrid
    generated_role_count: int = Field(default=16, ge=2, le=10_000)  # roles in the pool
    fitness_alpha: float = Field(default=0.2, gt=0.0, le=1.0)
    lock_fitness_threshold: float = probability(0.7)
    team_weight: float = probability(
        0.5
    )  # of a score: the team's share; the rest is the agent's own

    @model_validator(mode="after")
    def _in_order(self) -> EvolutionConfig:
        for low, high in (("min_tiers", "max_tiers"), ("min_tier_size", "max_tier_size")):
            least, most = getattr(self, low), getattr(self, high)
            if least > most:
                raise ValueError(
                    f"EvolutionConfig.{low} must be at most {high}, which is {most}; it is {least}."
                )
        return self


DEFAULT_CONFIG = EvolutionConfig()
