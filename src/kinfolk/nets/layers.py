"""Where the parameters of static nets lie in a member's row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple


class Layer(NamedTuple):
    """Places in a row: weights `[ins, outs]`, then those from the layer itself, then biases."""

    ins: int
    outs: int
    start: int
    recurrent: bool  # it also sees itself a step ago
    hidden: bool  # tanh follows

    @property
    def own(self) -> int:
        """Where weights `[outs, outs]` from the layer to itself begin."""
        return self.start + self.ins * self.outs

    @property
    def bias(self) -> int:
        """Where biases begin."""
        return self.own + (self.outs * self.outs if self.recurrent else 0)

    @property
    def stop(self) -> int:
        """Where the next layer begins."""
        return self.bias + self.outs

    def weights(self) -> Iterator[tuple[slice, int]]:
        """Blocks of weights and how many numbers each adds up."""
        yield slice(self.start, self.own), self.ins
        if self.recurrent:
            yield slice(self.own, self.bias), self.outs


def layers_of(inputs: int, hidden: Sequence[int], outputs: int, recurrent: bool) -> list[Layer]:
    """The layers of a net, one after another.

    >>> [layer.stop for layer in layers_of(4, [16], 2, recurrent=False)]
    [80, 114]
    """
    found: list[Layer] = []
    for number, (ins, outs) in enumerate(zip([inputs, *hidden], [*hidden, outputs], strict=True)):
        is_hidden = number < len(hidden)
        start = found[-1].stop if found else 0
        found.append(Layer(ins, outs, start, recurrent and is_hidden, is_hidden))
    return found


def parameters_of(layers: Sequence[Layer]) -> int:
    """How many parameters a member has."""
    return layers[-1].stop
