"""The state of an optimiser of another library, as arrays and plain values. Nothing is pickled.

Arrays, numbers, generators and the library's own inner objects are kept. Anything else must be
what a new object has too (a type, a bound); if it changed, that is an error and not a guess.
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
    """Arrays by path, and plain values by path."""

    arrays: dict[str, AnyArray] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)


def extract_state(optimizer: Any) -> OptimizerState:
    """All attributes of `optimizer`, and of the library's objects within."""
    kept = OptimizerState()
    _collect_state(optimizer, "", kept)
    return kept


def _collect_state(thing: Any, path: str, kept: OptimizerState) -> None:
    for name, value in vars(thing).items():
        at = f"{path}{name}"
        if isinstance(value, np.ndarray):
            kept.arrays[at] = value.copy()
        elif isinstance(value, np.generic):
            kept.arrays[at] = np.asarray(value)
        elif isinstance(value, _PLAIN_TYPES):
            kept.values[at] = value
        elif isinstance(value, np.random.RandomState):
            kept.values[at] = _to_plain(value.get_state(legacy=False))
        elif isinstance(value, np.random.Generator):
            kept.values[at] = _to_plain(value.bit_generator.state)
        elif type(value).__module__.partition(".")[0] in _LIBRARIES:
            _collect_state(value, f"{at}.", kept)
        elif not isinstance(value, type | np.dtype):
            raise ContractError(
                f"{type(thing).__name__}.{name} is a {type(value).__name__}, which cannot be kept."
            )


def restore_state(optimizer: Any, state: OptimizerState, path: str = "") -> None:
    """Give `optimizer`, made as the kept one was, the kept state."""
    for name, value in list(vars(optimizer).items()):
        at = f"{path}{name}"
        if isinstance(value, np.random.RandomState):
            value.set_state(state.values[at])
        elif isinstance(value, np.random.Generator):
            value.bit_generator.state = state.values[at]
        elif type(value).__module__.partition(".")[0] in _LIBRARIES:
            restore_state(value, state, f"{at}.")
        elif at in state.arrays:
            array = state.arrays[at].copy()
            is_number = array.ndim == 0 and not isinstance(value, np.ndarray)
            setattr(optimizer, name, array[()] if is_number else array)
        elif at in state.values:
            setattr(optimizer, name, state.values[at])


def _to_plain(state: Any) -> Any:
    """A generator's state with lists for arrays."""
    if isinstance(state, dict):
        return {name: _to_plain(value) for name, value in state.items()}
    return state.tolist() if isinstance(state, np.ndarray) else state
