"""Layers of static nets: where their parameters lie in a flat vector, and two forward passes.

`forward_rows` is batch invariant: a row gives the same bits in every batch. Matrix libraries may sum
a row in another order in another batch; here every row is summed by itself in one order. The inner
loop runs over outputs, so that the compiler can vectorise it without changing the order, and inputs
of zero, such as most cells of an observation window, are skipped.

`forward_batched` runs a whole population in torch, with one `baddbmm` per layer.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from kinfolk.core.arrays import AnyArray, Ints
from kinfolk.core.errors import require
from kinfolk.core.jit import allocation_free_kernel, inline_always
from kinfolk.nets.numerics import tanh_float32, tanh_inplace

if TYPE_CHECKING:
    from torch import Tensor

LayerViews: TypeAlias = "tuple[Tensor, Tensor, Tensor]"  # weights, recurrent weights, biases


class LayerLayout(NamedTuple):
    """Sizes of one layer, and offsets of its parameters in a member's flat vector."""

    in_features: int
    out_features: int
    recurrent: bool  # the layer's previous output is an input too
    hidden: bool  # tanh follows
    start: int  # of the weights, [ins, outs]
    recurrent_start: int  # of the recurrent weights, [outs, outs] or none
    bias_start: int  # of the biases, [outs]
    stop: int  # where the next layer begins


def check_net_sizes(num_nets: int, inputs: int, outputs: int) -> None:
    """Raise SettingsError unless there is at least one net, one input and one output.

    Args:
        num_nets: Number of members.
        inputs: Number of inputs.
        outputs: Number of outputs.
    """
    for name, size in (("num_nets", num_nets), ("inputs", inputs), ("outputs", outputs)):
        require(size >= 1, f"Nets need {name} of at least 1, not {size}.")


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
    start = 0
    for number, (ins, outs) in enumerate(pairwise([inputs, *hidden, outputs])):
        is_hidden = number < len(hidden)
        is_recurrent = recurrent and is_hidden
        bias_start = start + ins * outs + (outs * outs if is_recurrent else 0)
        offsets = (start, start + ins * outs, bias_start, bias_start + outs)
        layers.append(LayerLayout(ins, outs, is_recurrent, is_hidden, *offsets))
        start = layers[-1].stop
    return layers


def forward_rows(
    flat: AnyArray, layout: Ints, member: Ints, x: AnyArray, states: Sequence[AnyArray]
) -> tuple[AnyArray, list[AnyArray]]:
    """Run every row through the net of its member; a row gives the same bits in every batch.

    Args:
        flat: `[nets, parameters]`.
        layout: `[layers, 8]`, the `LayerLayout` of each layer.
        member: `[n]`, which net each row goes through.
        x: `[n, inputs]`.
        states: `[n, size]` for each recurrent layer, its previous hidden state.

    Returns:
        `[n, outputs]`, and the new hidden states of recurrent layers.
    """
    value, rows = np.ascontiguousarray(x, dtype=np.float32), len(x)
    out = np.empty((rows, int(layout[-1, 1])), dtype=np.float32)
    scratch = np.empty((2, int(layout[:, :2].max())), dtype=np.float32)
    states = states if layout[:, 2].any() else ()
    after = np.hstack(states) if states else np.empty((rows, 0), dtype=np.float32)
    run_layers(flat, layout, member, value, after, scratch, out)
    if len(states) <= 1:
        return out, [after] * len(states)
    bounds = pairwise(np.cumsum([0, *(state.shape[1] for state in states)]).tolist())
    return out, [np.ascontiguousarray(after[:, start:stop]) for start, stop in bounds]


_BLOCK = 8  # outputs that are summed at a time


@inline_always
def add_products(weights: AnyArray, x: AnyArray, out: AnyArray) -> None:
    """Add `x @ weights` to `out`; each output is summed in the order of the inputs.

    Args:
        weights: `[ins * outs]`, the weights of one input after another.
        x: `[ins]`.
        out: `[outs]`, changed.
    """
    ins, outs = x.shape[0], out.shape[0]
    start = 0
    while start + _BLOCK <= outs:  # sums of a block of outputs stay in registers
        a0, a1, a2, a3 = out[start], out[start + 1], out[start + 2], out[start + 3]
        a4, a5, a6, a7 = out[start + 4], out[start + 5], out[start + 6], out[start + 7]
        for j in range(ins):
            value = x[j]
            if value != 0.0:
                # A slice, so that indices are known to be positive: else nothing is vectorised.
                row = weights[j * outs + start : j * outs + start + _BLOCK]
                a0 += value * row[0]
                a1 += value * row[1]
                a2 += value * row[2]
                a3 += value * row[3]
                a4 += value * row[4]
                a5 += value * row[5]
                a6 += value * row[6]
                a7 += value * row[7]
        out[start], out[start + 1], out[start + 2], out[start + 3] = a0, a1, a2, a3
        out[start + 4], out[start + 5], out[start + 6], out[start + 7] = a4, a5, a6, a7
        start += _BLOCK
    for o in range(start, outs):
        total = out[o]
        for j in range(ins):
            if x[j] != 0.0:
                total += x[j] * weights[j * outs + o]
        out[o] = total


@inline_always
def run_row(flat: AnyArray, layout: Ints, net: int, state: AnyArray, scratch: AnyArray) -> int:
    """Run one row, given in `scratch[0]`, through all layers of a net.

    Args:
        flat: `[nets, parameters]`.
        layout: `[layers, 8]`, the `LayerLayout` of each layer.
        net: Which net.
        state: `[sizes]`, hidden states of all recurrent layers, replaced by the new ones.
        scratch: `[2, widest layer]`, overwritten.

    Returns:
        The row of `scratch` that holds the outputs.
    """
    parameters, hidden_start = flat[net], 0
    for number in range(layout.shape[0]):
        ins, outs = layout[number, 0], layout[number, 1]
        start, recurrent_start, bias_start = layout[number, 4], layout[number, 5], layout[number, 6]
        following = scratch[1 - number % 2, :outs]
        bias = parameters[bias_start : bias_start + outs]
        for o in range(outs):
            following[o] = bias[o]
        add_products(parameters[start:recurrent_start], scratch[number % 2, :ins], following)
        if layout[number, 2]:
            recurrent = state[hidden_start : hidden_start + outs]
            add_products(parameters[recurrent_start:bias_start], recurrent, following)
        if layout[number, 3]:
            for o in range(outs):
                following[o] = tanh_float32(following[o])
        if layout[number, 2]:
            recurrent = state[hidden_start : hidden_start + outs]
            for o in range(outs):
                recurrent[o] = following[o]
            hidden_start += outs
    return int(layout.shape[0] % 2)


@allocation_free_kernel
def run_layers(
    flat: AnyArray,
    layout: Ints,
    member: Ints,
    x: AnyArray,
    states: AnyArray,
    scratch: AnyArray,
    out: AnyArray,
) -> None:
    """Run every row through all layers of the net of its member.

    Args:
        flat: `[nets, parameters]`.
        layout: `[layers, 8]`, the `LayerLayout` of each layer.
        member: `[n]`, which net each row goes through.
        x: `[n, inputs]`.
        states: `[n, sizes]`, hidden states of all recurrent layers, replaced by the new ones.
        scratch: `[2, widest layer]`, overwritten.
        out: `[n, outputs]`, written.
    """
    for i in range(out.shape[0]):
        for j in range(x.shape[1]):
            scratch[0, j] = x[i, j]
        row = run_row(flat, layout, member[i], states[i], scratch)
        for o in range(out.shape[1]):
            out[i, o] = scratch[row, o]


def forward_batched(
    layers: list[LayerLayout], views: Sequence[LayerViews], x: Tensor, memory: Sequence[Any]
) -> tuple[Tensor, list[Tensor]]:
    """Run inputs of every member through its net.

    Args:
        layers: Layout of the parameters.
        views: What `view_layers` returned for them.
        x: `[nets, batch, inputs]`.
        memory: `[nets, batch, size]` for each recurrent layer, arrays or tensors.

    Returns:
        `[nets, batch, outputs]`, and the new hidden states.
    """
    import torch

    value = x.detach().float()
    states: list[Tensor] = []
    for number, layer in enumerate(layers):
        weights, recurrent_weights, bias = views[number]
        value = _affine(bias, value, weights)
        if layer.recurrent:
            value.baddbmm_(torch.as_tensor(memory[number]).detach(), recurrent_weights)
        if layer.hidden:
            # `_affine` may return a transposed tensor; its memory is contiguous either way.
            contiguous = value if value.is_contiguous() else value.transpose(1, 2)
            tanh_inplace(contiguous.view(-1).numpy())
        if layer.recurrent:
            states.append(value)
    return value, states


def view_layers(parameters: AnyArray, layers: list[LayerLayout]) -> list[LayerViews]:
    """Return weights, recurrent weights and biases of each layer as views, `[nets, rows, outs]`.

    Recurrent weights are `[nets, 0, 0]` if a layer is not recurrent.
    """
    import torch

    flat, views = torch.from_numpy(parameters), []
    for layer in layers:
        outs = layer.out_features
        recurrent_outs = outs if layer.recurrent else 0
        weights = flat[:, layer.start : layer.recurrent_start]
        recurrent_weights = flat[:, layer.recurrent_start : layer.bias_start]
        weights = weights.view(len(flat), layer.in_features, outs)
        recurrent_weights = recurrent_weights.view(len(flat), recurrent_outs, recurrent_outs)
        views.append((weights, recurrent_weights, flat[:, None, layer.bias_start : layer.stop]))
    return views


def _affine(bias: Tensor, value: Tensor, weights: Tensor) -> Tensor:
    """Return `bias + value @ weights` for every member.

    If there are fewer outputs than rows, the transposed product is computed, which takes a third
    of the time.

    Args:
        bias: `[nets, 1, outs]`.
        value: `[nets, batch, ins]`.
        weights: `[nets, ins, outs]`.
    """
    if weights.shape[2] >= value.shape[1]:
        return bias.baddbmm(value, weights)
    bias, weights, value = (part.transpose(1, 2) for part in (bias, weights, value))
    return bias.baddbmm(weights, value).transpose(1, 2)
