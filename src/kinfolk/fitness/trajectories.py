"""Trajectories of agents: recorded in a world, or read from a file of demonstrations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays, Bytes, Floats, Ints
from kinfolk.core.errors import SettingsError
from kinfolk.core.imports import optional_import
from kinfolk.core.spaces import WorldSpec
from kinfolk.evolution.populations import GeneratorDiscriminatorPop, GeneratorPop
from kinfolk.nets.dynamic.forward import RunningStats
from kinfolk.nets.heads import softmax, tanh
from kinfolk.nets.registry import nets_from_config
from kinfolk.play.slots import LoadedSlot
from kinfolk.play.task import Observer, RolloutTask, WorldRef, run_task
from kinfolk.policies.base import AgentBatch, Memory, MemoryLayout, Policy
from kinfolk.policies.neural.evolved import GroupEncoder
from kinfolk.policies.resolve import ResolvedPolicy
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


@dataclass(frozen=True)
class ImitationTask:
    """Members, and the demonstrations they are compared with."""

    nets: Mapping[str, Any]  # `config()` of the nets
    arrays: Arrays  # `to_arrays()` of the members
    target: Trajectories
    head: str  # output head
    choices: Sequence[int]  # number of choices of each part of an action


@dataclass(frozen=True)
class DiscriminationTask:
    """Members, and for each the trajectories it discriminates."""

    nets: Mapping[str, Any]  # `config()` of the nets
    arrays: Arrays  # `to_arrays()` of the members
    x: AnyArray  # [members, lives, ticks, inputs]
    n_action_outputs: int  # outputs of the generator; the discriminator has one more


@dataclass(frozen=True)
class TrajectoryScores:
    """Scores of members, and the running statistics of dynamic nets."""

    scores: AnyArray  # [members] or [members, lives]
    running_stats: RunningStats | None  # [members, lives, capacity]; None for static nets


def score_imitation(task: ImitationTask) -> TrajectoryScores:
    """Score members by the mean probability of the target's action, or minus the squared error."""
    pop = GeneratorPop(nets_from_config(task.nets, task.arrays))
    lives, ticks = task.target.x.shape[:2]
    x = np.broadcast_to(task.target.x, (pop.num_nets, lives, ticks, task.target.x.shape[2]))
    out = _run_nets(pop.generate, x, task.nets["kind"])
    similarity = _similarity(task.head, out, task.target.actions, task.choices)
    weight = task.target.valid / task.target.valid.sum()
    scores = (similarity * weight).sum(axis=(1, 2))
    return TrajectoryScores(scores, _running_stats(pop.memory_of("gen")))


def _similarity(head: str, out: AnyArray, actions: AnyArray, choices: Sequence[int]) -> Floats:
    """Return how close outputs are to the target's actions, `[members, lives, ticks]`.

    Args:
        head: Output head; sampled heads are scored by probability, others by squared error.
        out: `[members, lives, ticks, outputs]`.
        actions: `[lives, ticks, parts]` of the target.
        choices: Number of choices of each part.
    """
    total: Floats = np.zeros(out.shape[:3])
    start = 0
    for part, size in enumerate(choices):
        target = actions[..., part]
        if head in ("argmax", "softmax_sample"):
            probabilities = softmax(out[..., start : start + size])
            index = np.broadcast_to(target[None, ..., None], (*out.shape[:3], 1))
            total += np.take_along_axis(probabilities, index, axis=-1)[..., 0]
        else:
            value = tanh(out[..., part]) if head == "tanh" else out[..., part]
            total -= (value - (2.0 * target / (size - 1) - 1.0)) ** 2
        start += size
    return total / len(choices)


def score_discrimination(task: DiscriminationTask) -> TrajectoryScores:
    """Score trajectories by the mean probability that they are the target's: `[members, lives]`.

    All ticks count, also the zero padding after an early end. Otherwise a short trajectory, all of
    it near the initial state, would look best.
    """
    nets = nets_from_config(task.nets, task.arrays)
    pop = GeneratorDiscriminatorPop(nets, task.n_action_outputs, 1)
    out = _run_nets(pop.discriminate, task.x, task.nets["kind"])[..., 0]
    probability = 1.0 / (1.0 + np.exp(-np.clip(out.astype(np.float64), -50.0, 50.0)))
    return TrajectoryScores(probability.mean(axis=2), _running_stats(pop.memory_of("disc")))


def _run_nets(step: Any, x: AnyArray, kind: str) -> AnyArray:
    """Run trajectories through nets, tick by tick, or all ticks at once for feedforward nets.

    Static nets run in torch, because earlier results depend on the last bits of its matrix
    products.

    Args:
        step: Maps inputs `[members, batch, inputs]` to outputs.
        x: `[members, lives, ticks, inputs]`.
        kind: Kind of the nets: feedforward, recurrent or dynamic.

    Returns:
        `[members, lives, ticks, outputs]`.
    """
    convert: Callable[[AnyArray], Any] = np.asarray
    if kind != "dynamic":
        with optional_import("Imitation by feedforward or recurrent nets"):
            import torch

        torch.set_num_threads(1)
        convert = torch.tensor
    members, lives, ticks = x.shape[:3]
    if kind == "feedforward":
        flat = x.reshape(members, lives * ticks, -1)
        return np.asarray(step(convert(flat))).reshape(members, lives, ticks, -1)
    return np.stack([np.asarray(step(convert(x[:, :, t]))) for t in range(ticks)], axis=2)


def _running_stats(state: Any) -> RunningStats | None:
    """Return the running statistics in the memory of dynamic nets; None for other nets."""
    return RunningStats(state.n, state.mean, state.m2) if hasattr(state, "m2") else None
