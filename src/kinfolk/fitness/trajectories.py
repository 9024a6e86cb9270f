"""What agents saw and did, life by life: to be imitated, or to be judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kinfolk.core.arrays import AnyArray, Bytes, Ints
from kinfolk.core.errors import SettingsError
from kinfolk.core.spaces import WorldSpec
from kinfolk.play.observer import Observer
from kinfolk.play.slots import LoadedSlot
from kinfolk.play.task import RolloutTask, WorldRef, run_task
from kinfolk.policies.base import AgentBatch, Memory, MemoryLayout, Policy
from kinfolk.policies.neural.encoding.group_encoder import make_group_encoder
from kinfolk.policies.resolve import ResolvedPolicy
from kinfolk.store.arrays import read_arrays
from kinfolk.worlds.base import World


class Trajectories(NamedTuple):
    """Lives side by side, filled up to the longest."""

    x: AnyArray  # [lives, ticks, inputs] float32, as nets take it in
    actions: Ints  # [lives, ticks, heads]
    length: Ints  # [lives]

    @property
    def valid(self) -> AnyArray:
        """`[lives, ticks]`: whether a life was still going on."""
        ticks: AnyArray = np.arange(self.x.shape[1])[None] < self.length[:, None]
        return ticks


class TrajectoryRecorder:
    """Plays as `policy` does, and keeps what the agents of one group saw and did."""

    def __init__(self, policy: Policy, spec: WorldSpec, group: str) -> None:
        self.policy, self._group = policy, spec.group_index(group)
        self._inputs = make_group_encoder(spec, self._group)
        self._heads = spec.n_heads
        self._lives: list[Ints] = []
        self._seen: list[AnyArray] = []
        self._done: list[Ints] = []

    @property
    def memory_layout(self) -> MemoryLayout:
        """What the policy remembers."""
        return self.policy.memory_layout

    def reset_agents(self, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Let the policy begin."""
        self.policy.reset_agents(batch, memory, keys)

    def act_async(self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Note who sees what."""
        self._at = np.flatnonzero(batch.group == self._group)
        self._lives.append(np.stack([batch.world[self._at], batch.uid[self._at]], axis=1))
        self._seen.append(self._inputs(observations[self._at]))
        self.policy.act_async(observations, batch, memory, keys)

    def act_wait(self) -> Ints:
        """Note what is done."""
        actions = self.policy.act_wait()
        self._done.append(actions[self._at].copy())
        return actions

    def close(self) -> None:
        """Close the policy."""
        self.policy.close()

    def trajectories(self) -> Trajectories:
        """All lives, by world and then by uid."""
        lives, seen, done = map(np.concatenate, (self._lives, self._seen, self._done))
        _, life = np.unique(lives, axis=0, return_inverse=True)
        order = np.argsort(life, kind="stable")  # within a life, ticks stay in order
        length = np.bincount(life)
        tick = np.arange(len(order)) - np.repeat(np.cumsum(length) - length, length)
        x = np.zeros((len(length), int(length.max()), seen.shape[1]), dtype=np.float32)
        actions = np.zeros((*x.shape[:2], self._heads), dtype=np.int64)
        x[life[order], tick], actions[life[order], tick] = seen[order], done[order]
        return Trajectories(x, actions, length)


def concat_trajectories(parts: Sequence[Trajectories]) -> Trajectories:
    """Trajectories of several chunks, one after another."""
    ticks = max(part.x.shape[1] for part in parts)

    def filled(array: AnyArray) -> AnyArray:
        return np.pad(array, ((0, 0), (0, ticks - array.shape[1]), (0, 0)))

    return Trajectories(
        np.concatenate([filled(part.x) for part in parts]),
        np.concatenate([filled(part.actions) for part in parts]),
        np.concatenate([part.length for part in parts]),
    )


@dataclass(frozen=True)
class TargetRecorders:
    """Records what the agents of one group saw and did, who are played by the first slot."""

    group: str

    def __call__(self, task: RolloutTask[Any], world: World) -> TargetRecorder:
        """Return the observer that records them."""
        return TargetRecorder(self.group, task, world)


class TargetRecorder(Observer[Trajectories]):
    """Records the agents of `group`, who are played by the first slot of the task."""

    def __init__(self, group: str, task: RolloutTask[Any], world: World) -> None:
        self._group = group
        super().__init__(task, world)

    def build_slots(self) -> Sequence[LoadedSlot]:
        """Return the slots; the first one's policy is recorded."""
        (name, policy), *others = super().build_slots()
        self._recording = TrajectoryRecorder(policy, self.world.spec, self._group)
        return [LoadedSlot(name, self._recording), *others]

    def finish(self) -> Trajectories:
        """Return what was recorded."""
        return self._recording.trajectories()


def record_demonstrations(
    world: WorldRef,
    group: str,
    target: ResolvedPolicy,
    seed: int,
    episodes: range,
    others: Mapping[str, ResolvedPolicy],
) -> Trajectories:
    """Let a policy play a group through some episodes, and record it.

    Args:
        world: Where.
        group: Whose observations and actions are recorded.
        target: Plays every group that nobody else plays.
        seed: Of the episodes.
        episodes: Their numbers.
        others: Policies that play the groups they are named after.
    """
    mapping = {one.name: "target" for one in world.spec.groups} | {name: name for name in others}
    policies = {"target": target, **others}
    recorders = TargetRecorders(group)
    task = RolloutTask(world, policies, seed, episodes, mapping, observer=recorders)
    return run_task(task).observed


def read_trajectories(path: Path, inputs: int, heads: int) -> Trajectories:
    """What somebody saw and did, from a file of arrays: `x`, `actions` and, if not whole, `length`.

    Raises:
        SettingsError: The arrays are not there or have other shapes.
    """
    arrays = read_arrays(path)
    missing = [name for name in ("x", "actions") if name not in arrays]
    if missing:
        raise SettingsError(f"{path} has no array '{missing[0]}'; it needs x and actions.")
    x, actions = arrays["x"].astype(np.float32), arrays["actions"].astype(np.int64)
    wanted = (*x.shape[:2], inputs), (*x.shape[:2], heads)
    if x.ndim != 3 or (x.shape, actions.shape) != wanted:
        raise SettingsError(
            f"{path} must hold x [lives, ticks, {inputs}] and actions [lives, ticks, {heads}], "
            f"not {list(x.shape)} and {list(actions.shape)}."
        )
    length = arrays.get("length", np.full(len(x), x.shape[1]))
    return Trajectories(x, actions, length.astype(np.int64))
