"""Rollout buffers: the columns of experience, and the advantages of its rows.

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

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from kinfolk.core.arrays import AnyArray, Bools, Ints
from kinfolk.core.imports import make_missing_library_error
from kinfolk.core.jit import allocation_free_kernel
from kinfolk.policies.base import MemoryField

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
    row_bytes: int,
    n_heads: int,
    state_size: int,
    n_teacher_logits: int | None,
    has_team: bool = False,
    is_shaped: bool = False,
) -> dict[str, MemoryField]:
    """Return the columns of rows that a slot learns from, with those of a teacher if it has one.

    Args:
        row_bytes: Size of an observation.
        n_heads: Parts of an action.
        state_size: Size of a recurrent learner's hidden state; 0 if it is not recurrent.
        n_teacher_logits: Logits of a teacher's net; 0 if it is scripted; None without a teacher.
        has_team: Whether the learner's critic sees the observations of the whole team.
        is_shaped: Whether a potential shapes the rewards.
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
    if has_team:
        # Rows of one team, the agents of a slot in one world and tick, have the same number.
        columns["team"] = MemoryField((), "int64")
    if is_shaped:
        # What a potential adds to the reward; the column `reward` stays the world's.
        columns["shaping"] = MemoryField((), "float32")
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

    Memory indices, bootstrap indices and teams are offset, so that no row of one chunk succeeds one
    of another, nor shares its team.

    Args:
        blocks: Columns of each chunk, with the same names.
        n_memory_indices: Offset of the memory indices from one chunk to the next.
    """
    if len(blocks) == 1:
        return blocks[0]
    n_bootstrap, n_teams, shifted = 0, 0, []
    for number, block in enumerate(blocks):
        columns = {**block, "memory_index": block["memory_index"] + number * n_memory_indices}
        if "bootstrap_index" in block:
            index = block["bootstrap_index"]
            columns["bootstrap_index"] = np.where(index >= 0, index + n_bootstrap, NO_ROW)
            n_bootstrap += len(block["bootstrap_value"])
        if "team" in block:
            columns["team"] = block["team"] + n_teams
            n_teams += int(block["team"].max(initial=-1)) + 1
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
