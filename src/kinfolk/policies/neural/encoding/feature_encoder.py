"""Encode the observations of all groups of a world as the input tensor of a torch network.

`FieldEncoding` describes how one observation field is read (bit fields of cell words as planes, plain
numbers scaled); `FeatureEncoder` concatenates the fields of every group in one row of float32.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import NamedTuple

import numpy as np

from kinfolk.core.arrays import Bytes, Ints
from kinfolk.core.optional_dependencies import optional_import
from kinfolk.core.spaces import AgentGroup, ObservationField, WorldSpec
from kinfolk.policies.neural.encoding.unpack import (
    ONE_HOT,
    SCALED_NUMBER,
    Float32Array,
    unpack_numbers,
    unpack_words,
)
from kinfolk.worlds.cogsguard import codes
from kinfolk.worlds.cogsguard.spec import FACT_SCALES
from kinfolk.worlds.savanna.spec import GRASS_SHIFT, MAX_CODE, PREDATOR_SHIFT, PREY_SHIFT

with optional_import("A neural policy"):
    import torch

_ENERGY_SCALE = 1.0 / 320.0  # codes are 32nds of energy; ten units of energy become 1
_INTEGER_SCALE = 1.0 / 16.0  # for integers of unknown meaning
_MULTIPLE = 8  # the input width is a multiple: then every row is aligned (see batch_invariance)


@dataclass(frozen=True, eq=False)
class FieldEncoding:
    """How one observation field becomes features.

    Attributes:
        n_planes: Features per cell of the field.
        scales: Factor of each bit field, or of each number if there are no bit fields.
        bit_fields: `[parts, 4]`, the table for `unpack_words`; None for plain numbers.
    """

    n_planes: int
    scales: Float32Array
    bit_fields: Ints | None = None


def _bit_fields(*parts: tuple[int, int, int, float]) -> FieldEncoding:
    """Return the encoding for parts (shift, mask, kind, scale); planes are numbered in order."""
    table, plane = [], 0
    for shift, mask, kind, _ in parts:
        table.append((shift, mask, kind, plane))
        plane += 1 if kind == SCALED_NUMBER else mask
    scales = np.array([scale for *_, scale in parts], dtype=np.float32)
    return FieldEncoding(plane, scales, np.array(table, dtype=np.int64))


_SAVANNA_WORD = _bit_fields(
    (0, 1, SCALED_NUMBER, 1.0),
    (1, 1, SCALED_NUMBER, 1.0),
    (PREDATOR_SHIFT, MAX_CODE, SCALED_NUMBER, _ENERGY_SCALE),
    (PREY_SHIFT, MAX_CODE, SCALED_NUMBER, _ENERGY_SCALE),
    (GRASS_SHIFT, MAX_CODE, SCALED_NUMBER, 1.0 / MAX_CODE),
)

_COGSGUARD_WORD = _bit_fields(
    (0, codes.KIND_MASK, ONE_HOT, 1.0),
    (codes.OWNER_SHIFT, 3, ONE_HOT, 1.0),
    (codes.GEAR_SHIFT, 7, ONE_HOT, 1.0),
    (codes.VIBE_SHIFT, 7, ONE_HOT, 1.0),
    (12, 1, SCALED_NUMBER, 1.0),
    (13, 1, SCALED_NUMBER, 1.0),
)

_WORD_ENCODINGS = {
    ("savanna", "window", "uint32"): _SAVANNA_WORD,
    ("cogsguard", "window", "uint16"): _COGSGUARD_WORD,
}

_FACT_SCALES = (1.0 / FACT_SCALES).astype(np.float32)
_FACT_SCALES[[codes.GEAR, codes.VIBE]] = 1.0 / len(codes.VIBES)


def field_encoding(world: str, field: ObservationField) -> FieldEncoding:
    """Return the encoding of a field: the one of its world if known, else scaled numbers."""
    known = _WORD_ENCODINGS.get((world, field.name, field.dtype))
    if known is not None:
        return known
    count = prod(field.shape)
    if (world, field.name) == ("cogsguard", "facts"):
        return FieldEncoding(1, _FACT_SCALES)
    if (world, field.name) == ("savanna", "window"):  # float32 planes, the first of them walls
        scales = np.full(field.shape, 0.1, dtype=np.float32)
        scales[0], scales[3], scales[4:] = 1.0, 0.5, 1.0
        return FieldEncoding(1, scales.reshape(-1))
    scale = 1.0 if np.dtype(field.dtype).kind == "f" else _INTEGER_SCALE
    return FieldEncoding(1, np.full(count, scale, dtype=np.float32))


def plane_shape(world: str, field: ObservationField) -> tuple[int, int, int] | None:
    """Return `(channels, height, width)` if the field is a window of cells; else None."""
    encoding = field_encoding(world, field)
    if encoding.bit_fields is not None and len(field.shape) == 2:
        return (encoding.n_planes, field.shape[0], field.shape[1])
    if encoding.bit_fields is None and len(field.shape) == 3:
        return (field.shape[0], field.shape[1], field.shape[2])
    return None


class NetShape(NamedTuple):
    """Input and output sizes that a net is built for."""

    inputs: int  # columns of the input
    outputs: int  # one logit per choice, head after head
    planes: tuple[int, int, int] | None  # channels, height, width of the window at the row's start


class _FieldBlock(NamedTuple):
    """Where one field lies in an observation and in the input of the net."""

    encoding: FieldEncoding
    dtype: str
    source_offset: int  # in an observation, in units of the dtype
    n_cells: int  # numbers or words of the field
    feature_offset: int  # in the input of the net


class FeatureEncoder:
    """Encodes the fields of every group; groups with fewer features are padded with zeros.

    In a world with several groups, a one-hot of the group follows the features.

    Args:
        spec: Spec of the observations to encode.
    """

    def __init__(self, spec: WorldSpec) -> None:
        self._layouts = [_field_blocks(spec.world, group) for group in spec.groups]
        self._groups_share_fields = all(
            group.fields == spec.groups[0].fields for group in spec.groups
        )
        sizes = [sum(_n_features(block) for block in layout) for layout in self._layouts]
        self._n_groups = len(spec.groups)
        self._group_offset = max(sizes)
        n_features = self._group_offset + (self._n_groups if self._n_groups > 1 else 0)
        windows = [plane_shape(spec.world, group.fields[0]) for group in spec.groups]
        self.shape = NetShape(
            inputs=-(-n_features // _MULTIPLE) * _MULTIPLE,
            outputs=int(spec.n_choices.max(axis=0).sum()),
            planes=windows[0] if len(set(windows)) == 1 else None,
        )
        self._buffer = np.zeros((0, self.shape.inputs), dtype=np.float32)

    def encode(
        self, observations: Bytes, group: Ints, row_indices: Ints | None = None
    ) -> torch.Tensor:
        """Return the input tensor of some observations.

        Args:
            observations: `[rows, row_bytes]`.
            group: `[rows]`, group of each observation.
            row_indices: Which rows to encode; all if None.

        Returns:
            `[n, inputs]`, float32, in a buffer that the next call overwrites.
        """
        rows = len(group) if row_indices is None else len(row_indices)
        out = self._zeroed_buffer(rows)
        source = np.arange(rows) if row_indices is None else row_indices
        target = np.arange(rows)
        row_group = group if row_indices is None else group[row_indices]
        if self._groups_share_fields:
            self._fill(0, observations, source, target, out)
        else:
            for group_id in range(self._n_groups):
                members = np.flatnonzero(row_group == group_id)
                self._fill(group_id, observations, source[members], members, out)
        if self._n_groups > 1:
            out[target, self._group_offset + row_group] = 1.0
        return torch.from_numpy(out)

    def _zeroed_buffer(self, rows: int) -> Float32Array:
        """Return the first rows of the reused buffer, zeroed; it grows when needed."""
        if len(self._buffer) < rows:
            self._buffer = np.zeros((rows, self.shape.inputs), dtype=np.float32)
        buffer = self._buffer[:rows]
        buffer.fill(0.0)
        return buffer

    def _fill(self, group: int, rows: Bytes, source: Ints, target: Ints, out: Float32Array) -> None:
        """Encode the observations of one group.

        Args:
            group: The group.
            rows: `[rows, row_bytes]`, all observations.
            source: Rows of `rows` to encode.
            target: The row of `out` for each of them.
            out: `[n, inputs]`, zeros, filled with the features.
        """
        for encoding, dtype, source_offset, n_cells, feature_offset in self._layouts[group]:
            words, scales = rows.view(dtype), encoding.scales
            if encoding.bit_fields is None:
                unpack_numbers(words, source_offset, source, target, scales, feature_offset, out)
            else:
                unpack_words(
                    words, source_offset, source, target, encoding.bit_fields, scales, n_cells,
                    feature_offset, out,
                )  # fmt: skip


def _field_blocks(world: str, group: AgentGroup) -> list[_FieldBlock]:
    """Return the blocks of a group's fields, their features one after another."""
    blocks, feature_offset = [], 0
    for field in group.fields:
        encoding, size = field_encoding(world, field), np.dtype(field.dtype).itemsize
        source_offset = group.offsets[field.name] // size
        n_cells = prod(field.shape)
        block = _FieldBlock(encoding, field.dtype, source_offset, n_cells, feature_offset)
        blocks.append(block)
        feature_offset += _n_features(block)
    return blocks


def _n_features(block: _FieldBlock) -> int:
    """Return the number of input columns of a field."""
    return block.n_cells * block.encoding.n_planes
