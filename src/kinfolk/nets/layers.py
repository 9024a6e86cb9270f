"""The layout of static nets' parameters in a member's row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple


class LayerLayout(NamedTuple):
    """Places in a row: weights `[ins, outs]`, then those from the layer itself, then biases."""

    in_features: int
    out_features: int
    start: int
    recurrent: bool  # it also sees itself a step ago
    hidden: bool  # tanh follows

    @property
    def recurrent_start(self) -> int:
        """Where weights `[outs, outs]` from the layer to itself begin."""
        return self.start + self.in_features * self.out_features

    @property
    def bias_start(self) -> int:
        """Where biases begin."""
        return self.recurrent_start + (
            self.out_features * self.out_features if self.recurrent else 0
        )

    @property
    def stop(self) -> int:
        """Where the next layer begins."""
        return self.bias_start + self.out_features

    def weight_blocks(self) -> Iterator[tuple[slice, int]]:
        """Blocks of weights and how many numbers each adds up."""
        yield slice(self.start, self.recurrent_start), self.in_features
        if self.recurrent:
            yield slice(self.recurrent_start, self.bias_start), self.out_features


def build_layers(
    inputs: int, hidden: Sequence[int], outputs: int, recurrent: bool
) -> list[LayerLayout]:
    """The layers of a net, one after another.

    >>> [layer.stop for layer in build_layers(4, [16], 2, recurrent=False)]
    [80, 114]
    """
    found: list[LayerLayout] = []
    for number, (ins, outs) in enumerate(zip([inputs, *hidden], [*hidden, outputs], strict=True)):
        is_hidden = number < len(hidden)
        start = found[-1].stop if found else 0
        found.append(LayerLayout(ins, outs, start, recurrent and is_hidden, is_hidden))
    return found


def count_parameters(layers: Sequence[LayerLayout]) -> int:
    """How many parameters a member has."""
    return layers[-1].stop
