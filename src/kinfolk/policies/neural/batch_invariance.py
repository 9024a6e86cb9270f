"""Run torch nets so that the output bits of a row do not depend on the rest of its batch.

Matrix libraries sum a row's products in another order when the batch has few rows, or when the row
does not begin at a multiple of 16 bytes, as every second row of 50 float32 does not. So the same row
gets other last bits in another batch, or at another position of the same one. Three ways to run a net
avoid that; `find_batching` takes the first that gives equal bits on this machine:

1. Batches of any size, padded to at least 32 rows.
2. The same, with the inputs of linear and recurrent layers copied so that every row is aligned.
3. Batches of exactly 64 rows of which every second, fourth, ... or only the first is used, the others
   being zero. It suits every net whose rows are independent, and is slow in large batches (measured
   in `docs/results/training.md`).

A net whose rows depend on each other, such as attention over the batch, is evaluated one row at a
time, in such a batch beside zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeAlias

from kinfolk.core.errors import ContractError
from kinfolk.core.imports import optional_import

with optional_import("A neural policy"):
    import torch
    from torch import Tensor, nn
    from torch.nn import functional

PADDED_ROWS = 32
# The fastest of 32, 64, 128 and 256 for 32 rows; 256 takes about half the time for 4096 rows, and
# twice the time for one.
FIXED_ROWS = 64
_ALIGNMENT = 8  # float32 numbers, which are 32 bytes
_TRIED_SIZES = (1, 2, *range(31, 48), 64, 100, 257)  # rows; some are no multiple of any block
_N_DRAWS = 4  # a layer of one unit shows another order of sums in few rows only
_NOISE = 0.1  # added to weights during the trial: a layer of zeros would hide the others
_LAYERS = (nn.Linear, nn.RNNCell, nn.GRUCell, nn.LSTMCell)
Forward: TypeAlias = Callable[..., tuple[Tensor, ...]]


class Batching(NamedTuple):
    """How to run a net so that its outputs are batch invariant.

    Attributes:
        spacing: 0 for batches of any size; else the distance between the rows that are used in
            batches of exactly `FIXED_ROWS`.
        problem: Why no way of running it gives equal bits; empty if one does. Such a net is run
            without padding.
        mixes_rows: Whether the problem is that rows depend on each other, so that `ALONE` helps.
    """

    spacing: int = 0
    problem: str = ""
    mixes_rows: bool = False


ALONE = Batching(FIXED_ROWS)  # every row in a batch of its own, beside zeros


def find_batching(
    forward: Forward, *shapes: tuple[int, ...], module: nn.Module | None = None
) -> Batching:
    """Try a net on random rows, and return how to run it.

    Args:
        forward: The net: takes tensors with the row as first axis, returns a tuple of such tensors.
        shapes: The shape of one row of each input.
        module: The module that `forward` runs, if its layers may be made to align their inputs;
            hooks are added only where they are needed.

    Returns:
        The first way of running the net that gives equal bits, or the problem.
    """
    generator = torch.Generator().manual_seed(0)
    draws = [
        [torch.randn((max(_TRIED_SIZES), *shape), generator=generator) for shape in shapes]
        for _ in range(_N_DRAWS)
    ]
    with _noisy_weights(module, generator):
        if all(_is_size_invariant(forward, inputs) for inputs in draws):
            return Batching()
        if module is not None:
            layers = [layer for layer in module.modules() if isinstance(layer, _LAYERS)]
            hooks = [layer.register_forward_pre_hook(_align_inputs) for layer in layers]
            if all(_is_size_invariant(forward, inputs) for inputs in draws):
                return Batching()
            for hook in hooks:
                hook.remove()
        return _find_fixed_size(forward, draws[0])


def require_invariant(name: str, batching: Batching) -> None:
    """Raise ContractError if a net cannot be run batch invariantly.

    Raises:
        ContractError: `find_batching` found a problem; the message describes it.
    """
    if batching.problem:
        raise ContractError(f"{name} {batching.problem}")


def run_batched(batching: Batching, forward: Forward, *inputs: Tensor) -> tuple[Tensor, ...]:
    """Call `forward` in the batches that `find_batching` chose.

    Args:
        batching: What `find_batching` returned for this net.
        forward: The net.
        inputs: `[rows, ...]` each; there may be no rows.

    Returns:
        The outputs, `[rows, ...]` each.
    """
    rows, spacing = len(inputs[0]), batching.spacing
    if not spacing:
        missing = (1 if batching.problem else PADDED_ROWS) - rows
        if missing <= 0:
            return forward(*inputs)
        padded = [torch.cat([x, x.new_zeros(missing, *x.shape[1:])]) for x in inputs]
        return tuple(out[:rows] for out in forward(*padded))
    rows_per_call = FIXED_ROWS // spacing
    calls = max(1, -(-rows // rows_per_call))
    chunks = []
    for x in inputs:
        spaced = x.new_zeros((calls * rows_per_call, spacing, *x.shape[1:]))
        spaced[:rows, 0] = x
        chunks.append(torch.split(spaced.flatten(0, 1), FIXED_ROWS))
    results = zip(*(forward(*chunk) for chunk in zip(*chunks, strict=True)), strict=True)
    return tuple(torch.cat([out[::spacing] for out in outs])[:rows] for outs in results)


def _is_size_invariant(forward: Forward, inputs: list[Tensor]) -> bool:
    """Return whether rows give the same bits in batches of other sizes and at other positions."""
    whole = run_batched(Batching(), forward, *inputs)
    for rows in _TRIED_SIZES:
        part = run_batched(Batching(), forward, *(x[-rows:] for x in inputs))
        if not _have_equal_bits(part, whole, slice(-rows, None)):
            return False
    return True


def _find_fixed_size(forward: Forward, inputs: list[Tensor]) -> Batching:
    """Find the least spacing at which rows give the same bits at every position of a fixed batch."""
    rows = [x[:FIXED_ROWS].clone() for x in inputs]
    others = [x[FIXED_ROWS : 2 * FIXED_ROWS] for x in inputs]
    base = forward(*rows)
    if not _have_equal_bits(forward(*rows), base):
        return Batching(
            problem="returns other results for the same rows when it is called again: it draws "
            "random numbers or keeps state of its own. Let it do neither in eval mode; recurrent "
            "state belongs in its memory (memory_size)."
        )
    for row in range(FIXED_ROWS):
        mixed = [torch.cat([y[:row], x[[row]], y[row + 1 :]])
                 for x, y in zip(rows, others, strict=True)]  # fmt: skip
        same_row = slice(row, row + 1)
        if not _have_equal_bits([out[same_row] for out in forward(*mixed)], base, same_row):
            return Batching(
                problem="returns other results for a row when the other rows of its batch change, "
                "and which agents share a batch must not matter. Normalise over features "
                "(LayerNorm), not over the batch, and do not mix rows.",
                mixes_rows=True,
            )
    spacing = 1
    while spacing < FIXED_ROWS and not _is_position_invariant(forward, rows, base, spacing):
        spacing *= 2
    return Batching(spacing)


def _is_position_invariant(
    forward: Forward, rows: list[Tensor], base: tuple[Tensor, ...], spacing: int
) -> bool:
    """Return whether every `spacing`-th row gives the same bits wherever it stands in the batch.

    Args:
        forward: The net.
        rows: `[FIXED_ROWS, ...]` each, the inputs.
        base: The outputs for `rows`.
        spacing: Distance between the rows that are compared.
    """
    used = slice(None, None, spacing)
    for shift in range(spacing, FIXED_ROWS, spacing):
        moved = forward(*(x.roll(shift, 0) for x in rows))
        if not _have_equal_bits([out.roll(-shift, 0)[used] for out in moved], base, used):
            return False
    return True


def _have_equal_bits(outputs: Any, expected: Any, rows: slice = slice(None)) -> bool:
    """Return whether outputs equal the rows of others bit by bit, except for the sign of zero.

    Args:
        outputs: Tensors.
        expected: As many tensors to compare with.
        rows: Which rows of `expected` to compare.
    """
    pairs = zip(outputs, expected, strict=True)
    return all(torch.equal(a.nan_to_num(), b[rows].nan_to_num()) for a, b in pairs)


def _align_inputs(_layer: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Copy the inputs of a layer so that every row begins at a multiple of 32 bytes.

    While gradients are recorded, nothing is copied: training does not need batch invariance.
    """
    if torch.is_grad_enabled():
        return inputs
    return tuple(_align_rows(x) if isinstance(x, Tensor) else x for x in inputs)


def _align_rows(x: Tensor) -> Tensor:
    """Return `x`, or a view of a padded copy whose rows are aligned."""
    padding = -x.shape[-1] % _ALIGNMENT
    return functional.pad(x, (0, padding))[..., : x.shape[-1]] if padding else x


@contextmanager
def _noisy_weights(module: nn.Module | None, generator: torch.Generator) -> Iterator[None]:
    """Add noise to all weights within the context, and restore them afterwards."""
    weights = [] if module is None else [p for p in module.parameters() if p.is_floating_point()]
    originals = [weight.detach().clone() for weight in weights]
    try:
        with torch.no_grad():
            for weight in weights:
                noise = torch.randn(weight.shape, generator=generator, dtype=weight.dtype)
                weight.add_(_NOISE * noise)
        yield
    finally:
        with torch.no_grad():
            for weight, original in zip(weights, originals, strict=True):
                weight.copy_(original)
