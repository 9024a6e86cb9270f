"""Nets run over trajectories: what they would have done, and what they think of them.

Tasks for an engine: some members at a time, all of whose inputs come with them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays, Floats
from kinfolk.core.optional_dependencies import optional_import
from kinfolk.evolution.populations import GeneratorDiscriminatorPop, GeneratorPop
from kinfolk.fitness.trajectories import Trajectories
from kinfolk.nets.heads import softmax, tanh
from kinfolk.nets.registry import nets_from_config
from kinfolk.nets.running_stats import RunningStats


@dataclass(frozen=True)
class ImitationTask:
    """Members, and what was seen and done by the one they are to copy."""

    nets: Mapping[str, Any]
    arrays: Arrays
    target: Trajectories
    head: str
    choices: Sequence[int]


@dataclass(frozen=True)
class DiscriminationTask:
    """Members, and for each the trajectories it judges: `[members, lives, ticks, inputs]`."""

    nets: Mapping[str, Any]
    arrays: Arrays
    x: AnyArray
    n_action_outputs: int  # outputs that are for acting


@dataclass(frozen=True)
class TrajectoryScores:
    """Scores, and what dynamic nets have learned meanwhile, a copy per life."""

    scores: AnyArray
    running_stats: RunningStats | None


def score_imitation(task: ImitationTask) -> TrajectoryScores:
    """`[members]`: the mean chance of the target's action, or minus the mean squared error."""
    pop = GeneratorPop(nets_from_config(task.nets, task.arrays))
    lives, ticks = task.target.x.shape[:2]
    x = np.broadcast_to(task.target.x, (pop.num_nets, lives, ticks, task.target.x.shape[2]))
    out = _run(pop.generate, x, task.nets["kind"])
    closeness = _similarity(task.head, out, task.target.actions, task.choices)
    weight = task.target.valid / task.target.valid.sum()
    return TrajectoryScores(
        (closeness * weight).sum(axis=(1, 2)), _running_stats(pop.memory_of("gen"))
    )


def _similarity(head: str, out: AnyArray, actions: AnyArray, choices: Sequence[int]) -> Floats:
    """`[members, lives, ticks]`, the mean over the parts of an action."""
    total: Floats = np.zeros(out.shape[:3])
    start = 0
    for part, size in enumerate(choices):
        done = actions[..., part]
        if head in ("argmax", "softmax_sample"):
            chances = softmax(out[..., start : start + size])
            index = np.broadcast_to(done[None, ..., None], (*out.shape[:3], 1))
            total += np.take_along_axis(chances, index, axis=-1)[..., 0]
        else:
            said = tanh(out[..., part]) if head == "tanh" else out[..., part]
            total -= (said - (2.0 * done / (size - 1) - 1.0)) ** 2
        start += size
    return total / len(choices)


def score_discrimination(task: DiscriminationTask) -> TrajectoryScores:
    """`[members, lives]`: how real each life looks to the member that judges it, from 0 to 1.

    All lives are looked at for the same time: one that ended early is blank from then on, and is
    judged so. Otherwise a short life, all of it near its beginning, would look best.
    """
    nets = nets_from_config(task.nets, task.arrays)
    pop = GeneratorDiscriminatorPop(nets, task.n_action_outputs, 1)
    out = _run(pop.discriminate, task.x, task.nets["kind"])[..., 0]
    belief = 1.0 / (1.0 + np.exp(-np.clip(out.astype(np.float64), -50.0, 50.0)))
    return TrajectoryScores(belief.mean(axis=2), _running_stats(pop.memory_of("disc")))


def _run(step: Any, x: AnyArray, kind: str) -> AnyArray:
    """Run `[members, lives, ticks, inputs]` through `step`, tick by tick or, if it can, at once.

    Static nets run in torch: the last bits of published results are those of its matrix products.
    """
    given: Callable[[AnyArray], Any] = np.asarray
    if kind != "dynamic":
        with optional_import("Imitation by feedforward or recurrent nets"):
            import torch

        torch.set_num_threads(1)
        given = torch.tensor
    members, lives, ticks = x.shape[:3]
    if kind == "feedforward":
        flat = x.reshape(members, lives * ticks, -1)
        return np.asarray(step(given(flat))).reshape(members, lives, ticks, -1)
    return np.stack([np.asarray(step(given(x[:, :, t]))) for t in range(ticks)], axis=2)


def _running_stats(state: Any) -> RunningStats | None:
    return RunningStats(state.n, state.mean, state.m2) if hasattr(state, "m2") else None
