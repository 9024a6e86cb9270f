"""Encode the observations of all groups of a world as the input tensor of a torch network.

`FieldEncoding` says how one observation field is read (bit fields of cell words as planes, plain numbers
scaled); `FeatureEncoder` lays the fields of every group out in one row of float32.
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

_ENERGY_SCALE = 1.0 / 320.0  # codes are 32nds of energy; ten units of energy are 1 to a net

_INTEGER_SCALE = 1.0 / 16.0  # for whole numbers of which nothing is known


@dataclass(frozen=True, eq=False)
class FieldEncoding:
    """What a net makes of one field.

    With `parts`, words of cells become `planes` of the field's shape; without, plain numbers are
    multiplied by `scales`.
    """

    n_planes: int
    scales: Float32Array
    bit_fields: Ints | None = None


def _bit_fields(*parts: tuple[int, int, int, float]) -> FieldEncoding:
    """Parts as (shift, mask, kind, scale); planes are given out in order."""
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
    """How a field is read: as the world's layout says, else as plain numbers."""
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
    """`(channels, height, width)` if the field is a window of cells, channels first; else None."""
    reading = field_encoding(world, field)
    if reading.bit_fields is not None and len(field.shape) == 2:
        return (reading.n_planes, field.shape[0], field.shape[1])
    if reading.bit_fields is None and len(field.shape) == 3:
        return (field.shape[0], field.shape[1], field.shape[2])
    return None


with optional_import("A neural policy"):
    import torch

_MULTIPLE = 8  # numbers; so that every row of the input is aligned (see torch_rows)


class NetShape(NamedTuple):
    """What a net is built for."""

    inputs: int
    outputs: int  # one score per choice, head after head
    planes: tuple[int, int, int] | None  # of the window that begins every row, if there is one


class _FieldBlock(NamedTuple):
    encoding: FieldEncoding
    dtype: str
    source_offset: int  # in a row, in units of the dtype
    n_cells: int
    feature_offset: int  # in the net's input


class FeatureEncoder:
    """Lays out the fields of every group; groups with shorter rows are filled with zeros.

    Where a world has several groups, the last inputs say which one a row is of.
    """

    def __init__(self, spec: WorldSpec) -> None:
        self._layouts = [_field_blocks(spec.world, group) for group in spec.groups]
        self._groups_share_fields = all(
            group.fields == spec.groups[0].fields for group in spec.groups
        )
        sizes = [sum(_n_features(block) for block in layout) for layout in self._layouts]
        groups = len(spec.groups)
        self._group_offset = max(sizes)
        needed = self._group_offset + (groups if groups > 1 else 0)
        self._n_groups = groups
        firsts = [plane_shape(spec.world, group.fields[0]) for group in spec.groups]
        self.shape = NetShape(
            inputs=-(-needed // _MULTIPLE) * _MULTIPLE,
            outputs=int(spec.n_choices.max(axis=0).sum()),
            planes=firsts[0] if len(set(firsts)) == 1 else None,
        )
        self._buffer = np.zeros((0, self.shape.inputs), dtype=np.float32)

    def encode(
        self, observations: Bytes, group: Ints, row_indices: Ints | None = None
    ) -> torch.Tensor:
        """`[n, inputs]` of the rows `row_indices` (all if None). Holds until the next call."""
        rows = len(group) if row_indices is None else len(row_indices)
        out = self._zeroed_buffer(rows)
        source = np.arange(rows) if row_indices is None else row_indices
        target = np.arange(rows)
        of_row = group if row_indices is None else group[row_indices]
        if self._groups_share_fields:
            self._fill(0, observations, source, target, out)
        else:
            for number in range(self._n_groups):
                mine = np.flatnonzero(of_row == number)
                self._fill(number, observations, source[mine], mine, out)
        if self._n_groups > 1:
            out[target, self._group_offset + of_row] = 1.0
        return torch.from_numpy(out)

    def _zeroed_buffer(self, rows: int) -> Float32Array:
        if len(self._buffer) < rows:
            self._buffer = np.zeros((rows, self.shape.inputs), dtype=np.float32)
        room = self._buffer[:rows]
        room.fill(0.0)
        return room

    def _fill(self, group: int, rows: Bytes, source: Ints, target: Ints, out: Float32Array) -> None:
        for reading, dtype, first, cells, start in self._layouts[group]:
            words = rows.view(dtype)
            if reading.bit_fields is None:
                unpack_numbers(words, first, source, target, reading.scales, start, out)
            else:
                unpack_words(
                    words,
                    first,
                    source,
                    target,
                    reading.bit_fields,
                    reading.scales,
                    cells,
                    start,
                    out,
                )


def _field_blocks(world: str, group: AgentGroup) -> list[_FieldBlock]:
    blocks, start = [], 0
    for field in group.fields:
        reading, size = field_encoding(world, field), np.dtype(field.dtype).itemsize
        first = group.offsets[field.name] // size
        block = _FieldBlock(reading, field.dtype, first, prod(field.shape), start)
        blocks.append(block)
        start += _n_features(block)
    return blocks


def _n_features(block: _FieldBlock) -> int:
    return block.n_cells * block.encoding.n_planes
