"""Output heads: pure functions from the outputs of a net to actions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kinfolk.core.arrays import AnyArray, Floats, Ints
from kinfolk.core.errors import UnknownNameError, format_suggestion

HEADS = ("argmax", "softmax_sample", "tanh", "raw")


def softmax(out: AnyArray) -> Floats:
    """Return probabilities over the last axis, float64."""
    weight = np.exp(out.astype(np.float64) - out.max(axis=-1, keepdims=True))
    probabilities: Floats = weight / weight.sum(axis=-1, keepdims=True)
    return probabilities


def softmax_sample(out: AnyArray, uniforms: AnyArray) -> Ints:
    """Sample a choice per row from the softmax, given a uniform number in [0, 1) for each."""
    passed = np.cumsum(softmax(out), axis=-1) <= np.asarray(uniforms)[..., None]
    choice: Ints = np.minimum(passed.sum(axis=-1), out.shape[-1] - 1)
    return choice


def tanh(out: AnyArray) -> Floats:
    """Return the hyperbolic tangent of the outputs, computed in float32, as float64."""
    from kinfolk.nets.numerics import tanh_inplace  # numba, which the names of heads do not need

    values = np.array(out, dtype=np.float32).reshape(-1)
    tanh_inplace(values)
    return values.astype(np.float64).reshape(out.shape)


def count_outputs(head: str, choices: Sequence[int]) -> int:
    """Return how many outputs a head needs: one per choice, or one per part of the action.

    A part without choices is a number and needs one output with any head.

    >>> count_outputs("argmax", [5, 3]), count_outputs("tanh", [5, 3])
    (8, 2)
    """
    if head not in HEADS:
        raise UnknownNameError(f"No output head is named '{head}'.{format_suggestion(head, HEADS)}")
    sampled = head in ("argmax", "softmax_sample")
    return sum(size or 1 for size in choices) if sampled else len(choices)


def decode_actions(
    head: str,
    out: AnyArray,
    choices: Sequence[int],
    uniforms: AnyArray | None,
    bounds: AnyArray | None = None,
) -> Ints:
    """Return actions `[rows, parts]` from outputs.

    With `tanh` and `raw` an output is mapped linearly to the choices of its part, from -1 for the
    first to 1 for the last. A part without choices is a number: its output, through `tanh` unless the
    head is `raw`, is mapped from -1 and 1 to the part's bounds.

    Args:
        head: One of `HEADS`.
        out: `[rows, outputs]`.
        choices: Number of choices of each part of the action; 0 for a number.
        uniforms: `[rows, parts]` in [0, 1); needed by `softmax_sample` only.
        bounds: `[parts, 2]`, lowest and highest number of each part; needed by numbers only.
    """
    if head in ("tanh", "raw") and 0 not in choices:
        numbers = tanh(out) if head == "tanh" else np.clip(out, -1.0, 1.0)
        actions: Ints = np.rint((numbers + 1.0) / 2.0 * (np.asarray(choices) - 1)).astype(np.int64)
        return actions
    actions = np.empty((len(out), len(choices)), dtype=np.int64)
    start = 0
    for part, size in enumerate(choices):
        if size == 0:
            assert bounds is not None  # callers with such parts provide them
            low, high = bounds[part] if np.isfinite(bounds[part]).all() else (-1.0, 1.0)
            output = out[:, start]
            fraction = output.astype(np.float64) if head == "raw" else tanh(output)
            actions.view(np.float64)[:, part] = low + (fraction + 1.0) / 2.0 * (high - low)
            start += 1
            continue
        if head in ("tanh", "raw"):
            number = tanh(out[:, start]) if head == "tanh" else np.clip(out[:, start], -1.0, 1.0)
            actions[:, part] = np.rint((number + 1.0) / 2.0 * (size - 1))
            start += 1
            continue
        logits = out[:, start : start + size]
        if head == "argmax":  # the first of equals
            actions[:, part] = logits.argmax(axis=-1)
        else:
            assert uniforms is not None  # callers that sample provide them
            actions[:, part] = softmax_sample(logits, uniforms[:, part])
        start += size
    return actions
