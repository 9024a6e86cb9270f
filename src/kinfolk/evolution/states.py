"""State of optimisers of other libraries, extracted and restored without pickle.

Arrays, numbers, random generators and the library's own nested objects are stored. Types are left
out, as a new optimiser has the same. Anything else is an error.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray
from kinfolk.core.errors import ContractError

_LIBRARIES = ("cmaes", "ribs")
_PLAIN_TYPES = (bool, int, float, str, type(None))


@dataclass(frozen=True)
class OptimizerState:
    """State of an optimiser: arrays and JSON values by attribute path, such as `adam_opt.theta`."""

    arrays: dict[str, AnyArray] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)


def extract_state(optimizer: Any, prefix: str = "") -> OptimizerState:
    """Return the attributes of `optimizer` and of the library's objects nested in it.

    Args:
        optimizer: An optimiser of cmaes or pyribs.
        prefix: Path of a nested object, ending in a dot; empty for the optimiser itself.

    Raises:
        ContractError: An attribute has a type that cannot be stored.
    """
    state = OptimizerState()
    for name, value in vars(optimizer).items():
        path = f"{prefix}{name}"
        if isinstance(value, np.ndarray | np.generic):
            state.arrays[path] = np.array(value, order="C")
        elif isinstance(value, _PLAIN_TYPES):
            state.values[path] = value
        elif isinstance(value, np.random.RandomState):
            state.values[path] = _to_plain(value.get_state(legacy=False))
        elif isinstance(value, np.random.Generator):
            state.values[path] = _to_plain(value.bit_generator.state)
        elif _is_library_object(value):
            nested = extract_state(value, f"{path}.")
            state.arrays.update(nested.arrays)
            state.values.update(nested.values)
        elif not isinstance(value, type | np.dtype):
            owner, kind = type(optimizer).__name__, type(value).__name__
            raise ContractError(f"{owner}.{name} is a {kind}, which cannot be stored.")
    return state


def restore_state(optimizer: Any, state: OptimizerState, prefix: str = "") -> None:
    """Set the attributes of an optimiser that was constructed with the same arguments.

    Args:
        optimizer: Changed in place.
        state: What `extract_state` returned.
        prefix: Path of a nested object, ending in a dot; empty for the optimiser itself.
    """
    for name, value in list(vars(optimizer).items()):
        path = f"{prefix}{name}"
        if isinstance(value, np.random.RandomState):
            value.set_state(state.values[path])
        elif isinstance(value, np.random.Generator):
            value.bit_generator.state = state.values[path]
        elif _is_library_object(value):
            restore_state(value, state, f"{path}.")
        elif path in state.arrays:
            array = state.arrays[path].copy()
            is_number = array.ndim == 0 and not isinstance(value, np.ndarray)
            setattr(optimizer, name, array[()] if is_number else array)
        elif path in state.values:
            setattr(optimizer, name, state.values[path])


def _is_library_object(value: Any) -> bool:
    """Return whether a value belongs to a class of the libraries whose state is extracted."""
    return type(value).__module__.partition(".")[0] in _LIBRARIES


def _to_plain(state: Any) -> Any:
    """Return the state of a random generator with lists in place of arrays."""
    if isinstance(state, dict):
        return {name: _to_plain(value) for name, value in state.items()}
    return state.tolist() if isinstance(state, np.ndarray) else state
