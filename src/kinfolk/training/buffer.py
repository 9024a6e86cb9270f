"""Rollout buffers: observations, actions and rewards of a slot as columns in the order of time.

A block holds the rows in which one slot *acted*; the column `learner_slot` says which slot learns
from them, -1 if none does. Rows that nobody learns from have the base columns only: the acting
slot (`slot_id`), which losses may use the row (`loss_profile_id`), whether its actor is being
trained (`is_trainable_agent`), the agent (`uid`) and that it was alive (`alive`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from kinfolk.core.arrays import AnyArray, Ints
from kinfolk.core.optional_dependencies import make_missing_library_error
from kinfolk.policies.base import MemoryField
from kinfolk.training.advantages import NO_ROW, shuffled_indices
from kinfolk.training.settings import PPOSettings

RolloutColumns: TypeAlias = dict[str, AnyArray]

BASE_COLUMNS = {
    "slot_id": MemoryField((), "int16"),
    "learner_slot": MemoryField((), "int16"),
    "loss_profile_id": MemoryField((), "int16"),
    "is_trainable_agent": MemoryField((), "bool"),
    "uid": MemoryField((), "int64"),
    "alive": MemoryField((), "bool"),  # when the agent acted
    "memory_index": MemoryField((), "int64"),
    "reward": MemoryField((), "float32"),
    "done": MemoryField((), "bool"),  # the life or the episode ended with this row
}

NO_SLOT = -1  # in `learner_slot`: nobody learns from the row


class ColumnSizes(NamedTuple):
    """Widths of the columns of a block."""

    row_bytes: int  # of an observation
    n_heads: int  # of an action
    n_logits: int  # of a teacher's net; 0: the teacher has no logits
    state_size: int  # of a recurrent learner's hidden state; 0: the learner is not recurrent


def learner_columns(sizes: ColumnSizes, with_teacher: bool) -> dict[str, MemoryField]:
    """Return the columns of rows that a slot learns from, with those of a teacher if it has one."""
    columns = {
        **BASE_COLUMNS,
        "observations": MemoryField((sizes.row_bytes,), "uint8"),
        "group": MemoryField((), "int64"),
        "action": MemoryField((sizes.n_heads,), "int64"),
        "log_prob": MemoryField((), "float32"),
        "value": MemoryField((), "float32"),
        "bootstrap_index": MemoryField((), "int64"),  # into bootstrap_value; -1: none
    }
    if sizes.state_size:
        columns["state"] = MemoryField((sizes.state_size,), "float32")  # before this row
    if with_teacher:
        columns["teacher_action"] = MemoryField((sizes.n_heads,), "int64")  # -1: no label
        columns["teacher_value"] = MemoryField((), "float32")  # NaN: the teacher has no critic
        if sizes.n_logits:
            columns["teacher_logits"] = MemoryField((sizes.n_logits,), "float32")
    return columns


class RolloutBuffer:
    """Columns with a capacity in rows, allocated once and reused by every rollout.

    Args:
        columns: Shape and type of a row in each column.
        capacity: Rows that fit.
    """

    def __init__(self, columns: Mapping[str, MemoryField], capacity: int) -> None:
        # Untouched pages cost no memory, so there is room for every agent slot in every tick.
        self._arrays = {n: np.empty((capacity, *c.shape), c.dtype) for n, c in columns.items()}
        self.size = 0

    def __contains__(self, name: str) -> bool:
        return name in self._arrays

    def clear(self) -> None:
        """Remove all rows; the memory is kept."""
        self.size = 0

    def reserve(self, n_rows: int) -> dict[str, AnyArray]:
        """Append `n_rows` rows and return views of their columns, to be filled by the caller."""
        start, self.size = self.size, self.size + n_rows
        return {name: column[start : self.size] for name, column in self._arrays.items()}

    def columns(self) -> RolloutColumns:
        """Return views of all rows."""
        return {name: column[: self.size] for name, column in self._arrays.items()}


def concat_blocks(blocks: Sequence[RolloutColumns], n_memory_indices: int) -> RolloutColumns:
    """Concatenate the blocks that several chunks of worlds recorded for one slot.

    Memory and bootstrap indices are offset, so that no row of one chunk succeeds one of another.

    Args:
        blocks: Columns of each chunk, with the same names.
        n_memory_indices: Offset of the memory indices from one chunk to the next.
    """
    if len(blocks) == 1:
        return blocks[0]
    n_bootstrap, shifted = 0, []
    for number, block in enumerate(blocks):
        columns = {**block, "memory_index": block["memory_index"] + number * n_memory_indices}
        if "bootstrap_index" in block:
            columns["bootstrap_index"] = np.where(
                block["bootstrap_index"] >= 0, block["bootstrap_index"] + n_bootstrap, NO_ROW
            )
            n_bootstrap += len(block["bootstrap_value"])
        shifted.append(columns)
    return {name: np.concatenate([block[name] for block in shifted]) for name in shifted[0]}


def to_tensordict(rows: RolloutColumns) -> Any:
    """Return the rows as a TensorDict that shares the memory of the columns.

    Raises:
        MissingLibraryError: The library tensordict is not installed.
    """
    try:
        from tensordict import TensorDict  # type: ignore[import-not-found]
    except ImportError:
        raise make_missing_library_error("to_tensordict", "tensordict") from None
    import torch

    count = len(rows["slot_id"])
    tensors = {name: torch.from_numpy(c) for name, c in rows.items() if len(c) == count}
    return TensorDict(tensors, batch_size=[count])


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
    return MinibatchSchedule(
        settings.minibatch_size or size,
        settings.n_epochs or min(max(epochs, _MIN_EPOCHS), _MAX_EPOCHS),
    )


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
    order = shuffled_indices(count, key, epoch)
    yield from np.array_split(
        order, max(1, min(min_minibatches, count), round(count / minibatch_size))
    )


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
    count = len(sequences.start)
    order = shuffled_indices(count, key, epoch)
    n_minibatches = max(min_minibatches, round(len(sequences.order) / minibatch_size))
    for minibatch in np.array_split(order, n_minibatches):
        if not len(minibatch):
            continue
        minibatch = minibatch[np.argsort(-sequences.length[minibatch], kind="stable")]
        start, length = sequences.start[minibatch], sequences.length[minibatch]
        counts = [int((length > step).sum()) for step in range(int(length[0]))]
        steps = [sequences.order[start[:n] + step] for step, n in enumerate(counts)]
        yield steps[0], steps
