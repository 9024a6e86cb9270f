"""The filter of system calls, run here as the small program that the kernel runs."""

import errno
import os
import struct

import pytest

from kinfolk.isolation.sandbox import seccomp
from kinfolk.isolation.sandbox.syscalls import MACHINES, SYSCALLS

ALLOW, EPERM, ENOSYS = 0x7FFF0000, 0x50000 | errno.EPERM, 0x50000 | errno.ENOSYS
ME = 77


def decide(program, machine, name, *arguments, number=None):
    """Run a filter on a system call and return its verdict."""
    column, architecture = MACHINES[machine]
    number = SYSCALLS[name][column] if number is None else number
    padded = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("=IIQ6Q", number, architecture, 0, *padded)
    at, value = 0, 0
    while True:
        code, true, false, operand = program[at]
        if code == 0x20:
            [value] = struct.unpack_from("=I", data, operand)
        elif code == 0x06:
            return operand
        else:
            holds = {0x15: value == operand, 0x35: value >= operand, 0x45: bool(value & operand)}
            at += true if holds[code] else false
        at += 1


@pytest.fixture(params=["x86_64", "aarch64"])
def machine(request, monkeypatch):
    monkeypatch.setattr("platform.machine", lambda: request.param)
    return request.param


def test_signals_and_limits_reach_the_process_itself_only(machine):
    program = seccomp.build_filter(ME, allow_processes=False)
    for name in ("kill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo"):
        assert decide(program, machine, name, ME) == ALLOW, name
        for other in (1, ME + 1, 0, 2**32 - 1):
            assert decide(program, machine, name, other) == EPERM, (name, other)
    for name in ("prlimit64", "sched_setaffinity", "sched_setscheduler", "sched_setattr"):
        assert decide(program, machine, name, ME) == ALLOW
        assert decide(program, machine, name, 0) == ALLOW
        assert decide(program, machine, name, 1) == EPERM
    assert decide(program, machine, "setpriority", 0, 0) == ALLOW
    assert decide(program, machine, "setpriority", 0, ME) == ALLOW
    assert decide(program, machine, "setpriority", 0, 5) == EPERM, "another process"
    assert decide(program, machine, "setpriority", 1, 0) == EPERM, "a group"
    assert decide(program, machine, "setpriority", 2, 0) == EPERM, "all of the user"


def test_the_kernel_is_not_made_to_send_signals(machine):
    program = seccomp.build_filter(ME, allow_processes=False)
    for command in (8, 10, 15, 1024, 1026, 1036, 2000):
        assert decide(program, machine, "fcntl", 3, command) == EPERM
    assert decide(program, machine, "fcntl", 3, 3) == ALLOW, "F_GETFL"
    for command in (0x8901, 0x8902, 0x5452, 0x5412, 0x80086601, 1):
        assert decide(program, machine, "ioctl", 3, command) == EPERM
    assert decide(program, machine, "ioctl", 1, 0x5401) == ALLOW, "TCGETS, is it a terminal?"
    assert decide(program, machine, "prctl", 4, 1) == EPERM, "it stays unreadable for others"


def test_threads_start_and_processes_only_where_they_are_allowed(machine):
    thread, process = 0x3D0F00, 17
    strict = seccomp.build_filter(ME, allow_processes=False)
    loose = seccomp.build_filter(ME, allow_processes=True)
    assert decide(strict, machine, "clone", thread) == decide(loose, machine, "clone", thread)
    assert decide(strict, machine, "clone", thread) == ALLOW
    assert decide(strict, machine, "clone", process) == EPERM
    assert decide(strict, machine, "execve") == EPERM
    assert decide(loose, machine, "clone", process) == ALLOW
    assert decide(loose, machine, "execve") == ALLOW
    for program in (strict, loose):
        assert decide(program, machine, "clone3") == ENOSYS, "libraries then use clone"
        for namespace in (0x20000, 0x2000000, 0x10000000, 0x20000000, 0x40000000, 0x8000):
            assert decide(program, machine, "clone", process | namespace) == EPERM


def test_network_tracing_and_administration_are_denied(machine):
    program = seccomp.build_filter(ME, allow_processes=True)
    for name in ("socket", "connect", "bind", "ptrace", "process_vm_readv", "mount", "unshare",
                 "setns", "bpf", "keyctl", "shmget", "msgget", "memfd_create", "io_uring_setup",
                 "pidfd_getfd", "tkill", "ioprio_set", "open_by_handle_at", "sync", "syncfs", "sendmsg"):  # fmt: skip
        assert decide(program, machine, name) == EPERM, name
    assert decide(program, machine, "socketpair", 1) == ALLOW
    assert decide(program, machine, "socketpair", 2) == EPERM


def test_huge_pages_of_the_machine_are_denied_and_other_memory_is_not(machine):
    program = seccomp.build_filter(ME, allow_processes=False)
    private, anonymous, huge = 0x2, 0x20, 0x40000
    assert decide(program, machine, "mmap", 0, 4096, 3, private | anonymous) == ALLOW
    assert decide(program, machine, "mmap", 0, 4096, 3, private | anonymous | huge) == EPERM


def test_calls_of_newer_kernels_are_unknown_unless_listed(machine):
    program = seccomp.build_filter(ME, allow_processes=False)
    for number in (428, 440, 444, 447, 457, 458, 467, 600):
        assert decide(program, machine, "", number=number) == ENOSYS, number
    for name in ("close_range", "openat2", "faccessat2", "futex_waitv"):
        assert decide(program, machine, name) == ALLOW
    assert decide(program, machine, "", number=400) == ENOSYS, "no such call"
    for number in (0, 1, 3, 5):
        assert decide(program, machine, "", number=number) in (ALLOW, EPERM)


def test_another_architecture_is_killed_and_the_x32_calls_do_not_exist(monkeypatch):
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    program = seccomp.build_filter(ME, allow_processes=False)
    assert decide(program, "aarch64", "kill", ME) == 0x80000000
    assert decide(program, "x86_64", "", number=0x40000000 | 62) == ENOSYS


@pytest.mark.skipif(not seccomp.is_seccomp_supported(), reason="no seccomp filters here")
def test_the_kernel_accepts_the_filter_and_obeys_it():
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            seccomp.install_seccomp_filter(allow_processes=False)
            os.kill(os.getpid(), 0)
            try:
                os.kill(os.getppid(), 0)
            except PermissionError:
                code = 0
        finally:
            os._exit(code)
    assert os.waitpid(pid, 0)[1] == 0
