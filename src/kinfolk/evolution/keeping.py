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

_OWNERS = ("cmaes", "ribs")
_PLAIN = (bool, int, float, str, type(None))


@dataclass(frozen=True)
class Kept:
    """Arrays by path, and plain values by path."""

    arrays: dict[str, AnyArray] = field(default_factory=dict)
    notes: dict[str, Any] = field(default_factory=dict)


def keep_state(thing: Any) -> Kept:
    """All attributes of `thing`, and of the library's objects within."""
    kept = Kept()
    _keep(thing, "", kept)
    return kept


def _keep(thing: Any, path: str, kept: Kept) -> None:
    for name, value in vars(thing).items():
        at = f"{path}{name}"
        if isinstance(value, np.ndarray):
            kept.arrays[at] = value.copy()
        elif isinstance(value, np.generic):
            kept.arrays[at] = np.asarray(value)
        elif isinstance(value, _PLAIN):
            kept.notes[at] = value
        elif isinstance(value, np.random.RandomState):
            kept.notes[at] = _plain(value.get_state(legacy=False))
        elif isinstance(value, np.random.Generator):
            kept.notes[at] = _plain(value.bit_generator.state)
        elif type(value).__module__.partition(".")[0] in _OWNERS:
            _keep(value, f"{at}.", kept)
        elif not isinstance(value, type | np.dtype):
            raise ContractError(
                f"{type(thing).__name__}.{name} is a {type(value).__name__}, which cannot be kept."
            )


def put_state(thing: Any, kept: Kept, path: str = "") -> None:
    """Give `thing`, made as the kept one was, the kept state."""
    for name, value in list(vars(thing).items()):
        at = f"{path}{name}"
        if isinstance(value, np.random.RandomState):
            value.set_state(kept.notes[at])
        elif isinstance(value, np.random.Generator):
            value.bit_generator.state = kept.notes[at]
        elif type(value).__module__.partition(".")[0] in _OWNERS:
            put_state(value, kept, f"{at}.")
        elif at in kept.arrays:
            array = kept.arrays[at].copy()
            is_number = array.ndim == 0 and not isinstance(value, np.ndarray)
            setattr(thing, name, array[()] if is_number else array)
        elif at in kept.notes:
            setattr(thing, name, kept.notes[at])


def _plain(state: Any) -> Any:
    """A generator's state with lists for arrays."""
    if isinstance(state, dict):
        return {name: _plain(value) for name, value in state.items()}
    return state.tolist() if isinstance(state, np.ndarray) else state
