"""Minibatches of an update: their size, their number, and which rows each of them holds.

Rows are shuffled one by one; those of recurrent nets sequence by sequence, and those of nets with a
team critic team by team, because the outputs for a row need the rest of its sequence or team.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import allocation_free_kernel
from kinfolk.core.random import fold_in, randint
from kinfolk.training.buffer import RolloutColumns
from kinfolk.training.settings import PPOSettings

_MINIBATCHES_PER_EPOCH = 32  # within the limits of the minibatch size
_MIN_MINIBATCH_SIZE, _MAX_MINIBATCH_SIZE = 64, 4096  # rows
_MAX_EPOCHS, _MIN_EPOCHS = 10, 2
_FULL_EPOCHS_ROWS = 4096  # updates with more rows have fewer epochs


class MinibatchSchedule(NamedTuple):
    """Minibatch size and number of epochs of one update."""

    minibatch_size: int  # rows
    n_epochs: int  # passes over all rows


def minibatch_schedule(n_rows: int, settings: PPOSettings) -> MinibatchSchedule:
    """Choose the minibatch size and the number of epochs of an update, where they are not set.

    With 2,048 rows this is the default of Stable-Baselines3 (minibatches of 64, 10 epochs). With
    more rows minibatches grow, so that an epoch has 32 of them, and epochs shrink with the square
    root of the rows, as each pass is less noisy and costs more.

    Args:
        n_rows: How many rows the slot learns from in this update.
        settings: `minibatch_size` and `n_epochs` are used where they are set.

    >>> minibatch_schedule(1024, PPOSettings()), minibatch_schedule(16_384, PPOSettings())
    (MinibatchSchedule(minibatch_size=64, n_epochs=10), MinibatchSchedule(minibatch_size=512, n_epochs=5))
    """
    size = min(max(n_rows // _MINIBATCHES_PER_EPOCH, _MIN_MINIBATCH_SIZE), _MAX_MINIBATCH_SIZE)
    epochs = round(_MAX_EPOCHS * (_FULL_EPOCHS_ROWS / max(n_rows, 1)) ** 0.5)
    epochs = min(max(epochs, _MIN_EPOCHS), _MAX_EPOCHS)
    return MinibatchSchedule(settings.minibatch_size or size, settings.n_epochs or epochs)


class Sequences(NamedTuple):
    """Sequences of successive rows of the same life, for recurrent nets."""

    order: Ints  # [rows], indices of rows, sequence after sequence
    start: Ints  # [sequences], where each begins in `order`
    length: Ints  # [sequences], rows


def split_sequences(rows: RolloutColumns, max_length: int) -> Sequences:
    """Split the rows of each agent into sequences of one life and at most `max_length` rows."""
    order: Ints = np.argsort(rows["memory_index"], kind="stable").astype(np.int64)
    memory_index, uid, done = (rows[name][order] for name in ("memory_index", "uid", "done"))
    begins = np.ones(len(order), dtype=np.bool_)  # a life begins
    begins[1:] = (memory_index[1:] != memory_index[:-1]) | (uid[1:] != uid[:-1]) | done[:-1]
    life = np.cumsum(begins) - 1
    first = np.flatnonzero(begins)
    age = np.arange(len(order)) - first[life] if len(order) else np.zeros(0, dtype=np.int64)
    start = np.flatnonzero(age % max_length == 0)
    length = np.diff(np.append(start, len(order)))
    return Sequences(order, start, length)


def iter_minibatches(
    count: int, minibatch_size: int, min_minibatches: int, key: int, epoch: int
) -> Iterator[Ints]:
    """Yield shuffled minibatches of row indices that together hold every row once.

    Args:
        count: How many rows.
        minibatch_size: Rows per minibatch, approximately: minibatches are of nearly equal size.
        min_minibatches: Fewest minibatches, as far as there are rows.
        key: Random key of the update.
        epoch: Number of the epoch, folded into the key.
    """
    n_minibatches = max(1, min(min_minibatches, count), round(count / minibatch_size))
    yield from np.array_split(shuffled_indices(count, key, epoch), n_minibatches)


def iter_team_minibatches(
    team: Ints, minibatch_size: int, min_minibatches: int, key: int, epoch: int
) -> Iterator[Ints]:
    """Yield shuffled minibatches of row indices, with all rows of a team in the same one.

    Args:
        team: `[rows]`, rows of one team (the agents of a slot in one world and tick) have one number.
        minibatch_size: Rows per minibatch, approximately.
        min_minibatches: Fewest minibatches, as far as there are teams.
        key: Random key of the update.
        epoch: Number of the epoch, folded into the key.
    """
    by_team = np.argsort(team, kind="stable")
    starts = np.flatnonzero(np.diff(team[by_team])) + 1
    members = np.split(by_team, starts)
    n_minibatches = max(1, min_minibatches, round(len(team) / minibatch_size))
    order = shuffled_indices(len(members), key, epoch)
    for teams in np.array_split(order, min(n_minibatches, len(members))):
        yield np.concatenate([members[number] for number in teams.tolist()])


def iter_sequence_minibatches(
    sequences: Sequences, minibatch_size: int, min_minibatches: int, key: int, epoch: int
) -> Iterator[tuple[Ints, list[Ints]]]:
    """Yield shuffled minibatches of sequences, with their rows grouped by time step.

    Longer sequences come first, so that the rows of step `t` continue a prefix of those of `t - 1`.

    Args:
        sequences: From `split_sequences`.
        minibatch_size: Rows per minibatch, approximately.
        min_minibatches: Fewest minibatches, as far as there are sequences.
        key: Random key of the update.
        epoch: Number of the epoch, folded into the key.

    Yields:
        The first rows of the sequences, and for each time step the rows of all sequences that are
        long enough.
    """
    order = shuffled_indices(len(sequences.start), key, epoch)
    n_minibatches = max(min_minibatches, round(len(sequences.order) / minibatch_size))
    for minibatch in np.array_split(order, n_minibatches):
        if not len(minibatch):
            continue
        minibatch = minibatch[np.argsort(-sequences.length[minibatch], kind="stable")]
        start, length = sequences.start[minibatch], sequences.length[minibatch]
        counts = [int((length > step).sum()) for step in range(int(length[0]))]
        steps = [sequences.order[start[:n] + step] for step, n in enumerate(counts)]
        yield steps[0], steps


@allocation_free_kernel
def _shuffle(order: Ints, key: int) -> None:
    """Shuffle `order` in place (Fisher and Yates)."""
    for i in range(order.shape[0] - 1, 0, -1):
        j = randint(key, i, i + 1)
        order[i], order[j] = order[j], order[i]


def shuffled_indices(count: int, key: int, epoch: int) -> Ints:
    """Return a random permutation of `range(count)`.

    Args:
        count: How many indices.
        key: Random key of the update.
        epoch: Folded into the key, so that every epoch has another order.
    """
    order: Ints = np.arange(count, dtype=np.int64)
    _shuffle(order, fold_in(key, epoch))
    return order
