"""Attacks on memory and disk: more than the limits allow, by all the ways there are."""

# ruff: noqa: RUF012, these tables are never changed

import ctypes
import fcntl
import mmap
import os
import resource
import socket
import tempfile
import threading

from hostile.base import Attack, libc, wait_a_moment

MEMORY_LIMIT = 512  # MB
_TOO_MUCH = 1200  # MB: with the interpreter's own, far beyond the limit
_CHUNK = 16 * 2**20
_F_SETPIPE_SZ = 1031


class MemoryAttack(Attack):
    """Takes too much memory and reports whether it could hold it for a second."""

    limits = {"memory_limit": MEMORY_LIMIT, "step_timeout": 10.0, "disk_limit": 64}

    def attack(self):
        self.held = []

        def take_all():
            taken = 0
            while taken < _TOO_MUCH * 2**20:
                taken += self.take()
            wait_a_moment(1.5)
            return f"{taken >> 20} MB of {MEMORY_LIMIT}"

        self.attempt(type(self).__name__, take_all)
        self.held.clear()

    def take(self):
        """Take some memory and return how many bytes."""
        raise NotImplementedError


class TakesHeap(MemoryAttack):
    """Takes memory by objects."""

    def take(self):
        self.held.append(bytearray(b"x") * _CHUNK)
        return _CHUNK


class TakesHeapByDefault(Attack):
    """Takes three gigabytes where nobody has chosen a limit."""

    limits = {"step_timeout": 20.0}

    def attack(self):
        self.attempt("heap", self._take)

    @staticmethod
    def _take():
        held = [bytearray(b"x") * 2**28 for _ in range(12)]
        wait_a_moment(1.0)
        return f"{sum(map(len, held)) >> 20} MB"


class TakesSharedMaps(MemoryAttack):
    """Takes memory by shared maps, which data limits do not count."""

    def take(self):
        memory = mmap.mmap(-1, _CHUNK)
        memory[:] = b"x" * _CHUNK
        self.held.append(memory)
        return _CHUNK


class TakesMemfds(MemoryAttack):
    """Takes memory by memfds that nobody maps."""

    def take(self):
        handle = os.memfd_create("attack")
        os.write(handle, b"x" * _CHUNK)
        self.held.append(os.fdopen(handle))
        return _CHUNK


class TakesFileMemory(MemoryAttack):
    """Takes memory by files in its scratch folder and in /dev/shm, which lie in memory."""

    def attack(self):
        self.files = []
        try:
            super().attack()
        finally:
            for path in self.files:
                os.unlink(path)

    def take(self):
        for folder in (tempfile.gettempdir(), "/dev/shm"):
            path = os.path.join(folder, f"{self.targets['mark']}-{len(self.files)}")
            with open(path, "wb") as file:
                self.files.append(path)
                file.write(b"x" * (_CHUNK // 2))
        return _CHUNK


class TakesPipes(MemoryAttack):
    """Takes kernel memory by pipes that it never reads."""

    either = ("user",)  # kernels limit the pipes of ordinary users, each in its way

    def take(self):
        readable, writable = os.pipe()
        size = fcntl.fcntl(writable, _F_SETPIPE_SZ, 2**20)
        if size < 2**20:
            raise OSError(1, "small pipes only")
        self.held += [os.fdopen(readable), os.fdopen(writable, "w")]
        os.set_blocking(writable, False)
        return os.write(writable, b"x" * size)


class TakesSocketBuffers(MemoryAttack):
    """Takes kernel memory by sockets that it never reads."""

    def take(self):
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2**22)
        self.held += [ours, theirs]
        taken = 0
        while True:
            try:
                taken += ours.send(b"x" * 65536)
            except BlockingIOError:
                return taken


class TakesStacks(MemoryAttack):
    """Takes memory by the stacks of many threads, filled from below."""

    def take(self):
        threading.stack_size(32 * 2**20)
        filled, stop = threading.Event(), threading.Event()
        self.held.append(stop)

        def fill():
            fill_stack()
            filled.set()
            stop.wait(4)

        threading.Thread(target=fill, daemon=True).start()
        if not filled.wait(3):
            raise MemoryError("a thread has died")
        return 16 * 2**20


def fill_stack():
    """Touch the lower half of the calling thread's stack."""
    attributes, address, size = (
        ctypes.create_string_buffer(64),
        ctypes.c_void_p(),
        ctypes.c_size_t(),
    )
    libc.pthread_self.restype = ctypes.c_void_p
    libc.pthread_getattr_np.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
    libc.pthread_getattr_np(libc.pthread_self(), attributes)
    libc.pthread_attr_getstack(attributes, ctypes.byref(address), ctypes.byref(size))
    ctypes.memset(address.value + 8192, 1, size.value // 2)


class TakesMemoryInChildren(MemoryAttack):
    """Takes memory in children, each of which is below the limit."""

    limits = {**MemoryAttack.limits, "process_limit": 8}

    def take(self):
        readable, writable = os.pipe()
        if os.fork() == 0:
            data = bytearray(b"x") * (200 * 2**20)
            os.write(writable, b"." if data else b"")
            wait_a_moment(4)
            os._exit(0)
        os.close(writable)
        if not os.read(readable, 1):
            raise MemoryError("a child has died")
        self.held.append(readable)
        return 200 * 2**20


class RaisesItsLimits(MemoryAttack):
    """Raises its own limits first, then takes memory by objects."""

    def take(self):
        if not self.held:
            for kind in (resource.RLIMIT_DATA, resource.RLIMIT_AS):
                self.attempt(f"limit {kind}", lambda kind=kind: resource.setrlimit(kind, (-1, -1)))
        self.held.append(bytearray(b"x") * _CHUNK)
        return _CHUNK


class DiskAttack(Attack):
    """Writes to its scratch folder more than it should, and removes it again."""

    limits = {"disk_limit": 16, "file_size_limit": 8, "step_timeout": 10.0}


class FillsTheDisk(DiskAttack):
    """Fills its scratch folder with files."""

    def attack(self):
        paths = [f"fill-{self.targets['mark']}-{i}" for i in range(40)]

        def fill():
            for path in paths:
                with open(path, "wb") as file:
                    file.write(b"x" * 2**22)
            wait_a_moment(0.5)
            return "160 MB of 16"

        self.attempt("fill", fill)
        for path in paths:
            self.attempt("remove", os.unlink, path)


class WritesHugeFiles(DiskAttack):
    """Makes files of a terabyte without content, and larger ones than allowed."""

    def attack(self):
        path = f"huge-{self.targets['mark']}"

        def make_sparse():
            with open(path, "wb") as file:
                os.truncate(file.fileno(), 2**40)
            return "a terabyte"

        def make_large():
            with open(path, "wb") as file:
                file.write(b"x" * (12 * 2**20))
            return "12 MB of 8"

        import signal

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        self.attempt("sparse", make_sparse)
        self.attempt("large", make_large)
        self.attempt("remove", os.unlink, path)


class MakesManyFiles(DiskAttack):
    """Makes so many empty files that no inodes are left."""

    def attack(self):
        folder = f"many-{self.targets['mark']}"

        def make_all():
            for i in range(30_000):
                os.close(os.open(f"{folder}/{i}", os.O_CREAT | os.O_WRONLY))
            return "30000 files"

        self.attempt("folder", os.mkdir, folder)
        self.attempt("files", make_all)
        import shutil

        shutil.rmtree(folder, ignore_errors=True)


class LeavesDeepFolders(Attack):
    """Leaves folders nested so deeply that no path leads to their end."""

    def attack(self):
        def nest():
            os.mkdir(f"deep-{self.targets['mark']}")
            os.chdir(f"deep-{self.targets['mark']}")
            for _ in range(1500):
                os.mkdir("deeper")
                os.chdir("deeper")

        os.chdir(tempfile.gettempdir())
        self.attempt("nest", nest)


class LeavesUnreadableFolders(Attack):
    """Leaves folders and files that even their owner may not read or remove."""

    def attack(self):
        def leave():
            folder = os.path.join(tempfile.gettempdir(), f"closed-{self.targets['mark']}")
            os.mkdir(folder)
            with open(f"{folder}/file", "w") as file:
                file.write("x")
            os.chmod(f"{folder}/file", 0)
            os.chmod(folder, 0)
            os.chmod(tempfile.gettempdir(), 0)

        self.attempt("leave", leave)
