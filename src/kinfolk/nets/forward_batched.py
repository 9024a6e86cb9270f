"""Forward pass of a population of static nets in torch: one `baddbmm` per layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from kinfolk.core.arrays import AnyArray
from kinfolk.nets.layers import LayerLayout
from kinfolk.nets.tanh import tanh_inplace


class LayerViews(NamedTuple):
    """Views of the parameters of one layer, for all members."""

    weights: Tensor  # [nets, ins, outs]
    recurrent_weights: Tensor  # [nets, outs, outs]; [nets, 0, 0] if not recurrent
    bias: Tensor  # [nets, 1, outs]


class StaticParameters(Protocol):
    """What the forward pass reads of static nets."""

    flat: AnyArray  # [nets, parameters]
    layers: list[LayerLayout]
    views: Any  # cache: the array the views belong to, and the views


@torch.no_grad()
def forward_batched(
    nets: StaticParameters, x: Tensor, memory: Sequence[Any]
) -> tuple[Tensor, list[Tensor]]:
    """Run inputs of every member through its net.

    Args:
        nets: The population.
        x: `[nets, batch, inputs]`.
        memory: `[nets, batch, size]` for each recurrent layer, arrays or tensors.

    Returns:
        `[nets, batch, outputs]`, and the new hidden states.
    """
    value = x.to(torch.float32)
    states: list[Tensor] = []
    for number, (layer, views) in enumerate(zip(nets.layers, _layer_views(nets), strict=True)):
        value = _affine(views.bias, value, views.weights)
        if layer.recurrent:
            value.baddbmm_(torch.as_tensor(memory[number]), views.recurrent_weights)
        if layer.hidden:
            # `_affine` may return a transposed tensor; its memory is contiguous either way.
            contiguous = value if value.is_contiguous() else value.transpose(1, 2)
            tanh_inplace(contiguous.view(-1).numpy())
        if layer.recurrent:
            states.append(value)
    return value, states


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
        return torch.baddbmm(bias, value, weights)
    transposed = (part.transpose(1, 2) for part in (bias, weights, value))
    return torch.baddbmm(*transposed).transpose(1, 2)


def _layer_views(nets: StaticParameters) -> list[LayerViews]:
    """Return the views of all layers; cached until the parameters are another array."""
    if nets.views is None or nets.views[0] is not nets.flat:
        nets.views = (
            nets.flat,
            [_view_layer(torch.from_numpy(nets.flat), layer) for layer in nets.layers],
        )
    views: list[LayerViews] = nets.views[1]
    return views


def _view_layer(flat: Tensor, layer: LayerLayout) -> LayerViews:
    """Return the views of one layer of parameters `[nets, parameters]`."""
    size = layer.out_features if layer.recurrent else 0
    return LayerViews(
        flat[:, layer.start : layer.recurrent_start].view(
            len(flat), layer.in_features, layer.out_features
        ),
        flat[:, layer.recurrent_start : layer.bias_start].view(len(flat), size, size),
        flat[:, None, layer.bias_start : layer.stop],
    )
