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
from kinfolk.core.jit import allocation_free_kernel
from kinfolk.nets.numerics import tanh_inplace

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


def check_input_shape(shape: Sequence[int], num_nets: int, inputs: int) -> None:
    """Raise SettingsError unless the shape is `[num_nets, batch, inputs]`.

    Args:
        shape: Shape of the input that was given.
        num_nets: Number of members.
        inputs: Number of inputs of each.
    """
    message = f"Inputs must have shape [{num_nets}, batch, {inputs}], not {list(shape)}."
    require(len(shape) == 3 and (shape[0], shape[2]) == (num_nets, inputs), message)


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
    flat: AnyArray, layers: list[LayerLayout], member: Ints, x: AnyArray, states: list[AnyArray]
) -> tuple[AnyArray, list[AnyArray]]:
    """Run every row through the net of its member; a row gives the same bits in every batch.

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
        total = flat[:, layer.bias_start : layer.stop][member]
        add_products(flat, layer.start, member, value, total)
        if layer.recurrent:
            add_products(flat, layer.recurrent_start, member, states[number], total)
        # Outside of kernels, as compiled and uncompiled tanh differ in the last bits.
        value = np.tanh(total) if layer.hidden else total
        if layer.recurrent:
            new_states.append(value)
    return value, new_states


@allocation_free_kernel
def add_products(flat: AnyArray, start: int, member: Ints, x: AnyArray, out: AnyArray) -> None:
    """Add `x[i] @ weights` of the member of row `i` to `out[i]`.

    Args:
        flat: `[nets, parameters]`.
        start: Where the weights `[ins, outs]` begin in a member's parameters.
        member: `[n]`, which net each row goes through.
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
