"""Settings of a training, and the checks that they fit together."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import model_validator

from kinfolk.core.errors import format_suggestion, require
from kinfolk.core.settings import Flag, Settings, setting, validate_settings
from kinfolk.play.settings import EpisodeSettings
from kinfolk.play.slots import PolicySlot
from kinfolk.training.losses import LOSSES
from kinfolk.training.matchmaking import LeagueSettings
from kinfolk.training.opponents import OpponentPoolSettings
from kinfolk.training.profiles import LOSS_ALIASES, LossProfiles
from kinfolk.training.settings import BehaviorCloning, Kickstart, PPOSettings, TeacherSettings

# Actor and critic share no layers: where returns are large, as in CartPole, the gradient of the
# value would drown the actor's in a shared one. Stable-Baselines3 and CleanRL have the same net.
DEFAULT_NET = "kin://mlp?critic=separate&activation=tanh&normalize=true"
SHARED_PREFIX = "slot:"  # of a policy_uri: play with, and learn into, the net of another slot
ScoreKind = Literal["return", "length"]
_REWARD_METRICS = ("return", "return_per_life", "reward_per_tick")  # of the slots that are scored
# Settings that are tables of a training; a loss that reads others has a table in `losses`.
_LOSS_TABLES: dict[type[Settings], str] = {
    PPOSettings: "ppo",
    Kickstart: "kickstarter",
    BehaviorCloning: "cloner",
}


# Settings of a slot that apply to a net of its own that learns.
_LEARNING_FIELDS = ("learning_rate", "train_every", "train_for")


def _is_changed(slot: PolicySlot, field: str) -> bool:
    """Return whether a setting of a slot is not the default."""
    return bool(getattr(slot, field) != PolicySlot.model_fields[field].get_default())


def _is_shared(slot: PolicySlot) -> bool:
    """Return whether a slot plays with the net of another slot."""
    return str(slot.policy_uri or "").startswith(SHARED_PREFIX)


class EvalSettings(Settings):
    """Settings of the evaluation on held-out seeds during a training.

    `slots` are played by other policies than in training, and agents by other slots if there is an
    `agent_slot_map`; `baselines` are whole teams to compare with, each a table of slots, played on
    the same episodes.
    """

    every: int = setting(0, "Updates between two evaluations; 0 for none.", ge=0)
    episodes: int = setting(20, "Episodes per evaluation.", ge=1)
    seed: int = setting(1_000_003, "Random seed of the evaluation episodes.", ge=0)
    metric: str | None = setting(
        None,
        "Metric that chooses the best checkpoint, see `kinfolk metrics`; none: `score`.",
    )
    greedy: bool = setting(False, "Nets take their most likely action instead of sampling.")
    slots: dict[str, str] = setting({}, "Policies of slots that differ from those in training.")
    agent_slot_map: dict[str, Any] | tuple[Any, ...] | None = setting(
        None, "Slot map that differs from that of training."
    )
    baselines: dict[str, dict[str, str]] = setting(
        {}, "Teams to compare with on the same episodes: a table of slots each."
    )


class Train(EpisodeSettings):
    """Settings of a training, which determine its results completely.

    Without slots one net, `main`, plays all agents and learns from them. `steps` counts rows of
    trainable slots. `worlds` run side by side, split into `n_chunks` tasks; `rollout_length` ticks
    are played between two updates.
    """

    slots: Annotated[tuple[PolicySlot, ...], Flag("--slot", "ID=URI", "slot", repeats=True)] = (
        setting(
            (PolicySlot(id="main", policy_uri=DEFAULT_NET),),
            "Policies that play, with training options each; by default one net for all.",
            min_length=1,
        )
    )
    steps: int = setting(
        100_000, "Rows of trainable slots to learn from; the last rollout is whole.", ge=1
    )
    worlds: int = setting(16, "Worlds that run side by side.", ge=1)
    n_chunks: int = setting(1, "Tasks into which the worlds are split.", ge=1)
    rollout_length: int = setting(64, "Ticks between two updates.", ge=1)
    batch_invariant: bool = setting(
        False, "Refuse nets whose output for an agent depends on the rest of its batch."
    )
    ppo: PPOSettings = setting(PPOSettings(), "PPO settings of all slots.")
    loss_profiles: dict[str, tuple[str, ...]] = setting({}, "Losses per profile, which slots name.")
    kickstarter: Kickstart = setting(Kickstart(), "Settings of the loss kickstarter.")
    cloner: BehaviorCloning = setting(BehaviorCloning(), "Settings of the loss cloner.")
    losses: dict[str, dict[str, Any]] = setting({}, "Settings of losses of your own, by name.")
    teachers: dict[str, TeacherSettings] = setting({}, "Teachers by the slot that they teach.")
    opponent_pool: OpponentPoolSettings | None = setting(
        None, "Self-play against earlier copies of a net."
    )
    league: bool = setting(
        False, "Train in a league: main agents, exploiters and snapshots of both play each other."
    )
    matchmaking: LeagueSettings = setting(
        LeagueSettings(), "Opponents, snapshots and exploiters of the league."
    )
    evaluation: EvalSettings = setting(
        EvalSettings(), "Evaluation on held-out seeds during training."
    )
    score: ScoreKind = setting(
        "return",
        "Metric of the best checkpoint: return per life of trained slots, or episode length.",
    )
    stats_window: int = setting(100, "Episodes over which running means are taken.", ge=1)
    target_score: float | None = setting(
        None, "Stop when the mean score of the last episodes reaches this."
    )
    patience: int | None = setting(
        None, "Evaluations without a new best after which training stops.", ge=1
    )
    checkpoint_every: int = setting(10, "Updates between two checkpoints.", ge=1)

    @model_validator(mode="after")
    def _check_combinations(self) -> Train:
        """Check that slots, chunks, teachers, opponent pool and losses fit together.

        Raises:
            SettingsError: Something does not fit; the message says what to change.
        """
        self.require_trainable()
        if not self.teachers:
            self.__dict__["teachers"] = self._infer_teachers()
        require(
            self.evaluation.metric is None or self.evaluation.every > 0,
            "evaluation.metric chooses the best checkpoint at evaluations; set evaluation.every to have "
            "some.",
        )
        self._check_shared_nets()
        self._check_evaluation()
        profiles = LossProfiles(self.loss_profiles)
        for slot in self.slots:
            profiles.profile_id(slot.id, slot.loss_profile)
            require(
                (slot.train_for or 1) <= slot.train_every,
                f"Slot '{slot.id}' trains for {slot.train_for} of every {slot.train_every} updates; "
                f"train_for can be at most train_every.",
            )
            for field in () if slot.trainable else _LEARNING_FIELDS:
                require(
                    not _is_changed(slot, field),
                    f"Slot '{slot.id}' has {field} = {getattr(slot, field)}, and is not trainable. Take "
                    f"it out, or set trainable = true.",
                )
            require(
                slot.isolate in (None, "none"),
                f"Slot '{slot.id}' has isolate = '{slot.isolate}'; training runs policies in its own "
                f"processes. Leave isolate out, or evaluate with kinfolk eval.",
            )
        self.check_environments(self.worlds, "worlds of the training")
        split = f"split into {self.n_chunks} equal chunks"
        require(self.worlds % self.n_chunks == 0, f"{self.worlds} worlds cannot be {split}.")
        self._check_teachers()
        self._check_opponent_pool()
        self._check_league()
        self._check_losses(profiles)
        return self

    def net_owner(self, slot: PolicySlot) -> PolicySlot:
        """Return the slot whose net a slot plays with: itself, or SLOT of `slot:SLOT`."""
        target = str(slot.policy_uri or "")
        if not target.startswith(SHARED_PREFIX):
            return slot
        return next(s for s in self.slots if s.id == target.removeprefix(SHARED_PREFIX))

    def _check_evaluation(self) -> None:
        """Check that evaluations play slots that there are, and have a score if a setting needs one.

        Raises:
            SettingsError: A slot is unknown, or there is nothing to be patient for.
        """
        teams = {"slots": self.evaluation.slots}
        teams |= {f"baselines.{name}": team for name, team in self.evaluation.baselines.items()}
        for table, team in teams.items():
            for name in team if self.evaluation.agent_slot_map is None else ():
                require(
                    name in self.slot_ids,
                    f"evaluation.{table} has a policy for '{name}', which is no slot of the training."
                    f"{format_suggestion(name, self.slot_ids)}",
                )
        require(
            bool(self.scored_slots),
            "evaluation.slots replaces every slot that learns, so that nothing is evaluated.",
        )
        require(
            self.patience is None or self.league or self.has_comparable_score,
            "patience waits for a better score, and learners that play each other have none that can be "
            "compared: set evaluation.metric, or play all but one of them by a fixed policy in "
            "evaluation.slots.",
        )

    def _check_shared_nets(self) -> None:
        """Check that every slot that shares a net names a slot with a net of its own.

        Raises:
            SettingsError: It names no such slot, or asks to train a net that is not trained.
        """
        owners = {s.id: s for s in self.slots if not _is_shared(s)}
        for slot in self.slots:
            if not _is_shared(slot):
                continue
            name = str(slot.policy_uri).removeprefix(SHARED_PREFIX)
            require(
                name in owners,
                f"Slot '{slot.id}' shares the net of '{name}', which is no slot with a net of its "
                f"own.{format_suggestion(name, owners)}",
            )
            require(
                owners[name].trainable or not slot.trainable,
                f"Slot '{slot.id}' is trainable and shares the net of '{name}', which is not. Set "
                f"trainable = false.",
            )
            for field in (*_LEARNING_FIELDS, "policy_kwargs"):
                require(
                    not _is_changed(slot, field),
                    f"Slot '{slot.id}' has {field} = {getattr(slot, field)}, and shares the net of "
                    f"'{name}', whose settings apply. Set {field} of '{name}'.",
                )

    @property
    def scored_slots(self) -> list[str]:
        """Slots whose return the score is a mean of: those that learn, and play as they have learnt."""
        replaced = self.evaluation.slots if self.evaluation.every > 0 else {}
        return [slot.id for slot in self.slots if slot.trainable and slot.id not in replaced]

    @property
    def has_comparable_score(self) -> bool:
        """Whether scores of different updates can be compared, so that one of them is the best.

        The return of a learner that plays against another learner, or against copies of itself,
        changes with its opponents: in a game of zero sum their mean is 0 whatever they learn.
        """
        is_evaluated, metric = self.evaluation.every > 0, self.evaluation.metric
        if is_evaluated and metric is not None and metric not in _REWARD_METRICS:
            return True
        if self.score == "length" and metric is None:
            return True
        scored = [slot for slot in self.slots if slot.id in self.scored_slots]
        nets = {self.net_owner(slot).id for slot in scored}
        return len(nets) == 1 and (is_evaluated or self.opponent_pool is None)

    @property
    def needs_batch_invariance(self) -> bool:
        """Whether nets are refused whose output for an agent depends on its batch."""
        return self.batch_invariant or self.evaluation.every > 0

    def loss_settings(self) -> dict[str, Settings]:
        """Return the settings of every loss that a profile lists, by its name.

        A loss whose settings have a table of their own in `Train` reads that; others read `losses`.
        """
        settings = {}
        for name in LossProfiles(self.loss_profiles).losses:
            kind = LOSSES[name].settings_type
            if kind in _LOSS_TABLES:
                settings[name] = getattr(self, _LOSS_TABLES[kind])
            else:
                settings[name] = validate_settings(kind, self.losses.get(name, {}))
        return settings

    def _check_losses(self, profiles: LossProfiles) -> None:
        """Check that every table of `losses` has a loss, and that rows exist for every listed loss.

        Raises:
            SettingsError: A table is read by no loss, or a loss can use no row.
        """
        custom = [n for n in profiles.losses if LOSSES[n].settings_type not in _LOSS_TABLES]
        for name in self.losses:
            table = _LOSS_TABLES.get(LOSSES[name].settings_type) if name in LOSSES else None
            require(
                table is None,
                f"The loss '{name}' reads its settings from [{table}], not from [losses.{name}].",
            )
            require(
                name in custom,
                f"There are settings in [losses.{name}], and no loss profile lists such a loss."
                f"{format_suggestion(name, custom)}",
            )
        self.loss_settings()
        if not self.loss_profiles:
            return  # the default profile lists losses that not every training has rows for
        for number, profile in enumerate(profiles.names):
            slots = [s for s in self.slots if self._get_profile(s, profiles.names[0]) == profile]
            for name in profiles.losses if slots else ():
                if profiles.includes(number, name):
                    self._check_usable(name, profile, slots)

    def _get_profile(self, slot: PolicySlot, default: str) -> str | None:
        """Return the name of a slot's loss profile.

        It is `default` if the slot names none and its rows are learnt from, else None.
        """
        is_learnt_from = slot.trainable or self._has_teacher_labels(slot)
        return default if slot.loss_profile is None and is_learnt_from else slot.loss_profile

    def _has_teacher_labels(self, slot: PolicySlot) -> bool:
        """Return whether rows that a slot plays hold actions of a teacher.

        They do if a teacher labels them, or if the slot itself is a teacher that leads.
        """
        teaching = self.teachers.get(slot.id)
        leads = any(t.teacher == slot.id and t.teacher_led for t in self.teachers.values())
        return leads or (teaching is not None and teaching.student_led)

    def _check_usable(self, loss: str, profile: str, slots: list[PolicySlot]) -> None:
        """Check that the slots of a profile record rows that a loss of the profile can use.

        Args:
            loss: Name of the loss.
            profile: Name of the profile that lists the loss.
            slots: Slots that have the profile.

        Raises:
            SettingsError: No row of these slots can be used.
        """
        if LOSSES[loss].rows == "trainable":
            is_usable = any(slot.trainable for slot in slots)
            reason = "is for trainable slots. Set trainable = true"
        else:
            is_usable = any(self._has_teacher_labels(slot) for slot in slots)
            reason = f"needs a teacher. Add [teachers.{slots[0].id}] with teacher = 'SLOT'"
        names = " and ".join(f"'{slot.id}'" for slot in slots)
        require(
            is_usable,
            f"The loss profile '{profile}' lists '{loss}', which no row can use: the profile is "
            f"that of {names}, and '{loss}' {reason}, or take '{loss}' out of the profile.",
        )

    def _infer_teachers(self) -> dict[str, TeacherSettings]:
        """Return who teaches whom by the losses that are named after slices of agents.

        Which rows a sliced loss uses follows from the slot map and the profiles: rows that the teacher
        plays if its profile lists the loss, and rows that the student plays if the student's does.

        Raises:
            SettingsError: There is not exactly one teacher and one student.
        """
        sliced = [
            name
            for name, losses in self.loss_profiles.items()
            if any(loss in LOSS_ALIASES for loss in losses)
        ]
        if not sliced:
            return {}
        default = next(iter(self.loss_profiles))
        students = [slot for slot in self.slots if slot.trainable]
        frozen = [slot for slot in self.slots if not slot.trainable]
        leading = [slot for slot in frozen if slot.loss_profile in sliced]
        teachers, owners = leading or frozen, [slot for slot in students if not _is_shared(slot)]
        require(
            len(teachers) == 1 and len(owners) == 1,
            f"The loss profile '{sliced[0]}' lists a sliced loss, for which one slot that is not trainable "
            f"teaches one that is. There are {len(teachers)} that could teach and {len(owners)} that "
            f"learn: say who teaches whom in [teachers.STUDENT].",
        )
        inferred = {}
        for slot in students:
            teaching = TeacherSettings(
                teacher=teachers[0].id,
                teacher_led=bool(leading) and slot in owners,
                student_led=(slot.loss_profile or default) in sliced,
            )
            if teaching.teacher_led or teaching.student_led:
                inferred[slot.id] = teaching
        return inferred

    def _check_teachers(self) -> None:
        """Check that every student is a trainable slot, and its teacher another slot.

        Raises:
            SettingsError: A student or a teacher is not such a slot.
        """
        trainable = [slot.id for slot in self.slots if slot.trainable]
        for student, teaching in self.teachers.items():
            require(
                student in trainable,
                f"[teachers.{student}] has no student: no trainable slot is called "
                f"'{student}'.{format_suggestion(student, trainable)}",
            )
            others = [name for name in self.slot_ids if name != student]
            require(
                teaching.teacher in others,
                f"The teacher of '{student}' must be another slot, not '{teaching.teacher}'."
                f"{format_suggestion(teaching.teacher, others)}",
            )

    def _check_opponent_pool(self) -> None:
        """Check that the pool plays a frozen slot with snapshots of a trainable one.

        Raises:
            SettingsError: A slot is unknown, or trainable where it must not be, or the reverse.
        """
        if self.opponent_pool is None:
            return
        trainable = {slot.id: slot.trainable for slot in self.slots}
        slot, source = self.opponent_pool.slot, self.opponent_pool.source_slot
        for name in (slot, source):
            hint = format_suggestion(name, trainable)
            require(name in trainable, f"The opponent pool names an unknown slot '{name}'.{hint}")
        require(
            trainable[source] and not trainable[slot],
            f"An opponent pool needs a slot that is not trainable and a source_slot that is; "
            f"'{slot}' and '{source}' are not so.",
        )

    def _check_league(self) -> None:
        """Check that a league has one trainable slot for each side, and nothing that it cannot use.

        Raises:
            SettingsError: Slots or settings do not go together with a league.
        """
        if not self.league:
            changed = self.matchmaking != LeagueSettings()
            require(not changed, "The settings of matchmaking are of a league: add league = true.")
            return
        frozen = [slot.id for slot in self.slots if not slot.trainable or _is_shared(slot)]
        require(
            not frozen and len(self.slots) <= 2,
            f"A league trains one slot that plays either team, or one slot for each of two sides, all "
            f"with nets of their own; the slots are {', '.join(self.slot_ids)}.",
        )
        others = {
            "opponent_pool": self.opponent_pool is not None,
            "teachers": bool(self.teachers),
            "world_slot_maps of single worlds": bool(self.environment_slot_maps),
            "evaluation.every": self.evaluation.every > 0,
            "target_score": self.target_score is not None,
            "patience": self.patience is not None,
            "train_every": any(slot.train_every > 1 for slot in self.slots),
        }
        for name, is_used in others.items():
            require(not is_used, f"A league cannot be combined with {name}: leave one out.")
