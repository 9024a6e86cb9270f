"""What a training is asked to do."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from kinfolk.core.errors import require, suggestion
from kinfolk.core.settings import Settings
from kinfolk.play.lineup import Lineup
from kinfolk.play.slots import PolicySlot
from kinfolk.training.pool import PoolSettings
from kinfolk.training.profiles import LossProfiles
from kinfolk.training.settings import Cloning, Kickstart, Learning, Teaching

DEFAULT_NET = "kin://mlp"
Score = Literal["return", "length"]


class Judging(Settings):
    """Games on seeds that are not trained on, every so many updates; 0 is never.

    `slots` are played by other policies than in training, and agents by other slots if there is
    an `agent_slot_map`; `baselines` are whole line-ups to compare with, each a table of slots,
    played on the same episodes.
    """

    every: int = Field(default=0, ge=0)
    episodes: int = Field(default=20, ge=1)
    seed: int = Field(default=1_000_003, ge=0)
    greedy: bool = False  # nets take their best choice instead of drawing
    slots: dict[str, str] = Field(default={})
    agent_slot_map: dict[str, Any] | tuple[Any, ...] | None = None
    baselines: dict[str, dict[str, str]] = Field(default={})


class Train(Lineup):
    """Slots, a map, and how they learn. The results follow from these and nothing else.

    Without slots one net, `main`, plays and learns everybody. `steps` counts rows of slots that
    are trained. `worlds` run side by side, split into `chunks`; `ticks` are played between two
    updates.
    """

    slots: tuple[PolicySlot, ...] = Field(
        default=(PolicySlot(id="main", policy_uri=DEFAULT_NET),), min_length=1
    )
    world: str = "probe"
    preset: str | None = None
    world_settings: dict[str, Any] = Field(default={})
    seed: int = Field(default=0, ge=0)
    steps: int = Field(default=100_000, ge=1)
    worlds: int = Field(default=16, ge=1)
    chunks: int = Field(default=1, ge=1)
    ticks: int = Field(default=64, ge=1)
    # Refuse nets whose results for an agent depend on the others of its batch, as every evaluation
    # does; so does judging.
    batch_invariant: bool = False
    learning: Learning = Learning()
    loss_profiles: dict[str, tuple[str, ...]] = Field(default={})
    kickstarter: Kickstart = Kickstart()
    cloner: Cloning = Cloning()
    teaching: dict[str, Teaching] = Field(default={})
    pool: PoolSettings | None = None
    judge: Judging = Judging()
    score: Score = "return"  # what is called best: return per life of trained slots, or length
    window: int = Field(default=100, ge=1)  # episodes that means are over
    stop_at: float | None = None  # stop when the score of the last `window` episodes is as high
    patience: int | None = Field(default=None, ge=1)  # judgings without a new best, then stop
    checkpoint_every: int = Field(default=10, ge=1)  # updates

    @model_validator(mode="after")
    def _fits_together(self) -> Train:
        self.require_trainable()
        profiles = LossProfiles(self.loss_profiles)
        for slot in self.slots:
            profiles.number(slot.id, slot.loss_profile)
            require(
                (slot.train_for or 1) <= slot.train_every,
                f"Slot '{slot.id}' trains for {slot.train_for} of every {slot.train_every} updates; "
                f"train_for can be at most train_every.",
            )
            require(
                slot.isolate in (None, "none"),
                f"Slot '{slot.id}' asks for a process of its own (isolate = '{slot.isolate}'); "
                f"training has none for policies. Leave it out, or evaluate with kinfolk eval.",
            )
        require(
            self.worlds % self.chunks == 0,
            f"{self.worlds} worlds cannot be split into {self.chunks} equal chunks.",
        )
        self._check_teaching()
        self._check_pool()
        return self

    def _check_teaching(self) -> None:
        trainable = [slot.id for slot in self.slots if slot.trainable]
        for student, lesson in self.teaching.items():
            require(
                student in trainable,
                f"The teaching of '{student}' has nobody to teach: no trainable slot is called "
                f"so.{suggestion(student, trainable)}",
            )
            others = [name for name in self.slot_ids if name != student]
            require(
                lesson.teacher in others,
                f"Slot '{student}' is to be taught by '{lesson.teacher}', which is no other slot."
                f"{suggestion(lesson.teacher, others)}",
            )

    def _check_pool(self) -> None:
        if self.pool is None:
            return
        by_id = {slot.id: slot for slot in self.slots}
        for name in (self.pool.slot, self.pool.of):
            require(
                name in by_id,
                f"The pool names an unknown slot '{name}'.{suggestion(name, by_id)}",
            )
        require(
            not by_id[self.pool.slot].trainable and by_id[self.pool.of].trainable,
            f"A pool plays for a slot that is not trainable with copies of one that is; "
            f"'{self.pool.slot}' and '{self.pool.of}' are not so.",
        )
