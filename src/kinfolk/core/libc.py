"""Calls of the C library that Python does not have, and attributes of this process that only Linux has."""

from __future__ import annotations

import ctypes
import functools
import os
import sys
from typing import Any

PDEATHSIG, GET_DUMPABLE, DUMPABLE, NO_NEW_PRIVS, CHILD_SUBREAPER = 1, 3, 4, 38, 36


@functools.cache
def load_libc() -> Any:
    """Return the C library, which every process has loaded already."""
    return ctypes.CDLL(None, use_errno=True)


def call_libc(name: str, *arguments: object) -> int:
    """Call a function of the C library and return its result.

    Args:
        name: Name of the function.
        arguments: Its arguments: integers, bytes or None.

    Raises:
        OSError: It returned a negative number.
    """
    result = int(getattr(load_libc(), name)(*arguments))
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
    return result


def prctl(option: int, value: int = 0) -> int:
    """Get or set an attribute of this process.

    Args:
        option: One of the constants of this module.
        value: New value of the attribute, if it is set.

    Returns:
        The attribute, or 0 if it was set; -1 if the system refused or is not Linux.
    """
    if sys.platform != "linux":
        return -1
    return int(load_libc().prctl(option, value, 0, 0, 0))


def is_dumpable() -> bool:
    """Return whether other processes of the user may read the memory and files of this one."""
    return prctl(GET_DUMPABLE) != 0


def set_dumpable(dumpable: bool) -> None:
    """Let other processes of the user read the memory and files of this one, or no longer."""
    prctl(DUMPABLE, int(dumpable))
