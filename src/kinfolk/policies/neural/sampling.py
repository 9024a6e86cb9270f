"""Choices drawn from keys: the batch they are drawn in has no effect.

Each choice gets its score plus Gumbel noise from the row's key; the highest is taken, which draws
from the softmax of the scores (Gumbel 1954; Maddison et al. 2014).
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import allocation_free_kernel
from kinfolk.core.random import bits

_UNIFORM_STEP = 1.0 / 16777216.0


@allocation_free_kernel
def sample_actions(
    logits: npt.NDArray[np.float32],
    head_offsets: Ints,
    n_choices: Ints,
    group: Ints,
    keys: Ints,
    greedy: bool,
    actions: Ints,
    log_prob: npt.NDArray[np.float32],
) -> None:
    """Choose for every row and head; `log_prob` is that of the whole action.

    Args:
        logits: `[n, choices of all heads]`.
        head_offsets: `[heads]`, where the choices of a head begin.
        n_choices: `[groups, heads]`, how many choices a group has; scores beyond are not read.
        group: `[n]`.
        keys: `[n]`, read only if not `greedy`.
        greedy: Take the highest score, the first of equals.
        actions: Filled, `[n, heads]`.
        log_prob: Filled, `[n]`.
    """
    for i in range(logits.shape[0]):
        total = 0.0
        for head in range(head_offsets.shape[0]):
            at, size = head_offsets[head], n_choices[group[i], head]
            top = float(logits[i, at])
            for j in range(1, size):
                top = max(top, float(logits[i, at + j]))
            weight, best, chosen = 0.0, -math.inf, 0
            for j in range(size):
                score = float(logits[i, at + j])
                weight += math.exp(score - top)
                if not greedy:
                    draw = (float(bits(keys[i], at + j) >> 8) + 0.5) * _UNIFORM_STEP
                    score -= math.log(-math.log(draw))
                if score > best:
                    best, chosen = score, j
            actions[i, head] = chosen
            total += float(logits[i, at + chosen]) - top - math.log(weight)
        log_prob[i] = np.float32(total)
