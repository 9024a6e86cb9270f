"""The record of one agent of the savanna."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

TIME_LIMIT = "time_limit"  # the cause of death of those that live at the end of an episode


@dataclass
class SavannaAgentRecord:
    """The record of one agent from birth to death; steps are numbered from 0.

    Attributes:
        agent_id: Id as in PredPreyGrass, such as `type_1_prey_12`.
        uid: The agent's uid.
        policy_group: Name of its group.
        birth_step: Step of its birth, 0 for founders.
        parent: Id of its parent, None for founders.
        death_step: Step in which it died or became a carcass.
        death_cause: One of `DEATH_CAUSES`, or `time_limit` for survivors.
        became_carcass: Whether a carcass was left of it.
        cumulative_reward: Sum of its rewards.
        lineage_reward_total: The part of it paid for live descendants.
        offspring_ids: Ids of its children, in order of birth.
        distance_traveled: Euclidean length of all its moves, in cells.
        times_ate: Number of meals.
        energy_gained: Energy gained by eating.
        avg_energy_sum: Sum of its energy over its steps.
        avg_energy_steps: Number of those steps.
        traits: Heritable traits by name.
        kin_kickbacks: Rewards received for grandchildren.
        carcass_only_blocks: Times it was too young to bite live prey.
        fertility_blocked_attempts: Births that its age prevented.
        fertility_expired_step: Step in which it passed its last fertile age.
        age_expired_step: Step in which it died of age.
        move_energy: Energy that its moves cost.
        eating_events: Meals: step, what was eaten, kind, size, energies, cells and predators.
        failed_eating_events: Team captures that failed, with the same fields.
        reward_events: Rewards other than those of steps and meals.
        reproduction_events: Births: step and id of the child.
        diet_events: Blocked bites of juveniles.
        fertility_events: End of fertility and blocked births.
        lifecycle_events: Death of age.
    """

    agent_id: str
    uid: int
    policy_group: str
    birth_step: int
    parent: str | None
    death_step: int | None = None
    death_cause: str | None = None
    became_carcass: bool = False
    cumulative_reward: float = 0.0
    lineage_reward_total: float = 0.0
    offspring_ids: list[str] = field(default_factory=list)
    distance_traveled: float = 0.0
    times_ate: int = 0
    energy_gained: float = 0.0
    avg_energy_sum: float = 0.0
    avg_energy_steps: int = 0
    move_energy: float = 0.0
    traits: dict[str, float] = field(default_factory=dict)
    kin_kickbacks: int = 0
    carcass_only_blocks: int = 0
    fertility_blocked_attempts: int = 0
    fertility_expired_step: int | None = None
    age_expired_step: int | None = None
    eating_events: list[dict[str, Any]] = field(default_factory=list)
    failed_eating_events: list[dict[str, Any]] = field(default_factory=list)
    reward_events: list[dict[str, Any]] = field(default_factory=list)
    reproduction_events: list[dict[str, Any]] = field(default_factory=list)
    diet_events: list[dict[str, Any]] = field(default_factory=list)
    fertility_events: list[dict[str, Any]] = field(default_factory=list)
    lifecycle_events: list[dict[str, Any]] = field(default_factory=list)

    @property
    def birth_tick(self) -> int:
        """Steps played when it was born: 0 for founders."""
        return 0 if self.parent is None else self.birth_step + 1

    @property
    def death_tick(self) -> int | None:
        """Steps played when it died or became a carcass, or when time was up; None before."""
        survived = self.death_cause == TIME_LIMIT and not self.became_carcass
        if self.death_step is None or survived:
            return self.death_step
        return self.death_step + 1

    @property
    def avg_energy(self) -> float:
        """Mean energy of the agent over the steps it lived through."""
        return self.avg_energy_sum / max(self.avg_energy_steps, 1)
