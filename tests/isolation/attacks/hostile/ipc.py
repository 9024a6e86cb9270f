"""Attacks through shared memory, queues, semaphores and keys of other processes."""

import ctypes
import os
import struct
from pathlib import Path

from hostile.base import Attack, libc, syscall

_CREATE, _REMOVE = 0o1000, 0
_ADD_KEY, _KEYCTL = 248, 250
libc.shmat.restype = ctypes.c_void_p
libc.shmat.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_int]


def check(result):
    """Return a result of the C library, or raise its error."""
    if result is None or result < 0 or result == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def do(result):
    """Check a result of the C library for its errors only."""
    check(result)


class ReadsSegments(Attack):
    """Reads and overwrites SysV shared memory of other processes."""

    def attack(self):
        def access(number):
            address = check(libc.shmat(number, None, 0))
            text = ctypes.string_at(address, 60).rstrip(b"\0").decode("latin-1")
            ctypes.memset(address, 0x21, 8)
            return text

        self.attempt("segment", access, self.targets["segment"])
        self.attempt("remove", lambda: do(libc.shmctl(self.targets["segment"], _REMOVE, None)))


class ReadsQueues(Attack):
    """Takes messages from SysV queues of other processes, and sends some."""

    def attack(self):
        def receive():
            buffer = ctypes.create_string_buffer(200)
            size = check(libc.msgrcv(self.targets["queue"], buffer, 100, 0, 0o4000))
            return buffer.raw[8 : 8 + size].decode()

        message = struct.pack("q", 1) + b"forged"
        self.attempt("receive", receive)
        self.attempt("send", lambda: do(libc.msgsnd(self.targets["queue"], message, 6, 0o4000)))


class ChangesSemaphores(Attack):
    """Changes and removes SysV semaphores of other processes."""

    def attack(self):
        number = self.targets["semaphore"]
        self.attempt("set", lambda: do(libc.semctl(number, 0, 16, 77)))
        self.attempt("remove", lambda: do(libc.semctl(number, 0, _REMOVE)))


class OpensPosixSegments(Attack):
    """Reads, overwrites and removes POSIX shared memory of other processes."""

    def attack(self):
        path = Path(self.targets["posix_segment"])
        self.attempt("read", path.read_text)
        self.attempt("write", lambda: path.write_text("forged") and None)
        self.attempt("list", lambda: [n for n in os.listdir("/dev/shm") if "canary" in n] or None)


class OpensPosixQueues(Attack):
    """Reads and removes POSIX message queues of other processes."""

    def attack(self):
        name = self.targets["posix_queue"].encode()

        def receive():
            queue = check(libc.mq_open(name, os.O_RDWR | os.O_NONBLOCK))
            buffer = ctypes.create_string_buffer(8192)
            size = check(libc.mq_receive(queue, buffer, 8192, None))
            return buffer.raw[:size].decode()

        self.attempt("receive", receive)


class LeavesSegments(Attack):
    """Leaves SysV segments, queues and semaphores, and POSIX ones, for ever."""

    def attack(self):
        key, name = self.targets["ipc_key"], f"/{self.targets['mark']}-left"
        self.attempt("segment", lambda: do(libc.shmget(key, 4096, _CREATE | 0o600)))
        self.attempt("queue", lambda: do(libc.msgget(key, _CREATE | 0o600)))
        self.attempt("semaphores", lambda: do(libc.semget(key, 5, _CREATE | 0o600)))
        self.attempt("file", lambda: Path(f"/dev/shm{name}").write_text("left") and None)
        self.attempt("tmp", lambda: Path(f"/tmp{name}").write_text("left") and None)


class UsesKeyrings(Attack):
    """Keeps a key in the user's keyring, where it outlives the process, and lists others."""

    def attack(self):
        def add():
            name = self.targets["mark"].encode()
            key = syscall(_ADD_KEY, b"user", name, b"left", 4, -4)
            syscall(_KEYCTL, 3, key)  # revoked at once: nothing else would remove it
            return f"key {key}"

        self.attempt("add", add)
        self.attempt("session", lambda: f"keyring {syscall(_KEYCTL, 1, None)}")
        self.attempt("list", lambda: Path("/proc/keys").read_text()[:50])
