"""Rollout buffers, advantages and minibatches.

Observations, actions and rewards of a slot are columns in the order of time.
A block holds the rows in which one slot *acted*; the column `learner_slot` says which slot learns
from them, -1 if none does. Rows that nobody learns from have the base columns only: the acting
slot (`slot_id`), which losses may use the row (`loss_profile_id`), whether its actor is being
trained (`is_trainable_agent`), the agent (`uid`) and that it was alive (`alive`).

A row's successor is the next row with the same memory index, if it belongs to the same life. A life
that ended has no successor. Where an episode was truncated, or the rollout stopped, the value of the
next observation is used instead (`bootstrap_value`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from kinfolk.core.arrays import AnyArray, Bools, Ints
from kinfolk.core.imports import make_missing_library_error
from kinfolk.core.jit import allocation_free_kernel
from kinfolk.core.random import fold_in, randint
from kinfolk.policies.base import MemoryField
from kinfolk.training.settings import PPOSettings

RolloutColumns: TypeAlias = dict[str, AnyArray]
Float32Array: TypeAlias = npt.NDArray[np.float32]
NO_ROW = -1  # instead of the index of a row

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
NO_LABEL = -1  # in `teacher_action`; as the bits of a number it would be NaN


def learner_columns(
    row_bytes: int, n_heads: int, state_size: int, n_teacher_logits: int | None
) -> dict[str, MemoryField]:
    """Return the columns of rows that a slot learns from, with those of a teacher if it has one.

    Args:
        row_bytes: Size of an observation.
        n_heads: Parts of an action.
        state_size: Size of a recurrent learner's hidden state; 0 if it is not recurrent.
        n_teacher_logits: Logits of a teacher's net; 0 if it is scripted; None without a teacher.
    """
    columns = {
        **BASE_COLUMNS,
        "observations": MemoryField((row_bytes,), "uint8"),
        "group": MemoryField((), "int64"),
        "action": MemoryField((n_heads,), "int64"),
        "log_prob": MemoryField((), "float32"),
        "value": MemoryField((), "float32"),
        "bootstrap_index": MemoryField((), "int64"),  # into bootstrap_value; -1: none
    }
    if state_size:
        columns["state"] = MemoryField((state_size,), "float32")  # before this row
    if n_teacher_logits is not None:
        columns["teacher_action"] = MemoryField((n_heads,), "int64")  # -1: no label
        columns["teacher_value"] = MemoryField((), "float32")  # NaN: the teacher has no critic
    if n_teacher_logits:
        columns["teacher_logits"] = MemoryField((n_teacher_logits,), "float32")
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
            index = block["bootstrap_index"]
            columns["bootstrap_index"] = np.where(index >= 0, index + n_bootstrap, NO_ROW)
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
def link_next_rows(
    memory_index: Ints, done: Bools, bootstrap_index: Ints, scratch: Ints, next_row: Ints
) -> None:
    """Write each row's successor to `next_row`; `NO_ROW` where a life or the rollout ended.

    Args:
        memory_index: `[n]`, memory index of the agent of each row, in the order of time.
        done: `[n]`, whether the life or its episode ended with this row.
        bootstrap_index: `[n]`, which bootstrap value follows the row, or `NO_ROW`.
        scratch: `[memory indices]`, overwritten.
        next_row: `[n]`, written.
    """
    for i in range(scratch.shape[0]):
        scratch[i] = NO_ROW
    for i in range(memory_index.shape[0] - 1, -1, -1):
        agent = memory_index[i]
        next_row[i] = NO_ROW if done[i] or bootstrap_index[i] != NO_ROW else scratch[agent]
        scratch[agent] = i


@allocation_free_kernel
def estimate_advantages(
    reward: Float32Array,
    value: Float32Array,
    next_row: Ints,
    bootstrap_index: Ints,
    bootstrap_value: Float32Array,
    rho: Float32Array,
    gamma: float,
    gae_lambda: float,
    advantage: Float32Array,
) -> None:
    """Compute generalised advantage estimates (Schulman et al. 2015), from the last row to the first.

    Args:
        reward: `[n]`, reward received after each row's action.
        value: `[n]`, critic's value of each row's observation.
        next_row: `[n]`, successors from `link_next_rows`.
        bootstrap_index: `[n]`, index into `bootstrap_value`, or `NO_ROW`.
        bootstrap_value: `[bootstraps]`, values of the observations after truncated rows.
        rho: `[n]`, importance weights of V-trace (Espeholt et al. 2018), clipped by the caller;
            ones give plain GAE.
        gamma: Discount per step.
        gae_lambda: Trade-off between bias (0) and variance (1).
        advantage: `[n]`, written.
    """
    for i in range(reward.shape[0] - 1, -1, -1):
        next_value, next_advantage = 0.0, 0.0
        if next_row[i] >= 0:
            next_value = float(value[next_row[i]])
            next_advantage = float(advantage[next_row[i]])
        elif bootstrap_index[i] >= 0:
            next_value = float(bootstrap_value[bootstrap_index[i]])
        td_error = float(reward[i]) + gamma * next_value - float(value[i])
        advantage[i] = np.float32(float(rho[i]) * (td_error + gamma * gae_lambda * next_advantage))


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
