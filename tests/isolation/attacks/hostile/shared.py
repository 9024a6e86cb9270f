"""Attacks on what processes of a machine or of a user share: devices, huge pages, counts, disks, sockets."""

# ruff: noqa: RUF012, these tables are never changed

import ctypes
import fcntl
import gc
import mmap
import os
import socket
import struct
import threading
from contextlib import suppress

from hostile.base import ATTACK_STEP, Attack, libc, open_fds, syscall, wait_a_moment
from hostile.resources import TakesSharedMaps
from kinfolk.policies.base import MemoryField

_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_MAP_HUGETLB, _MAP_NORESERVE = 0x40000, 0x4000
_HUGE_PAGE = 2 * 2**20
_SYNC, _SYNCFS, _VFORK, _EXIT = 162, 306, 58, 60
_F_SET_RW_HINT, _F_GET_RW_HINT = 1036, 1035
_FS_IOC_GETFLAGS, _FIGETBSZ = 0x80086601, 2


class TouchesDevices(Attack):
    """Sets the times of devices that it may write to, which are those of the machine."""

    def attack(self):
        for path in _DEVICES:
            self.attempt(path, self._touch, path)

    @staticmethod
    def _touch(path):
        before = os.stat(path).st_mtime_ns
        os.utime(path)
        return (
            f"changed by {after - before}"
            if (after := os.stat(path).st_mtime_ns) != before
            else None
        )


class ReservesHugePages(Attack):
    """Maps huge pages, of which the machine has one pool: reserving them takes them from everybody."""

    def attack(self):
        libc.mmap.restype = ctypes.c_void_p
        libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
        for name, kind in (("private", mmap.MAP_PRIVATE), ("shared", mmap.MAP_SHARED)):
            self.attempt(name, self._map, kind)

    @staticmethod
    def _map(kind):
        flags = kind | mmap.MAP_ANONYMOUS | _MAP_HUGETLB | _MAP_NORESERVE  # the test reserves none
        address = libc.mmap(None, _HUGE_PAGE, mmap.PROT_READ, flags, -1, 0)
        if address == ctypes.c_void_p(-1).value:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        return hex(address)


class FlushesDisks(Attack):
    """Has the machine write all changed files of everybody to its disks, as often as it likes."""

    def attack(self):
        self.attempt("sync", lambda: syscall(_SYNC) == 0)
        handle = os.open(os.__file__, os.O_RDONLY)
        self.attempt("syncfs", lambda: syscall(_SYNCFS, handle) == 0)


class HoldsDescriptorsInFlight(Attack):
    """Sends hundreds of descriptors to itself and never takes them: a user may have only so many on the way."""

    def attack(self):
        self.pairs = []
        self.attempt("in flight", self._send)

    def _send(self):
        n_sent = 0
        for _ in range(4):
            self.pairs.append(pair := socket.socketpair())
            socket.send_fds(pair[0], [b"."], [0] * 200)
            n_sent += 200
        return f"{n_sent} descriptors"


class AsksFileSystems(Attack):
    """Asks file systems about the files that it can see, and advises them, by rare ioctls and fcntls."""

    def attack(self):
        handle = os.open(os.__file__, os.O_RDONLY)
        self.attempt("flags", lambda: fcntl.ioctl(handle, _FS_IOC_GETFLAGS, bytes(8)).hex())
        self.attempt("block size", lambda: fcntl.ioctl(handle, _FIGETBSZ, bytes(4)).hex())
        self.attempt("hint", self._hint, handle)

    @staticmethod
    def _hint(handle):
        before = fcntl.fcntl(handle, _F_GET_RW_HINT, bytes(8))
        fcntl.fcntl(handle, _F_SET_RW_HINT, struct.pack("Q", 2))
        fcntl.fcntl(handle, _F_SET_RW_HINT, before)
        return "set"


class ForksInAChain(Attack):
    """Starts a chain of thousands of processes, each the child of the last, before anybody looks."""

    limits = {"process_limit": 1, "step_timeout": 10.0}
    n_links = 3000

    def attack(self):
        self.attempt("chain", self._fork_chain)

    def _fork_chain(self):
        # vfork in a loop: the child goes on where the parent waits for it. The last one counts and sleeps.
        counter = mmap.mmap(-1, 4096)
        address = ctypes.addressof(ctypes.c_char.from_buffer(counter))
        code = b"\x49\xb8" + struct.pack("<Q", address)  # mov r8, address
        code += b"\x41\xb9" + struct.pack("<I", self.n_links)  # mov r9d, n_links
        loop = len(code)
        code += b"\xb8" + struct.pack("<I", _VFORK) + b"\x0f\x05"  # mov eax, 58; syscall
        code += b"\x48\x85\xc0"  # test rax, rax
        code += b"\x75" + bytes([12])  # jnz end: a parent, or refused
        code += b"\x49\xff\x00"  # inc qword [r8]
        code += b"\x41\xff\xc9"  # dec r9d
        code += b"\x75" + struct.pack("b", loop - len(code) - 2)  # jnz loop
        code += b"\xeb\x09"  # jmp sleep
        code += b"\x31\xff\xb8" + struct.pack("<I", _EXIT) + b"\x0f\x05"  # end: exit(0)
        code += b"\xb8\x22\x00\x00\x00\x0f\x05\xeb\xf7"  # sleep: pause(); jmp sleep
        memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        memory.write(code)
        start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        run = ctypes.CFUNCTYPE(ctypes.c_long)(start)
        threading.Thread(target=run, daemon=True).start()
        wait_a_moment(2.0)
        n_children = struct.unpack("q", counter[:8])[0]
        return f"{n_children} processes" if n_children > 1 + 200 else None


class HidesBehindADeadThread(TakesSharedMaps):
    """Ends its first thread and goes on in another, so that the system shows the process as one without memory."""

    limits = {**TakesSharedMaps.limits, "step_timeout": 40.0}

    def step(self):
        if self.n_steps == ATTACK_STEP:
            worker = next(item for item in gc.get_objects() if type(item).__name__ == "_WorkerLoop")
            threading.Thread(target=worker.execute, args=(super().step,)).start()
            libc.syscall(_EXIT, 0)  # without the interpreter's lock, which the other thread takes


class ClosesItsSocketAtOnce(Attack):
    """Closes the socket to the host while it is built, through which the host is about to send memory."""

    whole_slot = True
    without_sandbox = "it harms nobody but itself"

    def __init__(self, spec, targets=None):
        super().__init__(spec, targets)
        for fd in open_fds():
            with suppress(OSError):
                socket.socket(fileno=os.dup(fd)).shutdown(socket.SHUT_RDWR)

    @property
    def memory_layout(self):
        return {"memory": MemoryField((4,), "float64")}

    def step(self):
        pass


class LocksWhatOthersRead(Attack):
    """Locks a file of the standard library, which says one bit to every policy that can read it."""

    def attack(self):
        self.attempt("flock", self._lock)

    @staticmethod
    def _lock():
        with open(os.__file__, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return f"locked {os.path.basename(os.__file__)}"
