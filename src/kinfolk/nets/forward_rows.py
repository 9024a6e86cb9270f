"""The forward pass of static nets row by row: any member, any batch, the same bits.

Matrix libraries give a row other last bits in another batch; here each row is added up by itself
in one order. Sums run over the outputs side by side, so that the compiler can use wide
registers without changing the order, and inputs that are zero, as most cells of a window are,
cost nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kinfolk.core.arrays import AnyArray, Ints
from kinfolk.core.jit import allocation_free_kernel
from kinfolk.nets.layers import LayerLayout


def forward_rows(
    flat: AnyArray,
    layers: Sequence[LayerLayout],
    member: Ints,
    x: AnyArray,
    states: Sequence[AnyArray],
) -> tuple[AnyArray, list[AnyArray]]:
    """Row `i` of `x`, `[n, inputs]`, through member `member[i]`; `states` are of its hidden layers.

    Returns:
        `[n, outputs]`, and the new states of recurrent layers.
    """
    value, after = np.ascontiguousarray(x, dtype=np.float32), []
    for number, layer in enumerate(layers):
        total = np.empty((len(member), layer.out_features), dtype=np.float32)
        write_biases(flat, layer.bias_start, member, total)
        add_products(flat, layer.start, member, value, total)
        if layer.recurrent:
            add_products(flat, layer.recurrent_start, member, states[number], total)
        # Outside of kernels: compiled and plain Python have different last bits of tanh.
        value = np.tanh(total) if layer.hidden else total
        if layer.recurrent:
            after.append(value)
    return value, after


@allocation_free_kernel
def write_biases(flat: AnyArray, start: int, member: Ints, out: AnyArray) -> None:
    """Every row begins with the biases of its member."""
    for i in range(out.shape[0]):
        for o in range(out.shape[1]):
            out[i, o] = flat[member[i], start + o]


@allocation_free_kernel
def add_products(flat: AnyArray, start: int, member: Ints, x: AnyArray, out: AnyArray) -> None:
    """Add `x[i] @ weights` of the member of row `i` to `out[i]`."""
    outs = out.shape[1]
    for i in range(out.shape[0]):
        who = member[i]
        for j in range(x.shape[1]):
            value = x[i, j]
            if value != 0.0:
                at = start + j * outs
                for o in range(outs):
                    out[i, o] += value * flat[who, at + o]
