"""Minibatches: any rows for nets that react, stretches of lives for nets that remember."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from kinfolk.core.arrays import Ints
from kinfolk.training.advantages import shuffled
from kinfolk.training.experience import Rows
from kinfolk.training.settings import Learning

_MINIBATCHES = 32  # of an epoch, where rows are neither few nor very many
_SMALLEST, _LARGEST = 64, 4096  # rows of a minibatch
_MOST_EPOCHS, _FEWEST_EPOCHS = 10, 2
_MANY = 4096  # rows of an update from which on there are fewer epochs


class Schedule(NamedTuple):
    """How the rows of one update are gone over."""

    minibatch: int  # rows
    epochs: int


def minibatch_schedule(rows: int, learning: Learning) -> Schedule:
    """Choose the minibatch size and the epochs of an update, where they are not set.

    An update needs some hundred gradient steps to use what it was given: with 2,048 rows this is
    the default of Stable-Baselines3 (minibatches of 64, 10 epochs). More rows make minibatches
    larger, 32 of them per epoch, and epochs fewer, by the root of the rows, as each pass is less
    noisy and costs more.

    Args:
        rows: How many rows the slot learns from in this update.
        learning: Its `minibatch` and `epochs` are kept where they are set.

    >>> minibatch_schedule(1024, Learning()), minibatch_schedule(16_384, Learning())
    (Schedule(minibatch=64, epochs=10), Schedule(minibatch=512, epochs=5))
    """
    size = min(max(rows // _MINIBATCHES, _SMALLEST), _LARGEST)
    epochs = round(_MOST_EPOCHS * (_MANY / max(rows, 1)) ** 0.5)
    return Schedule(
        learning.minibatch or size,
        learning.epochs or min(max(epochs, _FEWEST_EPOCHS), _MOST_EPOCHS),
    )


class Stretches(NamedTuple):
    """Stretches of lives: rows that follow each other, at most so many."""

    order: Ints  # rows, stretch after stretch
    start: Ints  # where each begins in `order`
    length: Ints


def cut_stretches(rows: Rows, most: int) -> Stretches:
    """Cut the rows of every place where a life ends, and after `most` rows."""
    order: Ints = np.argsort(rows["place"], kind="stable").astype(np.int64)
    place, uid, ended = (rows[name][order] for name in ("place", "uid", "ended"))
    fresh = np.ones(len(order), dtype=np.bool_)
    fresh[1:] = (place[1:] != place[:-1]) | (uid[1:] != uid[:-1]) | ended[:-1]
    life = np.cumsum(fresh) - 1
    first = np.flatnonzero(fresh)
    at = np.arange(len(order)) - first[life] if len(order) else np.zeros(0, dtype=np.int64)
    start = np.flatnonzero(at % most == 0)
    length = np.diff(np.append(start, len(order)))
    return Stretches(order, start, length)


def minibatches(count: int, size: int, least: int, key: int, epoch: int) -> Iterator[Ints]:
    """All rows once, shuffled, in slices of nearly `size`, of which there are at least `least`."""
    order = shuffled(count, key, epoch)
    yield from np.array_split(order, max(1, min(least, count), round(count / size)))


def stretch_batches(
    found: Stretches, size: int, least: int, key: int, epoch: int
) -> Iterator[tuple[Ints, list[Ints]]]:
    """All stretches once, shuffled: their first rows, and the rows of every step side by side.

    Longer stretches come first, so that those that go on are always the first few.
    """
    count = len(found.start)
    order = shuffled(count, key, epoch)
    for some in np.array_split(order, max(least, round(len(found.order) / size))):
        if not len(some):
            continue
        some = some[np.argsort(-found.length[some], kind="stable")]
        start, length = found.start[some], found.length[some]
        going = [int((length > step).sum()) for step in range(int(length[0]))]
        steps = [found.order[start[:n] + step] for step, n in enumerate(going)]
        yield steps[0], steps
