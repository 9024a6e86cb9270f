"""Trajectories of agents: recorded in a world, or read from a file of demonstrations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kinfolk.core.arrays import AnyArray, Bytes, Ints
from kinfolk.core.errors import SettingsError
from kinfolk.core.spaces import WorldSpec
from kinfolk.play.slots import LoadedSlot
from kinfolk.play.task import Observer, RolloutTask, WorldRef, run_task
from kinfolk.policies.base import AgentBatch, Memory, MemoryLayout, Policy
from kinfolk.policies.build import ResolvedPolicy
from kinfolk.policies.neural.evolved import GroupEncoder
from kinfolk.store.arrays import read_arrays
from kinfolk.worlds.base import World


class Trajectories(NamedTuple):
    """Observations and actions of agents, zero-padded to the longest life."""

    x: AnyArray  # [lives, ticks, inputs] float32, encoded observations
    actions: Ints  # [lives, ticks, heads]
    length: Ints  # [lives], ticks

    @property
    def valid(self) -> AnyArray:
        """Mask of the ticks that are not padding, `[lives, ticks]`."""
        return np.asarray(np.arange(self.x.shape[1])[None] < self.length[:, None])


class TrajectoryRecorder:
    """Policy that acts as another does, and records the agents of one group.

    Args:
        policy: The policy that acts.
        spec: Spec of the world.
        group: Name of the group.
    """

    def __init__(self, policy: Policy, spec: WorldSpec, group: str) -> None:
        self.policy, self._group = policy, spec.group_index(group)
        self._encoder = GroupEncoder(spec, self._group)
        self._heads = spec.n_heads
        self._agents: list[Ints] = []
        self._observations: list[AnyArray] = []
        self._actions: list[Ints] = []

    @property
    def memory_layout(self) -> MemoryLayout:
        """Memory layout of the policy."""
        return self.policy.memory_layout

    def reset_agents(self, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Initialise the memory of agents that begin to live."""
        self.policy.reset_agents(batch, memory, keys)

    def act_async(self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Record the observations, and let the policy choose actions."""
        self._rows = np.flatnonzero(batch.group == self._group)
        self._agents.append(np.stack([batch.world[self._rows], batch.uid[self._rows]], axis=1))
        self._observations.append(self._encoder(observations[self._rows]))
        self.policy.act_async(observations, batch, memory, keys)

    def act_wait(self) -> Ints:
        """Return the policy's actions, and record them."""
        actions = self.policy.act_wait()
        self._actions.append(actions[self._rows].copy())
        return actions

    def close(self) -> None:
        """Close the policy that is wrapped."""
        self.policy.close()

    def trajectories(self) -> Trajectories:
        """Return the trajectories of all agents, ordered by world and then by uid."""
        recorded = (self._agents, self._observations, self._actions)
        agents, encoded, actions_taken = map(np.concatenate, recorded)
        _, life = np.unique(agents, axis=0, return_inverse=True)
        order = np.argsort(life, kind="stable")  # stable: ticks of a life stay in order
        length = np.bincount(life)
        tick = np.arange(len(order)) - np.repeat(np.cumsum(length) - length, length)
        x = np.zeros((len(length), int(length.max()), encoded.shape[1]), dtype=np.float32)
        actions = np.zeros((*x.shape[:2], self._heads), dtype=np.int64)
        x[life[order], tick], actions[life[order], tick] = encoded[order], actions_taken[order]
        return Trajectories(x, actions, length)


class TargetRecorder(Observer[Trajectories]):
    """Observer that records the agents of one group, which the first slot of the task plays.

    Args:
        group: Name of the group.
        task: The episodes.
        world: The worlds that play them.
    """

    def __init__(self, group: str, task: RolloutTask[Any], world: World) -> None:
        self._group = group
        super().__init__(task, world)

    def build_slots(self) -> Sequence[LoadedSlot]:
        """Return the slots, with a recorder around the policy of the first."""
        (name, policy), *others = super().build_slots()
        self._recorder = TrajectoryRecorder(policy, self.world.spec, self._group)
        return [LoadedSlot(name, self._recorder), *others]

    def finish(self) -> Trajectories:
        """Return the trajectories that were recorded."""
        return self._recorder.trajectories()


def record_demonstrations(
    world: WorldRef,
    group: str,
    target: ResolvedPolicy,
    seed: int,
    episodes: range,
    others: Mapping[str, ResolvedPolicy],
) -> Trajectories:
    """Let a policy play some episodes, and record the agents of a group as demonstrations.

    Args:
        world: The world.
        group: Group whose observations and actions are recorded.
        target: Policy of every group that is not in `others`.
        seed: Seed of the episodes.
        episodes: Numbers of the episodes.
        others: Policies of other groups, by group.
    """
    mapping = {g.name: "target" for g in world.spec.groups} | {name: name for name in others}
    policies = {"target": target, **others}
    recorder = partial(TargetRecorder, group)
    task = RolloutTask(world, policies, seed, episodes, mapping, observer=recorder)
    return run_task(task).observed


def read_trajectories(path: Path, inputs: int, heads: int) -> Trajectories:
    """Read demonstrations from a safetensors file.

    Args:
        path: File with the arrays `x`, `actions` and, optionally, `length`.
        inputs: Expected number of encoded inputs.
        heads: Expected number of parts of an action.

    Raises:
        SettingsError: An array is missing or has another shape.
    """
    arrays = read_arrays(path)
    missing = [name for name in ("x", "actions") if name not in arrays]
    if missing:
        raise SettingsError(f"{path} has no array '{missing[0]}'; it needs x and actions.")
    x, actions = arrays["x"].astype(np.float32), arrays["actions"].astype(np.int64)
    expected = (*x.shape[:2], inputs), (*x.shape[:2], heads)
    if x.ndim != 3 or (x.shape, actions.shape) != expected:
        raise SettingsError(
            f"{path} must hold x [lives, ticks, {inputs}] and actions [lives, ticks, {heads}], "
            f"not {list(x.shape)} and {list(actions.shape)}."
        )
    length = arrays.get("length", np.full(len(x), x.shape[1]))
    return Trajectories(x, actions, length.astype(np.int64))
