"""From settings to what a gathering needs: policies resolved, rows labelled, lessons arranged."""

from __future__ import annotations

from dataclasses import replace

from kinfolk.core.errors import SettingsError
from kinfolk.jobs.train_settings import Train
from kinfolk.play.slots import PolicySlot
from kinfolk.policies.neural.policy import Neural
from kinfolk.policies.resolve import ResolvedPolicy, class_of
from kinfolk.training.experience import NOBODY
from kinfolk.training.pool import PoolPlan
from kinfolk.training.profiles import LossProfiles
from kinfolk.training.recording import Labels
from kinfolk.training.rollout import Plan, SlotPlan


def plan_of(settings: Train) -> Plan:
    """What stays the same through a training.

    Raises:
        UsageError: A policy is not there, or cannot be trained though it should.
    """
    resolved = {slot.id: _resolved(slot, settings) for slot in settings.slots}
    if settings.pool is not None:  # its copies are of the slot that learns
        resolved[settings.pool.slot] = resolved[settings.pool.of]
    return Plan(
        world=settings.world,
        world_settings=settings.world_settings,
        preset=settings.preset,
        worlds=settings.worlds // settings.chunks,
        ticks=settings.ticks,
        seed=settings.seed,
        slots=tuple(_slot_plan(i, settings, resolved) for i in range(len(settings.slots))),
        slot_map=settings.map_for(settings.world),
        inherit_slot=settings.inherit_slot,
        early_ends_bootstrap=settings.learning.early_ends_bootstrap,
        pool=None if settings.pool is None else PoolPlan(settings.pool.slot),
        batch_invariant=settings.batch_invariant or settings.judge.every > 0,
    )


def _resolved(slot: PolicySlot, settings: Train) -> ResolvedPolicy:
    """A slot's policy; nets that begin to learn draw their first weights from the seed."""
    found = slot.resolved()
    if not slot.trainable:
        return found
    kind = class_of(found)
    if not (isinstance(kind, type) and issubclass(kind, Neural)):
        raise SettingsError(
            f"Slot '{slot.id}' is trainable, and {slot.policy_uri or slot.class_path} is not a net "
            f"that can be trained. Use kin://mlp, kin://conv, kin://gru or kin://net, or set "
            f"trainable = false."
        )
    if found.arrays or "seed" in found.settings:
        return found
    return replace(found, settings={**found.settings, "seed": settings.seed}, sha256="")


def _slot_plan(index: int, settings: Train, resolved: dict[str, ResolvedPolicy]) -> SlotPlan:
    slot, names = settings.slots[index], settings.slot_ids
    lesson = settings.teaching.get(slot.id)
    teacher = resolved[lesson.teacher] if lesson is not None and lesson.student_led else None
    students = [
        student
        for student, other in settings.teaching.items()
        if other.teacher == slot.id and other.teacher_led
    ]
    if len(students) > 1:
        raise SettingsError(
            f"Slot '{slot.id}' leads the lessons of {' and '.join(students)}; it can lead one's. "
            f"Set teacher_led = false for the others."
        )
    profiles = LossProfiles(settings.loss_profiles)
    learner = index if slot.trainable else names.index(students[0]) if students else NOBODY
    return SlotPlan(
        id=slot.id,
        policy=resolved[slot.id],
        labels=Labels(index, learner, profiles.number(slot.id, slot.loss_profile), slot.trainable),
        teacher=teacher,
        student=students[0] if students and not slot.trainable else None,
        taught=bool(students),
    )
