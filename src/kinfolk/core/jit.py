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
_dispatcher: Any = importlib.import_module("numba._dispatcher")  # internal, tried with numba 0.68.1
_config: Any = config
_intrinsic: Any = intrinsic
_INT = _numba.types.int64
COMPILED = not _config.DISABLE_JIT
_OPTIONS = {"nogil": True, "error_model": "numpy", "boundscheck": BOUNDSCHECK}
_CALLEE_OPTIONS = {"no_cfunc_wrapper": True, "boundscheck": BOUNDSCHECK}

PYTHON_ADDRESS = -1  # the address of a function that stays Python
_functions: list[Callable[..., Any]] = []
_dispatchers: dict[int, Any] = {}  # by address; machine code lives as long as its dispatcher
_addresses: dict[Any, int] = {}  # by function and the fingerprint of its arguments


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


def specialize(kernel: F, *arguments: Any) -> F:
    """Return a kernel for arguments of these types, without the search for its version at each call.

    Numba looks at every array of every tuple to find the version of a kernel: 12 us for the 120
    arrays and rules of a world, which are unpacked in one. The arguments of later calls must have the
    same types as these, which is not checked.

    Args:
        kernel: Result of `kernel` or `allocation_free_kernel`; compiled for these types if needed.
        arguments: As in a call.
    """
    if not COMPILED:
        return kernel
    types = tuple(_numba.typeof(argument) for argument in arguments)
    return cast("F", cast("Any", kernel).compile(types))


def missing_kernels(kernels: Iterable[Callable[..., Any]]) -> dict[str, int]:
    """Return the kernels that were never compiled on this machine.

    Returns:
        By name, the size of the code that each kernel reaches.
    """
    if not COMPILED:
        return {}
    caches: list[KernelCache] = [cast("Any", kernel)._cache for kernel in kernels]
    return {cache.name: cache.code_size for cache in caches if cache.is_empty()}


def _find_types(examples: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return numba's types of some values."""
    return tuple(_numba.typeof(example) for example in examples) if COMPILED else ()


def _make_address_key(function: Callable[..., Any], examples: tuple[Any, ...]) -> Any:
    """Return what the address of a function for arguments of these types is kept by.

    That is the fingerprint which numba's dispatchers use, because finding the types of a tuple with
    a hundred arrays, or hashing them, takes longer than a whole game.
    """
    if not COMPILED:
        return function
    try:
        return function, _dispatcher.compute_fingerprint(examples)
    except NotImplementedError:  # a value that numba knows by Python code only
        return function, *_find_types(examples)


def get_function_address(function: Callable[..., Any], *examples: Any) -> int:
    """Compile a function and return the address by which kernels can call it.

    Args:
        function: Returns an integer, and allocates no arrays.
        examples: Arguments of the types that it will be called with.
    """
    key = _make_address_key(function, examples)
    if key not in _addresses:
        if COMPILED:
            _addresses[key] = _compile_to_address(function, _find_types(examples))
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


def get_kernel_address(kernel: Callable[..., Any], *examples: Any) -> int:
    """Compile a kernel, or load it from the cache, and return its address for `call_kernel`.

    The machine code is the one that a call from Python runs, so nothing is compiled twice.

    Args:
        kernel: A kernel; what it returns, at most one word, is dropped.
        examples: Arguments of the types that it will be called with.
    """
    key = _make_address_key(kernel, examples)
    if key not in _addresses and COMPILED:
        types, dispatcher = _find_types(examples), cast("Any", kernel)
        dispatcher.compile(types)
        result = dispatcher.overloads[types]
        name = result.fndesc.llvm_func_name
        _addresses[key] = int(result.library.get_pointer_to_function(name))
    elif key not in _addresses:
        _addresses[key] = len(_functions)
        _functions.append(kernel)
    return _addresses[key]


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


def _lower_kernel_call(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Generate the LLVM code that calls the kernel at `args[0]` with the tuple `args[1]`.

    It follows numba's convention for compiled functions: pointers to the result and to an exception,
    which kernels do not have, come before the arguments.
    """
    cgutils = importlib.import_module("numba.core.cgutils")
    kinds = tuple(signature.args[1])
    convention = context.call_conv
    kind = convention.get_function_type(_numba.types.none, kinds)
    pointers = [cgutils.alloca_once(builder, pointer.pointee) for pointer in kind.args[:2]]
    values = cgutils.unpack_tuple(builder, args[1], len(kinds))
    packed = convention._get_arg_packer(kinds).as_arguments(builder, values)
    builder.call(builder.inttoptr(args[0], kind.as_pointer()), [*pointers, *packed])
    return context.get_dummy_value()


def _type_kernel_call(typing: Any, address: Any, arguments: Any) -> Any:
    """Return the signature and the code generator of `call_kernel`, for numba."""
    del typing, address
    return _numba.types.void(_INT, arguments), _lower_kernel_call


def _compiled_as(define: Callable[..., Any]) -> Callable[[F], F]:
    """Replace a function in compiled code by the intrinsic that `define` gives the type of."""
    return lambda function: _intrinsic(define) if COMPILED else function


def _lower_prefetch(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Generate the LLVM code that loads the cache line of a number, without waiting for it."""
    ir = importlib.import_module("llvmlite.ir")
    data = context.make_array(signature.args[0])(context, builder, args[0]).data
    byte_pointer, word = ir.IntType(8).as_pointer(), ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), [byte_pointer, word, word, word])
    function = builder.module.globals.get("llvm.prefetch.p0") or ir.Function(
        builder.module, kind, "llvm.prefetch.p0"
    )
    address = builder.bitcast(builder.gep(data, [args[1]]), byte_pointer)
    # For reading, to all caches, of data: https://llvm.org/docs/LangRef.html#llvm-prefetch-intrinsic
    builder.call(function, [address, word(0), word(3), word(1)])
    return context.get_dummy_value()


def _type_prefetch(typing: Any, array: Any, index: Any) -> Any:
    """Return the signature and the code generator of `prefetch`, for numba."""
    del typing, index
    return _numba.types.void(array, _INT), _lower_prefetch


@_compiled_as(_type_prefetch)
def prefetch(array: Any, index: int) -> None:
    """Start to load the number at a flat index of a contiguous array into the cache.

    A kernel that jumps through more memory than the cache holds waits for most of its loads; those
    that it announces a few agents ahead are there in time. Indices are not checked: out of the
    array, nothing is loaded.
    """


@_compiled_as(_type_call_2)
def call_address_2(address: int, state: Any, agent_index: int) -> int:
    """Call the function at `address` with `(state, agent_index)`, from a kernel."""
    return int(_functions[address](state, agent_index))


@_compiled_as(_type_call_4)
def call_address_4(address: int, state: Any, agent_index: int, a: int, b: int) -> int:
    """Call the function at `address` with `(state, agent_index, a, b)`, from a kernel."""
    return int(_functions[address](state, agent_index, a, b))


@_compiled_as(_type_kernel_call)
def call_kernel(address: int, arguments: tuple[Any, ...]) -> None:
    """Call the kernel at `address`, see `get_kernel_address`, from another kernel.

    Args:
        address: Address of the kernel.
        arguments: Its arguments, of exactly the types that it was compiled for.
    """
    _functions[address](*arguments)
