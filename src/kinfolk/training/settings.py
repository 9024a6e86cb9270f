"""How learning is done, as numbers."""

from __future__ import annotations

from pydantic import Field

from kinfolk.core.settings import Settings


class PPOSettings(Settings):
    """Proximal policy optimisation; each slot may have a learning rate of its own."""

    gamma: float = Field(default=0.99, ge=0.0, le=1.0)
    gae_lambda: float = Field(default=0.95, ge=0.0, le=1.0)  # lambda of GAE
    # Where an episode is cut, survivors expect what they would have earned. If a cut before the
    # limit of time is a loss, such as the end of a species, set this to false.
    bootstrap_early_ends: bool = True
    reward_scale: float = Field(default=1.0, gt=0.0)
    actor_start_step: int = Field(
        default=0, ge=0
    )  # steps before which ppo_actor waits: lessons first
    clip_range: float = Field(default=0.2, gt=0.0)
    clip_range_vf: float | None = Field(default=None, gt=0.0)
    vf_coef: float = Field(default=0.5, ge=0.0)
    ent_coef: float = Field(default=0.01, ge=0.0)
    target_kl: float | None = Field(default=None, gt=0.0)  # beyond it no more epochs are learnt
    vtrace: bool = False  # weigh rows by how likely the learner is to have acted so
    # None: chosen from the rows of the update, see `sequences.minibatch_schedule`.
    n_epochs: int | None = Field(default=None, ge=1)
    minibatch_size: int | None = Field(default=None, ge=1)  # rows
    min_minibatches: int = Field(default=1, ge=1)  # per epoch, for slots with few rows
    sequence_length: int = Field(
        default=16, ge=1
    )  # rows of a life in a row, for nets that remember
    learning_rate: float = Field(default=3e-4, gt=0.0)
    anneal_lr: bool = False  # let learning rates fall to zero towards the end
    max_grad_norm: float = Field(default=0.5, gt=0.0)


class LossSettings(Settings):
    """How much a loss counts. The weight falls to zero at `until` steps; None: it stays."""

    weight: float = Field(default=1.0, ge=0.0)
    decay_steps: int | None = Field(default=None, ge=1)


class Kickstart(LossSettings):
    """Nearness to a teacher's choices: `kickstarter`."""

    vf_coef: float = Field(default=0.5, ge=0.0)
    temperature: float = Field(default=1.0, gt=0.0)


class BehaviorCloning(LossSettings):
    """Doing as a scripted teacher does: `cloner`."""


class TeacherSettings(Settings):
    """Who teaches a slot.

    `teacher_led`: it learns from rows that the teacher plays. `student_led`: the teacher says what
    it would do in the rows that the student plays.
    """

    teacher: str
    teacher_led: bool = True
    student_led: bool = True
