"""Attributes of this process that only Linux has, set by the system call `prctl`."""

from __future__ import annotations

import ctypes
import sys

PDEATHSIG, GET_DUMPABLE, DUMPABLE, NO_NEW_PRIVS, CHILD_SUBREAPER = 1, 3, 4, 38, 36


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
    return int(ctypes.CDLL(None).prctl(option, value, 0, 0, 0))


def is_dumpable() -> bool:
    """Return whether other processes of the user may read the memory and files of this one."""
    return prctl(GET_DUMPABLE) != 0


def set_dumpable(dumpable: bool) -> None:
    """Let other processes of the user read the memory and files of this one, or no longer."""
    prctl(DUMPABLE, int(dumpable))
