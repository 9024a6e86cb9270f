"""Encode the observations of all groups of a world as the input tensor of a torch network.

Fields of plain numbers are scaled. Words of cells (see the `spec` of each world) hold several codes
each and become planes. A *part* describes some of their bits: either a number, scaled, on one plane;
or a one-hot over planes, where code 0 sets none.
"""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from kinfolk.core.arrays import Bytes, Ints
from kinfolk.core.imports import optional_import
from kinfolk.core.jit import allocation_free_kernel
from kinfolk.core.spaces import AgentGroup, ObservationField, WorldSpec
from kinfolk.worlds.cogsguard import codes
from kinfolk.worlds.cogsguard.spec import FACT_SCALES
from kinfolk.worlds.savanna.spec import GRASS_SHIFT, MAX_CODE, PREDATOR_SHIFT, PREY_SHIFT

with optional_import("A neural policy"):
    import torch
    from torch import Tensor

SCALED_NUMBER, ONE_HOT = 0, 1  # kinds of parts
SHIFT, MASK, KIND, PLANE = range(4)  # columns of the table of parts

Float32Array = npt.NDArray[np.float32]

_ENERGY_SCALE = 1.0 / 320.0  # codes are 32nds of energy; ten units of energy become 1
_INTEGER_SCALE = 1.0 / 16.0  # for integers of unknown meaning
_MULTIPLE = 8  # of padded inputs, so that every row is aligned (see batch_invariance)


class FieldEncoding(NamedTuple):
    """How one observation field becomes features, and where it lies."""

    n_planes: int  # features per cell of the field
    scales: Float32Array  # factor of each part of a word, or of each number of the field
    parts: Ints  # [parts, 4], columns SHIFT, MASK, KIND and PLANE (the first); no rows for numbers
    n_cells: int = 0  # numbers or words of the field
    source_offset: int = 0  # in an observation, in units of the field's dtype
    feature_offset: int = 0  # in the input of the net


@allocation_free_kernel
def unpack_words(
    words: npt.NDArray[Any], source: Ints, target: Ints, field: FieldEncoding, out: Float32Array
) -> None:
    """Unpack a field of cell words into planes.

    Args:
        words: `[rows, words per row]`, observations viewed in the dtype of the field.
        source: `[n]`, rows of `words` to read.
        target: `[n]`, the row of `out` for each of them.
        field: The field's parts and offsets.
        out: `[rows, columns]`, filled with the planes; those of one-hots are zeros before.
    """
    parts, n_cells = field.parts, field.n_cells
    n_one_hot = 0
    for part in range(parts.shape[0]):
        n_one_hot += parts[part, KIND] == ONE_HOT
    for i in range(source.shape[0]):
        row, into = source[i], target[i]
        for part in range(parts.shape[0]):
            if parts[part, KIND] != SCALED_NUMBER:
                continue
            # Views, no branches and 32 bits, so that the loop over cells becomes vector code.
            shift, mask, scale = parts[part, SHIFT] & 31, parts[part, MASK], field.scales[part]
            first = field.feature_offset + parts[part, PLANE] * n_cells
            plane = out[into, first : first + n_cells]
            cells = words[row, field.source_offset : field.source_offset + n_cells]
            for cell in range(n_cells):
                plane[cell] = np.float32(np.int32((cells[cell] >> shift) & mask)) * scale
        for cell in range(n_cells if n_one_hot else 0):
            word = np.int64(words[row, field.source_offset + cell])
            if word == 0:
                continue
            for part in range(parts.shape[0]):
                code = (word >> parts[part, SHIFT]) & parts[part, MASK]
                if code != 0 and parts[part, KIND] == ONE_HOT:
                    column = parts[part, PLANE] + code - 1
                    out[into, field.feature_offset + column * n_cells + cell] = 1.0


@allocation_free_kernel
def unpack_numbers(
    numbers: npt.NDArray[Any], source: Ints, target: Ints, field: FieldEncoding, out: Float32Array
) -> None:
    """Copy a field of plain numbers, each multiplied by its scale.

    Args:
        numbers: `[rows, numbers per row]`, observations viewed in the dtype of the field.
        source: `[n]`, rows of `numbers` to read.
        target: `[n]`, the row of `out` for each of them.
        field: The field's scales and offsets.
        out: `[rows, columns]`, filled.
    """
    for i in range(source.shape[0]):
        for j in range(field.scales.shape[0]):
            number = np.float32(numbers[source[i], field.source_offset + j])
            out[target[i], field.feature_offset + j] = number * field.scales[j]


def _make_word_encoding(*parts: tuple[int, int, int, float]) -> FieldEncoding:
    """Return the encoding of cell words with parts (shift, mask, kind, scale), in plane order."""
    table, plane = [], 0
    for shift, mask, kind, _ in parts:
        table.append((shift, mask, kind, plane))
        plane += 1 if kind == SCALED_NUMBER else mask
    scales = np.array([scale for *_, scale in parts], dtype=np.float32)
    return FieldEncoding(plane, scales, np.array(table, dtype=np.int64))


_WORD_ENCODINGS = {
    ("savanna", "window", "uint32"): _make_word_encoding(
        (0, 1, SCALED_NUMBER, 1.0),
        (1, 1, SCALED_NUMBER, 1.0),
        (PREDATOR_SHIFT, MAX_CODE, SCALED_NUMBER, _ENERGY_SCALE),
        (PREY_SHIFT, MAX_CODE, SCALED_NUMBER, _ENERGY_SCALE),
        (GRASS_SHIFT, MAX_CODE, SCALED_NUMBER, 1.0 / MAX_CODE),
    ),
    ("cogsguard", "window", "uint16"): _make_word_encoding(
        (0, codes.KIND_MASK, ONE_HOT, 1.0),
        (codes.OWNER_SHIFT, 3, ONE_HOT, 1.0),
        (codes.GEAR_SHIFT, 7, ONE_HOT, 1.0),
        (codes.VIBE_SHIFT, 7, ONE_HOT, 1.0),
        (12, 1, SCALED_NUMBER, 1.0),
        (13, 1, SCALED_NUMBER, 1.0),
    ),
}

_FACT_SCALES = (1.0 / FACT_SCALES).astype(np.float32)
_FACT_SCALES[[codes.GEAR, codes.VIBE]] = 1.0 / len(codes.VIBES)


def _make_field_encoding(world: str, field: ObservationField) -> FieldEncoding:
    """Return the encoding of a field: the one of its world if known, else scaled numbers."""
    known = _WORD_ENCODINGS.get((world, field.name, field.dtype))
    if known is not None:
        return known._replace(n_cells=prod(field.shape))
    scale = 1.0 if np.dtype(field.dtype).kind == "f" else _INTEGER_SCALE
    scales = np.full(field.shape, scale, dtype=np.float32)
    if (world, field.name) == ("cogsguard", "facts"):
        scales = _FACT_SCALES
    elif (world, field.name) == ("savanna", "window"):  # float32 planes, the first of them walls
        scales[0], scales[1:3], scales[3], scales[4:] = 1.0, 0.1, 0.5, 1.0
    no_parts = np.zeros((0, 4), dtype=np.int64)
    return FieldEncoding(1, scales.reshape(-1), no_parts, prod(field.shape))


def _find_window_shape(world: str, field: ObservationField) -> tuple[int, int, int] | None:
    """Return `(channels, height, width)` if the field is a window of cells; else None."""
    encoding, shape = _make_field_encoding(world, field), field.shape
    if len(encoding.parts) and len(shape) == 2:
        return (encoding.n_planes, shape[0], shape[1])
    return (shape[0], shape[1], shape[2]) if len(shape) == 3 and not len(encoding.parts) else None


class NetShape(NamedTuple):
    """Input and output sizes that a net is built for."""

    inputs: int  # columns of the input
    outputs: int  # head after head: one logit per choice, or mean and log std of a continuous head
    planes: tuple[int, int, int] | None  # channels, height, width of the window at the row's start
    log_std_columns: tuple[int, ...] = ()  # which outputs are the log std of a continuous head


def count_head_outputs(spec: WorldSpec) -> list[int]:
    """Return how many outputs of a net each action head has: its choices, or mean and log std."""
    most: list[int] = spec.n_choices.max(axis=0).tolist()
    return [size or 2 for size in most]


class FeatureEncoder:
    """Encodes the fields of every group; groups with fewer features are padded with zeros.

    In a world with several groups, a one-hot of the group follows the features.

    Args:
        spec: Spec of the observations to encode.
        padded: Whether zeros fill the input up to a multiple of 8 columns.
    """

    def __init__(self, spec: WorldSpec, padded: bool = True) -> None:
        groups = spec.groups
        self._layouts = [_lay_out_fields(spec.world, group) for group in groups]
        self._groups_share_fields = all(group.fields == groups[0].fields for group in groups)
        widths = [sum(f.n_cells * f.n_planes for _, f in layout) for layout in self._layouts]
        self._n_groups, self._group_offset = len(groups), max(widths)
        n_inputs = self._group_offset + (len(groups) if len(groups) > 1 else 0)
        if padded:
            n_inputs = -(-n_inputs // _MULTIPLE) * _MULTIPLE
        # Numbers overwrite what the buffer held; a one-hot writes the ones alone.
        kinds = [kind for _, field in self._layouts[0] for kind in field.parts[:, KIND]]
        is_overwritten = self._groups_share_fields and ONE_HOT not in kinds
        self._first_cleared = self._group_offset if is_overwritten else 0
        windows = [_find_window_shape(spec.world, group.fields[0]) for group in groups]
        sizes = count_head_outputs(spec)
        ends = np.cumsum(sizes)
        continuous = np.flatnonzero(spec.n_choices[0] == 0)
        self.shape = NetShape(
            inputs=n_inputs,
            outputs=int(ends[-1]),
            planes=windows[0] if len(set(windows)) == 1 else None,
            log_std_columns=tuple((ends[continuous] - 1).tolist()),
        )
        self._buffer = np.zeros((0, self.shape.inputs), dtype=np.float32)

    def encode(self, observations: Bytes, group: Ints, row_indices: Ints | None = None) -> Tensor:
        """Return the input tensor of some observations.

        Args:
            observations: `[rows, row_bytes]`.
            group: `[rows]`, group of each observation.
            row_indices: Which rows to encode; all if None.

        Returns:
            `[n, inputs]`, float32, in a buffer that the next call overwrites.
        """
        source = np.arange(len(group)) if row_indices is None else row_indices
        row_group = group if row_indices is None else group[row_indices]
        if len(self._buffer) < len(source):
            self._buffer = np.zeros((len(source), self.shape.inputs), dtype=np.float32)
        target, out = np.arange(len(source)), self._buffer[: len(source)]
        out[:, self._first_cleared :] = 0.0
        if self._groups_share_fields:
            self._fill(0, observations, source, target, out)
        else:
            for group_id in range(self._n_groups):
                members = np.flatnonzero(row_group == group_id)
                self._fill(group_id, observations, source[members], members, out)
        if self._n_groups > 1:
            out[target, self._group_offset + row_group] = 1.0
        return torch.from_numpy(out)

    def _fill(self, group: int, rows: Bytes, source: Ints, target: Ints, out: Float32Array) -> None:
        """Encode the observations of one group.

        Args:
            group: Index of the group.
            rows: `[rows, row_bytes]`, all observations.
            source: Rows of `rows` to encode.
            target: The row of `out` for each of them.
            out: `[n, inputs]`, filled with the features; zeros where a one-hot lies.
        """
        for dtype, field in self._layouts[group]:
            unpack = unpack_words if len(field.parts) else unpack_numbers
            unpack(rows.view(dtype), source, target, field, out)


def _lay_out_fields(world: str, group: AgentGroup) -> list[tuple[str, FieldEncoding]]:
    """Return dtype and encoding of each field of a group, with consecutive feature columns."""
    layout, offset = [], 0
    for field in group.fields:
        source = group.offsets[field.name] // np.dtype(field.dtype).itemsize
        encoding = _make_field_encoding(world, field)
        layout.append((field.dtype, encoding._replace(source_offset=source, feature_offset=offset)))
        offset += encoding.n_cells * encoding.n_planes
    return layout
