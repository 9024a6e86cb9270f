"""Draws from one key, one after the other: for operators, whose draws follow from each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from kinfolk.core.keys import below, uniform

T = TypeVar("T")
_UNIT = 10_000  # weights are compared as whole numbers: their sums are exact everywhere


class Dice:
    """Chance for one use of an operator. The same key gives the same throws.

    >>> dice = Dice(7)
    >>> [dice.below(6) for _ in range(5)]
    [1, 5, 3, 3, 1]
    """

    def __init__(self, key: int) -> None:
        self._key, self._at = key, 0

    def below(self, size: int) -> int:
        """A whole number from 0 to `size` - 1."""
        self._at += 1
        return int(below(self._key, self._at, size))

    def chance(self, probability: float) -> bool:
        """Whether something of this probability happens."""
        self._at += 1
        return bool(uniform(self._key, self._at) < probability)

    def choice(self, things: Sequence[T]) -> T:
        """Any of them with equal chance."""
        return things[self.below(len(things))]

    def weighted(self, things: Sequence[T], weights: Sequence[float]) -> T:
        """One of them, by weight."""
        whole = [max(1, round(weight * _UNIT)) for weight in weights]
        left = self.below(sum(whole))
        for thing, weight in zip(things, whole, strict=True):
            left -= weight
            if left < 0:
                return thing
        raise AssertionError("a draw below the sum lies within it")
