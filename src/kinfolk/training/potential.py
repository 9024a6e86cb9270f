"""Potential-based reward shaping: a potential of what an agent observes, and the reward that it adds.

The reward of a step gets `gamma * potential(next observation) - potential(observation)` added, which
leaves the order of policies as it is (Ng, Harada and Russell 1999, "Policy invariance under reward
transformations"): the discounted sum of what is added over an episode is minus the potential of its
first observation, whatever the agent does in between. The potential after the end of a life is 0.

That holds for one learner that maximises the discounted return from a state of the world. It does not, or
not exactly,

*   where an observation does not tell the whole state, and for nets and critics, which approximate: the
    sum is still the same for all policies, but what is learnt within a budget differs, as it should;
*   where an episode is truncated and bootstrapped: the discounted potential of the last observation is
    left over, and only a critic that has learnt it takes it away again. (An end that is not bootstrapped,
    `ppo.bootstrap_early_ends = false`, counts as the end of a life: potential 0, and the law holds);
*   with `ppo.normalize_rewards`: rewards are divided by a deviation that now includes what was added, and
    clipped;
*   for several learners: equilibria are kept (Devlin and Kudenko 2011), but not which of them is found. An
    agent's potential may change by what its team-mates do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from kinfolk.core.arrays import Bytes, Floats, Ints
from kinfolk.core.errors import format_suggestion, require
from kinfolk.core.spaces import AgentGroup, WorldSpec


def list_numbers(group: AgentGroup) -> dict[str, tuple[str, int]]:
    """Return field and index of every number that agents of a group observe, by its name.

    A number is an entry of a field with one axis. Its name is its label, or FIELD.INDEX if the world does
    not label the field; the first of several with one label has it. Windows have no numbers.
    """
    numbers: dict[str, tuple[str, int]] = {}
    for field in group.fields:
        if len(field.shape) != 1:
            continue
        for index in range(field.shape[0]):
            name = field.labels[index] if field.labels else f"{field.name}.{index}"
            numbers.setdefault(name, (field.name, index))
    return numbers


class Potential:
    """A weighted sum of numbers that an agent observes, each up to a limit.

    Args:
        spec: Spec of the world.
        weights: Weight by name of the number; see `list_numbers`. A number counts for agents of
            every group that observes it.
        limit: Most of each number that counts, so that much of one does not make up for another; None:
            all of it.

    Raises:
        SettingsError: Agents of no group observe a number of this name.
    """

    def __init__(
        self, spec: WorldSpec, weights: Mapping[str, float], limit: float | None = None
    ) -> None:
        self._groups, self._limit = spec.groups, None if limit is None else np.float64(limit)
        numbers = [list_numbers(group) for group in spec.groups]
        known = sorted({name for names in numbers for name in names})
        for name in weights:
            require(
                name in known,
                f"ppo.potential weighs '{name}', and agents of {spec.world} observe no number of this "
                f"name.{format_suggestion(name, known)}",
            )
        self._terms = [
            [(*names[name], weight) for name, weight in weights.items() if name in names]
            for names in numbers
        ]

    def __call__(self, observations: Bytes, group: Ints) -> Floats:
        """Return the potential of each observation, `[n]`.

        Args:
            observations: `[n, bytes]`, as the world gives them.
            group: `[n]`, index of each agent's group.
        """
        potential: Floats = np.zeros(len(observations))
        for number, (fields, terms) in enumerate(zip(self._groups, self._terms, strict=True)):
            rows = np.flatnonzero(group == number)
            if not terms or not len(rows):
                continue
            shown = np.ascontiguousarray(observations[rows])
            for field, index, weight in terms:
                values = fields.read_field(shown, field)[:, index]
                if self._limit is not None:
                    values = np.minimum(values, self._limit)
                potential[rows] += weight * values
        return potential


class Shaping(NamedTuple):
    """A potential and the discount per step with which it is added to rewards."""

    potential: Potential
    gamma: float
