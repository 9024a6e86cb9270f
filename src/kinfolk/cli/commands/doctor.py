"""`kinfolk doctor`: what this machine supports."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from kinfolk.cli.output import JsonOption, print_json, print_list
from kinfolk.core.imports import get_install_command

_PACKAGES = ("numpy", "numba", "torch", "ribs", "ray", "pyarrow", "starlette", "pillow")
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
# What does not work without it, and what helps; of libraries, `pip install` is added.
_LOST = {
    "torch": "not installed: no training, no neural policies, no imitation by static nets",
    "ribs": "not installed: no MAP-Elites archive, no CMA-ME, no strategy lm-ma",
    "ray": "not installed: no --engine ray",
    "pyarrow": "not installed: no export to parquet (csv and json work)",
    "starlette": "not installed: no viewer",
    "pillow": "not installed: no gif export",
    "browser": "not installed: no png, gif or mp4 of runs. Debian: apt install chromium",
    "ffmpeg": "not installed: no mp4 export (gif works). Debian: apt install ffmpeg",
    "landlock": "not in this kernel: --sandbox lacks one of its layers, and --strict refuses it. "
    "Linux 5.13 or newer has it",
    "seccomp": "does not work here: no --sandbox. "
    "It needs Linux on x86_64 or aarch64, outside a container that forbids filters",
}
_IMPORTED_AS = {"pillow": "PIL"}


def doctor(json: JsonOption = False) -> None:
    """Report what this machine supports, and what is missing."""
    facts = examine()
    missing = {
        name: _describe_missing(name) for name, value in facts.items() if _is_missing(name, value)
    }
    if json:
        print_json({**facts, "missing": missing})
    else:
        words = {True: "yes", False: "no"}
        shown = {n: words[v] if isinstance(v, bool) else str(v) for n, v in facts.items()}
        print_list("This machine", (shown | missing).items())


def examine() -> dict[str, Any]:
    """Return what is known about this machine: versions, paths and abilities by name.

    None, False or 0 stands for something that is missing or does not work.
    """
    from kinfolk.core.jit import COMPILED
    from kinfolk.core.kernel_cache import BOUNDSCHECK, cache_root, kernels_cached
    from kinfolk.isolation.cgroups.hierarchy import find_cgroup_parents
    from kinfolk.isolation.sandbox.bubblewrap import explain_unusable, find_bubblewrap
    from kinfolk.isolation.sandbox.landlock import landlock_abi_version

    cgroups = find_cgroup_parents()
    facts: dict[str, Any] = {
        "kinfolk": _find_version("kinfolk"),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": _count_cores(),
    }
    return facts | {
        **{name: _find_version(name) for name in _PACKAGES},
        "kernels": "compiled" if COMPILED else "plain Python (NUMBA_DISABLE_JIT)",
        "bounds checked": BOUNDSCHECK,
        "kernel cache": str(cache_root()),
        "kernels cached": kernels_cached(),
        "landlock": max(0, landlock_abi_version()),  # of its interface; 0 is none
        "seccomp": _seccomp_works(),
        "bubblewrap": None if explain_unusable() else find_bubblewrap(),
        "control groups": None if cgroups is None else f"version {cgroups.version}",
        "browser": next((path for name in _BROWSERS if (path := shutil.which(name))), None),
        "ffmpeg": shutil.which("ffmpeg"),
    }


def _count_cores() -> int:
    """Return how many cores this process may use, which may be fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def _find_version(package: str) -> str | None:
    """Return the version of an installed package; None if it is not installed."""
    with suppress(PackageNotFoundError):
        return version(package)
    return None


def _seccomp_works() -> bool:
    """Return whether a seccomp filter blocks the network, as tried in a child process."""
    import socket

    from kinfolk.isolation.sandbox.seccomp import install_seccomp_filter, is_seccomp_supported

    if not is_seccomp_supported():
        return False
    child = os.fork()
    if child == 0:
        refused = False
        try:
            install_seccomp_filter(allow_processes=True)
            socket.socket().close()
        except PermissionError:
            refused = True
        finally:
            os._exit(0 if refused else 1)
    return os.waitpid(child, 0)[1] == 0


def _is_missing(name: str, value: Any) -> bool:
    """Return whether an entry of `examine` means that this machine lacks something.

    False or 0 in other entries, such as an empty kernel cache, is not a lack.
    """
    return not value and (name in _LOST or name == "bubblewrap" or value is None)


def _describe_missing(name: str) -> str:
    """Return what does not work without a missing item, and how to install it."""
    if name == "bubblewrap":
        from kinfolk.isolation.sandbox.bubblewrap import explain_unusable

        return f"no --sandbox: {explain_unusable()}. Debian: apt install bubblewrap"
    if name == "control groups":
        from kinfolk.isolation.cgroups.hierarchy import explain_no_cgroups

        return (
            f"none: {explain_no_cgroups()}. Memory and processes of isolated policies are limited by "
            "the kernel's limit of data and a look every 20 to 50 ms instead"
        )
    lost = _LOST.get(name, "not installed")
    command = get_install_command(_IMPORTED_AS.get(name, name))
    return f"{lost}. {command}" if command else lost
