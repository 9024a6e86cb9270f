"""The forward pass of a whole population of static nets: one `baddbmm` per layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from kinfolk.core.arrays import AnyArray
from kinfolk.core.errors import SettingsError
from kinfolk.nets.layers import Layer


class Static(Protocol):
    """What of static nets the forward pass needs."""

    flat: AnyArray
    layers: list[Layer]
    inputs: int


@torch.no_grad()
def forward(nets: Static, x: Any, memory: Sequence[Tensor] | None) -> tuple[Tensor, list[Tensor]]:
    """`[nets, batch, inputs]` to outputs and the new hidden states of recurrent layers.

    Raises:
        SettingsError: `x` has another shape.
    """
    flat = torch.from_numpy(nets.flat)
    if isinstance(x, np.ndarray):  # torch takes no array that cannot be written
        x = np.require(x, dtype=np.float32, requirements=["C", "W"])
    value = torch.as_tensor(x, dtype=torch.float32)
    if value.ndim != 3 or value.shape[0] != len(flat) or value.shape[2] != nets.inputs:
        raise SettingsError(
            f"Inputs have shape [{len(flat)}, batch, {nets.inputs}] here, not {list(value.shape)}."
        )
    states: list[Tensor] = []
    for number, layer in enumerate(nets.layers):
        total = torch.baddbmm(_bias(flat, layer), value, _block(flat, layer))
        if layer.recurrent and memory is not None:
            total = torch.baddbmm(total, memory[number], _own(flat, layer))
        value = torch.tanh_(total) if layer.hidden else total
        if layer.recurrent:
            states.append(value)
    return value, states


def _block(flat: Tensor, layer: Layer) -> Tensor:
    """A view: `[nets, ins, outs]`."""
    return flat[:, layer.start : layer.own].view(len(flat), layer.ins, layer.outs)


def _own(flat: Tensor, layer: Layer) -> Tensor:
    return flat[:, layer.own : layer.bias].view(len(flat), layer.outs, layer.outs)


def _bias(flat: Tensor, layer: Layer) -> Tensor:
    return flat[:, None, layer.bias : layer.stop]
