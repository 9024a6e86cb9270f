"""Mark functions that kernels may call; numba is imported only if a kernel is defined.

Such a function stays plain Python for callers in Python. Numba takes a quarter of a second to import,
which policies that need no kernel do not pay: `jit` registers with numba all functions that were marked
before it was imported, and those marked later at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
Register = Callable[[Callable[..., Any], bool], None]

_marked: list[tuple[Callable[..., Any], bool]] = []  # before numba was imported
_register: Register | None = None


def inline(function: F) -> F:
    """Make `function` callable from kernels; called from Python it stays plain Python."""
    return _mark(function, force=False)


def inline_always(function: F) -> F:
    """Make an `inline` function whose code replaces the call in the kernel.

    A state of forty arrays is copied at every call that takes it, which costs more than a birth.
    Only for functions called from one place: each call compiles the code anew.
    """
    return _mark(function, force=True)


def _mark(function: F, force: bool) -> F:
    """Register a function with numba, or remember it until numba is imported."""
    if _register is None:
        _marked.append((function, force))
    else:
        _register(function, force)
    return function


def set_register(register: Register) -> None:
    """Register all functions marked so far, and every later one when it is marked.

    Args:
        register: Called with a function and whether its code always replaces the call.
    """
    global _register
    _register = register
    while _marked:
        register(*_marked.pop(0))
