"""Landlock: a process restricts its own access to files, network and other processes (Linux 5.13).

https://docs.kernel.org/userspace-api/landlock.html
"""

from __future__ import annotations

import functools
import os
import struct
import sys
from pathlib import Path

from kinfolk.core import libc

_CREATE, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on every architecture
_VERSION, _PATH_BENEATH = 1, 1
# WRITE_FILE, then REMOVE_DIR to MAKE_SYM: all rights that change files or folders.
_WRITE_FILE, _REMOVE_TO_MAKE = 1 << 1, sum(1 << bit for bit in range(4, 13))
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_BIND_AND_CONNECT_TCP = 0b11
_SCOPE_SOCKETS_AND_SIGNALS = 0b11


@functools.cache
def landlock_abi_version() -> int:
    """Return the version of the kernel's Landlock ABI; 0 or less if it has none."""
    if sys.platform != "linux":
        return 0
    return int(libc.load_libc().syscall(_CREATE, None, 0, _VERSION))


def is_landlock_supported() -> bool:
    """Return whether this kernel supports Landlock rules for files."""
    return landlock_abi_version() >= 1


def restrict_to_folder(folder: Path) -> None:
    """Let this process and its children write in `folder` only, permanently.

    From newer kernels they also get no TCP (version 4), and no signals to and no abstract sockets of
    processes outside (version 6).

    Raises:
        OSError: The kernel refused.
    """
    version = landlock_abi_version()
    writes = _WRITE_FILE | _REMOVE_TO_MAKE
    writes |= _REFER if version >= 2 else 0
    writes |= _TRUNCATE if version >= 3 else 0
    writes |= _IOCTL_DEV if version >= 5 else 0
    # `struct landlock_ruleset_attr`, which has grown from version to version.
    attributes = struct.pack("=Q", writes)
    attributes += struct.pack("=Q", _BIND_AND_CONNECT_TCP) if version >= 4 else b""
    attributes += struct.pack("=Q", _SCOPE_SOCKETS_AND_SIGNALS) if version >= 6 else b""
    ruleset = libc.call_libc("syscall", _CREATE, attributes, len(attributes), 0)
    for path in (folder, Path("/dev/null")):
        path_fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
        allowed = writes if path == folder else writes & (_WRITE_FILE | _TRUNCATE)
        rule = struct.pack("=Qi", allowed, path_fd)  # `struct landlock_path_beneath_attr`
        libc.call_libc("syscall", _ADD_RULE, ruleset, _PATH_BENEATH, rule, 0)
        os.close(path_fd)
    libc.prctl(libc.NO_NEW_PRIVS, 1)
    libc.call_libc("syscall", _RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)
