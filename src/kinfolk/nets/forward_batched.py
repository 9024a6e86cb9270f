"""The forward pass of a whole population of static nets: one `baddbmm` per layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from kinfolk.core.arrays import AnyArray
from kinfolk.nets.layers import LayerLayout
from kinfolk.nets.tanh import tanh_inplace


class LayerViews(NamedTuple):
    """Views of a layer's parameters."""

    weights: Tensor  # [nets, ins, outs]
    recurrent_weights: Tensor  # [nets, outs, outs], or nothing
    bias: Tensor  # [nets, 1, outs]


class StaticParameters(Protocol):
    """What of static nets the forward pass needs."""

    flat: AnyArray
    layers: list[LayerLayout]
    views: Any


@torch.no_grad()
def forward_batched(
    nets: StaticParameters, x: Tensor, memory: Sequence[Any]
) -> tuple[Tensor, list[Tensor]]:
    """Run inputs of every member through its net.

    Args:
        nets: Where the parameters are.
        x: `[nets, batch, inputs]`.
        memory: The hidden states of recurrent layers, arrays or tensors.

    Returns:
        `[nets, batch, outputs]`, and the new hidden states.
    """
    value = x.to(torch.float32)
    states: list[Tensor] = []
    for number, (layer, block) in enumerate(zip(nets.layers, _layer_views(nets), strict=True)):
        value = _affine(block.bias, value, block.weights)
        if layer.recurrent:
            value.baddbmm_(torch.as_tensor(memory[number]), block.recurrent_weights)
        if layer.hidden:
            # Of a tensor that is turned around, the numbers as they lie.
            plain = value if value.is_contiguous() else value.transpose(1, 2)
            tanh_inplace(plain.view(-1).numpy())
        if layer.recurrent:
            states.append(value)
    return value, states


def _affine(bias: Tensor, value: Tensor, weights: Tensor) -> Tensor:
    """`bias + value @ weights` for every member.

    Matrices narrower than the batch are multiplied the other way round, which takes a third of the time.
    """
    if weights.shape[2] >= value.shape[1]:
        return torch.baddbmm(bias, value, weights)
    turned = (part.transpose(1, 2) for part in (bias, weights, value))
    return torch.baddbmm(*turned).transpose(1, 2)


def _layer_views(nets: StaticParameters) -> list[LayerViews]:
    """Views of all layers, made anew only when the parameters lie elsewhere than last time."""
    if nets.views is None or nets.views[0] is not nets.flat:
        nets.views = (
            nets.flat,
            [_view_layer(torch.from_numpy(nets.flat), layer) for layer in nets.layers],
        )
    found: list[LayerViews] = nets.views[1]
    return found


def _view_layer(flat: Tensor, layer: LayerLayout) -> LayerViews:
    own = layer.out_features if layer.recurrent else 0
    return LayerViews(
        flat[:, layer.start : layer.recurrent_start].view(
            len(flat), layer.in_features, layer.out_features
        ),
        flat[:, layer.recurrent_start : layer.bias_start].view(
            len(flat), own, layer.out_features if own else 0
        ),
        flat[:, None, layer.bias_start : layer.stop],
    )
