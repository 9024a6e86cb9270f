"""A sequential random generator on top of a random key, for operators on roles."""

from __future__ import annotations

import random
import secrets
from collections.abc import Sequence
from typing import TypeAlias, TypeVar

import numpy as np

from kinfolk.core.errors import SettingsError
from kinfolk.core.random import randint, uniform

T = TypeVar("T")
# What users may pass as a source of randomness.
Rng: TypeAlias = random.Random | np.random.Generator | int | None
_KEY_BITS = 63
_WEIGHT_UNIT = 10_000  # weights become integers, whose sums are exact on every machine


def seed_from(rng: Rng, bits: int = _KEY_BITS) -> int:
    """Return an integer seed from any source of randomness.

    Args:
        rng: An integer, which is returned unchanged; a `random.Random` or a numpy `Generator`, from
            which one number is drawn; or None, for a number from the operating system.
        bits: Size of a number that is drawn.

    Raises:
        SettingsError: `rng` has another type.

    >>> seed_from(7), seed_from(random.Random(7), 16)
    (7, 21222)
    """
    if isinstance(rng, int | np.integer):
        return int(rng)
    if isinstance(rng, random.Random):
        return rng.getrandbits(bits)
    if isinstance(rng, np.random.Generator):
        return int(rng.integers(1 << bits, dtype=np.uint64))
    if rng is None:
        return secrets.randbits(bits)
    raise SettingsError(
        f"rng must be a random.Random, a numpy Generator, a whole number or None, not {rng!r}."
    )


class KeyedRng:
    """Draws one number after another from a random key; the same key gives the same numbers.

    Args:
        rng: A random key, or any other source that `seed_from` takes.

    >>> rng = KeyedRng(7)
    >>> [rng.randint(6) for _ in range(5)]
    [1, 5, 3, 3, 1]
    """

    def __init__(self, rng: Rng) -> None:
        self._key, self._n_draws = seed_from(rng), 0

    def randint(self, upper: int) -> int:
        """Draw an integer from 0 to `upper` - 1."""
        self._n_draws += 1
        return int(randint(self._key, self._n_draws, upper))

    def bernoulli(self, probability: float) -> bool:
        """Return True with the given probability."""
        self._n_draws += 1
        return bool(uniform(self._key, self._n_draws) < probability)

    def choice(self, items: Sequence[T]) -> T:
        """Draw one of the items with equal probability."""
        return items[self.randint(len(items))]

    def weighted_choice(self, items: Sequence[T], weights: Sequence[float]) -> T:
        """Draw one of the items with probability proportional to its weight.

        Args:
            items: The candidates.
            weights: One per item; each counts at least 1/10,000.
        """
        units = [max(1, round(weight * _WEIGHT_UNIT)) for weight in weights]
        remaining = self.randint(sum(units))
        for item, weight in zip(items, units, strict=True):
            remaining -= weight
            if remaining < 0:
                return item
        raise AssertionError("the draw was not below the sum of the weights")
