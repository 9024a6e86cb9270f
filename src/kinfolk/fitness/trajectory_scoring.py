"""Score nets on trajectories: how well they imitate actions, or tell whose actions they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays, Floats
from kinfolk.core.imports import optional_import
from kinfolk.evolution.populations import GeneratorDiscriminatorPop, GeneratorPop
from kinfolk.fitness.trajectories import Trajectories
from kinfolk.nets.heads import softmax, tanh
from kinfolk.nets.registry import nets_from_config
from kinfolk.nets.running_stats import RunningStats


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
