"""Decorators that compile kernels and their callees, and calls of compiled functions by address.

Kernels are compiled by the pipelines of `kernel_pipeline` and cached by `kernel_cache`.

A kernel that takes functions as arguments looks up each of them at every call (85 us apiece), and
one that names them is compiled again for every choice of them. So kernels receive a table of
addresses, which is plain data: a call by address costs about 20 ns. Without compilation, an address
is an index into a list of Python functions.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

import numba
from numba import config
from numba.extending import intrinsic, register_jitable

from kinfolk.core.inline import inline as inline
from kinfolk.core.inline import inline_always as inline_always
from kinfolk.core.inline import set_register
from kinfolk.core.kernel_cache import BOUNDSCHECK, KernelCache
from kinfolk.core.kernel_pipeline import CalleeCompiler, KernelCompiler

F = TypeVar("F", bound=Callable[..., Any])

_numba: Any = numba  # numba is untyped
_config: Any = config
_intrinsic: Any = intrinsic
_INT = _numba.types.int64
COMPILED = not _config.DISABLE_JIT
_OPTIONS = {"nogil": True, "error_model": "numpy", "boundscheck": BOUNDSCHECK}
_CALLEE_OPTIONS = {"no_cfunc_wrapper": True, "boundscheck": BOUNDSCHECK}

PYTHON_ADDRESS = -1  # the address of a function that stays Python
_functions: list[Callable[..., Any]] = []
_dispatchers: dict[int, Any] = {}  # by address; machine code lives as long as its dispatcher
_addresses: dict[tuple[Any, ...], int] = {}


def kernel(function: F) -> F:
    """Compile `function` at its first call, or load it from the cache.

    Kernels release the GIL, divide as numpy does, use no fast maths, and return error codes
    instead of raising. With NUMBA_DISABLE_JIT=1 they run as plain Python, to the same numbers.
    """
    return _compile(function)


def allocation_free_kernel(function: F) -> F:
    """Compile a `kernel` that allocates no arrays without reference counting.

    Counting references at each call of an inner function can cost more than the work in it (a
    factor of three in the savanna). `_nrt` is an internal option of numba, which refuses to compile
    code that allocates.
    """
    return _compile(function, _nrt=False)


def _compile(function: F, **options: Any) -> F:
    """Return a kernel compiled with these numba options, or the function without compilation."""
    if not COMPILED:
        return function
    return cast("F", _make_dispatcher(function, no_cfunc_wrapper=True, **options))


def _make_dispatcher(function: Callable[..., Any], **options: Any) -> Any:
    """Return numba's dispatcher of a function, with the compiler pipeline and cache of kinfolk."""
    options = {**_OPTIONS, **options}
    dispatcher = _numba.njit(pipeline_class=KernelCompiler, **options)(function)
    dispatcher._cache = KernelCache(function, repr(sorted(options.items())))
    return dispatcher


def _register_callee(function: Callable[..., Any], forceinline: bool) -> None:
    """Let kernels call a function; see `kinfolk.core.inline`."""
    options = {**_CALLEE_OPTIONS, "forceinline": forceinline}
    register_jitable(pipeline_class=CalleeCompiler, **options)(function)
    cast("Any", function).jit_options = options  # for the hash of `kernel_cache`


set_register(_register_callee)


def missing_kernels(kernels: Iterable[Callable[..., Any]]) -> dict[str, int]:
    """Return the kernels that were never compiled on this machine.

    Returns:
        By name, the size of the code that each kernel reaches.
    """
    if not COMPILED:
        return {}
    caches: list[KernelCache] = [cast("Any", kernel)._cache for kernel in kernels]
    return {cache.name: cache.code_size for cache in caches if cache.is_empty()}


def get_function_address(function: Callable[..., Any], *examples: Any) -> int:
    """Compile a function and return the address by which kernels can call it.

    Args:
        function: Returns an integer, and allocates no arrays.
        examples: Arguments of the types that it will be called with.
    """
    types = tuple(_numba.typeof(example) for example in examples) if COMPILED else ()
    key = (function, *types)
    if key not in _addresses:
        if COMPILED:
            _addresses[key] = _compile_to_address(function, types)
        else:
            _addresses[key] = len(_functions)
            _functions.append(function)
    return _addresses[key]


def _compile_to_address(function: Callable[..., Any], types: tuple[Any, ...]) -> int:
    """Compile a function for arguments of numba's `types` and return its address."""
    dispatcher = _make_dispatcher(function, _nrt=False)
    dispatcher.compile(_INT(*types))
    dispatcher.disable_compile()
    [result] = dispatcher.overloads.values()
    address = int(result.library.get_pointer_to_function(result.fndesc.llvm_cfunc_wrapper_name))
    _dispatchers[address] = dispatcher
    return address


def call_address(address: int, *arguments: Any) -> int:
    """Call the function at `address` from Python."""
    function = _dispatchers[address] if COMPILED else _functions[address]
    return int(function(*arguments))


def _lower_pointer_call(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Generate the LLVM code that calls the function at the address `args[0]` with the other args."""
    ir = importlib.import_module("llvmlite.ir")
    parameters = [context.get_value_type(kind) for kind in signature.args[1:]]
    kind = ir.FunctionType(context.get_value_type(_INT), parameters)
    return builder.call(builder.inttoptr(args[0], kind.as_pointer()), args[1:])


def _type_call_2(typing: Any, address: Any, state: Any, agent_index: Any) -> Any:
    """Return the signature and the code generator of `call_address_2`, for numba."""
    del typing, address, agent_index
    return _INT(_INT, state, _INT), _lower_pointer_call


def _type_call_4(typing: Any, address: Any, state: Any, agent_index: Any, a: Any, b: Any) -> Any:
    """Return the signature and the code generator of `call_address_4`, for numba."""
    del typing, address, agent_index, a, b
    return _INT(_INT, state, _INT, _INT, _INT), _lower_pointer_call


def _compiled_as(define: Callable[..., Any]) -> Callable[[F], F]:
    """Replace a function in compiled code by the intrinsic that `define` gives the type of."""
    return lambda function: _intrinsic(define) if COMPILED else function


@_compiled_as(_type_call_2)
def call_address_2(address: int, state: Any, agent_index: int) -> int:
    """Call the function at `address` with `(state, agent_index)`, from a kernel."""
    return int(_functions[address](state, agent_index))


@_compiled_as(_type_call_4)
def call_address_4(address: int, state: Any, agent_index: int, a: int, b: int) -> int:
    """Call the function at `address` with `(state, agent_index, a, b)`, from a kernel."""
    return int(_functions[address](state, agent_index, a, b))
