"""The forward pass of a whole population of static nets: one `baddbmm` per layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from kinfolk.core.arrays import AnyArray
from kinfolk.core.errors import SettingsError
from kinfolk.nets.layers import Layer
from kinfolk.nets.squash import squash


class Block(NamedTuple):
    """Views of a layer's parameters."""

    weights: Tensor  # [nets, ins, outs]
    own: Tensor  # [nets, outs, outs], or nothing
    bias: Tensor  # [nets, 1, outs]


class Static(Protocol):
    """What of static nets the forward pass needs."""

    flat: AnyArray
    layers: list[Layer]
    inputs: int
    views: Any


@torch.no_grad()
def forward(nets: Static, x: Any, memory: Sequence[Tensor] | None) -> tuple[Tensor, list[Tensor]]:
    """`[nets, batch, inputs]` to outputs and the new hidden states of recurrent layers.

    Raises:
        SettingsError: `x` has another shape.
    """
    if isinstance(x, np.ndarray):  # torch takes no array that cannot be written
        x = np.require(x, dtype=np.float32, requirements=["C", "W"])
    value = torch.as_tensor(x, dtype=torch.float32)
    members = len(nets.flat)
    if value.ndim != 3 or value.shape[0] != members or value.shape[2] != nets.inputs:
        raise SettingsError(
            f"Inputs have shape [{members}, batch, {nets.inputs}] here, not {list(value.shape)}."
        )
    states: list[Tensor] = []
    for number, (layer, block) in enumerate(zip(nets.layers, _blocks(nets), strict=True)):
        value = _weighed(block.bias, value, block.weights)
        if layer.recurrent and memory is not None:
            value.baddbmm_(memory[number], block.own)
        if layer.hidden:
            # Of a tensor that is turned around, the numbers as they lie.
            plain = value if value.is_contiguous() else value.transpose(1, 2)
            squash(plain.view(-1).numpy())
        if layer.recurrent:
            states.append(value)
    return value, states


def _weighed(bias: Tensor, value: Tensor, weights: Tensor) -> Tensor:
    """`bias + value @ weights` for every member.

    Matrices narrower than the batch are multiplied the other way round, which takes a third of the time.
    """
    if weights.shape[2] >= value.shape[1]:
        return torch.baddbmm(bias, value, weights)
    turned = (part.transpose(1, 2) for part in (bias, weights, value))
    return torch.baddbmm(*turned).transpose(1, 2)


def _blocks(nets: Static) -> list[Block]:
    """Views of all layers, made anew only when the parameters lie elsewhere than last time."""
    if nets.views is None or nets.views[0] is not nets.flat:
        nets.views = (
            nets.flat,
            [_block(torch.from_numpy(nets.flat), layer) for layer in nets.layers],
        )
    found: list[Block] = nets.views[1]
    return found


def _block(flat: Tensor, layer: Layer) -> Block:
    own = layer.outs if layer.recurrent else 0
    return Block(
        flat[:, layer.start : layer.own].view(len(flat), layer.ins, layer.outs),
        flat[:, layer.own : layer.bias].view(len(flat), own, layer.outs if own else 0),
        flat[:, None, layer.bias : layer.stop],
    )
