"""Sample actions from logits with one random key per agent, independently of the batch.

The Gumbel-max trick: each logit gets Gumbel noise from the agent's key, and the largest is taken,
which samples from the softmax of the logits (Gumbel 1954; Maddison et al. 2014).
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import allocation_free_kernel
from kinfolk.core.random import bits

_UNIFORM_STEP = 1.0 / 16777216.0  # 2**-24: draws are 24 bits, the precision of float32


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
    """Choose an action for every agent and head, and compute its log-probability.

    Args:
        logits: `[n, choices of all heads]`.
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
