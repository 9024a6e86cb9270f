"""Memory of a population, `[members, batch, ...]`, and of its policy, `[matches, rows, ...]`."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays, Ints
from kinfolk.nets.dynamic import DynamicNets
from kinfolk.nets.static import RecurrentStaticNets


def to_population(nets: Any, arrays: Arrays, order: Ints, matches: int) -> Any:
    """What the policy remembered, as the nets' memory; `order` sorts matches by member."""
    shaped = {
        name: array[order].reshape(len(order) // matches, -1, array.shape[-1])
        for name, array in arrays.items()
    }
    if isinstance(nets, DynamicNets):
        batch = shaped["x"].shape[1]
        return nets.initial_memory(batch)._replace(x=shaped["x"], z=shaped["z"])
    if isinstance(nets, RecurrentStaticNets):
        import torch

        return [torch.from_numpy(array) for array in shaped.values()]
    return None


def to_policy(memory: Any, order: Ints, matches: int) -> dict[str, AnyArray]:
    """A population's memory as arrays that a policy begins with; empty for none."""
    if memory is None:
        return {}
    if isinstance(memory, list):
        named = {f"hidden_{i}": np.asarray(part) for i, part in enumerate(memory)}
    else:
        named = {"x": memory.x, "z": memory.z}
    found = {}
    for name, array in named.items():
        by_match = np.empty((len(order), array.shape[1] // matches, array.shape[2]), array.dtype)
        by_match[order] = array.reshape(by_match.shape)
        found[name] = by_match
    return found
