"""The kernel that draws the actions of `RandomPolicy`."""

from __future__ import annotations

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import allocation_free_kernel
from kinfolk.core.random import randint


@allocation_free_kernel
def sample_uniform(keys: Ints, group: Ints, choices: Ints, out: Ints) -> None:
    """Draw a uniform choice for every agent and head; continuous heads get 0.

    Args:
        keys: `[n]`, random keys.
        group: `[n]`, group of each agent.
        choices: `[groups, heads]`, number of choices; 0 for continuous heads.
        out: `[n, heads]`, filled with the actions.
    """
    for i in range(keys.shape[0]):
        for head in range(choices.shape[1]):
            size = choices[group[i], head]
            out[i, head] = randint(keys[i], head, size) if size > 0 else 0
