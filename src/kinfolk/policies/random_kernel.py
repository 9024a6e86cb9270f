"""The kernel that draws the actions of `RandomPolicy`."""

from __future__ import annotations

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import allocation_free_kernel
from kinfolk.core.random import randint


@allocation_free_kernel
def sample_uniform(keys: Ints, group: Ints, choices: Ints, out: Ints) -> None:
    """Draw a uniform choice for every agent and head.

    Args:
        keys: `[n]`, random keys.
        group: `[n]`, group of each agent.
        choices: `[groups, heads]`, number of choices.
        out: `[n, heads]`, filled with the actions.
    """
    for i in range(keys.shape[0]):
        for head in range(choices.shape[1]):
            out[i, head] = randint(keys[i], head, choices[group[i], head])
