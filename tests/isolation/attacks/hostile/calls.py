"""Attacks by system calls that few know: the newest, those by number, and all of them at random."""

# ruff: noqa: RUF012, these tables are never changed

import ctypes
import mmap
import os
import random
import signal
import struct
import threading
import time

from hostile.base import Attack, in_own_pid_namespace, libc, syscall

_FIRST_NEW, _LAST_NEW = 424, 475
# By which `wait_a_moment` and the interpreter itself work; what the filter allows of the new ones.
_HARMLESS_NEW = {436, 437, 439, 441, 449, 451, 452, 453, 454, 455, 456, 462}
_REFUSALS = (1, 38)  # not permitted, not implemented


class UsesNewestCalls(Attack):
    """Calls every system call that is newer than the filter's list, and some that do not exist yet."""

    limits = {"step_timeout": 20.0}

    def attack(self):
        for number in range(_FIRST_NEW, _LAST_NEW):
            if number in _HARMLESS_NEW or number == 435:
                continue

            def call(number=number):
                try:
                    syscall(number, -1, 0, 0, 0, 0, 0)
                except OSError as error:
                    if error.errno in _REFUSALS:
                        raise
                    return f"reached: {error.strerror}"
                return "reached"

            self.attempt(f"call {number}", call)


class TakesSecretMemory(Attack):
    """Takes memory that not even the kernel can read (memfd_secret), and keys that protect memory."""

    either = ("root", "user")  # not every kernel has it

    def attack(self):
        self.attempt("memfd_secret", lambda: f"fd {syscall(447, 0)}")
        self.attempt("io_uring", lambda: f"fd {syscall(425, 4, ctypes.create_string_buffer(120))}")


class ReleasesOthers(Attack):
    """Has the kernel reap and freeze the memory of other processes (process_mrelease, kcmp, pidfd)."""

    def attack(self):
        def release(pid):
            pidfd = syscall(434, pid, 0)
            try:
                syscall(448, pidfd, 0)
            except OSError as error:
                if error.errno in _REFUSALS:
                    raise
                return f"reached: {error.strerror}"
            return "released"

        self.attempt_on_pids("process_mrelease", release)
        self.attempt_on_pids("robust list", lambda pid: self.read_robust_list(pid))

    def read_robust_list(self, pid):
        """Return the address of another process's list of locks."""
        head, size = ctypes.c_void_p(), ctypes.c_size_t()
        syscall(274, pid, ctypes.byref(head), ctypes.byref(size))
        return f"address {head.value:x}" if head.value else None


class TracesItsMates(Attack):
    """Lets itself be traced, and attaches to others by every way of `ptrace`."""

    def attack(self):
        for request in (16, 0x4206):  # PTRACE_ATTACH, PTRACE_SEIZE

            def attach(pid, request=request):
                syscall(101, request, pid, 0, 0)
                syscall(101, 17, pid, 0, 0)  # PTRACE_DETACH
                return "attached"

            self.attempt_on_pids(f"ptrace {request:x}", attach)


class ChangesItsPersonality(Attack):
    """Asks for addresses without randomness, for old interfaces and for segments of its own."""

    def attack(self):
        self.attempt("personality", lambda: f"{syscall(135, 0x0040000)}")
        entry = ctypes.create_string_buffer(struct.pack("IIII", 0, 0, 0xFFFFF, 0x51), 16)
        self.attempt("modify_ldt", lambda: f"{syscall(154, 1, entry, 16)}")


class MountsByDescriptors(Attack):
    """Mounts by the calls that take descriptors (fsmount, fspick), and asks for a handle of the root."""

    def attack(self):
        def mount():
            context = syscall(430, b"tmpfs", 0)
            syscall(431, context, 6, None, None, 0)
            tree = syscall(432, context, 0, 0)
            return f"mounted {tree}"

        self.attempt("fsmount", mount)
        self.attempt("fspick", lambda: f"fd {syscall(433, -100, b'/', 0)}")
        handle = ctypes.create_string_buffer(struct.pack("Ii", 128, 0), 140)
        self.attempt(
            "handle",
            lambda: syscall(303, -100, b"/", handle, ctypes.byref(ctypes.c_int()), 0) or "handle",
        )


class AsksOthersForDescriptors(Attack):
    """Sends its own descriptors to itself in a ring that no process can close, and keeps them there."""

    limits = {"step_timeout": 10.0}
    without_sandbox = "they end with its process"

    def attack(self):
        import socket

        for _ in range(60):
            first, second = socket.socketpair()
            socket.send_fds(first, [b"."], [first.fileno(), second.fileno()])
            socket.send_fds(second, [b"."], [first.fileno(), second.fileno()])
            first.close()
            second.close()


class SignalsByTimersAndFaults(Attack):
    """Has timers, message queues and faults raise signals in all of its threads at once."""

    limits = {"step_timeout": 2.0}
    without_sandbox = "signals reach its own process only"

    def attack(self):
        for number in (signal.SIGALRM, signal.SIGVTALRM, signal.SIGPROF, signal.SIGTERM):
            signal.signal(number, lambda *_: None)
        for kind in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF):
            signal.setitimer(kind, 0.0005, 0.0005)
        for _ in range(10):
            threading.Thread(target=self.spin, daemon=True).start()
        self.spin()

    def spin(self):
        """Take processor time for ever."""
        while True:
            pass


class CallsAtRandom(Attack):
    """Calls the kernel by random numbers with random arguments for two seconds."""

    limits = {"step_timeout": 6.0}
    without_sandbox = "it refuses to: on the machine itself that would be a game of chance"
    # What blocks or ends its own process before it has tried the rest: waits, exits, memory, handlers,
    # timers, signals and limits of its own, and the descriptors by which it plays.
    _LEFT_OUT = {
        0, 1, 3, 7, 9, 10, 11, 12, 13, 14, 15, 20, 23, 24, 25, 28, 33, 34, 35, 37, 38, 45, 56, 57, 58, 59, 60,
        61, 62, 128, 129, 130, 131, 158, 160, 200, 202, 205, 216, 218, 219, 222, 223, 230, 231, 232, 234, 247,
        270, 271, 273, 281, 292, 297, 302, 322, 329, 334, 335, 336, 435, 436, 453,
    }  # fmt: skip

    def attack(self):
        if not in_own_pid_namespace(self.targets["pid"]):
            self.report()
        draw = random.Random(self.targets["mark"])
        memory = mmap.mmap(-1, 65536)
        address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        libc.syscall.restype = ctypes.c_long
        values = [0, 1, -1, 2, 3, 5, 8, 64, 4096, 2**31 - 1, -(2**31), 2**62, address, address + 64]
        values += [os.getppid(), self.targets["pid"], self.targets["host_pid"], os.getpid()]
        end = time.monotonic() + 2.0
        while time.monotonic() < end:
            number = draw.randrange(0, 480)
            if number not in self._LEFT_OUT:
                memory[:256] = draw.randbytes(256)
                arguments = [ctypes.c_long(draw.choice(values)) for _ in range(6)]
                libc.syscall(ctypes.c_long(number), *arguments)
        self.report()
