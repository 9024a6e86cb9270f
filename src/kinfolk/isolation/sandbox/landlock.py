"""Landlock: restrict which files a process may write, without privileges (Linux 5.13 or later).

https://docs.kernel.org/userspace-api/landlock.html
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

_CREATE, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on every architecture
_VERSION, _PATH_BENEATH = 1, 1
_NO_NEW_PRIVS = 38
# WRITE_FILE, then REMOVE_DIR to MAKE_SYM: all rights that change files or folders.
_WRITE_FILE, _REMOVE_TO_MAKE = 1 << 1, sum(1 << bit for bit in range(4, 13))
_REFER, _TRUNCATE = 1 << 13, 1 << 14


class _Ruleset(ctypes.Structure):
    _fields_ = (("handled_access_fs", ctypes.c_uint64),)


class _PathBeneathRule(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = (("allowed_access", ctypes.c_uint64), ("parent_fd", ctypes.c_int32))


def abi_version() -> int:
    """Return the version of the kernel's Landlock ABI; 0 or less if it has none."""
    if sys.platform != "linux":
        return 0
    return int(ctypes.CDLL(None).syscall(_CREATE, None, 0, _VERSION))


def is_supported() -> bool:
    """Whether this kernel supports Landlock rules for files."""
    return abi_version() >= 1


def restrict_writes_to(folder: Path) -> None:
    """Allow this process and its children to write files in `folder` only, permanently.

    Raises:
        OSError: The kernel refused.
    """
    version, libc = abi_version(), ctypes.CDLL(None, use_errno=True)
    writes = _WRITE_FILE | _REMOVE_TO_MAKE
    writes |= _REFER if version >= 2 else 0
    writes |= _TRUNCATE if version >= 3 else 0
    rules = _Ruleset(writes)
    ruleset = libc.syscall(_CREATE, ctypes.byref(rules), ctypes.sizeof(rules), 0)
    _check_result(ruleset)
    for path in (folder, Path("/dev/null")):
        path_fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
        allowed = writes if path == folder else writes & (_WRITE_FILE | _TRUNCATE)
        rule = _PathBeneathRule(allowed, path_fd)
        _check_result(libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0))
        os.close(path_fd)
    _check_result(libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0))
    _check_result(libc.syscall(_RESTRICT_SELF, ruleset, 0))
    os.close(ruleset)


def _check_result(result: int) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
