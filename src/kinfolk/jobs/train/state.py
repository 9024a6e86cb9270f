"""State of a training (learners, worlds, opponent pool, recent episodes) and its snapshots."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays
from kinfolk.core.errors import SettingsError
from kinfolk.core.events import Snapshot
from kinfolk.jobs.train.plan import is_batch_invariant
from kinfolk.jobs.train.settings import Train
from kinfolk.play.results import EpisodeResult
from kinfolk.play.slots import SlotRegistry
from kinfolk.play.task import Policies
from kinfolk.policies.neural.policy import NeuralPolicy
from kinfolk.policies.resolve import ResolvedPolicy
from kinfolk.training.learner import Learner
from kinfolk.training.opponents import OpponentPool


@dataclass
class TrainingState:
    """All that the rest of a training follows from.

    Args:
        learners: Nets and optimizers of trainable slots, by slot.
        rollout_states: State of the worlds of each chunk; None before the first update.
        opponent_pool: Earlier copies of a net to play against, if there are any.
        update: Updates so far.
        steps: Rows of trainable slots so far.
        episodes: Episodes that have ended so far.
        recent_episodes: The last `stats_window` of them.
        best: Best score so far.
        best_step: Steps at which it was reached.
        evals_since_best: Evaluations since then.
        baselines: Results of baselines, which are evaluated once.
    """

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
        """Return the weights of every slot that learns."""
        return {name: learner.policy.arrays() for name, learner in self.learners.items()}

    def policies(self, first: Policies) -> dict[str, ResolvedPolicy]:
        """Return every slot's policy as it is now; `first` are those the training began with."""
        policies = dict(first)
        for name, learner in self.learners.items():
            policies[name] = ResolvedPolicy(
                first[name].class_path, first[name].settings, learner.policy.arrays()
            )
        return policies

    def snapshot(self) -> Snapshot:
        """Return the whole state as arrays and notes."""
        arrays: dict[str, AnyArray] = {}
        for name, learner in self.learners.items():
            arrays |= {f"slot/{name}/{path}": a for path, a in learner.state_dict().items()}
        for chunk, state in enumerate(self.rollout_states):
            arrays |= {f"chunk/{chunk}/{path}": a for path, a in (state or {}).items()}
        notes: dict[str, Any] = {
            name: getattr(self, name)
            for name in (
                "update",
                "steps",
                "episodes",
                "best",
                "best_step",
                "evals_since_best",
                "baselines",
            )
        }
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
        for name, learner in self.learners.items():
            learner.load_state_dict(_strip_prefix(snapshot.arrays, f"slot/{name}/"))
        for number in range(len(self.rollout_states)):
            self.rollout_states[number] = _strip_prefix(snapshot.arrays, f"chunk/{number}/")
            if not self.rollout_states[number]:
                raise SettingsError(f"The checkpoint has no worlds for chunk {number}.")
        notes = snapshot.notes
        for name in ("update", "steps", "episodes", "best", "best_step", "evals_since_best"):
            setattr(self, name, notes[name])
        self.baselines = dict(notes["baselines"])
        self.recent_episodes = [EpisodeResult(**facts) for facts in notes["recent"]]
        if self.opponent_pool is not None:
            self.opponent_pool = OpponentPool.from_snapshot(snapshot.arrays, notes["opponent_pool"])


def _strip_prefix(arrays: Arrays, prefix: str) -> dict[str, AnyArray]:
    return {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}


def initial_state(settings: Train, policies: Policies) -> TrainingState:
    """Return the state before the first update; `policies` are those of the slots.

    Raises:
        UsageError: A policy cannot be made for this world.
    """
    spec = settings.world_ref.spec
    settings.build_assignment(spec)
    learners = {}
    registry = SlotRegistry(training=True, batch_invariant=is_batch_invariant(settings))
    for slot in settings.slots:
        owner = slot.id if slot.trainable else ""
        policy = registry.load(policies[slot.id], spec, slot.device, owner)
        if slot.trainable:
            assert isinstance(policy, NeuralPolicy)  # `build_plan` refuses others
            learners[slot.id] = Learner(policy, settings.ppo, settings.loss_settings())
    pool = None
    if settings.opponent_pool is not None:
        empty = OpponentPool({}, (), ())
        pool = empty.with_snapshot(
            0, learners[settings.opponent_pool.source_slot].policy.arrays(), settings.opponent_pool
        )
    return TrainingState(learners, [None] * settings.n_chunks, pool)


def mean_columns(episodes: list[EpisodeResult], table: str) -> dict[str, float]:
    """Return means over episodes of one of their tables, by name."""
    if not episodes:
        return {}
    names: Mapping[str, float] = getattr(episodes[-1], table)
    return {n: float(np.mean([getattr(r, table)[n] for r in episodes])) for n in names}
