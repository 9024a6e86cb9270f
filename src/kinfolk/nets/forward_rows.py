"""Batch-invariant forward pass of static nets: a row gives the same bits in every batch.

Matrix libraries may sum a row in another order in another batch; here every row is summed by
itself in one order. The inner loop runs over outputs, so that the compiler can vectorise it without
changing the order, and inputs of zero, such as most cells of an observation window, are skipped.
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
    """Run every row through the net of its member.

    Args:
        flat: `[nets, parameters]`.
        layers: Layout of the parameters.
        member: `[n]`, which net each row goes through.
        x: `[n, inputs]`.
        states: `[n, size]` for each recurrent layer, its previous hidden state.

    Returns:
        `[n, outputs]`, and the new hidden states of recurrent layers.
    """
    value, new_states = np.ascontiguousarray(x, dtype=np.float32), []
    for number, layer in enumerate(layers):
        total = np.empty((len(member), layer.out_features), dtype=np.float32)
        write_biases(flat, layer.bias_start, member, total)
        add_products(flat, layer.start, member, value, total)
        if layer.recurrent:
            add_products(flat, layer.recurrent_start, member, states[number], total)
        # Outside of kernels, as compiled and uncompiled tanh differ in the last bits.
        value = np.tanh(total) if layer.hidden else total
        if layer.recurrent:
            new_states.append(value)
    return value, new_states


@allocation_free_kernel
def write_biases(flat: AnyArray, start: int, member: Ints, out: AnyArray) -> None:
    """Write the biases of each row's member to `out`.

    Args:
        flat: `[nets, parameters]`.
        start: Where the biases begin in a member's parameters.
        member: `[n]`.
        out: `[n, outs]`, written.
    """
    for i in range(out.shape[0]):
        for o in range(out.shape[1]):
            out[i, o] = flat[member[i], start + o]


@allocation_free_kernel
def add_products(flat: AnyArray, start: int, member: Ints, x: AnyArray, out: AnyArray) -> None:
    """Add `x[i] @ weights` of the member of row `i` to `out[i]`.

    Args:
        flat: `[nets, parameters]`.
        start: Where the weights `[ins, outs]` begin in a member's parameters.
        member: `[n]`.
        x: `[n, ins]`.
        out: `[n, outs]`, changed.
    """
    outs = out.shape[1]
    for i in range(out.shape[0]):
        net = member[i]
        for j in range(x.shape[1]):
            value = x[i, j]
            if value != 0.0:
                first = start + j * outs
                for o in range(outs):
                    out[i, o] += value * flat[net, first + o]
