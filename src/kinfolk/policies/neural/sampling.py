"""Choices drawn from keys: the batch they are drawn in has no effect.

Each choice gets its score plus Gumbel noise from the row's key; the highest is taken, which draws
from the softmax of the scores (Gumbel 1954; Maddison et al. 2014).
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import lean_kernel
from kinfolk.core.keys import bits

_STEP = 1.0 / 16777216.0


@lean_kernel
def sample(
    scores: npt.NDArray[np.float32],
    starts: Ints,
    limits: Ints,
    group: Ints,
    keys: Ints,
    greedy: bool,
    actions: Ints,
    log_chance: npt.NDArray[np.float32],
) -> None:
    """Choose for every row and head; `log_chance` is that of the whole action.

    Args:
        scores: `[n, choices of all heads]`.
        starts: `[heads]`, where the choices of a head begin.
        limits: `[groups, heads]`, how many choices a group has; scores beyond are not read.
        group: `[n]`.
        keys: `[n]`, read only if not `greedy`.
        greedy: Take the highest score, the first of equals.
        actions: Filled, `[n, heads]`.
        log_chance: Filled, `[n]`.
    """
    for i in range(scores.shape[0]):
        total = 0.0
        for head in range(starts.shape[0]):
            at, size = starts[head], limits[group[i], head]
            top = float(scores[i, at])
            for j in range(1, size):
                top = max(top, float(scores[i, at + j]))
            weight, best, chosen = 0.0, -math.inf, 0
            for j in range(size):
                score = float(scores[i, at + j])
                weight += math.exp(score - top)
                if not greedy:
                    draw = (float(bits(keys[i], at + j) >> 8) + 0.5) * _STEP
                    score -= math.log(-math.log(draw))
                if score > best:
                    best, chosen = score, j
            actions[i, head] = chosen
            total += float(scores[i, at + chosen]) - top - math.log(weight)
        log_chance[i] = np.float32(total)
