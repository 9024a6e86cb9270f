"""Experience: what the rows of a slot saw, did and earned, as columns in the order of time.

A block holds the rows that one slot *acted*; the column `learner_slot` says which slot learns from
them, -1 if none does. Rows nobody learns from keep the light columns only. Every row says whose it
is (`slot_id`), which losses may use it (`loss_profile_id`), whether its actor is being trained
(`is_trainable_agent`), whose life it was (`uid`) and that it lived (`alive`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from kinfolk.core.arrays import AnyArray, Ints
from kinfolk.core.optional_dependencies import make_missing_library_error
from kinfolk.policies.base import MemoryField
from kinfolk.training.advantages import shuffled_indices
from kinfolk.training.settings import PPOSettings

RolloutColumns: TypeAlias = dict[str, AnyArray]

BASE_COLUMNS = {
    "slot_id": MemoryField((), "int16"),
    "learner_slot": MemoryField((), "int16"),
    "loss_profile_id": MemoryField((), "int16"),
    "is_trainable_agent": MemoryField((), "bool"),
    "uid": MemoryField((), "int64"),
    "alive": MemoryField((), "bool"),  # when it acted
    "memory_index": MemoryField((), "int64"),
    "reward": MemoryField((), "float32"),
    "done": MemoryField((), "bool"),  # its life, or its episode, with this row
}

NO_SLOT = -1


class ColumnSizes(NamedTuple):
    """How wide the columns of a block are."""

    row_bytes: int
    n_heads: int
    n_logits: int  # scores of a net; 0: none are kept
    state_size: int  # numbers a recurrent learner remembers; 0: it does not


def learner_columns(sizes: ColumnSizes, with_teacher: bool) -> dict[str, MemoryField]:
    """The columns of rows that somebody learns from."""
    columns = {
        **BASE_COLUMNS,
        "observations": MemoryField((sizes.row_bytes,), "uint8"),
        "group": MemoryField((), "int64"),
        "action": MemoryField((sizes.n_heads,), "int64"),
        "log_prob": MemoryField((), "float32"),
        "value": MemoryField((), "float32"),
        "bootstrap_index": MemoryField((), "int64"),  # which of the tails follows; -1: none
    }
    if sizes.state_size:
        columns["state"] = MemoryField((sizes.state_size,), "float32")  # before the row was seen
    if with_teacher:
        columns["teacher_action"] = MemoryField(
            (sizes.n_heads,), "int64"
        )  # -1: no teacher was asked
        columns["teacher_value"] = MemoryField(
            (), "float32"
        )  # NaN: the teacher has no idea of value
        if sizes.n_logits:
            columns["teacher_logits"] = MemoryField((sizes.n_logits,), "float32")
    return columns


class RolloutBuffer:
    """Room for the rows of one gathering, allocated once and filled again and again."""

    def __init__(self, columns: Mapping[str, MemoryField], capacity: int) -> None:
        # Pages nobody touches cost nothing, so there is room for every place in every tick.
        self._arrays = {n: np.empty((capacity, *c.shape), c.dtype) for n, c in columns.items()}
        self.size = 0

    def __contains__(self, name: str) -> bool:
        return name in self._arrays

    def clear(self) -> None:
        """Forget all rows."""
        self.size = 0

    def reserve(self, n_rows: int) -> dict[str, AnyArray]:
        """Views of the next `n_rows` rows, to be filled."""
        start, self.size = self.size, self.size + n_rows
        return {name: column[start : self.size] for name, column in self._arrays.items()}

    def columns(self) -> RolloutColumns:
        """All rows, as views."""
        return {name: column[: self.size] for name, column in self._arrays.items()}


def concat_blocks(blocks: Sequence[RolloutColumns], n_places: int) -> RolloutColumns:
    """The blocks that several chunks of worlds gave for one slot, as one.

    Places and tails are counted on, so that no life of one chunk follows one of another.
    """
    if len(blocks) == 1:
        return blocks[0]
    tails, shifted = 0, []
    for number, block in enumerate(blocks):
        own = {**block, "memory_index": block["memory_index"] + number * n_places}
        if "bootstrap_index" in block:
            own["bootstrap_index"] = np.where(
                block["bootstrap_index"] >= 0, block["bootstrap_index"] + tails, NO_SLOT
            )
            tails += len(block["bootstrap_value"])
        shifted.append(own)
    return {name: np.concatenate([block[name] for block in shifted]) for name in shifted[0]}


def to_tensordict(rows: RolloutColumns) -> Any:
    """The rows as a TensorDict, for those who work with one; the columns are shared, not copied.

    Raises:
        MissingLibraryError: The library tensordict is not installed.
    """
    try:
        from tensordict import TensorDict  # type: ignore[import-not-found]
    except ImportError:
        raise make_missing_library_error("to_tensordict", "tensordict") from None
    import torch

    count = len(rows["slot_id"])
    whole = {name: torch.from_numpy(c) for name, c in rows.items() if len(c) == count}
    return TensorDict(whole, batch_size=[count])


_MINIBATCHES_PER_EPOCH = 32  # of an epoch, where rows are neither few nor very many

_MIN_MINIBATCH_SIZE, _MAX_MINIBATCH_SIZE = 64, 4096  # rows of a minibatch

_MAX_EPOCHS, _MIN_EPOCHS = 10, 2

_FULL_EPOCHS_ROWS = 4096  # rows of an update from which on there are fewer epochs


class MinibatchSchedule(NamedTuple):
    """How the rows of one update are gone over."""

    minibatch_size: int  # rows
    n_epochs: int


def minibatch_schedule(n_rows: int, settings: PPOSettings) -> MinibatchSchedule:
    """Choose the minibatch size and the epochs of an update, where they are not set.

    An update needs some hundred gradient steps to use what it was given: with 2,048 rows this is
    the default of Stable-Baselines3 (minibatches of 64, 10 epochs). More rows make minibatches
    larger, 32 of them per epoch, and epochs fewer, by the root of the rows, as each pass is less
    noisy and costs more.

    Args:
        n_rows: How many rows the slot learns from in this update.
        settings: Its `minibatch` and `epochs` are kept where they are set.

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
    """Stretches of lives: rows that follow each other, at most so many."""

    order: Ints  # rows, stretch after stretch
    start: Ints  # where each begins in `order`
    length: Ints


def split_sequences(rows: RolloutColumns, max_length: int) -> Sequences:
    """Cut the rows of every place where a life ends, and after `max_length` rows."""
    order: Ints = np.argsort(rows["memory_index"], kind="stable").astype(np.int64)
    place, uid, ended = (rows[name][order] for name in ("memory_index", "uid", "done"))
    fresh = np.ones(len(order), dtype=np.bool_)
    fresh[1:] = (place[1:] != place[:-1]) | (uid[1:] != uid[:-1]) | ended[:-1]
    life = np.cumsum(fresh) - 1
    first = np.flatnonzero(fresh)
    at = np.arange(len(order)) - first[life] if len(order) else np.zeros(0, dtype=np.int64)
    start = np.flatnonzero(at % max_length == 0)
    length = np.diff(np.append(start, len(order)))
    return Sequences(order, start, length)


def iter_minibatches(
    count: int, minibatch_size: int, min_minibatches: int, key: int, epoch: int
) -> Iterator[Ints]:
    """All rows once, shuffled, in slices of nearly `minibatch_size`, of which there are at least `min_minibatches`."""
    order = shuffled_indices(count, key, epoch)
    yield from np.array_split(
        order, max(1, min(min_minibatches, count), round(count / minibatch_size))
    )


def iter_sequence_minibatches(
    sequences: Sequences, minibatch_size: int, min_minibatches: int, key: int, epoch: int
) -> Iterator[tuple[Ints, list[Ints]]]:
    """All stretches once, shuffled: their first rows, and the rows of every step side by side.

    Longer stretches come first, so that those that go on are always the first few.
    """
    count = len(sequences.start)
    order = shuffled_indices(count, key, epoch)
    for some in np.array_split(
        order, max(min_minibatches, round(len(sequences.order) / minibatch_size))
    ):
        if not len(some):
            continue
        some = some[np.argsort(-sequences.length[some], kind="stable")]
        start, length = sequences.start[some], sequences.length[some]
        going = [int((length > step).sum()) for step in range(int(length[0]))]
        steps = [sequences.order[start[:n] + step] for step, n in enumerate(going)]
        yield steps[0], steps
