"""Counter-based random numbers: every draw is a function of a key and an index, as in JAX.

A key is an integer of 63 bits. `fold_in` derives a key from a key and a number; `bits`, `uniform`
and `randint` draw from a key. The hash is Threefry-2x32 with 13 rounds (Salmon et al. 2011), the
fewest that its authors found to pass every test. It consists of additions, rotations and xors of
32-bit words held in 64-bit integers, so the same source serves kernels, numpy arrays and torch
tensors, element by element, and gives the same numbers in each.

>>> key = fold_in(seed_key(7), 3)
>>> [randint(key, i, 6) for i in range(4)]
[3, 4, 4, 4]

`KeyedRng` draws one number after another from a key, for operators on roles.
"""

from __future__ import annotations

import random
import secrets
from collections.abc import Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np

from kinfolk.core.errors import SettingsError
from kinfolk.core.inline import inline

WORD_MASK = 0xFFFFFFFF
# Folded into an episode's key, so that draws of the world and of policies are independent.
WORLD_STREAM = 1
POLICY_STREAM = 2
_DRAW_COUNTER = 0xFFFFFFFF  # second counter word of draws; folds stay below 2**31 there


@inline
def _mix_words(x0: Any, x1: Any, rotation: int) -> Any:
    """Apply one Threefry round, with its rotation in bits, to two words."""
    x0 = (x0 + x1) & WORD_MASK
    x1 = ((x1 << rotation) | (x1 >> (32 - rotation))) & WORD_MASK
    return x0, x1 ^ x0


@inline
def threefry_2x32(k0: Any, k1: Any, c0: Any, c1: Any) -> Any:
    """Hash a key and a counter to 64 random bits (Threefry-2x32, 13 rounds).

    Args:
        k0: First word of the key, 32 bits.
        k1: Second word of the key.
        c0: First word of the counter.
        c1: Second word of the counter.

    Returns:
        Two words of 32 random bits.
    """
    k2 = k0 ^ k1 ^ 0x1BD11BDA
    x0, x1 = (c0 + k0) & WORD_MASK, (c1 + k1) & WORD_MASK
    x0, x1 = _mix_words(x0, x1, 13)
    x0, x1 = _mix_words(x0, x1, 15)
    x0, x1 = _mix_words(x0, x1, 26)
    x0, x1 = _mix_words(x0, x1, 6)
    x0, x1 = (x0 + k1) & WORD_MASK, (x1 + k2 + 1) & WORD_MASK
    x0, x1 = _mix_words(x0, x1, 17)
    x0, x1 = _mix_words(x0, x1, 29)
    x0, x1 = _mix_words(x0, x1, 16)
    x0, x1 = _mix_words(x0, x1, 24)
    x0, x1 = (x0 + k2) & WORD_MASK, (x1 + k0 + 2) & WORD_MASK
    x0, x1 = _mix_words(x0, x1, 13)
    x0, x1 = _mix_words(x0, x1, 15)
    x0, x1 = _mix_words(x0, x1, 26)
    x0, x1 = _mix_words(x0, x1, 6)
    x0, x1 = (x0 + k0) & WORD_MASK, (x1 + k1 + 3) & WORD_MASK
    return _mix_words(x0, x1, 17)


@inline
def fold_in(key: Any, data: Any) -> Any:
    """Derive from `key` the key that belongs to `data` (0 to 2**63 - 1)."""
    x0, x1 = threefry_2x32(
        (key >> 32) & WORD_MASK, key & WORD_MASK, data & WORD_MASK, (data >> 32) & 0x7FFFFFFF
    )
    return ((x0 & 0x7FFFFFFF) << 32) | x1


@inline
def bits(key: Any, index: Any) -> Any:
    """Return draw number `index` of `key`: 32 random bits."""
    x0, _ = threefry_2x32(
        (key >> 32) & WORD_MASK, key & WORD_MASK, index & WORD_MASK, _DRAW_COUNTER
    )
    return x0


@inline
def uniform(key: Any, index: Any) -> Any:
    """Draw from [0, 1) with 24 random bits, which float32 and float64 both hold exactly."""
    return (bits(key, index) >> 8) * (1.0 / 16777216.0)


@inline
def randint(key: Any, index: Any, high: Any) -> Any:
    """Draw an integer from 0 to `high` - 1.

    Args:
        key: Random key.
        index: Number of the draw; equal indices of a key give equal draws.
        high: Upper bound, exclusive, below 2**31.
    """
    return (bits(key, index) * high) >> 32


def seed_key(seed: int) -> int:
    """Return the random key of a seed given by a user.

    Raises:
        SettingsError: It is negative, or 2**63 or more, which are no other seeds.
    """
    if not 0 <= seed < 2**_KEY_BITS:
        raise SettingsError(f"A seed is at least 0 and less than 2**{_KEY_BITS}, not {seed}.")
    return int(fold_in(0, seed))


def episode_key(seed: int, episode: int) -> int:
    """Return the key that determines every draw of one episode."""
    return int(fold_in(seed_key(seed), episode))


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
