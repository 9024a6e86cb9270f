"""The plan of a training (policies, labels of rows, teachers), its state, and its snapshots."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from kinfolk.core.arrays import AnyArray, Arrays
from kinfolk.core.errors import SettingsError
from kinfolk.core.events import Snapshot
from kinfolk.evaluation.metrics import check_metric
from kinfolk.jobs.train.settings import Train
from kinfolk.play.results import EpisodeResult
from kinfolk.play.slots import PolicySlot, SlotRegistry
from kinfolk.play.task import Policies, RolloutTask
from kinfolk.policies.base import select_memory as select_arrays
from kinfolk.policies.build import ResolvedPolicy, load_policy_class
from kinfolk.policies.neural.policy import NeuralPolicy
from kinfolk.training.buffer import NO_SLOT
from kinfolk.training.collect import Collection, Experience
from kinfolk.training.learner import Learner
from kinfolk.training.opponents import OpponentPool
from kinfolk.training.potential import Potential
from kinfolk.training.profiles import LossProfiles
from kinfolk.training.recorder import SlotPlan

_SEED_STRIDE = 10_000_019  # between the seeds of the initial weights of two slots
# Fields of the state that a snapshot stores as they are.
_NOTED = ("update", "steps", "episodes", "best", "best_step", "evals_since_best", "baselines")


def build_plan(settings: Train) -> RolloutTask[Experience]:
    """Return the part of all collection tasks that stays the same: a task without episodes.

    Raises:
        UsageError: A policy is missing, or is not trainable though its slot is.
    """
    if settings.evaluation.metric is not None:
        check_metric(settings.evaluation.metric, settings.world_ref)
    owners = {slot.id: settings.net_owner(slot) for slot in settings.slots}
    seeds = _draw_seeds(settings)
    nets = {o.id: _resolve_policy(o, seeds) for name, o in owners.items() if o.id == name}
    resolved = {name: nets[owner.id] for name, owner in owners.items()}
    pool = settings.opponent_pool
    if pool is not None:  # its copies are of the slot that learns
        resolved[pool.slot] = resolved[pool.source_slot]
    return RolloutTask(
        settings.world_ref,
        resolved,
        settings.seed,
        (),
        settings.slot_map_for(settings.world),
        settings.environment_slot_maps,
        worlds=settings.worlds // settings.n_chunks,
        inherit_slot=settings.inherit_slot,
        max_ticks=settings.rollout_length,
        keep_snapshot=True,
        observer=Collection(
            {slot.id: _slot_plan(i, settings) for i, slot in enumerate(settings.slots)},
            bootstrap_early_ends=settings.ppo.bootstrap_early_ends,
            pool_slot=None if pool is None else pool.slot,
            batch_invariant=settings.needs_batch_invariance,
            potential=settings.ppo.potential,
            potential_limit=settings.ppo.potential_limit,
            gamma=settings.ppo.gamma,
            noise_correlation=settings.ppo.noise_correlation,
        ),
    )


def _draw_seeds(settings: Train) -> dict[str, int]:
    """Return the seed of each slot's initial weights, all different; that of the training for one.

    Slots are counted in the order of the first agents that they play, so that neither their names nor
    their order in the settings change what is learnt.
    """
    playing = settings.build_assignments()[0].ravel().tolist()
    order = list(dict.fromkeys([*playing, *range(len(settings.slots))]))
    slots = [settings.slots[i] for i in order]
    drawn = [slot.id for slot in slots if slot.trainable and settings.net_owner(slot) is slot]
    return {name: settings.seed + number * _SEED_STRIDE for number, name in enumerate(drawn)}


def _resolve_policy(slot: PolicySlot, seeds: Mapping[str, int]) -> ResolvedPolicy:
    """Resolve a slot's policy; a new net that is trained gets its initial weights from a seed."""
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
    return replace(policy, settings={**policy.settings, "seed": seeds[slot.id]}, sha256="")


def _slot_plan(index: int, settings: Train) -> SlotPlan:
    """Return how the rows of a slot are labelled, and its teacher or student."""
    slot, teachers = settings.slots[index], settings.teachers
    teaching = teachers.get(slot.id)
    students = [s for s, t in teachers.items() if t.teacher == slot.id and t.teacher_led]
    if len(students) > 1:
        raise SettingsError(
            f"Slot '{slot.id}' is the teacher of {' and '.join(students)}; it can lead only one. "
            f"Set teacher_led = false for the others."
        )
    student = students[0] if students and not slot.trainable else None
    learner = NO_SLOT if student is None else settings.slot_ids.index(student)
    return SlotPlan(
        slot_id=index,
        learner_slot=settings.slots.index(settings.net_owner(slot)) if slot.trainable else learner,
        loss_profile_id=LossProfiles(settings.loss_profiles).profile_id(slot.id, slot.loss_profile),
        is_trainable_agent=slot.trainable,
        teacher=teaching.teacher if teaching is not None and teaching.student_led else None,
        student=student,
        is_demonstration=bool(students),
    )


@dataclass
class TrainingState:
    """Complete state of a training, from which it can continue.

    Args:
        settings: Settings of the training.
        initial_policies: Policies of all slots at the start.
        learners: Nets and optimizers of trainable slots, by slot.
        rollout_states: State of the worlds of each chunk; None before the first update.
        opponent_pool: Earlier copies of a net to play against, if there are any.
        update: Updates so far.
        steps: Rows of trainable slots so far.
        episodes: Episodes that have ended so far.
        recent_episodes: Results of the last `stats_window` episodes.
        best: Best score so far.
        best_step: Steps at which the best score was reached.
        evals_since_best: Evaluations since the best score.
        baselines: Results of baselines, which are evaluated once.
    """

    settings: Train
    initial_policies: Policies
    learners: dict[str, Learner]
    rollout_states: list[Arrays | None]
    opponent_pool: OpponentPool | None = None
    update: int = 0
    steps: int = 0
    episodes: int = 0
    recent_episodes: list[EpisodeResult] = field(default_factory=list)
    best: float | None = None
    best_step: int | None = None
    evals_since_best: int = 0
    baselines: dict[str, dict[str, Any]] = field(default_factory=dict)

    def weights(self) -> dict[str, dict[str, AnyArray]]:
        """Return the weights of every slot whose net learns."""
        learnt = {name: learner.policy.arrays() for name, learner in self.learners.items()}
        owners = {slot.id: self.settings.net_owner(slot).id for slot in self.settings.slots}
        return {name: learnt[owner] for name, owner in owners.items() if owner in learnt}

    def policies(self) -> dict[str, ResolvedPolicy]:
        """Return every slot's policy with its current weights."""
        policies = dict(self.initial_policies)
        for name, arrays in self.weights().items():
            initial = policies[name]
            policies[name] = ResolvedPolicy(initial.class_path, initial.settings, arrays)
        return policies

    def reset_learner(self, slot: str, weights: Arrays) -> None:
        """Let a slot begin anew from some weights, with a new optimiser and no recent episodes."""
        policy = self.learners[slot].policy
        policy.load(weights)
        self.learners[slot] = Learner(policy, self.settings.ppo, self.settings.loss_settings())
        self.recent_episodes = []

    def snapshot(self) -> Snapshot:
        """Return the whole state as arrays and notes."""
        arrays: dict[str, AnyArray] = {}
        for name, learner in self.learners.items():
            arrays |= {f"slot/{name}/{path}": a for path, a in learner.state_dict().items()}
        for chunk, state in enumerate(self.rollout_states):
            arrays |= {f"chunk/{chunk}/{path}": a for path, a in (state or {}).items()}
        notes: dict[str, Any] = {name: getattr(self, name) for name in _NOTED}
        notes["recent"] = [asdict(result) for result in self.recent_episodes]
        if self.opponent_pool is not None:
            arrays |= self.opponent_pool.arrays()
            notes["opponent_pool"] = self.opponent_pool.notes()
        return Snapshot(step=self.update, arrays=arrays, notes=notes)

    def restore(self, snapshot: Snapshot) -> None:
        """Restore the state of a snapshot.

        Raises:
            SettingsError: The snapshot is of another training.
        """
        arrays, notes = snapshot.arrays, snapshot.notes
        for name, learner in self.learners.items():
            learner.load_state_dict(select_arrays(arrays, f"slot/{name}"))
        for number in range(len(self.rollout_states)):
            self.rollout_states[number] = select_arrays(arrays, f"chunk/{number}")
            if not self.rollout_states[number]:
                raise SettingsError(f"The checkpoint has no worlds for chunk {number}.")
        for name in _NOTED:
            setattr(self, name, notes[name])
        self.baselines = dict(self.baselines)  # the snapshot's is not changed
        self.recent_episodes = [EpisodeResult(**facts) for facts in notes["recent"]]
        if self.opponent_pool is not None:
            self.opponent_pool = OpponentPool.from_snapshot(arrays, notes["opponent_pool"])


def initial_state(settings: Train, policies: Policies) -> TrainingState:
    """Return the state before the first update; `policies` are those of the slots.

    Raises:
        UsageError: A policy cannot be made for this world.
    """
    spec = settings.world_ref.spec
    Potential(spec, settings.ppo.potential)  # refuses numbers that nobody observes
    learners = {}
    registry = SlotRegistry(training=True, batch_invariant=settings.needs_batch_invariance)
    for slot in settings.slots:
        if settings.net_owner(slot) is not slot:
            continue
        owner = slot.id if slot.trainable else ""
        policy = registry.load(policies[slot.id], spec, owner=owner)
        if slot.trainable:
            assert isinstance(policy, NeuralPolicy)  # `build_plan` refuses others
            learners[slot.id] = Learner(policy, settings.ppo, settings.loss_settings())
    state = TrainingState(settings, policies, learners, [None] * settings.n_chunks)
    if settings.opponent_pool is not None:
        weights = state.weights()[settings.opponent_pool.source_slot]
        empty = OpponentPool({}, (), ())
        state.opponent_pool = empty.with_snapshot(0, weights, settings.opponent_pool)
    return state
