"""`kinfolk doctor`: what this machine can do."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from kinfolk.cli.show import JsonOption, print_json, print_list

_PACKAGES = ("numpy", "numba", "torch", "ray", "pyarrow", "starlette")
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def doctor(json: JsonOption = False) -> None:
    """Say what this machine can do, and what is missing."""
    facts = examine()
    if json:
        print_json(facts)
    else:
        print_list("This machine", [(name, _shown(value)) for name, value in facts.items()])


def examine() -> dict[str, Any]:
    """Facts by name; None is something that is not there."""
    from kinfolk.core.jit import BOUNDSCHECK, COMPILED, cache_folder, kernels_cached

    facts: dict[str, Any] = {
        "kinfolk": _version("kinfolk"),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": _cores(),
    }
    facts |= {name: _version(name) for name in _PACKAGES}
    facts |= {
        "kernels": "compiled" if COMPILED else "plain Python (NUMBA_DISABLE_JIT)",
        "bounds checked": BOUNDSCHECK,
        "kernel cache": str(cache_folder("kinfolk")),
        "kernels cached": kernels_cached(),
        "network namespace": _can_unshare(),
        "browser": next((path for name in _BROWSERS if (path := shutil.which(name))), None),
    }
    return facts


def _cores() -> int:
    """Cores this process may use, which may be fewer than the machine has."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _can_unshare() -> bool:
    """Whether a policy can be cut off from the network: tried in a child that ends at once."""
    if sys.platform != "linux":
        return False
    import ctypes

    new_user, new_network = 0x10000000, 0x40000000
    child = os.fork()
    if child == 0:
        os._exit(0 if ctypes.CDLL(None).unshare(new_user | new_network) == 0 else 1)
    return os.waitpid(child, 0)[1] == 0


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "not installed" if value is None else str(value)
