"""The command line of bubblewrap: namespaces of a slot, and the files that its policy can see.

Nothing of the machine is visible but the interpreter, its libraries, installed packages, this package,
the cache of compiled kernels and the policy's own files, all read-only. There is no `/proc`.

https://github.com/containers/bubblewrap
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Sequence
from pathlib import Path

from kinfolk.isolation.sandbox.namespaces import SANDBOX_ID, SCRATCH

_CHECK_TIMEOUT = 20.0
_PACKAGE_FOLDERS = ("site-packages", "dist-packages")
_SYSTEM_PREFIXES = ("/", "/usr", "/usr/local")  # hold more than Python: only parts are shown
_SYSTEM_LIBRARIES = ("/usr/lib", "/usr/lib32", "/usr/lib64", "/lib", "/lib32", "/lib64")
_SYSTEM_FILES = ("/etc/ld.so.cache",)
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_CPU_FILES = ("/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system/cpu")
_ENVIRONMENT_NAMES = (
    "LANG", "LC_ALL", "TZ", "COLUMNS", "KINFOLK_BOUNDSCHECK",
    "NUMBA_DISABLE_JIT", "NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "NUMBA_OPT",
)  # fmt: skip
# Root keeps the rights to become another user, which `namespaces.take_identity` then gives up.
_ROOT_CAPABILITIES = ("CAP_SYS_ADMIN", "CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP")


def find_bubblewrap() -> str | None:
    """Return the path of the program `bwrap`; None if it is not installed."""
    return shutil.which("bwrap")


@functools.cache
def explain_unusable() -> str:
    """Return why bubblewrap cannot be used on this machine; "" if it works."""
    program = find_bubblewrap()
    if program is None:
        return "bubblewrap is not installed (its package is called bubblewrap)"
    command = [program, *_namespace_arguments(), "--ro-bind", "/", "/", "--", "true"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_CHECK_TIMEOUT)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"bubblewrap cannot be started: {error}"
    reason = done.stderr.strip().rpartition("\n")[2]
    return "" if done.returncode == 0 else f"bubblewrap does not work here: {reason}"


def build_command(
    arguments: Sequence[str], visible: Iterable[Path], kernel_cache: Path, info_fd: int
) -> list[str]:
    """Return the command that runs this interpreter in a new sandbox.

    Args:
        arguments: Arguments of the interpreter, which runs isolated from its environment.
        visible: The policy's own files and folders.
        kernel_cache: Folder of compiled kernels.
        info_fd: Descriptor to which bubblewrap writes the id of the first process, as JSON.
    """
    program = find_bubblewrap()
    assert program is not None  # checked by `explain_unusable`
    command = [program, *_namespace_arguments(), "--info-fd", str(info_fd), "--clearenv"]
    environment = {name: os.environ[name] for name in _ENVIRONMENT_NAMES if name in os.environ}
    environment |= {
        "HOME": str(SCRATCH), "TMPDIR": str(SCRATCH), "KINFOLK_CACHE": str(kernel_cache),
        # A fork loses the threads of libraries, and more threads than cores would be slower.
        "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1",
    }  # fmt: skip
    for name, value in environment.items():
        command += ["--setenv", name, value]
    binds = [("--ro-bind-try", path) for path in _SYSTEM_FILES + _CPU_FILES]
    binds += [("--dev-bind-try", path) for path in _DEVICES]
    files = _without_nested([*_interpreter_files(), kernel_cache, *visible])
    binds += [("--ro-bind-try", str(file)) for file in files]
    for text in _SYSTEM_LIBRARIES:
        if os.path.islink(text):
            command += ["--symlink", os.readlink(text), text]
        else:
            binds.append(("--ro-bind-try", text))
    # Folders on the way to a path would be closed to all but root, if bubblewrap made them itself.
    folders = {str(parent) for _, path in binds for parent in Path(path).parents}
    for folder in sorted({*folders, str(SCRATCH)} - {"/"}):
        command += ["--dir", folder]
    for kind, path in binds:
        command += [kind, os.path.realpath(path), path]
    command += ["--chdir", str(SCRATCH), "--remount-ro", "/"]
    return [*command, "--", _base_executable(), "-I", "-S", "-B", *arguments]


def trusted_import_paths() -> list[str]:
    """Return the entries of `sys.path` with the standard library, installed packages and kinfolk."""
    standard = {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")}
    inside = tuple(f"{folder}{os.sep}" for folder in standard)
    paths = [
        path
        for path in sys.path
        if path in standard
        or path.startswith(inside)
        or os.path.basename(path) in _PACKAGE_FOLDERS
        or path.endswith(".zip")
    ]
    return [*dict.fromkeys([*paths, str(_package_folder().parent)])]


def _namespace_arguments() -> list[str]:
    """Return the arguments for the namespaces, for root and for an ordinary user."""
    arguments = ["--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"]
    arguments += ["--unshare-cgroup-try", "--hostname", "sandbox", "--as-pid-1", "--new-session"]
    arguments += ["--cap-drop", "ALL"]
    if os.getuid() == 0:
        capabilities: Sequence[str] = _ROOT_CAPABILITIES
    else:
        arguments += ["--unshare-user", "--uid", str(SANDBOX_ID), "--gid", str(SANDBOX_ID)]
        capabilities = _ROOT_CAPABILITIES[:1]
    for name in capabilities:
        arguments += ["--cap-add", name]
    return arguments


def _interpreter_files() -> list[Path]:
    """Return the folders and files of Python, of installed packages and of kinfolk."""
    files = [
        Path(path) for path in trusted_import_paths() if Path(path) != _package_folder().parent
    ]
    files += [_package_folder(), Path(_base_executable())]
    if sys.base_prefix not in _SYSTEM_PREFIXES:
        files.append(Path(sys.base_prefix))
    return files


def _package_folder() -> Path:
    """Return the folder of this package."""
    return Path(__file__).parents[2]


def _base_executable() -> str:
    """Return the interpreter itself, not the link to it in a virtual environment."""
    return os.path.realpath(getattr(sys, "_base_executable", sys.executable))


def _without_nested(paths: Iterable[Path]) -> list[Path]:
    """Return absolute paths without those that lie in another one of them."""
    absolute = sorted({Path(os.path.abspath(path)) for path in paths})
    return [path for path in absolute if not any(other in path.parents for other in absolute)]
