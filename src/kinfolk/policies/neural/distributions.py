"""Action distributions: categorical for heads with choices, Gaussian for continuous ones.

A continuous head has two outputs, mean and log std, in units of its range: -1 is its lower and 1 its
upper bound, and beyond them the world clips. The squashed Gaussian passes the number through tanh,
so that it never leaves the bounds (Haarnoja et al. 2018, arXiv:1801.01290). A head without bounds has
units of its own.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np

from kinfolk.core.arrays import Floats, Ints
from kinfolk.core.errors import require
from kinfolk.core.jit import allocation_free_kernel
from kinfolk.core.random import bits
from kinfolk.core.spaces import WorldSpec
from kinfolk.policies.neural.encoding import Float32Array, count_head_outputs

Distribution = Literal["gaussian", "squashed"]
MIN_LOG_STD, MAX_LOG_STD = -5.0, 2.0  # outputs beyond are clipped
MAX_SQUASHED = 9.0  # tanh of it is the largest number whose inverse is exact enough in float64
LOG_SQRT_TAU = 0.5 * math.log(2.0 * math.pi)
_UNIFORM_STEP = 1.0 / 16777216.0  # 2**-24: draws are 24 bits, the precision of float32
_NORMAL_BRANCH = 1 << 20  # of an agent's draws: lower numbers are those of choices


class ActionLayout(NamedTuple):
    """Where the outputs of a net for each action head lie, and how they become actions."""

    offsets: Ints  # [heads], first output of each head
    sizes: list[int]  # outputs of each head
    n_choices: Ints  # [groups, heads], 0 for continuous heads
    ranges: Floats  # [heads, 2], center and half width of continuous heads
    squashed: bool  # numbers are passed through tanh


def make_action_layout(spec: WorldSpec, distribution: Distribution) -> ActionLayout:
    """Return the layout of the outputs for the heads of a world.

    Raises:
        SettingsError: The distribution is unknown, or the heads do not allow it.
    """
    known = ("gaussian", "squashed")
    require(
        distribution in known,
        f"The distribution is '{known[0]}' or '{known[1]}', not '{distribution}'.",
    )
    sizes = count_head_outputs(spec)
    bounds = spec.action_bounds[0]
    is_bounded = np.isfinite(bounds).all(axis=1)
    squashed = distribution == "squashed"
    for head, bounded in zip(spec.groups[0].heads, is_bounded, strict=True):
        require(
            bounded or not squashed,
            f"World {spec.world} has no bounds for {head.name}, and a squashed distribution needs "
            f"them. Use distribution = 'gaussian'.",
        )
    low, high = np.where(is_bounded[:, None], bounds, [-1.0, 1.0]).T
    center, half = (low + high) / 2.0, (high - low) / 2.0
    return ActionLayout(
        np.cumsum(sizes) - np.array(sizes, dtype=np.int64),
        sizes,
        np.ascontiguousarray(spec.n_choices),
        np.stack([center, np.where(half > 0.0, half, 1.0)], axis=1),
        squashed,
    )


@allocation_free_kernel
def sample_actions(
    logits: Float32Array,
    head_offsets: Ints,
    n_choices: Ints,
    group: Ints,
    keys: Ints,
    greedy: bool,
    actions: Ints,
    log_prob: Float32Array,
) -> None:
    """Choose an action for every agent and discrete head, and compute its log-probability.

    Args:
        logits: `[n, outputs of all heads]`.
        head_offsets: `[heads]`, column where the choices of a head begin.
        n_choices: `[groups, heads]`, number of choices of a group; further logits are not read.
        group: `[n]`, group of each agent.
        keys: `[n]`, random keys; not read if `greedy`.
        greedy: Take the largest logit, the first of equals, instead of sampling.
        actions: `[n, heads]`, filled with the actions.
        log_prob: `[n]`, filled with the log-probability of the whole action, summed over heads.
    """
    for i in range(logits.shape[0]):
        total = 0.0
        for head in range(head_offsets.shape[0]):
            start, size = head_offsets[head], n_choices[group[i], head]
            if size == 0:
                continue
            top = float(logits[i, start])
            for j in range(1, size):
                top = max(top, float(logits[i, start + j]))
            weight, best, chosen = 0.0, -math.inf, 0
            for j in range(size):
                score = float(logits[i, start + j])
                weight += math.exp(score - top)
                if not greedy:
                    draw = (float(bits(keys[i], start + j) >> 8) + 0.5) * _UNIFORM_STEP
                    score -= math.log(-math.log(draw))
                if score > best:
                    best, chosen = score, j
            actions[i, head] = chosen
            total += float(logits[i, start + chosen]) - top - math.log(weight)
        log_prob[i] = np.float32(total)


@allocation_free_kernel
def sample_numbers(
    outputs: Float32Array,
    head_offsets: Ints,
    ranges: Floats,
    head: int,
    keys: Ints,
    greedy: bool,
    squashed: bool,
    correlation: float,
    noise: Float32Array,
    numbers: Floats,
    log_prob: Float32Array,
) -> None:
    """Draw the number of a continuous head for every agent, and add its log-density.

    With a correlation the noise of successive actions is an autoregressive process. The density is
    that of one action by itself, which does not depend on the correlation.

    Args:
        outputs: `[n, outputs of all heads]`, with mean and log std of the head.
        head_offsets: `[heads]`, column of each head's mean.
        ranges: `[heads, 2]`, center and half width of the heads.
        head: Which head.
        keys: `[n]`, random keys; not read if `greedy`.
        greedy: Take the mean instead of sampling.
        squashed: Pass the number through tanh.
        correlation: Correlation of the noise with that of the agent's last action.
        noise: `[n, heads]`, noise of the last action in standard deviations, 0 before the first;
            replaced by that of this action.
        numbers: `[n, heads]`, filled at the head, in units of the world.
        log_prob: `[n]`, to which the log-density in units of the range is added.
    """
    start = head_offsets[head]
    for i in range(outputs.shape[0]):
        mean = float(outputs[i, start])
        log_std = min(max(float(outputs[i, start + 1]), MIN_LOG_STD), MAX_LOG_STD)
        deviation = 0.0
        if not greedy:  # Box and Muller 1958
            index = _NORMAL_BRANCH + 2 * head
            radius = (float(bits(keys[i], index) >> 8) + 0.5) * _UNIFORM_STEP
            angle = 2.0 * math.pi * float(bits(keys[i], index + 1) >> 8) * _UNIFORM_STEP
            deviation = math.sqrt(-2.0 * math.log(radius)) * math.cos(angle)
            last = float(noise[i, head])
            if last != 0.0:
                deviation = correlation * last + math.sqrt(1.0 - correlation**2) * deviation
            noise[i, head] = np.float32(deviation)
        number = mean + math.exp(log_std) * deviation
        if squashed:
            number = min(max(number, -MAX_SQUASHED), MAX_SQUASHED)
            deviation = (number - mean) / math.exp(log_std)
        density = -0.5 * deviation * deviation - log_std - LOG_SQRT_TAU
        if squashed:
            # log(1 - tanh(x)**2), in a form that does not round to zero
            density -= 2.0 * (
                math.log(2.0) - abs(number) - math.log1p(math.exp(-2.0 * abs(number)))
            )
            number = math.tanh(number)
        numbers[i, head] = ranges[head, 0] + ranges[head, 1] * number
        log_prob[i] = np.float32(float(log_prob[i]) + density)
