"""Functions that kernels call by address, so that a table of them is plain data.

A kernel that took the functions themselves would look up every one of them at each call, which
costs 85 us a piece; one that named them would be compiled anew for each. An address costs nothing
to hand over and about 20 ns to call. A function is compiled by itself, once.

Un-compiled, an address is a place in a list of plain functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kinfolk.core.jit import COMPILED, by_address, compiled_for, type_of

PLAIN = -1  # the address of a function that stays Python
_functions: list[Callable[..., Any]] = []
_owners: dict[int, Any] = {}  # by address; machine code lives as long as its owner
_known: dict[tuple[Any, ...], int] = {}


def address_of(function: Callable[..., Any], *examples: Any) -> int:
    """Compile `function` for arguments of the types of `examples`; it returns a whole number."""
    types = tuple(type_of(example) for example in examples) if COMPILED else ()
    key = (function, *types)
    if key not in _known:
        _known[key] = _compiled_address(function, types) if COMPILED else _listed(function)
    return _known[key]


def call_here(address: int, *arguments: Any) -> int:
    """Call the function at `address` from Python."""
    function = _owners[address] if COMPILED else _functions[address]
    return int(function(*arguments))


def _listed(function: Callable[..., Any]) -> int:
    _functions.append(function)
    return len(_functions) - 1


def _compiled_address(function: Callable[..., Any], types: tuple[Any, ...]) -> int:
    made = compiled_for(function, types)
    [result] = made.overloads.values()
    found = int(result.library.get_pointer_to_function(result.fndesc.llvm_cfunc_wrapper_name))
    _owners[found] = made
    return found


@by_address
def call2(address: int, state: Any, place: int) -> int:
    """Call the function at `address` with `(state, place)`."""
    return int(_functions[address](state, place))


@by_address
def call4(address: int, state: Any, place: int, a: int, b: int) -> int:
    """Call the function at `address` with `(state, place, a, b)`."""
    return int(_functions[address](state, place, a, b))
