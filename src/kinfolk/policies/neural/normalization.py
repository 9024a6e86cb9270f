"""Running normalisation of inputs and rewards (as in OpenAI Baselines' VecNormalize)."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays, Bools, Floats, Ints
from kinfolk.core.imports import optional_import
from kinfolk.core.jit import allocation_free_kernel

with optional_import("A neural policy"):
    import torch
    from torch import Tensor, nn

_CLIP = 10.0  # standard deviations
_EPSILON = 1e-8
_CHUNK = 8192  # rows whose moments are computed at once


class RunningNorm(nn.Module):
    """Scales inputs to mean 0 and standard deviation 1 of all rows learnt from so far.

    Mean and variance are buffers: they are stored with the weights, and no gradient changes them.
    Before the first update, inputs pass unchanged.

    Args:
        size: Number of inputs.
    """

    mean: Tensor
    variance: Tensor
    count: Tensor

    def __init__(self, size: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(size, dtype=torch.float64))
        self.register_buffer("variance", torch.ones(size, dtype=torch.float64))
        self.register_buffer("count", torch.zeros(1, dtype=torch.float64))

    def forward(self, x: Tensor) -> Tensor:
        """Return the scaled inputs, clipped to ten standard deviations."""
        scale = (self.variance + _EPSILON).rsqrt().float()
        return ((x - self.mean.float()) * scale).clamp(-_CLIP, _CLIP)

    @torch.no_grad()
    def update(self, x: Tensor) -> None:
        """Add rows `[n, inputs]` to the running moments (Chan et al. 1979)."""
        for part in torch.split(x, _CHUNK):
            rows = part.double()
            mean, variance, n = rows.mean(dim=0), rows.var(dim=0, correction=0), len(rows)
            total = self.count + n
            delta = mean - self.mean
            squares = self.variance * self.count + variance * n
            squares += delta.square() * self.count * n / total
            self.mean += delta * n / total
            self.variance.copy_(squares / total)
            self.count.copy_(total)


def add_normalizer(module: nn.Module, size: int) -> RunningNorm:
    """Give a module a `RunningNorm` of its first input, and return it.

    Args:
        module: Any actor-critic net.
        size: Number of its inputs.
    """
    normalizer = RunningNorm(size)
    module.add_module("normalizer", normalizer)
    module.register_forward_pre_hook(_normalize_first)
    return normalizer


def _normalize_first(module: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the inputs of a module with the first one normalised."""
    return (module.normalizer(inputs[0]), *inputs[1:])  # type: ignore[operator]


@allocation_free_kernel
def _accumulate_returns(
    reward: AnyArray, done: Bools, memory_index: Ints, gamma: float, carry: Floats, out: Floats
) -> None:
    """Compute each row's discounted sum of the rewards of its life so far.

    Args:
        reward: `[n]`, in the order of time.
        done: `[n]`, whether the life or its episode ended with this row.
        memory_index: `[n]`, memory index of each row's agent.
        gamma: Discount per step.
        carry: `[memory indices]`, sums before the first row; changed to those after the last.
        out: `[n]`, written.
    """
    for i in range(reward.shape[0]):
        agent = memory_index[i]
        carry[agent] = carry[agent] * gamma + float(reward[i])
        out[i] = carry[agent]
        if done[i]:
            carry[agent] = 0.0


class RewardScale:
    """Divides rewards by the running standard deviation of the discounted return.

    Args:
        gamma: Discount per step.
    """

    def __init__(self, gamma: float) -> None:
        self._gamma = gamma
        self._carry: Floats = np.zeros(0)
        self._moments: Floats = np.array([0.0, 1.0, 0.0])  # mean, variance, count

    def __call__(self, reward: AnyArray, done: Bools, memory_index: Ints) -> AnyArray:
        """Add the rewards of a rollout to the running moments, and return them scaled.

        Args:
            reward: `[n]`, in the order of time.
            done: `[n]`, whether the life or its episode ended with this row.
            memory_index: `[n]`, memory index of each row's agent.
        """
        missing = int(memory_index.max(initial=-1)) + 1 - len(self._carry)
        if missing > 0:
            self._carry = np.concatenate([self._carry, np.zeros(missing)])
        returns = np.empty(len(reward))
        _accumulate_returns(reward, done, memory_index, self._gamma, self._carry, returns)
        mean, variance, count = self._moments.tolist()
        n = len(returns)
        total, delta = count + n, float(returns.mean()) - mean
        squares = variance * count + float(returns.var()) * n + delta * delta * count * n / total
        self._moments = np.array([mean + delta * n / total, squares / total, total])
        scaled = reward / np.sqrt(self._moments[1] + _EPSILON)
        clipped: AnyArray = np.clip(scaled, -_CLIP, _CLIP).astype(np.float32)
        return clipped

    def state_dict(self) -> dict[str, AnyArray]:
        """Return the state as arrays."""
        return {"carry": self._carry.copy(), "moments": self._moments.copy()}

    def load_state_dict(self, state: Arrays) -> None:
        """Restore the state that `state_dict` returned."""
        self._carry, self._moments = state["carry"].copy(), state["moments"].copy()
