"""Hyperparameters of the evolution of roles."""

from __future__ import annotations

from typing import Any

from pydantic import Field, model_validator

from kinfolk.core.settings import Settings, setting
from kinfolk.roles.model import MAX_BEHAVIORS


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
        for low, high in (("min_tiers", "max_tiers"), ("min_tier_size", "max_tier_size")):
            minimum, maximum = getattr(self, low), getattr(self, high)
            if minimum > maximum:
                raise ValueError(
                    f"EvolutionConfig.{low} must be at most {high}, which is {maximum}; "
                    f"it is {minimum}."
                )
        return self


DEFAULT_CONFIG = EvolutionConfig()
