"""The one way kernels are compiled and cached; see `kernel_pipeline` and `kernel_cache`."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

import numba
import numba.extending
from numba import config
from numba.extending import register_jitable

from kinfolk.core.kernel_cache import BOUNDSCHECK, KernelCache
from kinfolk.core.kernel_pipeline import CalleeCompiler, KernelCompiler

F = TypeVar("F", bound=Callable[..., Any])

_config: Any = config  # numba fills it at run time, out of sight of type checkers
COMPILED = not _config.DISABLE_JIT
_OPTIONS = {"nogil": True, "error_model": "numpy", "boundscheck": BOUNDSCHECK}
_CALLEE_OPTIONS = {"no_cfunc_wrapper": True, "boundscheck": BOUNDSCHECK}


def kernel(function: F) -> F:
    """Compile `function` at its first call, or load it from the cache.

    Kernels release the GIL, divide as numpy does, use no fast maths, and return error codes
    instead of raising. With NUMBA_DISABLE_JIT=1 they run as plain Python, to the same numbers.
    """
    return _compile(function)


def allocation_free_kernel(function: F) -> F:
    """A `kernel` without reference counts, for one that makes no arrays.

    Counting references at each call of an inner function can cost more than the work in it (a
    factor of three in the savanna). `_nrt` is an option numba keeps for itself: it refuses to
    compile what allocates.
    """
    return _compile(function, _nrt=False)


def compile_for_types(function: Callable[..., Any], types: tuple[Any, ...]) -> Any:
    """A lean kernel compiled at once, for arguments of numba's `types`; it returns a whole number."""
    made: Any = _dispatcher(function, {**_OPTIONS, "_nrt": False})
    made.compile(numba.types.int64(*types))
    made.disable_compile()
    return made


def numba_type_of(example: Any) -> Any:
    """What numba takes a value for."""
    typeof: Any = numba.typeof
    return typeof(example)


def function_pointer_call(function: F) -> F:
    """Let kernels call what lies at an address, the first argument; see `core.function_table`.

    `function(address, state, *numbers)` is how it is done un-compiled. Numba's own first-class
    functions do the same, but look up every function of a table at each call of a kernel.
    """
    if not COMPILED:
        return function
    numbers = function.__code__.co_argcount - 2
    intrinsic: Any = numba.extending.intrinsic
    whole = numba.types.int64

    def lowered(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        ir = importlib.import_module("llvmlite.ir")
        takes = [context.get_value_type(kind) for kind in signature.args[1:]]
        kind = ir.FunctionType(context.get_value_type(whole), takes)
        return builder.call(builder.inttoptr(args[0], kind.as_pointer()), args[1:])

    if numbers == 1:

        def typed(typing: Any, address: Any, state: Any, index: Any) -> Any:
            del typing, address, index
            return whole(whole, state, whole), lowered

        return cast("F", intrinsic(typed))

    def typed4(typing: Any, address: Any, state: Any, index: Any, a: Any, b: Any) -> Any:
        del typing, address, index, a, b
        return whole(whole, state, whole, whole, whole), lowered

    return cast("F", intrinsic(typed4))


def _compile(function: F, **options: Any) -> F:
    if not COMPILED:
        return function
    return cast("F", _dispatcher(function, {**_OPTIONS, "no_cfunc_wrapper": True, **options}))


def _dispatcher(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    made: Any = numba.njit(pipeline_class=KernelCompiler, **options)(function)
    made._cache = KernelCache(function, repr(sorted(options.items())))
    return made


def inline(function: F) -> F:
    """Let kernels call `function`, and leave it plain Python for everybody else."""
    return _callee(function, forceinline=False)


def inline_always(function: F) -> F:
    """An `inline` function whose code is put in place of its one call.

    A state of forty arrays is copied at every call that takes it, which costs more than a birth.
    Only for functions called from one place: each call compiles the code anew.
    """
    return _callee(function, forceinline=True)


def _callee(function: F, forceinline: bool) -> F:
    options = {**_CALLEE_OPTIONS, "forceinline": forceinline}
    made: F = register_jitable(pipeline_class=CalleeCompiler, **options)(function)
    made.jit_options = options  # type: ignore[attr-defined]  # for the hash of `kernel_cache`
    return made


def missing_kernels(kernels: Iterable[Callable[..., Any]]) -> dict[str, int]:
    """Return those that were never compiled here, by name, with the size of their code."""
    if not COMPILED:
        return {}
    caches: list[KernelCache] = [cast("Any", kernel)._cache for kernel in kernels]
    return {cache.name: cache.code_size for cache in caches if cache.is_empty()}
