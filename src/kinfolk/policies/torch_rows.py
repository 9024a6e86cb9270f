"""Torch nets whose rows do not feel their neighbours.

Matrix libraries pick another routine for a handful of rows, and with it other last bits: the same
row gives another result in a batch of 1 than in a batch of 64. From 32 rows on it does not (checked
when a net is loaded), so smaller batches are padded up to that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import torch

from kinfolk.core.errors import ContractError

PADDED_ROWS = 32
_TRIED = (1, 2, 31, 33, 64, 100, 257)
Forward: TypeAlias = Callable[..., tuple[torch.Tensor, ...]]


def padded(forward: Forward, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Call `forward` on at least 32 rows and return the rows that were asked for."""
    rows = len(inputs[0])
    if rows >= PADDED_ROWS:
        return forward(*inputs)
    filled = [torch.cat([x, x.new_zeros(PADDED_ROWS - rows, *x.shape[1:])]) for x in inputs]
    return tuple(out[:rows] for out in forward(*filled))


def check_rows(name: str, forward: Forward, *shapes: tuple[int, ...]) -> None:
    """Refuse a net whose rows depend on the batch; `shapes` are those of one row's inputs.

    Raises:
        ContractError: On this machine some batch size gives other bits.
    """
    generator = torch.Generator().manual_seed(0)
    inputs = [torch.randn((max(_TRIED), *shape), generator=generator) for shape in shapes]
    whole = padded(forward, *inputs)
    for rows in _TRIED:
        part = padded(forward, *(x[-rows:] for x in inputs))
        if not all(torch.equal(a, b[-rows:]) for a, b in zip(part, whole, strict=True)):
            raise ContractError(
                f"{name} gives other bits in a batch of {rows} rows than in one of {max(_TRIED)}. "
                f"Use layer sizes that are multiples of 8."
            )
