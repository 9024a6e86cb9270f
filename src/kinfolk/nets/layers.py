"""Layout of the parameters of static nets in a flat vector."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple


class LayerLayout(NamedTuple):
    """Offsets of one layer: weights `[ins, outs]`, recurrent weights `[outs, outs]`, biases."""

    in_features: int
    out_features: int
    start: int  # of the layer's parameters
    recurrent: bool  # the layer's previous output is an input too
    hidden: bool  # tanh follows

    @property
    def recurrent_start(self) -> int:
        """Return the offset of the recurrent weights `[outs, outs]`."""
        return self.start + self.in_features * self.out_features

    @property
    def bias_start(self) -> int:
        """Return the offset of the biases `[outs]`."""
        return self.recurrent_start + (
            self.out_features * self.out_features if self.recurrent else 0
        )

    @property
    def stop(self) -> int:
        """Return the offset of the next layer."""
        return self.bias_start + self.out_features

    def weight_blocks(self) -> Iterator[tuple[slice, int]]:
        """Yield the slices of the weight matrices with their fan-in."""
        yield slice(self.start, self.recurrent_start), self.in_features
        if self.recurrent:
            yield slice(self.recurrent_start, self.bias_start), self.out_features


def build_layers(
    inputs: int, hidden: Sequence[int], outputs: int, recurrent: bool
) -> list[LayerLayout]:
    """Return the layout of all layers, one after another.

    Args:
        inputs: Number of inputs.
        hidden: Sizes of the hidden layers.
        outputs: Number of outputs.
        recurrent: Whether hidden layers are recurrent.

    >>> [layer.stop for layer in build_layers(4, [16], 2, recurrent=False)]
    [80, 114]
    """
    layers: list[LayerLayout] = []
    for number, (ins, outs) in enumerate(zip([inputs, *hidden], [*hidden, outputs], strict=True)):
        is_hidden = number < len(hidden)
        start = layers[-1].stop if layers else 0
        layers.append(LayerLayout(ins, outs, start, recurrent and is_hidden, is_hidden))
    return layers


def count_parameters(layers: Sequence[LayerLayout]) -> int:
    """Return the number of parameters of a member."""
    return layers[-1].stop
