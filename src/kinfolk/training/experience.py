"""Experience: what the rows of a slot saw, did and earned, as columns in the order of time.

A block holds the rows that one slot *acted*; the column `learner_slot` says which slot learns from
them, -1 if none does. Rows nobody learns from keep the light columns only. Every row says whose it
is (`slot_id`), which losses may use it (`loss_profile_id`), whether its actor is being trained
(`is_trainable_agent`), whose life it was (`uid`) and that it lived (`alive`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from kinfolk.core.arrays import AnyArray
from kinfolk.core.libraries import missing_library
from kinfolk.policies.base import Cell

Rows: TypeAlias = dict[str, AnyArray]

LIGHT = {
    "slot_id": Cell((), "int16"),
    "learner_slot": Cell((), "int16"),
    "loss_profile_id": Cell((), "int16"),
    "is_trainable_agent": Cell((), "bool"),
    "uid": Cell((), "int64"),
    "alive": Cell((), "bool"),  # when it acted
    "place": Cell((), "int64"),
    "reward": Cell((), "float32"),
    "ended": Cell((), "bool"),  # its life, or its episode, with this row
}
NOBODY = -1


class Width(NamedTuple):
    """How wide the columns of a block are."""

    row_bytes: int
    heads: int
    outputs: int  # scores of a net; 0: none are kept
    state: int  # numbers a recurrent learner remembers; 0: it does not


def learnt_columns(width: Width, taught: bool) -> dict[str, Cell]:
    """The columns of rows that somebody learns from."""
    columns = {
        **LIGHT,
        "observations": Cell((width.row_bytes,), "uint8"),
        "group": Cell((), "int64"),
        "action": Cell((width.heads,), "int64"),
        "log_chance": Cell((), "float32"),
        "value": Cell((), "float32"),
        "tail": Cell((), "int64"),  # which of the tails follows; -1: none
    }
    if width.state:
        columns["state"] = Cell((width.state,), "float32")  # before the row was seen
    if taught:
        columns["teacher_action"] = Cell((width.heads,), "int64")  # -1: no teacher was asked
        columns["teacher_value"] = Cell((), "float32")  # NaN: the teacher has no idea of value
        if width.outputs:
            columns["teacher_scores"] = Cell((width.outputs,), "float32")
    return columns


class Buffer:
    """Room for the rows of one gathering, allocated once and filled again and again."""

    def __init__(self, columns: Mapping[str, Cell], capacity: int) -> None:
        # Pages nobody touches cost nothing, so there is room for every place in every tick.
        self._room = {n: np.empty((capacity, *c.shape), c.dtype) for n, c in columns.items()}
        self.size = 0

    def __contains__(self, name: str) -> bool:
        return name in self._room

    def clear(self) -> None:
        """Forget all rows."""
        self.size = 0

    def extend(self, rows: int) -> dict[str, AnyArray]:
        """Views of the next `rows` rows, to be filled."""
        start, self.size = self.size, self.size + rows
        return {name: column[start : self.size] for name, column in self._room.items()}

    def rows(self) -> Rows:
        """All rows, as views."""
        return {name: column[: self.size] for name, column in self._room.items()}


def joined(blocks: Sequence[Rows], places: int) -> Rows:
    """The blocks that several chunks of worlds gave for one slot, as one.

    Places and tails are counted on, so that no life of one chunk follows one of another.
    """
    if len(blocks) == 1:
        return blocks[0]
    tails, shifted = 0, []
    for number, block in enumerate(blocks):
        own = {**block, "place": block["place"] + number * places}
        if "tail" in block:
            own["tail"] = np.where(block["tail"] >= 0, block["tail"] + tails, NOBODY)
            tails += len(block["tail_value"])
        shifted.append(own)
    return {name: np.concatenate([block[name] for block in shifted]) for name in shifted[0]}


def to_tensordict(rows: Rows) -> Any:
    """The rows as a TensorDict, for those who work with one; the columns are shared, not copied.

    Raises:
        MissingLibraryError: The library tensordict is not installed.
    """
    try:
        from tensordict import TensorDict  # type: ignore[import-not-found]
    except ImportError:
        raise missing_library("to_tensordict", "tensordict") from None
    import torch

    count = len(rows["slot_id"])
    whole = {name: torch.from_numpy(c) for name, c in rows.items() if len(c) == count}
    return TensorDict(whole, batch_size=[count])
