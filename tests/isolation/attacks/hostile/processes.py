"""Attacks on other processes: limits, priorities, tracing, memory, descriptors."""

# ruff: noqa: RUF012, these tables are never changed

import ctypes
import os
import resource
import struct
from pathlib import Path

from hostile.base import Attack, do_syscall, libc, read_file, syscall

_PRLIMIT, _IOPRIO_SET, _SCHED_SETATTR = 302, 251, 314
_PTRACE, _VM_READ, _VM_WRITE, _KCMP, _PERF = 101, 310, 311, 312, 298
_PIDFD_OPEN, _PIDFD_GETFD, _MADVISE = 434, 438, 440
_MOVE_PAGES, _MIGRATE_PAGES, _ROBUST_LIST = 279, 256, 274
_IDLE = 5
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long


class LimitsOthers(Attack):
    """Sets the limits of other processes by `prlimit`: no CPU time, no memory, no open files."""

    def attack(self):
        for limit in (resource.RLIMIT_CPU, resource.RLIMIT_DATA, resource.RLIMIT_NOFILE):
            value = ctypes.create_string_buffer(struct.pack("QQ", 1, 1), 16)
            self.attempt_on_pids(
                f"prlimit {limit}",
                lambda pid, limit=limit, value=value: do_syscall(_PRLIMIT, pid, limit, value, None),
            )


class ReadsLimits(Attack):
    """Reads the limits of other processes by `prlimit`."""

    def attack(self):
        def read(pid):
            value = ctypes.create_string_buffer(16)
            syscall(_PRLIMIT, pid, resource.RLIMIT_NOFILE, None, value)
            return struct.unpack("QQ", value.raw)

        self.attempt_on_pids("read", read)


class Renices(Attack):
    """Gives other processes the lowest priority."""

    def attack(self):
        self.attempt_on_pids("nice", lambda pid: os.setpriority(os.PRIO_PROCESS, pid, 19))
        self.attempt_on_pids("nice group", lambda pid: os.setpriority(os.PRIO_PGRP, pid, 19))
        if len(self.pids()) > 1:
            self.attempt("nice user", os.setpriority, os.PRIO_USER, 0, 19)


class MovesToOneCore(Attack):
    """Binds other processes to one core."""

    def attack(self):
        self.attempt_on_pids("affinity", lambda pid: os.sched_setaffinity(pid, {0}))


class ChangesSchedulers(Attack):
    """Gives other processes the scheduler of idle ones, by both system calls."""

    def attack(self):
        idle = os.sched_param(0)
        attributes = ctypes.create_string_buffer(
            struct.pack("IIQiIQQQ", 48, _IDLE, 0, 19, 0, 0, 0, 0)
        )
        self.attempt_on_pids("scheduler", lambda pid: os.sched_setscheduler(pid, _IDLE, idle))
        self.attempt_on_pids("setattr", lambda pid: do_syscall(_SCHED_SETATTR, pid, attributes, 0))


class ChangesDiskPriority(Attack):
    """Gives other processes the lowest priority of disk access."""

    def attack(self):
        self.attempt_on_pids("ioprio", lambda pid: do_syscall(_IOPRIO_SET, 1, pid, 3 << 13))


class TakesRealTime(Attack):
    """Takes a real-time scheduler or a better priority for itself, to starve the others."""

    without_sandbox = {"user": "an ordinary user may not"}

    def attack(self):
        def take():
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
            return "SCHED_FIFO"

        def rise():
            os.setpriority(os.PRIO_PROCESS, 0, -20)
            return os.getpriority(os.PRIO_PROCESS, 0)

        self.attempt("real time", take)
        self.attempt("nice", rise)


class WritesProcFiles(Attack):
    """Writes to files of other processes in /proc: first victim of a lack of memory, timer slack."""

    def attack(self):
        def write(pid, name, value):
            with open(f"/proc/{pid}/{name}", "w") as file:
                file.write(value)

        for name, value in (
            ("oom_score_adj", "999"),
            ("timerslack_ns", "99999"),
            ("coredump_filter", "7f"),
        ):
            self.attempt_on_pids(name, lambda pid, name=name, value=value: write(pid, name, value))


class Traces(Attack):
    """Attaches to other processes by `ptrace`."""

    def attack(self):
        def trace(pid, request):
            if libc.ptrace(request, pid, None, None) < 0:
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
            if request == 16:
                os.waitpid(pid, 0)
                libc.ptrace(17, pid, None, None)
            return "traced"

        self.attempt_on_pids("attach", lambda pid: trace(pid, 16))
        self.attempt_on_pids("seize", lambda pid: trace(pid, 0x4206))


def _vectors(pid, address, size, data=b""):
    """Return the arguments of `process_vm_readv` and `writev`, and the buffer."""
    buffer = ctypes.create_string_buffer(data, size)
    local = ctypes.create_string_buffer(struct.pack("QQ", ctypes.addressof(buffer), size), 16)
    remote = ctypes.create_string_buffer(struct.pack("QQ", address, size), 16)
    return (pid, local, 1, remote, 1, 0), buffer


class ReadsMemory(Attack):
    """Reads the memory of the host, of mates and of others by `process_vm_readv`."""

    def attack(self):
        def read(pid):
            # Mates are forked from the same process, so that their `None` lies at the same address.
            known = pid == self.targets["pid"]
            address = self.targets["address"] if known else id(None)
            arguments, buffer = _vectors(pid, address, self.targets["size"])
            syscall(_VM_READ, *arguments)
            return buffer.raw.decode("latin-1")

        self.attempt_on_pids("read", read)


class WritesMemory(Attack):
    """Writes into the memory of mates and of others by `process_vm_writev`."""

    def attack(self):
        def write(pid):
            known = pid == self.targets["pid"]
            address = self.targets["address"] if known else id(None)
            syscall(_VM_WRITE, *_vectors(pid, address, 8, b"changed!")[0])
            return "written"

        self.attempt_on_pids("write", write)


class ReadsHostMemory(Attack):
    """Reads the memory of the host, which holds the seed and every rival's weights."""

    without_sandbox = {"user": "the host is not dumpable"}

    def attack(self):
        def read(pid):
            arguments, buffer = _vectors(pid, self.targets["address"], self.targets["size"])
            syscall(_VM_READ, *arguments)
            return buffer.raw.decode("latin-1")

        self.attempt("read", read, self.targets["host_pid"])
        self.attempt("mem", lambda: os.open(f"/proc/{self.targets['host_pid']}/mem", os.O_RDWR))


class ReadsMemoryFiles(Attack):
    """Reads and writes the memory of other processes through /proc/PID/mem."""

    def attack(self):
        def access(pid):
            handle = os.open(f"/proc/{pid}/mem", os.O_RDWR)
            text = os.pread(handle, self.targets["size"], self.targets["address"])
            os.pwrite(handle, b"changed!", self.targets["address"])
            return text.decode("latin-1")

        self.attempt_on_pids("mem", access)


class ReadsProcFiles(Attack):
    """Reads environment, command line, memory map, folders and the like of other processes."""

    def attack(self):
        names = (
            "environ",
            "cmdline",
            "maps",
            "status",
            "stat",
            "cgroup",
            "auxv",
            "syscall",
            "stack",
        )
        for name in names:
            self.attempt_on_pids(
                name, lambda pid, name=name: read_file(f"/proc/{pid}/{name}", 65536)[-150:]
            )
        for name in ("cwd", "root", "exe", "ns/pid"):
            self.attempt_on_pids(name, lambda pid, name=name: os.readlink(f"/proc/{pid}/{name}"))
        self.attempt("host", read_file, f"/proc/{self.targets['host_pid']}/cmdline")
        self.attempt(
            "processes", lambda: [n for n in os.listdir("/proc") if n.isdigit()][:5] or None
        )


class ReadsEnvironmentOfOthers(Attack):
    """Reads a secret from the environment of the user's other processes."""

    def attack(self):
        def read(pid):
            data = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            name = self.targets["env_name"].encode()
            return [text for text in data if text.startswith(name)] or None

        self.attempt_on_pids("environ", read)


class OpensDescriptorsOfOthers(Attack):
    """Opens the files and shared memory of other processes through /proc/PID/fd."""

    without_sandbox = {"user": "descriptors of a host that is not dumpable are closed to others"}

    def attack(self):
        def open_all(pid):
            opened = []
            for name in os.listdir(f"/proc/{pid}/fd"):
                link = os.readlink(f"/proc/{pid}/fd/{name}")
                if "memfd" in link or "deleted" in link:
                    handle = os.open(f"/proc/{pid}/fd/{name}", os.O_RDWR)
                    opened.append(f"{link} {os.read(handle, 60)!r}")
            return opened or None

        self.attempt("host", open_all, self.targets["host_pid"])
        if len(self.pids()) > 1:
            self.attempt_on_pids("fd", open_all)


class StealsDescriptors(Attack):
    """Copies the descriptors of other processes by `pidfd_getfd`."""

    def attack(self):
        def steal(pid):
            pidfd = syscall(_PIDFD_OPEN, pid, 0)
            handle = syscall(_PIDFD_GETFD, pidfd, 3, 0)
            return os.pread(handle, 100, 0).decode("latin-1")

        self.attempt_on_pids("getfd", steal)


class ComparesProcesses(Attack):
    """Compares resources with other processes by `kcmp`, and reads their lists of locks."""

    def attack(self):
        def compare(pid):
            return f"kcmp {syscall(_KCMP, pid, os.getpid(), 1, 0, 0)}"

        def robust_list(pid):
            head, size = ctypes.c_void_p(), ctypes.c_size_t()
            syscall(_ROBUST_LIST, pid, ctypes.byref(head), ctypes.byref(size))
            return f"list {size.value}"

        self.attempt_on_pids("kcmp", compare)
        self.attempt_on_pids("robust list", robust_list)


class AdvisesOthers(Attack):
    """Pages out and moves the memory of other processes."""

    def attack(self):
        def page_out(pid):
            pidfd = syscall(_PIDFD_OPEN, pid, 0)
            address = self.targets["address"] & ~4095
            vector = ctypes.create_string_buffer(struct.pack("QQ", address, 4096), 16)
            return f"advised {syscall(_MADVISE, pidfd, vector, 1, 21, 0)}"

        def where(pid):
            pages = ctypes.create_string_buffer(
                struct.pack("Q", self.targets["address"] & ~4095), 8
            )
            status = ctypes.create_string_buffer(4)
            syscall(_MOVE_PAGES, pid, 1, pages, None, status, 0)
            return f"page {status.raw.hex()}"

        self.attempt_on_pids("madvise", page_out)
        self.attempt_on_pids("move_pages", where)


class CountsEvents(Attack):
    """Watches other processes by performance counters (`perf_event_open`)."""

    either = ("user",)  # some kernels refuse it to ordinary users

    def attack(self):
        def watch(pid):
            attributes = ctypes.create_string_buffer(struct.pack("IIQ", 1, 112, 1), 112)
            return f"fd {syscall(_PERF, attributes, pid, -1, -1, 0)}"

        self.attempt_on_pids("perf", watch)
