"""Output heads: from what a net says to what is done. Pure functions; nets know none of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kinfolk.core.arrays import AnyArray, Floats, Ints
from kinfolk.core.errors import UnknownNameError, format_suggestion

HEADS = ("argmax", "softmax_sample", "tanh", "raw")


def argmax(out: AnyArray) -> Ints:
    """The highest; the first of equals."""
    found: Ints = out.argmax(axis=-1)
    return found


def softmax(out: AnyArray) -> Floats:
    """Chances that add up to 1."""
    high = out.astype(np.float64) - out.max(axis=-1, keepdims=True)
    weight = np.exp(high)
    chances: Floats = weight / weight.sum(axis=-1, keepdims=True)
    return chances


def softmax_sample(out: AnyArray, uniforms: AnyArray) -> Ints:
    """One choice per row; `uniforms` holds a uniform number for each."""
    reached = np.cumsum(softmax(out), axis=-1) <= np.asarray(uniforms)[..., None]
    found: Ints = np.minimum(reached.sum(axis=-1), out.shape[-1] - 1)
    return found


def tanh(out: AnyArray) -> Floats:
    """Numbers between -1 and 1."""
    return np.tanh(out.astype(np.float64))


def raw(out: AnyArray) -> AnyArray:
    """As the net says it."""
    return out


def count_outputs(head: str, choices: Sequence[int]) -> int:
    """How many outputs a net needs: one per choice, or one per number.

    >>> count_outputs("argmax", [5, 3]), count_outputs("tanh", [5, 3])
    (8, 2)
    """
    if head not in HEADS:
        raise UnknownNameError(f"No output head is named '{head}'.{format_suggestion(head, HEADS)}")
    return sum(choices) if head in ("argmax", "softmax_sample") else len(choices)


def decode_actions(
    head: str, out: AnyArray, choices: Sequence[int], uniforms: AnyArray | None
) -> Ints:
    """Whole numbers, `[rows, parts]`, for an action of parts with so many `choices` each.

    With `tanh` and `raw` a part is one number, -1 for its first choice to 1 for its last, as fits
    choices that have an order. `uniforms`, `[rows, parts]`, is needed by `softmax_sample` only.
    """
    found = np.empty((len(out), len(choices)), dtype=np.int64)
    if head in ("tanh", "raw"):
        numbers = tanh(out) if head == "tanh" else np.clip(raw(out), -1.0, 1.0)
        steps = np.asarray(choices) - 1
        found[:] = np.rint((numbers + 1.0) / 2.0 * steps)
        return found
    start = 0
    for part, size in enumerate(choices):
        said = out[:, start : start + size]
        if head == "argmax":
            found[:, part] = argmax(said)
        else:
            assert uniforms is not None  # whoever samples draws first
            found[:, part] = softmax_sample(said, uniforms[:, part])
        start += size
    return found
