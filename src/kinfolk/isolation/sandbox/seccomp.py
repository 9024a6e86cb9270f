"""A seccomp filter that denies some system calls.

Denied with EPERM: network, tracing, reading the memory of other processes, signals to them, mounting
and the like. It is a list of denied and not of allowed calls, because policies use libraries whose
calls are not known in advance.

https://docs.kernel.org/userspace-api/seccomp_filter.html
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys

_NO_NEW_PRIVS, _SET_SECCOMP, _MODE_FILTER = 38, 22, 2
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


class _Instruction(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_uint16),
        ("if_true", ctypes.c_uint8),
        ("if_false", ctypes.c_uint8),
        ("value", ctypes.c_uint32),
    )


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.POINTER(_Instruction)))


def is_supported() -> bool:
    """Whether the architecture is known and the kernel supports seccomp filters."""
    if sys.platform != "linux" or platform.machine() not in _SYSCALLS_BY_MACHINE:
        return False
    # Without a program, a kernel with filters fails with "bad address" and changes nothing.
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_SET_SECCOMP, _MODE_FILTER, None, 0, 0)
    return ctypes.get_errno() in (14, 13, 1)


def install_filter() -> None:
    """Deny the listed system calls to this process and its children, permanently.

    Raises:
        OSError: The kernel rejected the filter.
    """
    steps = _build_filter(os.getpid())
    array = (_Instruction * len(steps))(*(_Instruction(*step) for step in steps))
    program = _Program(len(steps), array)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0)
    if libc.prctl(_SET_SECCOMP, _MODE_FILTER, ctypes.byref(program), 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


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
