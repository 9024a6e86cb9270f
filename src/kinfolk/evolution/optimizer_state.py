"""Extract and restore the state of optimisers of other libraries without pickle.

Arrays, numbers, random generators and the library's own nested objects are extracted. Types are
left out, as a new optimiser has the same. Anything else is an error.
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


def extract_state(optimizer: Any) -> OptimizerState:
    """Return the attributes of `optimizer` and of the library's objects nested in it.

    Raises:
        ContractError: An attribute has a type that cannot be stored.
    """
    state = OptimizerState()
    _collect_state(optimizer, "", state)
    return state


def _collect_state(owner: Any, prefix: str, state: OptimizerState) -> None:
    """Add the attributes of an object to `state`, recursively.

    Args:
        owner: The object.
        prefix: Path of the object, ending in a dot, or empty.
        state: Written.
    """
    for name, value in vars(owner).items():
        path = f"{prefix}{name}"
        if isinstance(value, np.ndarray):
            state.arrays[path] = value.copy()
        elif isinstance(value, np.generic):
            state.arrays[path] = np.asarray(value)
        elif isinstance(value, _PLAIN_TYPES):
            state.values[path] = value
        elif isinstance(value, np.random.RandomState):
            state.values[path] = _to_plain(value.get_state(legacy=False))
        elif isinstance(value, np.random.Generator):
            state.values[path] = _to_plain(value.bit_generator.state)
        elif type(value).__module__.partition(".")[0] in _LIBRARIES:
            _collect_state(value, f"{path}.", state)
        elif not isinstance(value, type | np.dtype):
            raise ContractError(
                f"{type(owner).__name__}.{name} is a {type(value).__name__}, which cannot be stored."
            )


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
        elif type(value).__module__.partition(".")[0] in _LIBRARIES:
            restore_state(value, state, f"{path}.")
        elif path in state.arrays:
            array = state.arrays[path].copy()
            is_number = array.ndim == 0 and not isinstance(value, np.ndarray)
            setattr(optimizer, name, array[()] if is_number else array)
        elif path in state.values:
            setattr(optimizer, name, state.values[path])


def _to_plain(state: Any) -> Any:
    """Return the state of a random generator with lists in place of arrays."""
    if isinstance(state, dict):
        return {name: _to_plain(value) for name, value in state.items()}
    return state.tolist() if isinstance(state, np.ndarray) else state
