"""From settings to the task that collects experience: policies, labels of rows, teachers."""

from __future__ import annotations

from dataclasses import replace

from kinfolk.core.errors import SettingsError
from kinfolk.jobs.train.settings import Train
from kinfolk.play.slots import PolicySlot
from kinfolk.play.task import RolloutTask
from kinfolk.policies.neural.policy import NeuralPolicy
from kinfolk.policies.resolve import ResolvedPolicy, load_policy_class
from kinfolk.training.buffer import NO_SLOT
from kinfolk.training.collect import Collection, Experience, SlotPlan
from kinfolk.training.profiles import LossProfiles
from kinfolk.training.recorder import RowLabels


def build_plan(settings: Train) -> RolloutTask[Experience]:
    """Return what stays the same through a training: the task of a chunk, with no episodes yet.

    Raises:
        UsageError: A policy is missing, or is not trainable though its slot is.
    """
    resolved = {slot.id: _resolved(slot, settings) for slot in settings.slots}
    if settings.opponent_pool is not None:  # its copies are of the slot that learns
        resolved[settings.opponent_pool.slot] = resolved[settings.opponent_pool.source_slot]
    return RolloutTask(
        settings.world_ref,
        resolved,
        settings.seed,
        (),
        settings.slot_map_for(settings.world),
        worlds=settings.worlds // settings.n_chunks,
        inherit_slot=settings.inherit_slot,
        max_ticks=settings.rollout_length,
        keep_snapshot=True,
        observer=Collection(
            {slot.id: _slot_plan(i, settings) for i, slot in enumerate(settings.slots)},
            bootstrap_early_ends=settings.ppo.bootstrap_early_ends,
            pool_slot=None if settings.opponent_pool is None else settings.opponent_pool.slot,
            batch_invariant=is_batch_invariant(settings),
        ),
    )


def is_batch_invariant(settings: Train) -> bool:
    """Return whether nets are refused whose rows depend on each other."""
    return settings.batch_invariant or settings.evaluation.every > 0


def _resolved(slot: PolicySlot, settings: Train) -> ResolvedPolicy:
    """Resolve a slot's policy; nets that begin to learn draw their first weights from the seed."""
    policy = slot.resolve_policy()
    if not slot.trainable:
        return policy
    kind = load_policy_class(policy)
    if not (isinstance(kind, type) and issubclass(kind, NeuralPolicy)):
        raise SettingsError(
            f"Slot '{slot.id}' is trainable, and {slot.policy_uri or slot.class_path} is not a net "
            f"that can be trained. Use kin://mlp, kin://conv, kin://gru or kin://net, or set "
            f"trainable = false."
        )
    if policy.arrays or "seed" in policy.settings:
        return policy
    return replace(policy, settings={**policy.settings, "seed": settings.seed}, sha256="")


def _slot_plan(index: int, settings: Train) -> SlotPlan:
    """Return how the rows of a slot are labelled, and who teaches or is taught by it."""
    slot, names = settings.slots[index], settings.slot_ids
    teaching = settings.teachers.get(slot.id)
    teacher = teaching.teacher if teaching is not None and teaching.student_led else None
    students = [
        student
        for student, other in settings.teachers.items()
        if other.teacher == slot.id and other.teacher_led
    ]
    if len(students) > 1:
        raise SettingsError(
            f"Slot '{slot.id}' is the teacher of {' and '.join(students)}; it can lead only one. "
            f"Set teacher_led = false for the others."
        )
    profiles = LossProfiles(settings.loss_profiles)
    learner = index if slot.trainable else names.index(students[0]) if students else NO_SLOT
    return SlotPlan(
        labels=RowLabels(
            index, learner, profiles.profile_id(slot.id, slot.loss_profile), slot.trainable
        ),
        teacher=teacher,
        student=students[0] if students and not slot.trainable else None,
        is_demonstration=bool(students),
    )
