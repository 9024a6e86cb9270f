"""Settings of PPO, of the imitation losses and of teachers."""

from __future__ import annotations

from pydantic import Field

from kinfolk.core.settings import Settings, setting


class PPOSettings(Settings):
    """Settings of proximal policy optimisation; a slot may override `learning_rate`."""

    gamma: float = setting(0.99, "Discount per step.", ge=0.0, le=1.0)
    gae_lambda: float = setting(0.95, "Lambda of generalised advantage estimation.", ge=0.0, le=1.0)
    bootstrap_early_ends: bool = setting(
        True, "Bootstrap where an episode is truncated early; false if such an end is a loss."
    )
    reward_scale: float = setting(1.0, "Factor of all rewards.", gt=0.0)
    potential: dict[str, float] = setting(
        {}, "Potential that shapes rewards: weights of observed numbers, by name."
    )
    potential_limit: float | None = setting(
        None, "Most of each number that the potential counts; by default all of it.", gt=0.0
    )
    normalize_rewards: bool | None = setting(
        None,
        "Divide rewards by the running deviation of returns; by default if the net normalises inputs.",
    )
    actor_start_step: int = setting(
        0, "Steps before which ppo_actor is not applied, so that imitation comes first.", ge=0
    )
    clip_range: float = setting(0.2, "Clip range of PPO's probability ratio.", gt=0.0)
    clip_range_vf: float | None = setting(
        None, "Clip range of value updates; by default none.", gt=0.0
    )
    vf_coef: float = setting(0.5, "Coefficient of the value loss.", ge=0.0)
    ent_coef: float = setting(0.01, "Coefficient of the entropy bonus.", ge=0.0)
    noise_correlation: float = setting(
        0.5,
        "Correlation of the noise of continuous actions between steps; 0 for independent noise.",
        ge=0.0,
        lt=1.0,
    )
    target_kl: float | None = setting(
        None, "KL divergence after which an update runs no more epochs.", gt=0.0
    )
    vtrace: bool = setting(False, "Correct off-policy rows by V-trace importance weights.")
    n_epochs: int | None = setting(
        None,
        "Epochs per update; by default chosen from the number of rows (`minibatch_schedule`).",
        ge=1,
    )
    minibatch_size: int | None = setting(
        None,
        "Rows per minibatch; by default chosen from the number of rows (`minibatch_schedule`).",
        ge=1,
    )
    min_minibatches: int = setting(
        1, "Fewest minibatches per epoch, for slots with few rows.", ge=1
    )
    sequence_length: int = setting(16, "Length of training sequences of recurrent nets.", ge=1)
    learning_rate: float = setting(3e-4, "Learning rate of Adam.", gt=0.0)
    anneal_lr: bool = setting(False, "Anneal learning rates to zero towards the end.")
    max_grad_norm: float = setting(0.5, "Maximum norm of the gradient.", gt=0.0)


class LossSettings(Settings):
    """Coefficient of a loss, constant or decaying linearly to zero at `decay_steps` steps."""

    weight: float = setting(1.0, "Coefficient of the loss at the start.", ge=0.0)
    decay_steps: int | None = setting(
        None, "Step at which the coefficient reaches zero; by default it stays.", ge=1
    )


class Kickstart(LossSettings):
    """Settings of the loss `kickstarter`: KL divergence to a teacher's action distribution."""

    vf_coef: float = setting(0.5, "Coefficient of the distance to the teacher's values.", ge=0.0)
    temperature: float = setting(1.0, "Temperature of the teacher's action distribution.", gt=0.0)


class BehaviorCloning(LossSettings):
    """Settings of the loss `cloner`: cross-entropy to a teacher's actions."""


class TeacherSettings(Settings):
    """The teacher of a student slot, and which rows it labels with actions.

    With `teacher_led` the student learns from rows that the teacher plays; with `student_led` the
    teacher adds the action it would take to the rows that the student plays.
    """

    teacher: str = Field(description="Slot that teaches.")
    teacher_led: bool = setting(True, "The student learns from rows that the teacher plays.")
    student_led: bool = setting(True, "The teacher labels the rows that the student plays.")
