"""A slot's rows of bytes as the input of its net."""

from __future__ import annotations

from math import prod
from typing import NamedTuple

import numpy as np
import torch

from kinfolk.core.arrays import Bytes, Ints
from kinfolk.core.spaces import Group, WorldSpec
from kinfolk.policies.neural.fields import Reading, planes_of, reading_of
from kinfolk.policies.neural.unpacking import Numbers32, unpack_numbers, unpack_words

_MULTIPLE = 8  # numbers; so that every row of the input is aligned (see torch_rows)


class NetShape(NamedTuple):
    """What a net is built for."""

    inputs: int
    outputs: int  # one score per choice, head after head
    planes: tuple[int, int, int] | None  # of the window that begins every row, if there is one


class _Block(NamedTuple):
    reading: Reading
    dtype: str
    first: int  # in a row, in units of the dtype
    cells: int
    start: int  # in the net's input


class Reader:
    """Lays out the fields of every group; groups with shorter rows are filled with zeros.

    Where a world has several groups, the last inputs say which one a row is of.
    """

    def __init__(self, spec: WorldSpec) -> None:
        self._layouts = [_layout(spec.world, group) for group in spec.groups]
        self._alike = all(group.fields == spec.groups[0].fields for group in spec.groups)
        sizes = [sum(_size(block) for block in layout) for layout in self._layouts]
        groups = len(spec.groups)
        self._group_at = max(sizes)
        needed = self._group_at + (groups if groups > 1 else 0)
        self._groups = groups
        firsts = [planes_of(spec.world, group.fields[0]) for group in spec.groups]
        self.shape = NetShape(
            inputs=-(-needed // _MULTIPLE) * _MULTIPLE,
            outputs=int(spec.choices.max(axis=0).sum()),
            planes=firsts[0] if len(set(firsts)) == 1 else None,
        )
        self._buffer = np.zeros((0, self.shape.inputs), dtype=np.float32)

    def read(self, observations: Bytes, group: Ints, at: Ints | None = None) -> torch.Tensor:
        """`[n, inputs]` of the rows `at` (all if None). Holds until the next call."""
        rows = len(group) if at is None else len(at)
        out = self._room(rows)
        source = np.arange(rows) if at is None else at
        target = np.arange(rows)
        of_row = group if at is None else group[at]
        if self._alike:
            self._fill(0, observations, source, target, out)
        else:
            for number in range(self._groups):
                mine = np.flatnonzero(of_row == number)
                self._fill(number, observations, source[mine], mine, out)
        if self._groups > 1:
            out[target, self._group_at + of_row] = 1.0
        return torch.from_numpy(out)

    def _room(self, rows: int) -> Numbers32:
        if len(self._buffer) < rows:
            self._buffer = np.zeros((rows, self.shape.inputs), dtype=np.float32)
        room = self._buffer[:rows]
        room.fill(0.0)
        return room

    def _fill(self, group: int, rows: Bytes, source: Ints, target: Ints, out: Numbers32) -> None:
        for reading, dtype, first, cells, start in self._layouts[group]:
            words = rows.view(dtype)
            if reading.parts is None:
                unpack_numbers(words, first, source, target, reading.scales, start, out)
            else:
                unpack_words(
                    words, first, source, target, reading.parts, reading.scales, cells, start, out
                )


def _layout(world: str, group: Group) -> list[_Block]:
    blocks, start = [], 0
    for field in group.fields:
        reading, size = reading_of(world, field), np.dtype(field.dtype).itemsize
        first = group.offsets[field.name] // size
        block = _Block(reading, field.dtype, first, prod(field.shape), start)
        blocks.append(block)
        start += _size(block)
    return blocks


def _size(block: _Block) -> int:
    return block.cells * block.reading.planes
