"""What a loss reads: rows of a rollout as tensors, and the net's current outputs for them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from kinfolk.core.arrays import Ints
from kinfolk.core.imports import optional_import
from kinfolk.policies.neural.distributions import (
    LOG_SQRT_TAU,
    MAX_LOG_STD,
    MAX_SQUASHED,
    MIN_LOG_STD,
    ActionLayout,
)
from kinfolk.training.buffer import RolloutColumns

with optional_import("Training"):
    import torch
    from torch.nn import functional

Tensor: TypeAlias = torch.Tensor
_LARGEST_TANH = math.tanh(MAX_SQUASHED)


class Minibatch(NamedTuple):
    """Rows of a rollout as tensors; columns that were not recorded are None."""

    action: Tensor  # [n, heads] int64; of a continuous head, view(torch.float64) is the number
    log_prob: Tensor  # [n] of the action, under the policy that acted
    value: Tensor  # [n] critic's value during the rollout
    advantage: Tensor  # [n]
    teacher_action: Tensor | None = None  # [n, heads] int64
    teacher_logits: Tensor | None = None  # [n, logits]; None: the teacher is not a net
    teacher_value: Tensor | None = None  # [n] NaN where the teacher has no critic

    def select(self, rows: Tensor) -> Minibatch:
        """Return some of the rows, by index."""
        columns = [None if column is None else column[rows] for column in self]
        return Minibatch(*columns)  # type: ignore[arg-type]  # columns stay None or not None


class NumberRange(NamedTuple):
    """Range of a continuous head and whether its numbers are passed through tanh."""

    center: float
    half_width: float
    squashed: bool

    def log_prob(self, mean_and_std: Tensor, action: Tensor) -> Tensor:
        """Return the log-density of actions `[n]` (bits of float64) in units of the range."""
        number = (action.view(torch.float64) - self.center) / self.half_width
        if self.squashed:
            number = number.clamp(-_LARGEST_TANH, _LARGEST_TANH).atanh()
        x = number.float()
        mean, log_std = split_gaussian(mean_and_std)
        density = -0.5 * ((x - mean) * (-log_std).exp()).square() - log_std - LOG_SQRT_TAU
        return density - _log_tanh_slope(x) if self.squashed else density

    def entropy(self, mean_and_std: Tensor) -> Tensor:
        """Return the entropy `[n]` in units of the range; of a squashed number, estimated at the mean."""
        mean, log_std = split_gaussian(mean_and_std)
        entropy = 0.5 + LOG_SQRT_TAU + log_std
        return entropy + _log_tanh_slope(mean) if self.squashed else entropy

    def mean_action(self, mean_and_std: Tensor) -> Tensor:
        """Return the action at the mean, `[n]`, in units of the world and within its bounds."""
        mean = mean_and_std[:, 0]
        return self.center + self.half_width * (mean.tanh() if self.squashed else mean)


def split_gaussian(mean_and_std: Tensor) -> tuple[Tensor, Tensor]:
    """Return mean and clipped log std of the two outputs of a continuous head."""
    return mean_and_std[:, 0], mean_and_std[:, 1].clamp(MIN_LOG_STD, MAX_LOG_STD)


def _log_tanh_slope(x: Tensor) -> Tensor:
    """Return log(1 - tanh(x)**2), in a form that does not round to the logarithm of zero."""
    return 2.0 * (math.log(2.0) - x - functional.softplus(-2.0 * x))


class ActorCriticOutput(NamedTuple):
    """The net's current action distribution and value for a minibatch.

    `log_probs` has, per head, the normalised log-probabilities `[n, choices]` or, for a continuous
    head, mean and log std `[n, 2]`; `ranges` is empty if no head is continuous.
    """

    log_probs: tuple[Tensor, ...]
    value: Tensor  # [n]
    ranges: tuple[NumberRange | None, ...] = ()  # per head; None if it has choices

    def select(self, rows: Tensor) -> ActorCriticOutput:
        """Return some of the rows, by index."""
        heads = tuple(head[rows] for head in self.log_probs)
        return ActorCriticOutput(heads, self.value[rows], self.ranges)

    def log_prob(self, action: Tensor) -> Tensor:
        """Return the log-probability of actions `[n, heads]`, summed over the heads: `[n]`."""
        parts = []
        for i, (head, numbers) in enumerate(self._heads()):
            if numbers is None:
                parts.append(head.gather(1, action[:, i : i + 1]).squeeze(1))
            else:
                parts.append(numbers.log_prob(head, action[:, i]))
        return parts[0] if len(parts) == 1 else torch.stack(parts).sum(dim=0)

    def entropy(self) -> Tensor:
        """Return the entropy, summed over the heads: `[n]`."""
        parts = [
            -(head.exp() * head).sum(dim=1) if numbers is None else numbers.entropy(head)
            for head, numbers in self._heads()
        ]
        return parts[0] if len(parts) == 1 else torch.stack(parts).sum(dim=0)

    def mean_action(self) -> Tensor:
        """Return the expected choice, or the number at the mean, of every head: `[n, heads]`."""
        parts = []
        for head, numbers in self._heads():
            if numbers is None:
                parts.append(head.exp() @ torch.arange(head.shape[1], dtype=head.dtype))
            else:
                parts.append(numbers.mean_action(head))
        return torch.stack(parts, dim=1)

    def _heads(self) -> Iterator[tuple[Tensor, NumberRange | None]]:
        """Yield the outputs of each head with its range."""
        return zip(self.log_probs, self.ranges or [None] * len(self.log_probs), strict=True)


def make_ranges(layout: ActionLayout) -> tuple[NumberRange | None, ...]:
    """Return the range of each continuous head; empty if all heads have choices."""
    is_continuous = (layout.n_choices[0] == 0).tolist()
    if not any(is_continuous):
        return ()
    pairs = zip(is_continuous, layout.ranges.tolist(), strict=True)
    return tuple(
        NumberRange(r[0], r[1], layout.squashed) if number else None for number, r in pairs
    )


def to_minibatch(rows: RolloutColumns, indices: Ints) -> Minibatch:
    """Return some rows as tensors."""

    def column(name: str) -> torch.Tensor | None:
        """Return a column of the minibatch; None if it was not recorded."""
        return torch.from_numpy(rows[name][indices]) if name in rows else None

    return Minibatch(*(column(name) for name in Minibatch._fields))  # type: ignore[arg-type]
