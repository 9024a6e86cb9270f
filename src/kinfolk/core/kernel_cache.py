"""The cache of compiled kernels: one file per kernel and signature, named by a hash of its code.

Numba's own cache looks only at the file of the function: after an edit of a callee or a constant in
another file, the outdated machine code still runs. Here the hash covers all code and constants that
a kernel reaches, taken from the functions themselves. So an edit recompiles the kernels that reach
it and no others, comments and line numbers do not count, and two checkouts with the same code
share their kernels.

A cached kernel is code, and unpickling it runs more: only files and folders are used that no other
account, except root, can write.
"""

from __future__ import annotations

import contextlib
import enum
import functools
import hashlib
import os
import pickle
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numba
import numpy as np

from kinfolk.core.errors import UsageError

BOUNDSCHECK = os.environ.get("KINFOLK_BOUNDSCHECK", "0") == "1"
_SUFFIX = ".kernel"
_CHOSEN_BY = "KINFOLK_CACHE"  # environment variable
_ONLY_OWNER_WRITES = 0o755  # others may read: root's sandboxes are another user
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_numba: Any = numba  # untyped
_core = _numba.core
_NumbaCache: Any = _core.caching._Cache
# Types of constants whose `repr` identifies their value.
_BUILTIN_CONSTANTS = (int, float, complex, str, bytes, type(None), type(...))
_LIBRARY_CONSTANTS = (np.generic, np.dtype, enum.Enum, _core.types.Type)


class KernelCache(_NumbaCache):  # type: ignore[misc]
    """Loads and saves the machine code of one kernel, for numba's dispatcher.

    The code that the kernel reaches is collected at its first call: while it is decorated,
    functions that are defined below it do not exist yet.

    Args:
        function: The kernel in Python.
        options: Compiler options as text, which are part of the hash.
    """

    read_only = False  # of all kernels of this process; see `cache_read_only`

    def __init__(self, function: Callable[..., Any], options: str) -> None:
        self._function: Any = function
        self._options = options

    @property
    def name(self) -> str:
        """Module and qualified name of the kernel."""
        return f"{self._function.__module__}.{self._function.__qualname__}"

    @property
    def cache_path(self) -> str:
        """Folder with the files of this kernel."""
        return str(cache_root() / self.name)

    @functools.cached_property
    def _code(self) -> list[str]:
        """Texts that change with any code that the kernel reaches."""
        return reached_code(self._function, self._options)

    @functools.cached_property
    def _code_hash(self) -> str:
        """Hash of the code that the kernel reaches, the start of its file names."""
        return _hash_texts(self._code)

    @property
    def code_size(self) -> int:
        """Size of the code that the kernel reaches, to which its compile time is proportional."""
        return sum(map(len, self._code))

    def is_empty(self) -> bool:
        """Return whether the cache has no signature of this kernel."""
        pattern = f"{self._code_hash}-*{_SUFFIX}"
        return not any(any((root / self.name).glob(pattern)) for root in _readable_roots())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled code for a signature; None if it is not in the cache."""
        target_context.refresh()
        file = self._file_name(sig, target_context.codegen())
        for root in _readable_roots():
            data = _read_private(root / self.name / file)
            if data is None:
                continue
            return _core.compiler.CompileResult._rebuild(target_context, *pickle.loads(data))
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write the compiled code of a signature, unless this process may only read."""
        if self.read_only or data.library.has_dynamic_globals or not _may_write():
            return
        path = Path(self.cache_path) / self._file_name(sig, data.codegen)
        content = _core.serialize.dumps(data._reduce())
        with contextlib.suppress(PermissionError):  # a folder of another account: not kept
            path.parent.mkdir(mode=_ONLY_OWNER_WRITES, exist_ok=True)
            handle, draft = tempfile.mkstemp(dir=path.parent)
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            os.chmod(draft, 0o644)
            os.replace(draft, path)

    def flush(self) -> None:
        """Do nothing: the cache is always on, and outdated files are never read again."""

    enable = disable = flush

    def _file_name(self, sig: Any, codegen: Any) -> str:
        """Return the name of the file of a signature compiled for the CPU of a code generator."""
        parts = [*_describe_types(sig), repr(codegen.magic_tuple())]
        return f"{self._code_hash}-{_hash_texts(parts)}{_SUFFIX}"


def reached_code(function: Callable[..., Any], options: str = "") -> list[str]:
    """Return texts that change with any code or constant that `function` reaches.

    Args:
        function: A Python function that is to be compiled.
        options: Compiler options as text.

    Raises:
        TypeError: The function refers to a value whose changes cannot be noticed.
    """
    versions = f"{numba.__version__} {np.__version__} {sys.version_info} {BOUNDSCHECK} {options}"
    return [versions, _compiler_hash(), *_describe(function, {})]


@functools.cache
def _compiler_hash() -> str:
    """Return a hash of the sources that compile and cache kernels, on which every kernel depends."""
    names = ("jit.py", "kernel_cache.py", "kernel_pipeline.py")
    return _hash_texts(
        [Path(__file__).with_name(name).read_text(encoding="utf-8") for name in names]
    )


def _hash_texts(parts: list[str]) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of some texts."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _describe_types(sig: Any) -> Iterator[str]:
    """Describe numba types, with the fields of named tuples: `x.name` is compiled to a position."""
    for kind in sig if isinstance(sig, tuple) else (sig,):
        yield repr(kind)
        named = getattr(kind, "instance_class", None)
        if named is not None:
            yield f"{named.__module__}.{named.__qualname__} {named._fields}"
        yield from _describe_types(tuple(getattr(kind, "types", ())))


def _describe(value: Any, seen: dict[int, int]) -> Iterator[str]:
    """Describe a function or constant, and everything it refers to, in a fixed order.

    Args:
        value: What a kernel refers to.
        seen: Functions described before, numbered by their `id`.
    """
    if isinstance(value, (*_BUILTIN_CONSTANTS, *_LIBRARY_CONSTANTS)):
        yield f"{type(value).__qualname__} {value!r}"
    elif isinstance(value, np.ndarray):
        yield f"{value.dtype} {value.shape} {value.tobytes()!r}"
    elif isinstance(value, tuple | list):
        yield f"{type(value).__qualname__} {getattr(value, '_fields', '')} {len(value)}"
        for item in value:
            yield from _describe(item, seen)
    elif isinstance(value, frozenset):
        yield f"frozenset {sorted(map(repr, value))}"
    elif isinstance(value, CodeType):
        yield from _describe_code(value, seen)
    elif isinstance(value, FunctionType):
        yield from _describe_function(value, seen)
    elif isinstance(value, _core.dispatcher.Dispatcher):
        yield repr(sorted(value.targetoptions.items(), key=repr))
        yield from _describe(value.py_func, seen)
    elif isinstance(value, _core.extending._Intrinsic):
        yield from _describe(value._defn, seen)
    elif isinstance(value, enum.EnumMeta):
        yield f"{value.__qualname__} {[*value]!r}"
    elif isinstance(value, type | ModuleType | BuiltinFunctionType | np.ufunc):
        yield f"{getattr(value, '__module__', '')} {value.__name__} {getattr(value, '_fields', '')}"
    else:
        raise TypeError(
            f"A kernel refers to {value!r}, a {type(value).__qualname__}, of which the cache cannot "
            "tell whether it changed. Kernels may refer to numbers, text, arrays, tuples, functions "
            "and modules."
        )


def _describe_function(function: FunctionType, seen: dict[int, int]) -> Iterator[str]:
    """Describe the code of a function, its defaults, closure and the globals that it names."""
    if id(function) in seen:
        yield f"again {seen[id(function)]}"
        return
    seen[id(function)] = len(seen)
    yield f"{function.__module__}.{function.__qualname__} {getattr(function, 'jit_options', '')}"
    if _is_library(function.__module__):
        return
    yield from _describe_code(function.__code__, seen)
    yield from _describe(function.__defaults__ or (), seen)
    yield from _describe(tuple(cell.cell_contents for cell in function.__closure__ or ()), seen)
    names = sorted(set(_global_names(function.__code__)))
    for name in names:
        if name in function.__globals__:
            value = function.__globals__[name]
            yield name
            yield from _describe(value, seen)
            if isinstance(value, ModuleType) and not _is_library(value.__name__):
                for member in names:  # names of attributes stand among the others
                    if member in vars(value):
                        yield member
                        yield from _describe(vars(value)[member], seen)


def _is_library(module: str) -> bool:
    """Return whether code of this module changes only with a version that is in the hash."""
    package = module.partition(".")[0]
    return package in ("numba", "numpy", "llvmlite") or package in sys.stdlib_module_names


def _describe_code(code: CodeType, seen: dict[int, int]) -> Iterator[str]:
    """Describe bytecode and its constants, without file names and line numbers."""
    yield f"{code.co_code!r} {code.co_names} {code.co_varnames} {code.co_freevars} {code.co_flags}"
    for constant in code.co_consts:
        yield from _describe(constant, seen)


def _global_names(code: CodeType) -> Iterator[str]:
    """Yield the names of globals and attributes in bytecode, including nested functions."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _global_names(constant)


def cache_read_only() -> None:
    """Let this process read the kernel cache but never write it.

    Isolated policies must not write it: what they leave there would run in the next host.
    """
    KernelCache.read_only = True


def kernels_cached() -> int:
    """Return the number of compiled kernels in the cache, counting every signature."""
    return sum(1 for _ in cache_root().rglob(f"*{_SUFFIX}"))


@functools.cache
def cache_root() -> Path:
    """Return where kernels are written: the chosen folder, or a temporary one if that is read-only.

    Raises:
        UsageError: Another account can write KINFOLK_CACHE, or the temporary folder.
    """
    chosen = _chosen_root()
    if _is_usable(chosen) and os.access(chosen, os.W_OK):
        return chosen
    try:
        temporary = Path(tempfile.gettempdir()) / f"kinfolk-kernels-{os.getuid()}"
        with contextlib.suppress(FileExistsError):
            temporary.mkdir(mode=_ONLY_OWNER_WRITES)
    except OSError:  # a fork server in a sandbox may write nowhere
        return chosen
    status = temporary.lstat()
    if not stat.S_ISDIR(status.st_mode) or not _is_private(status):
        raise _make_shared_error(temporary)
    return temporary


def _is_usable(chosen: Path) -> bool:
    """Return whether kernels may be read from the chosen folder, which is created if it is missing.

    Raises:
        UsageError: It is KINFOLK_CACHE, and another account can write it.
    """
    with contextlib.suppress(OSError):
        chosen.parent.mkdir(parents=True, exist_ok=True)
        chosen.mkdir(mode=_ONLY_OWNER_WRITES)
    try:
        status = chosen.stat()
    except OSError:
        return False
    if _is_private(status):
        return True
    if os.environ.get(_CHOSEN_BY):
        raise _make_shared_error(chosen)
    if status.st_uid != os.geteuid():
        return False
    chosen.chmod(stat.S_IMODE(status.st_mode) & ~_OTHERS_WRITE)  # made with a wide umask
    return True


def _is_private(status: os.stat_result) -> bool:
    """Return whether only this account and root can write a file or folder."""
    return status.st_uid in (os.geteuid(), 0) and not status.st_mode & _OTHERS_WRITE


def _make_shared_error(folder: Path) -> UsageError:
    """Return the error that a folder of kernels is not safe."""
    return UsageError(
        f"{folder} can be written by another account, and compiled kernels in it would run as you. Set "
        f"{_CHOSEN_BY} to a folder that you own and nobody else can write (chmod go-w)."
    )


def _read_private(path: Path) -> bytes | None:
    """Return the content of a file that no other account can write; None if it is not such a file."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or not _is_private(status):
            return None
        return file.read()


def _may_write() -> bool:
    """Return whether kernels can be written at all: not where even temporary files cannot be."""
    return cache_root() != _chosen_root() or os.access(cache_root(), os.W_OK)


@functools.cache
def _readable_roots() -> tuple[Path, ...]:
    """Return where kernels are read from: also the chosen folder if it is read-only.

    A sandbox sees the folder of its host like that, and need not compile what the host has.
    """
    chosen = _chosen_root()
    usable = [chosen] if _is_usable(chosen) else []
    written = [cache_root()] if cache_root() != chosen else []
    return tuple(usable + written)


def _chosen_root() -> Path:
    """Return KINFOLK_CACHE, or the user's cache folder."""
    chosen = os.environ.get(_CHOSEN_BY)
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(chosen) if chosen else Path(home) / "kinfolk" / "kernels"
