"""Where a training stands: learners, worlds, pool, recent episodes; and how that is laid down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays
from kinfolk.core.errors import SettingsError
from kinfolk.core.events import Snapshot
from kinfolk.jobs.train_settings import Train
from kinfolk.play.episode import EpisodeResult
from kinfolk.play.registry import SlotRegistry
from kinfolk.policies.neural.policy import Neural
from kinfolk.policies.resolve import ResolvedPolicy
from kinfolk.training.pool import PoolState
from kinfolk.training.rollout import Plan
from kinfolk.training.update import Learner
from kinfolk.worlds import build as build_world


@dataclass
class State:
    """All that the rest of a training follows from."""

    learners: dict[str, Learner]
    standings: list[Arrays | None]
    pool: PoolState | None = None
    update: int = 0
    steps: int = 0
    episodes: int = 0
    recent: list[EpisodeResult] = field(default_factory=list)
    best: float | None = None
    best_step: int | None = None
    waited: int = 0  # judgings since the last best
    baselines: dict[str, dict[str, Any]] = field(default_factory=dict)

    def weights(self) -> dict[str, dict[str, AnyArray]]:
        """Of all that learn."""
        return {name: learner.policy.arrays() for name, learner in self.learners.items()}

    def policies(self, plan: Plan) -> dict[str, ResolvedPolicy]:
        """Every slot's policy as it is now."""
        found = {}
        for slot in plan.slots:
            now = slot.policy
            if slot.id in self.learners:
                arrays = self.learners[slot.id].policy.arrays()
                now = ResolvedPolicy(now.class_path, now.settings, arrays)
            found[slot.id] = now
        return found

    def snapshot(self) -> Snapshot:
        """All of it, as arrays and notes."""
        arrays: dict[str, AnyArray] = {}
        for name, learner in self.learners.items():
            arrays |= {f"slot/{name}/{path}": a for path, a in learner.state().items()}
        for number, standing in enumerate(self.standings):
            arrays |= {f"chunk/{number}/{path}": a for path, a in (standing or {}).items()}
        notes: dict[str, Any] = {
            name: getattr(self, name)
            for name in ("update", "steps", "episodes", "best", "best_step", "waited", "baselines")
        }
        notes["recent"] = [asdict(result) for result in self.recent]
        if self.pool is not None:
            arrays |= self.pool.arrays()
            notes["pool"] = self.pool.notes()
        return Snapshot(step=self.update, arrays=arrays, notes=notes)

    def restore(self, snapshot: Snapshot) -> None:
        """Stand where a snapshot was taken.

        Raises:
            SettingsError: It is of another training.
        """
        for name, learner in self.learners.items():
            learner.restore(_below(snapshot.arrays, f"slot/{name}/"))
        for number in range(len(self.standings)):
            self.standings[number] = _below(snapshot.arrays, f"chunk/{number}/")
            if not self.standings[number]:
                raise SettingsError(f"The checkpoint has no worlds for chunk {number}.")
        notes = snapshot.notes
        for name in ("update", "steps", "episodes", "best", "best_step", "waited"):
            setattr(self, name, notes[name])
        self.baselines = dict(notes["baselines"])
        self.recent = [EpisodeResult(**facts) for facts in notes["recent"]]
        if self.pool is not None:
            self.pool = PoolState.restored(snapshot.arrays, notes["pool"])


def _below(arrays: Arrays, prefix: str) -> dict[str, AnyArray]:
    return {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}


def begin(settings: Train, plan: Plan) -> State:
    """A training that has not begun.

    Raises:
        UsageError: A policy cannot be made for this world.
    """
    spec = build_world(settings.world, settings.world_settings, 1, settings.preset).spec
    settings.table(spec)
    learners = {}
    registry = SlotRegistry(training=True, batch_invariant=plan.batch_invariant)
    for slot, planned in zip(settings.slots, plan.slots, strict=True):
        owner = slot.id if slot.trainable else ""
        policy = registry.load(planned.policy, spec, slot.device, owner)
        if slot.trainable:
            assert isinstance(policy, Neural)  # the plan has seen to it
            learners[slot.id] = Learner(policy, settings.learning, settings.loss_settings())
    pool = None
    if settings.pool is not None:
        empty = PoolState({}, (), ())
        pool = empty.joined(0, learners[settings.pool.of].policy.arrays(), settings.pool)
    return State(learners, [None] * settings.chunks, pool)


def means(recent: list[EpisodeResult], table: str) -> dict[str, float]:
    """Means over episodes of a table of values by name."""
    if not recent:
        return {}
    names: Mapping[str, float] = getattr(recent[-1], table)
    return {n: float(np.mean([getattr(r, table)[n] for r in recent])) for n in names}
