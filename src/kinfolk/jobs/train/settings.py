"""What a training is asked to do."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from kinfolk.core.errors import format_suggestion, require
from kinfolk.core.settings import Settings, validate_settings
from kinfolk.play.slot_config import SlotConfig
from kinfolk.play.slots import PolicySlot
from kinfolk.training.losses import LOSSES
from kinfolk.training.opponents import OpponentPoolSettings
from kinfolk.training.profiles import LossProfiles
from kinfolk.training.settings import BehaviorCloning, Kickstart, PPOSettings, TeacherSettings

# Actor and critic share no layers: where returns are large, as in CartPole, the gradient of the
# value would drown the actor's in a shared one. Stable-Baselines3 and CleanRL have the same net.
DEFAULT_NET = "kin://mlp?critic=separate&activation=tanh"
ScoreKind = Literal["return", "length"]
# Settings that are tables of a training; a loss that reads others has a table in `losses`.
_LOSS_TABLES: dict[type[Settings], str] = {
    PPOSettings: "ppo",
    Kickstart: "kickstarter",
    BehaviorCloning: "cloner",
}


class EvalSettings(Settings):
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


class Train(SlotConfig):
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
    n_chunks: int = Field(default=1, ge=1)
    rollout_length: int = Field(default=64, ge=1)
    # Refuse nets whose results for an agent depend on the others of its batch, as every evaluation
    # does; so does judging.
    batch_invariant: bool = False
    ppo: PPOSettings = PPOSettings()
    loss_profiles: dict[str, tuple[str, ...]] = Field(default={})
    kickstarter: Kickstart = Kickstart()
    cloner: BehaviorCloning = BehaviorCloning()
    losses: dict[str, dict[str, Any]] = Field(default={})  # settings of losses of one's own
    teachers: dict[str, TeacherSettings] = Field(default={})
    opponent_pool: OpponentPoolSettings | None = None
    evaluation: EvalSettings = EvalSettings()
    score: ScoreKind = "return"  # what is called best: return per life of trained slots, or length
    stats_window: int = Field(default=100, ge=1)  # episodes that means are over
    target_score: float | None = (
        None  # stop when the score of the last `window` episodes is as high
    )
    patience: int | None = Field(default=None, ge=1)  # judgings without a new best, then stop
    checkpoint_every: int = Field(default=10, ge=1)  # updates

    @model_validator(mode="after")
    def _fits_together(self) -> Train:
        self.require_trainable()
        profiles = LossProfiles(self.loss_profiles)
        for slot in self.slots:
            profiles.profile_id(slot.id, slot.loss_profile)
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
            self.worlds % self.n_chunks == 0,
            f"{self.worlds} worlds cannot be split into {self.n_chunks} equal chunks.",
        )
        self._check_teaching()
        self._check_pool()
        self._check_losses(profiles)
        return self

    def loss_settings(self) -> dict[str, Settings]:
        """By name, the settings of every loss that a profile lists.

        A loss that reads one of the tables of a training gets that; others read `losses`.
        """
        kinds = {n: LOSSES[n].settings_type for n in LossProfiles(self.loss_profiles).losses}
        return {
            name: getattr(self, _LOSS_TABLES[kind])
            if kind in _LOSS_TABLES
            else validate_settings(kind, self.losses.get(name, {}))
            for name, kind in kinds.items()
        }

    def _check_losses(self, profiles: LossProfiles) -> None:
        """Refuse settings that no loss reads, and losses that can never be applied."""
        own = [name for name in profiles.losses if LOSSES[name].settings_type not in _LOSS_TABLES]
        for name in self.losses:
            table = _LOSS_TABLES.get(LOSSES[name].settings_type) if name in LOSSES else None
            require(
                table is None,
                f"The loss '{name}' reads its settings from [{table}], not from [losses.{name}].",
            )
            require(
                name in own,
                f"There are settings in [losses.{name}], and no loss profile lists such a loss."
                f"{format_suggestion(name, own)}",
            )
        self.loss_settings()
        if not self.loss_profiles:
            return  # the default profile lists what some trainings have no rows for
        for number, profile in enumerate(profiles.names):
            slots = [slot for slot in self.slots if self._is_of(slot, profile, number == 0)]
            for name in profiles.losses if slots else ():
                if profiles.includes(number, name):
                    self._check_usable(name, profile, slots)

    def _is_of(self, slot: PolicySlot, profile: str, first: bool) -> bool:
        """Whether a slot has a profile: by name, or as the first one if its rows are learnt from."""
        if slot.loss_profile is not None:
            return slot.loss_profile == profile
        return first and (slot.trainable or self._is_taught(slot))

    def _is_taught(self, slot: PolicySlot) -> bool:
        """Whether rows of a slot hold what a teacher does: its own teacher's, or it is one."""
        own = self.teachers.get(slot.id)
        leads = any(t.teacher == slot.id and t.teacher_led for t in self.teachers.values())
        return leads or (own is not None and own.student_led)

    def _check_usable(self, loss: str, profile: str, slots: list[PolicySlot]) -> None:
        names = " and ".join(f"'{slot.id}'" for slot in slots)
        start = (
            f"The loss profile '{profile}' lists '{loss}', which no row can use: the profile is "
            f"that of {names},"
        )
        if LOSSES[loss].rows == "trainable":
            require(
                any(slot.trainable for slot in slots),
                f"{start} and '{loss}' is for trainable slots. Set trainable = true, or take "
                f"'{loss}' out of the profile.",
            )
        else:
            require(
                any(self._is_taught(slot) for slot in slots),
                f"{start} and '{loss}' needs a teacher. Add [teachers.{slots[0].id}] with "
                f"teacher = 'SLOT', or take '{loss}' out of the profile.",
            )

    def _check_teaching(self) -> None:
        trainable = [slot.id for slot in self.slots if slot.trainable]
        for student, lesson in self.teachers.items():
            require(
                student in trainable,
                f"The teaching of '{student}' has nobody to teach: no trainable slot is called "
                f"so.{format_suggestion(student, trainable)}",
            )
            others = [name for name in self.slot_ids if name != student]
            require(
                lesson.teacher in others,
                f"Slot '{student}' is to be taught by '{lesson.teacher}', which is no other slot."
                f"{format_suggestion(lesson.teacher, others)}",
            )

    def _check_pool(self) -> None:
        if self.opponent_pool is None:
            return
        by_id = {slot.id: slot for slot in self.slots}
        for name in (self.opponent_pool.slot, self.opponent_pool.source_slot):
            require(
                name in by_id,
                f"The pool names an unknown slot '{name}'.{format_suggestion(name, by_id)}",
            )
        require(
            not by_id[self.opponent_pool.slot].trainable
            and by_id[self.opponent_pool.source_slot].trainable,
            f"A pool plays for a slot that is not trainable with copies of one that is; "
            f"'{self.opponent_pool.slot}' and '{self.opponent_pool.source_slot}' are not so.",
        )
