"""The sandbox of untrusted policies: restrictions that the kernel enforces.

Files outside a temporary folder cannot be written (Landlock); network, tracing of other processes and
signals to them are denied (seccomp); privileges cannot be gained. `list_unsupported` names what this
machine cannot enforce, so that users are warned before anything starts.

Reading is not restricted: a policy can read the user's files, but has no network to send them.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import sys
from pathlib import Path

NETWORK_RESTRICTION = "no network, no signals to or tracing of other processes"
FILE_RESTRICTION = "files outside a scratch folder cannot be written"


def enter_sandbox(writable_folder: Path) -> None:
    """Restrict this process permanently, as far as the machine supports it."""
    os.environ["TMPDIR"] = str(writable_folder)
    os.chdir(writable_folder)
    if is_landlock_supported():
        restrict_writes_to(writable_folder)
    if is_seccomp_supported():
        install_seccomp_filter()
    from kinfolk.core.kernel_cache import cache_read_only

    cache_read_only()


def list_enforced() -> list[str]:
    """Return descriptions of the restrictions that this machine enforces."""
    network = [NETWORK_RESTRICTION] if is_seccomp_supported() else []
    return network + ([FILE_RESTRICTION] if is_landlock_supported() else [])


def list_unsupported() -> list[str]:
    """Return descriptions of the restrictions that this machine cannot enforce."""
    enforced = list_enforced()
    return [text for text in (NETWORK_RESTRICTION, FILE_RESTRICTION) if text not in enforced]


# Landlock restricts which files a process may write, without privileges (Linux 5.13 or later).
# https://docs.kernel.org/userspace-api/landlock.html
_CREATE, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on every architecture
_VERSION, _PATH_BENEATH = 1, 1
_PR_SET_NO_NEW_PRIVS = 38
# WRITE_FILE, then REMOVE_DIR to MAKE_SYM: all rights that change files or folders.
_WRITE_FILE, _REMOVE_TO_MAKE = 1 << 1, sum(1 << bit for bit in range(4, 13))
_REFER, _TRUNCATE = 1 << 13, 1 << 14


def landlock_abi_version() -> int:
    """Return the version of the kernel's Landlock ABI; 0 or less if it has none."""
    if sys.platform != "linux":
        return 0
    return int(ctypes.CDLL(None).syscall(_CREATE, None, 0, _VERSION))


def is_landlock_supported() -> bool:
    """Return whether this kernel supports Landlock rules for files."""
    return landlock_abi_version() >= 1


def restrict_writes_to(folder: Path) -> None:
    """Allow this process and its children to write files in `folder` only, permanently.

    Raises:
        OSError: The kernel refused.
    """
    version, libc = landlock_abi_version(), ctypes.CDLL(None, use_errno=True)
    writes = _WRITE_FILE | _REMOVE_TO_MAKE
    writes |= _REFER if version >= 2 else 0
    writes |= _TRUNCATE if version >= 3 else 0
    handled_access = ctypes.c_uint64(writes)  # the only field of `struct landlock_ruleset_attr`
    ruleset = libc.syscall(_CREATE, ctypes.byref(handled_access), ctypes.sizeof(handled_access), 0)
    _check_result(ruleset)
    for path in (folder, Path("/dev/null")):
        path_fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
        allowed = writes if path == folder else writes & (_WRITE_FILE | _TRUNCATE)
        rule = struct.pack("=Qi", allowed, path_fd)  # `struct landlock_path_beneath_attr`
        _check_result(libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0))
        os.close(path_fd)
    _check_result(libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    _check_result(libc.syscall(_RESTRICT_SELF, ruleset, 0))
    os.close(ruleset)


def _check_result(result: int) -> None:
    """Check the return value of a system call.

    Raises:
        OSError: The call failed; the error has the current `errno`.
    """
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


# A seccomp filter denies system calls with EPERM: network, tracing, reading the memory of other
# processes, signals to them, mounting and the like. It lists denied and not allowed calls, because
# policies use libraries whose calls are not known in advance.
# https://docs.kernel.org/userspace-api/seccomp_filter.html
_SET_SECCOMP, _MODE_FILTER = 22, 2
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06  # BPF instructions
_NUMBER_AT, _ARCHITECTURE_AT, _FIRST_ARGUMENT_AT = 0, 4, 16
_ALLOW, _DENY, _KILL = 0x7FFF0000, 0x00050000 | 1, 0x80000000  # deny: with EPERM
_X32 = 0x40000000  # x32 system calls of x86_64, which would bypass the filter
# socket, connect, bind, ptrace, process_vm_readv and writev, mount, umount2, unshare, setns, bpf,
# perf_event_open, kexec_load, init_module, keyctl, io_uring_setup, pidfd_getfd,
# pidfd_send_signal; then kill, tkill and tgkill, which a process may only send to itself.
_SYSCALLS_BY_MACHINE = {
    "x86_64": (
        0xC000003E,
        (41, 42, 49, 101, 310, 311, 165, 166, 272, 308, 321, 298, 246, 175, 250, 425, 438, 424),
        (62, 200, 234),
    ),
    "aarch64": (
        0xC00000B7,
        (198, 203, 200, 117, 270, 271, 40, 39, 97, 268, 280, 241, 104, 105, 219, 425, 438, 424),
        (129, 130, 131),
    ),
}


class _Program(ctypes.Structure):  # `struct sock_fprog`
    """Filter program, as the C structure `sock_fprog`."""

    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_char_p))


def is_seccomp_supported() -> bool:
    """Return whether the architecture is known and the kernel supports seccomp filters."""
    if sys.platform != "linux" or platform.machine() not in _SYSCALLS_BY_MACHINE:
        return False
    # Without a program, a kernel with filters fails with "bad address" and changes nothing.
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_SET_SECCOMP, _MODE_FILTER, None, 0, 0)
    return ctypes.get_errno() in (14, 13, 1)


def install_seccomp_filter() -> None:
    """Deny the listed system calls to this process and its children, permanently.

    Raises:
        OSError: The kernel rejected the filter.
    """
    steps = _build_filter(os.getpid())
    instructions = b"".join(struct.pack("HBBI", *step) for step in steps)  # `struct sock_filter`
    program = _Program(len(steps), instructions)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    _check_result(libc.prctl(_SET_SECCOMP, _MODE_FILTER, ctypes.byref(program), 0, 0))


def _build_filter(own_pid: int) -> list[tuple[int, int, int, int]]:
    """Return the BPF program as tuples of (code, jump if true, jump if false, value)."""
    architecture, denied, signals = _SYSCALLS_BY_MACHINE[platform.machine()]
    steps = [
        (_LOAD, 0, 0, _ARCHITECTURE_AT),
        (_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER_AT),
    ]
    if platform.machine() == "x86_64":
        steps += [(_AT_LEAST, 0, 1, _X32), (_RETURN, 0, 0, _DENY)]
    for number in denied:
        steps += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _DENY)]
    for number in signals:
        steps += [
            (_EQUAL, 0, 4, number),
            (_LOAD, 0, 0, _FIRST_ARGUMENT_AT),
            (_EQUAL, 0, 1, own_pid),
            (_RETURN, 0, 0, _ALLOW),
            (_RETURN, 0, 0, _DENY),
        ]
    return [*steps, (_RETURN, 0, 0, _ALLOW)]
