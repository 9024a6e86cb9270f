"""Minibatches: any rows for nets that react, stretches of lives for nets that remember."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from kinfolk.core.arrays import Ints
from kinfolk.training.advantages import shuffled
from kinfolk.training.experience import Rows


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
