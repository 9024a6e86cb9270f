"""A seccomp filter, which denies system calls to a process and its children, permanently.

Denied are the network, new processes (unless they are allowed), signals, limits and priorities of any
other process, tracing, shared memory and queues with names, mounting, namespaces, calls that take what
no limit counts (memory of the kernel, watches of the user), and whatever only administrators need.
Calls newer than Linux 5.2 are denied unless they are listed, because nobody can know in advance what
they do.

https://docs.kernel.org/userspace-api/seccomp_filter.html
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import platform
import struct
import sys
from typing import NamedTuple, TypeAlias

from kinfolk.core import libc
from kinfolk.isolation.sandbox.syscalls import (
    ALLOWED_NEW_SYSCALLS,
    FIRST_NEW_SYSCALL,
    LAST_KNOWN_SYSCALL,
    MACHINES,
    SYSCALLS,
)

_Instruction: TypeAlias = tuple[int, int, int, int]  # code, jump if true, jump if false, value
_PR_SET_SECCOMP, _MODE_FILTER = 22, 2
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER_AT, _ARCHITECTURE_AT, _ARGUMENTS_AT, _ARGUMENT_BYTES = 0, 4, 16, 8
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000
_DENY, _MISSING = _ERROR | errno.EPERM, _ERROR | errno.ENOSYS
_INSTRUCTION = struct.Struct("HBBI")  # `struct sock_filter`
_PLACEHOLDER = 0x7EADBEEF  # of a process id
_X32 = 0x40000000  # x32 system calls of x86_64, which would bypass the numbers

# Denied in every process.
_DENIED = (
    "socket", "connect", "bind", "listen", "accept", "accept4", "setsockopt",
    "ptrace", "process_vm_readv", "process_vm_writev", "kcmp", "perf_event_open", "bpf", "userfaultfd",
    "tkill", "ioprio_set", "migrate_pages", "move_pages",
    "shmget", "shmat", "shmctl", "semget", "semop", "semctl", "semtimedop", "msgget", "msgsnd", "msgrcv", "msgctl",
    "mq_open", "mq_unlink", "mq_timedsend", "mq_timedreceive", "mq_notify", "mq_getsetattr", "memfd_create",
    "mount", "umount2", "pivot_root", "chroot", "unshare", "setns", "swapon", "swapoff", "acct", "quotactl",
    "name_to_handle_at", "open_by_handle_at", "lookup_dcookie", "fanotify_init",
    "add_key", "request_key", "keyctl", "inotify_init", "inotify_init1", "inotify_add_watch", "vmsplice", "seccomp",
    "init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load", "reboot", "syslog",
    "settimeofday", "clock_settime", "adjtimex", "clock_adjtime", "sethostname", "setdomainname",
    "personality", "vhangup", "iopl", "ioperm", "modify_ldt", "uselib", "ustat", "sysfs", "_sysctl", "create_module", "nfsservctl",
    "mknod", "mknodat", "setuid", "setgid", "setreuid", "setregid", "setresuid", "setresgid", "setgroups", "setfsuid", "setfsgid", "capset",
    "io_setup", "io_submit", "io_uring_setup", "io_uring_enter", "io_uring_register",
    "pidfd_send_signal", "pidfd_open", "pidfd_getfd", "utime", "utimes", "futimesat", "utimensat", "sync", "syncfs", "sendmsg", "sendmmsg",
    "flock",  # a lock on a file that all can read is a message to the others
)  # fmt: skip
_NEW_PROCESS = ("fork", "vfork", "execve", "execveat")
# First argument: the process; its own id is allowed, and 0 where that means itself.
_OF_ITSELF = ("kill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo")
_OF_ITSELF_OR_ZERO = (
    "prlimit64", "sched_setaffinity", "sched_setparam", "sched_setscheduler", "sched_setattr",
)  # fmt: skip
_CLONE_THREAD, _CLONE_PARENT, _CLONE_NAMESPACES = 0x10000, 0x8000, 0x7E020000
_AF_UNIX, _MAP_HUGETLB = 1, 0x40000


class _ArgumentRule(NamedTuple):
    """Values of one argument for which a call is allowed or denied."""

    syscall: str
    argument: int
    values: tuple[int, ...]


_ALLOWED_ARGUMENTS = (
    # F_DUPFD, GETFD, SETFD, GETFL, SETFL, GETLK, OFD_GETLK, DUPFD_CLOEXEC, GETPIPE_SZ and GET_SEALS.
    # F_SETOWN, F_SETSIG, F_SETLEASE, F_NOTIFY and others would have the kernel send signals; larger
    # pipes and record locks take memory of the kernel, which no limit of the process counts.
    _ArgumentRule("fcntl", 1, (0, 1, 2, 3, 4, 5, 36, 1030, 1032, 1034)),
    # TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX and TCGETS2. Others set owners, who get
    # signals, type into terminals, or ask devices and file systems.
    _ArgumentRule("ioctl", 1, (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451, 0x802C542A)),
)
_DENIED_ARGUMENTS = (
    # SIGCHLD: if it is ignored, the processor time of children that end is counted nowhere.
    _ArgumentRule("rt_sigaction", 0, (17,)),
    # PR_SET_PDEATHSIG, DUMPABLE, SECCOMP (a filter can flood the kernel's log), MM, CHILD_SUBREAPER,
    # SCHED_CORE and PTRACER.
    _ArgumentRule("prctl", 0, (1, 4, 22, 35, 36, 62, 0x59616D61)),
)


class _Program(ctypes.Structure):
    """Filter program, as the C structure `sock_fprog`."""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def is_seccomp_supported() -> bool:
    """Return whether the architecture is known and the kernel supports seccomp filters."""
    if sys.platform != "linux" or platform.machine() not in MACHINES:
        return False
    # Without a program, a kernel with filters fails with "bad address" and changes nothing.
    libc.load_libc().prctl(_PR_SET_SECCOMP, _MODE_FILTER, None, 0, 0)
    return ctypes.get_errno() in (errno.EFAULT, errno.EACCES, errno.EPERM)


def install_seccomp_filter(allow_processes: bool) -> None:
    """Deny system calls to this process and its children, permanently.

    Args:
        allow_processes: Whether the process may start others and execute programs.

    Raises:
        OSError: The kernel rejected the filter.
    """
    instructions = pack_filter(allow_processes).replace(
        _PLACEHOLDER.to_bytes(4, sys.byteorder), os.getpid().to_bytes(4, sys.byteorder)
    )
    program = _Program(len(instructions) // _INSTRUCTION.size, instructions)
    libc.prctl(libc.NO_NEW_PRIVS, 1)
    libc.call_libc("prctl", _PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(program), 0, 0)


@functools.cache
def pack_filter(allow_processes: bool) -> bytes:
    """Return the filter as the kernel takes it, with a placeholder for the id of the process.

    A fork server calls this once, so that its workers need not.
    """
    steps = build_filter(_PLACEHOLDER, allow_processes)
    return b"".join(_INSTRUCTION.pack(*step) for step in steps)


def build_filter(pid: int, allow_processes: bool) -> list[_Instruction]:
    """Return the BPF program for a process with this id; see `install_seccomp_filter`."""
    column, architecture = MACHINES[platform.machine()]
    steps: list[_Instruction] = [
        (_LOAD, 0, 0, _ARCHITECTURE_AT),
        (_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER_AT),
    ]
    if platform.machine() == "x86_64":
        steps += [(_AT_LEAST, 0, 1, _X32), (_RETURN, 0, 0, _MISSING)]

    def add_rule(name: str, body: list[_Instruction]) -> None:
        """Add the instructions for a system call, if this architecture has it."""
        number = SYSCALLS[name][column]
        if number is not None:
            steps.extend([(_EQUAL, 0, len(body), number), *body])

    denied = [*_DENIED, *(() if allow_processes else _NEW_PROCESS)]
    for name in denied:
        add_rule(name, [(_RETURN, 0, 0, _DENY)])
    add_rule("clone3", [(_RETURN, 0, 0, _MISSING)])  # its flags lie in memory; libraries use clone
    for name in _OF_ITSELF:
        add_rule(name, _allow_values(0, (pid,)))
    for name in _OF_ITSELF_OR_ZERO:
        add_rule(name, _allow_values(0, (0, pid)))
    add_rule("socketpair", _allow_values(0, (_AF_UNIX,)))
    # Only processes (0) by their number, not groups and users; `who` must be itself.
    of_process = [(_LOAD, 0, 0, _argument(0)), (_EQUAL, 1, 0, 0), (_RETURN, 0, 0, _DENY)]
    add_rule("setpriority", [*of_process, *_allow_values(1, (0, pid))])
    for rule in _DENIED_ARGUMENTS:
        add_rule(rule.syscall, _deny_values(rule.argument, rule.values))
    for rule in _ALLOWED_ARGUMENTS:
        add_rule(rule.syscall, _allow_values(rule.argument, rule.values))
    # The machine has one pool of huge pages, and a map reserves its share of it.
    huge = [(_LOAD, 0, 0, _argument(3)), (_ANY_BIT, 0, 1, _MAP_HUGETLB), (_RETURN, 0, 0, _DENY)]
    add_rule("mmap", [*huge, (_RETURN, 0, 0, _ALLOW)])
    refused = _CLONE_NAMESPACES | _CLONE_PARENT
    clone = [(_LOAD, 0, 0, _argument(0)), (_ANY_BIT, 0, 1, refused), (_RETURN, 0, 0, _DENY)]
    if not allow_processes:
        clone += [(_ANY_BIT, 1, 0, _CLONE_THREAD), (_RETURN, 0, 0, _DENY)]
    add_rule("clone", [*clone, (_RETURN, 0, 0, _ALLOW)])
    for name in ALLOWED_NEW_SYSCALLS:
        add_rule(name, [(_RETURN, 0, 0, _ALLOW)])
    steps += [(_AT_LEAST, 0, 1, FIRST_NEW_SYSCALL), (_RETURN, 0, 0, _MISSING)]
    steps += [(_AT_LEAST, 0, 1, LAST_KNOWN_SYSCALL[column] + 1), (_RETURN, 0, 0, _MISSING)]
    return [*steps, (_RETURN, 0, 0, _ALLOW)]


def _argument(index: int) -> int:
    """Return the offset of the low half of an argument; all that are compared have 32 bits."""
    return _ARGUMENTS_AT + _ARGUMENT_BYTES * index


def _allow_values(argument: int, values: tuple[int, ...]) -> list[_Instruction]:
    """Return instructions that allow a call if an argument has one of these values, else deny it."""
    checks = [(_EQUAL, len(values) - i, 0, value) for i, value in enumerate(values)]
    return [
        (_LOAD, 0, 0, _argument(argument)), *checks, (_RETURN, 0, 0, _DENY), (_RETURN, 0, 0, _ALLOW)
    ]  # fmt: skip


def _deny_values(argument: int, values: tuple[int, ...]) -> list[_Instruction]:
    """Return instructions that deny a call if an argument has one of these values, else allow it."""
    checks = [(_EQUAL, len(values) - i, 0, value) for i, value in enumerate(values)]
    return [
        (_LOAD, 0, 0, _argument(argument)), *checks, (_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _DENY)
    ]  # fmt: skip
