"""Attacks on the machine through the kernel: namespaces, mounts, clocks, devices, rare calls."""

# ruff: noqa: RUF012, these tables are never changed

import ctypes
import os
import signal
import struct
import time

from hostile.base import Attack, do_syscall, libc, syscall

_UNSHARE, _SETNS, _CLONE, _CLONE3 = 272, 308, 56, 435
_MOUNT, _UMOUNT, _OPEN_TREE, _MOVE_MOUNT, _FSOPEN, _MOUNT_SETATTR = 165, 166, 428, 429, 430, 442
_NEW_USER, _NEW_NS, _NEW_PID, _NEW_NET = 0x10000000, 0x00020000, 0x20000000, 0x40000000
_OPEN_TREE_CLONE = 1


class UnsharesNamespaces(Attack):
    """Enters new namespaces, in which it would have all capabilities."""

    def attack(self):
        for name, flag in (("user", _NEW_USER), ("user and mounts", _NEW_USER | _NEW_NS),
                           ("mounts", _NEW_NS), ("network", _NEW_NET), ("pids", _NEW_PID)):  # fmt: skip
            self.attempt(name, lambda flag=flag: f"unshared {syscall(_UNSHARE, flag)}")


class ClonesNamespaces(Attack):
    """Starts a child in new namespaces by `clone`."""

    def attack(self):
        def clone():
            pid = syscall(_CLONE, _NEW_USER | _NEW_NS | signal.SIGCHLD, 0, 0, 0, 0)
            if pid == 0:
                os._exit(0)
            os.waitpid(pid, 0)
            return f"child {pid}"

        self.attempt("clone", clone)


class ClonesByClone3(Attack):
    """Starts a child in new namespaces by `clone3`, whose flags no seccomp filter can read."""

    def attack(self):
        def clone():
            arguments = ctypes.create_string_buffer(
                struct.pack("QQQQQ", _NEW_USER | _NEW_NS, 0, 0, 0, signal.SIGCHLD), 88
            )
            pid = syscall(_CLONE3, arguments, 64)
            if pid == 0:
                os._exit(0)
            os.waitpid(pid, 0)
            return f"child {pid}"

        self.attempt("clone3", clone)


class EntersNamespaces(Attack):
    """Enters the namespaces of the user's processes by `setns`."""

    without_sandbox = {"user": "an ordinary user may not"}

    def attack(self):
        def enter(pid):
            return f"entered {syscall(_SETNS, syscall(434, pid, 0), 0x04000000)}"

        self.attempt_on_pids("setns", enter)
        self.attempt(
            "file", lambda: f"{syscall(_SETNS, os.open('/proc/1/ns/uts', os.O_RDONLY), 0)}"
        )


class Mounts(Attack):
    """Mounts an empty folder over the user's files, by the old and the new calls."""

    without_sandbox = {"user": "an ordinary user may not"}

    def attack(self):
        target = self.targets["run"].encode()

        def mount():
            syscall(_MOUNT, b"none", target, b"tmpfs", 0, 0)
            syscall(_UMOUNT, target, 0)
            return "mounted"

        def clone_tree():
            return f"tree {syscall(_OPEN_TREE, -100, b'/', _OPEN_TREE_CLONE)}"

        self.attempt("mount", mount)
        self.attempt("fsopen", lambda: f"fs {syscall(_FSOPEN, b'tmpfs', 0)}")
        self.attempt("open_tree", clone_tree)


class ChangesRoot(Attack):
    """Changes its root folder, from which it could break out."""

    without_sandbox = {"user": "an ordinary user may not"}

    def attack(self):
        def change():
            os.chroot("/")
            return "changed"

        self.attempt("chroot", change)


class SetsTheClock(Attack):
    """Sets the machine's clock, here to the time that it is."""

    without_sandbox = {"user": "an ordinary user may not"}

    def attack(self):
        def set_clock():
            time.clock_settime(time.CLOCK_REALTIME, time.clock_gettime(time.CLOCK_REALTIME))
            return "set"

        self.attempt("clock", set_clock)


class SetsTheHostName(Attack):
    """Sets the machine's name, here to its own."""

    without_sandbox = {"user": "an ordinary user may not"}

    def attack(self):
        def set_name():
            name = os.uname().nodename.encode()
            syscall(170, name, len(name))
            return "set"

        self.attempt("name", set_name)


class ReadsTheKernelLog(Attack):
    """Reads the kernel's log by `syslog`, which may hold addresses and names."""

    either = ("user",)  # some kernels refuse it to ordinary users

    def attack(self):
        def read():
            buffer = ctypes.create_string_buffer(4096)
            return f"{syscall(103, 3, buffer, 4096)} bytes"

        self.attempt("syslog", read)


class UsesDangerousCalls(Attack):
    """Opens doors to much kernel code: BPF, userfaultfd, io_uring, fanotify, perf."""

    def attack(self):
        ring = ctypes.create_string_buffer(120)
        program = ctypes.create_string_buffer(struct.pack("IIIII", 2, 4, 4, 1, 0), 120)
        self.attempt("bpf", lambda: f"fd {syscall(321, 0, program, 72)}")
        self.attempt("userfaultfd", lambda: f"fd {syscall(323, 1)}")
        self.attempt("io_uring", lambda: f"fd {syscall(425, 4, ring)}")
        self.attempt("fanotify", lambda: f"fd {syscall(300, 0x200, 0)}")
        self.attempt("pidfd self", lambda: syscall(434, os.getpid(), 0) and None)


class LoadsKernelCode(Attack):
    """Looks whether it may load modules, a new kernel or swap; the arguments are invalid."""

    without_sandbox = {"user": "an ordinary user may not"}

    def attack(self):
        for name, number, arguments in (
            ("init_module", 175, (0, 0, 0)), ("kexec_load", 246, (0, 17, 0, 0)),
            ("swapon", 167, (0, 0)),
            ("iopl", 172, (3,)), ("acct", 163, (b"/nowhere/at/all",)),
        ):  # fmt: skip

            def probe(number=number, arguments=arguments):
                try:
                    syscall(number, *arguments)
                except OSError as error:
                    if error.errno in (1, 38):  # not permitted, or the kernel has no such call
                        raise
                    return f"reached: {error.strerror}"
                return "reached"

            self.attempt(name, probe)


class RegainsPrivileges(Attack):
    """Becomes another user, gains capabilities or new privileges."""

    without_sandbox = {"user": "an ordinary user may not"}

    def attack(self):
        def capabilities():
            header = ctypes.create_string_buffer(struct.pack("Ii", 0x20080522, 0), 8)
            data = ctypes.create_string_buffer(24)
            syscall(125, header, data)
            effective = struct.unpack("6I", data.raw)[0]
            return f"capabilities {effective:x}" if effective else None

        def change_user():
            os.setresuid(61235, 61235, os.getuid())
            return "user"

        self.attempt("capget", capabilities)
        self.attempt("groups", lambda: os.setgroups([0, 1, 2]) or "groups")
        self.attempt("setresuid", change_user)
        self.attempt("keepcaps", lambda: None if libc.prctl(47, 2, 21, 0, 0) else "ambient")


class SwitchesArchitecture(Attack):
    """Calls the kernel as a 32-bit program, whose numbers a filter may not know."""

    limits = {"step_timeout": 5.0}

    def attack(self):
        import mmap

        # mov eax, 37 (kill); mov ebx, pid; mov ecx, 9; int 0x80; ret, with rbx saved
        pid = struct.pack("i", self.targets["pid"])
        code = b"\x53\xb8\x25\0\0\0\xbb" + pid + b"\xb9\x09\0\0\0\xcd\x80\x5b\xc3"
        protection = mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
        memory = mmap.mmap(-1, 4096, prot=protection)
        memory.write(code)
        address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        result = ctypes.CFUNCTYPE(ctypes.c_int)(address)()
        self.attempt("int 0x80", lambda: None if result < 0 else "killed")


class UsesX32Calls(Attack):
    """Calls the kernel by x32 numbers, which a filter may not know."""

    without_sandbox = "kernels are rarely built with x32 calls"

    def attack(self):
        self.attempt("kill", do_syscall, 0x40000000 + 62, self.targets["pid"], 9)
        self.attempt("queue", do_syscall, 0x40000000 + 524, self.targets["pid"], 9, None)


class MovesIntoControlGroups(Attack):
    """Makes control groups and moves others into them, to freeze or limit them."""

    without_sandbox = {"user": "an ordinary user may not"}

    def attack(self):
        for root in ("/sys/fs/cgroup", "/sys/fs/cgroup/freezer", "/sys/fs/cgroup/unified"):

            def make(root=root):
                folder = f"{root}/{self.targets['mark']}"
                os.mkdir(folder)
                os.rmdir(folder)
                return "made"

            self.attempt(root, make)
