"""Functions that kernels call by address, so that a table of them is plain data.

A kernel that took the functions themselves would look up every one of them at each call, which
costs 85 us a piece; one that named them would be compiled anew for each. An address costs nothing
to hand over and about 20 ns to call. A function is compiled by itself, once.

Un-compiled, an address is a place in a list of plain functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kinfolk.core.jit import COMPILED, compile_for_types, function_pointer_call, numba_type_of

PYTHON_ADDRESS = -1  # the address of a function that stays Python
_functions: list[Callable[..., Any]] = []
_owners: dict[int, Any] = {}  # by address; machine code lives as long as its owner
_addresses: dict[tuple[Any, ...], int] = {}


def get_function_address(function: Callable[..., Any], *examples: Any) -> int:
    """Compile `function` for arguments of the types of `examples`; it returns a whole number."""
    types = tuple(numba_type_of(example) for example in examples) if COMPILED else ()
    key = (function, *types)
    if key not in _addresses:
        _addresses[key] = _compiled_address(function, types) if COMPILED else _add_to_list(function)
    return _addresses[key]


def call_address(address: int, *arguments: Any) -> int:
    """Call the function at `address` from Python."""
    function = _owners[address] if COMPILED else _functions[address]
    return int(function(*arguments))


def _add_to_list(function: Callable[..., Any]) -> int:
    _functions.append(function)
    return len(_functions) - 1


def _compiled_address(function: Callable[..., Any], types: tuple[Any, ...]) -> int:
    made = compile_for_types(function, types)
    [result] = made.overloads.values()
    address = int(result.library.get_pointer_to_function(result.fndesc.llvm_cfunc_wrapper_name))
    _owners[address] = made
    return address


@function_pointer_call
def call_address_2(address: int, state: Any, agent_index: int) -> int:
    """Call the function at `address` with `(state, place)`."""
    return int(_functions[address](state, agent_index))


@function_pointer_call
def call_address_4(address: int, state: Any, agent_index: int, a: int, b: int) -> int:
    """Call the function at `address` with `(state, place, a, b)`."""
    return int(_functions[address](state, agent_index, a, b))
