"""The one way kernels are compiled and cached.

Numba looks only at the file of the function it caches: edit a callee or a constant in another
file and the old machine code is run on. So the cache folder is named by a hash of every source
that kernels are made from, and an edit means a new folder.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import re
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numba.extending
from numba import config
from numba.extending import register_jitable

F = TypeVar("F", bound=Callable[..., Any])

_config: Any = config  # numba fills it at run time, out of sight of type checkers
COMPILED = not _config.DISABLE_JIT
BOUNDSCHECK = os.environ.get("KINFOLK_BOUNDSCHECK", "0") == "1"
_PACKAGE = "kinfolk"
_IMPORT_PATTERN = re.compile(
    r"^\s*(?:from|import)\s+(kinfolk(?:\.\w+)*)(?:\s+import\s+(\([^)]*\)|[^#\n]+))?", re.M
)
_DECORATORS = (
    "kernel",
    "allocation_free_kernel",
    "inline",
    "inline_always",
    "function_pointer_call",
)
_LOCK = threading.Lock()


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
    """A lean kernel compiled at once, for arguments of numba's `types`; it returns a whole number.

    One that stands in no file, such as an example in a document, is compiled without a cache.
    """
    make: Any = numba.njit
    options = {"nogil": True, "error_model": "numpy", "boundscheck": BOUNDSCHECK, "_nrt": False}
    signature = numba.types.int64(*types)
    with _LOCK:
        _config.CACHE_DIR = str(cache_folder(function.__module__.partition(".")[0]))
        try:
            return make(signature, cache=True, **options)(function)
        except RuntimeError as error:
            if "no locator" not in str(error):
                raise
            return make(signature, **options)(function)


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
        return builder.send_command(builder.inttoptr(args[0], kind.as_pointer()), args[1:])

    if numbers == 1:

        def typed(typing: Any, address: Any, state: Any, place: Any) -> Any:
            del typing, address, place
            return whole(whole, state, whole), lowered

        return cast("F", intrinsic(typed))

    def typed4(typing: Any, address: Any, state: Any, place: Any, a: Any, b: Any) -> Any:
        del typing, address, place, a, b
        return whole(whole, state, whole, whole, whole), lowered

    return cast("F", intrinsic(typed4))


def _compile(function: F, **options: Any) -> F:
    if not COMPILED:
        return function
    with _LOCK:  # the folder is a global of numba, read while decorating
        _config.CACHE_DIR = str(cache_folder(function.__module__.partition(".")[0]))
        compiled: Any = numba.njit(
            cache=True, nogil=True, error_model="numpy", boundscheck=BOUNDSCHECK, **options
        )(function)
    return cast("F", compiled)


def inline(function: F) -> F:
    """Let kernels call `function`, and leave it plain Python for everybody else."""
    made: F = register_jitable(function)
    return made


def inline_always(function: F) -> F:
    """An `inline` function whose text is put in place of its one call.

    A state of forty arrays is copied at every call that takes it, which costs more than a birth.
    Only for functions called from one place: each call compiles the text anew.
    """
    made: F = register_jitable(inline="always")(function)
    return made


def make_cache_read_only() -> None:
    """Use what is cached and write nothing there, for a process that may not.

    A stranger's policy must never write it: what it left there would run in the next host.
    """
    from numba.core import caching

    # Numba has no such switch: it tries to write where it looks, and gives up reading if it cannot.
    locator: Any = caching._CacheLocator
    locator.ensure_cache_path = lambda _: None
    cached: Any = caching.Cache
    cached.save_overload = lambda *_: None


@cache
def cache_folder(package: str) -> Path:
    """Where the kernels of `package` are cached: a folder named by the hash of their sources."""
    sources = find_kernel_sources(_package_root(_PACKAGE), _PACKAGE)
    if package != _PACKAGE:
        sources = [*sources, *_all_sources(package)]
    digest = hashlib.sha256(f"{numba.__version__} {BOUNDSCHECK} {sys.version_info}".encode())
    for path in sources:
        digest.update(str(path).encode() + b"\0" + path.read_bytes() + b"\0")
    return _cache_root() / digest.hexdigest()[:16]


def needs_compilation(kernels: Iterable[Callable[..., Any]]) -> bool:
    """Whether one of these was never compiled here, so that its first call takes a while."""
    return COMPILED and not all(_is_cached(kernel) for kernel in kernels)


def count_cached_kernels() -> int:
    """How many kernels of kinfolk are compiled already."""
    return sum(1 for _ in cache_folder(_PACKAGE).rglob("*.nbi"))


def _is_cached(kernel: Any) -> bool:
    """Numba keeps an index beside the code, named after file, function and line."""
    function = kernel.py_func
    name = f"{Path(function.__code__.co_filename).stem}.{function.__qualname__}-*.nbi"
    return any(Path(kernel.stats.cache_path).glob(name))


def find_kernel_sources(root: Path, package: str) -> list[Path]:
    """Every file of `package` that makes kernels, and every file that those import."""
    text = {path: path.read_text(encoding="utf-8") for path in sorted(root.rglob("*.py"))}
    by_name = {_module_name(path, root, package): path for path in text}
    wanted: set[Path] = set()
    makers = {f"{package}.core.jit.{name}" for name in _DECORATORS}
    queue = [path for path in text if _imports(text[path]) & makers]
    while queue:
        path = queue.pop()
        if path not in wanted:
            wanted.add(path)
            queue += [by_name[name] for name in _imports(text[path]) if name in by_name]
    return sorted(wanted)


def _imports(source: str) -> set[str]:
    """Names a source imports from kinfolk, also when `from package import module` is used."""
    names: set[str] = set()
    for module, members in _IMPORT_PATTERN.findall(source):
        names.add(module)
        names |= {f"{module}.{member}" for member in re.findall(r"\w+", members)}
    return names


def _module_name(path: Path, root: Path, package: str) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join((package, *(part for part in parts if part != "__init__")))


def _package_root(package: str) -> Path:
    module = sys.modules[package]
    return Path(str(module.__file__)).parent


def _all_sources(package: str) -> Iterable[Path]:
    """All Python files of another package; of a script, the script."""
    file = getattr(sys.modules.get(package), "__file__", None)
    if file is None:
        return []
    path = Path(file)
    return sorted(path.parent.rglob("*.py")) if path.name == "__init__.py" else [path]


def _cache_root() -> Path:
    """KINFOLK_CACHE, or the user's cache folder, or a temporary one where that is read-only."""
    chosen = os.environ.get("KINFOLK_CACHE")
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    root = Path(chosen) if chosen else Path(home) / "kinfolk" / "kernels"
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError:
        root = Path(tempfile.gettempdir()) / "kinfolk-kernels"
    if not os.access(root, os.W_OK) and root.exists():
        root = Path(tempfile.gettempdir()) / f"kinfolk-kernels-{os.getuid()}"
    return root
