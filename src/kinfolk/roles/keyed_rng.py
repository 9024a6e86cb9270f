"""Draws from one key, one after the other: for operators, whose draws follow from each other."""

from __future__ import annotations

import random
import secrets
from collections.abc import Sequence
from typing import TypeAlias, TypeVar

import numpy as np

from kinfolk.core.errors import SettingsError
from kinfolk.core.random import randint, uniform

T = TypeVar("T")
# What users give where chance is needed: a generator of theirs, a whole number, or nothing.
Rng: TypeAlias = random.Random | np.random.Generator | int | None
_KEY_BITS = 63
_WEIGHT_UNIT = 10_000  # weights are compared as whole numbers: their sums are exact everywhere


def seed_from(rng: Rng, bits: int = _KEY_BITS) -> int:
    """Return the whole number that decides all further draws.

    Args:
        rng: A whole number, which is returned as it is; a `random.Random` or a numpy `Generator`,
            from which one number is drawn; or None, and the operating system draws one.
        bits: Size of a number that is drawn.

    Raises:
        SettingsError: `rng` is something else.

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
    """Chance for one use of an operator. The same key gives the same throws.

    Args:
        rng: A key, or whatever else `seed_from` takes.

    >>> rng = KeyedRng(7)
    >>> [rng.randint(6) for _ in range(5)]
    [1, 5, 3, 3, 1]
    """

    def __init__(self, rng: Rng) -> None:
        self._key, self._n_draws = seed_from(rng), 0

    def randint(self, upper: int) -> int:
        """A whole number from 0 to `upper` - 1."""
        self._n_draws += 1
        return int(randint(self._key, self._n_draws, upper))

    def bernoulli(self, probability: float) -> bool:
        """Whether something of this probability happens."""
        self._n_draws += 1
        return bool(uniform(self._key, self._n_draws) < probability)

    def choice(self, items: Sequence[T]) -> T:
        """Any of them with equal chance."""
        return items[self.randint(len(items))]

    def weighted_choice(self, items: Sequence[T], weights: Sequence[float]) -> T:
        """One of them, by weight."""
        whole = [max(1, round(weight * _WEIGHT_UNIT)) for weight in weights]
        left = self.randint(sum(whole))
        for thing, weight in zip(items, whole, strict=True):
            left -= weight
            if left < 0:
                return thing
        raise AssertionError("a draw below the sum lies within it")
