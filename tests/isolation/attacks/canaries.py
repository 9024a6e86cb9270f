"""Canaries: files, a process, shared memory, queues, sockets and secrets that attacks must not reach."""

import contextlib
import ctypes
import fcntl
import hashlib
import os
import pty
import secrets
import signal
import socket
import struct
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

libc = ctypes.CDLL(None, use_errno=True)
ENV_NAME = "CANARY_TOKEN"
_IPC_CREAT, _IPC_RMID, _IPC_STAT = 0o1000, 0, 2
_PR_SET_PDEATHSIG, _PR_SET_PTRACER, _ANY_TRACER = 1, 0x59616D61, -1
_GET_FLAGS, _SET_FLAGS = 0x80086601, 0x40086602  # FS_IOC_GETFLAGS, FS_IOC_SETFLAGS
_ALL_LIMITS = range(16)
libc.shmat.restype = ctypes.c_void_p
libc.shmat.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_int]
libc.shmdt.argtypes = [ctypes.c_void_p]


class Canaries:
    """All canaries of one match; a context that removes them at its end.

    Args:
        folder: Empty folder for the files.

    Attributes:
        secrets: Texts that must appear nowhere, by what they are.
        targets: What the attacker is told, as plain values.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        names = (
            "file",
            "memory",
            "environment",
            "weights",
            "seed",
            "segment",
            "message",
            "descriptor",
        )
        self.secrets = {name: f"SECRET{secrets.token_hex(8)}{name}" for name in names}
        # The host's command line and environment are those of the runner, which holds one secret.
        self.secrets["environment"] = os.environ.get(ENV_NAME, self.secrets["environment"])
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> "Canaries":
        self._make_files()
        self._make_ipc()
        self._make_sockets()
        self._make_process()
        self.targets = {
            "folder": str(self.folder), "secret": str(self.folder / "secret.txt"),
            "precious": str(self.folder / "precious.txt"), "run": str(self.folder / "run"),
            "weights": str(self.weights), "pid": self.pid, "host_pid": os.getpid(),
            "address": ctypes.addressof(self._memory), "size": len(self._memory),
            "segment": self._segment, "queue": self._queue, "semaphore": self._semaphore,
            "posix_segment": str(self._posix_segment), "posix_queue": self._posix_queue,
            "port": self._ports[0], "port6": self._ports[1], "udp_port": self._ports[2],
            "abstract": self._abstract, "unix": self._unix, "terminal": self._terminal,
            "env_name": ENV_NAME, "mark": f"attack-{os.getpid()}",
            "ipc_key": 0x6B000000 | os.getpid() & 0xFFFFFF,
        }  # fmt: skip
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

    def snapshot(self) -> dict[str, str]:
        """Return the present state of everything, as texts by name."""
        state = {}
        for path in [self.folder, *sorted(self.folder.rglob("*"))]:
            state[f"file {path.relative_to(self.folder)}"] = describe_file(path)
        for name, pid in (("canary", self.pid), ("host", os.getpid())):
            state |= {f"{name} {key}": value for key, value in describe_process(pid).items()}
        state["canary memory"] = self._read_memory()
        state |= self._describe_ipc()
        state["connections"] = self._count_connections()
        state["terminal"] = self._read_terminal()
        state["host name"] = " ".join(os.uname())
        state["mounts"] = Path("/proc/self/mounts").read_text()
        state["clock"] = str(round((time.time() - time.monotonic()) / 5))
        return state

    def _make_files(self) -> None:
        """Write files: a secret, a precious one, a run's settings and the rival's weights."""
        run = self.folder / "run"
        run.mkdir()
        (self.folder / "secret.txt").write_text(self.secrets["file"])
        (run / "settings.json").write_text(f'{{"seed": "{self.secrets["seed"]}"}}')
        precious = self.folder / "precious.txt"
        precious.write_text("precious")
        os.utime(precious, ns=(10**18, 10**18))
        precious.chmod(0o640)
        self.weights = self.folder.parent / "policies" / "rival.safetensors"
        moves = b"\0\1\2\0\1\1\2\2"  # the rival plays these; the rest is its secret
        numbers = np.frombuffer(moves + self.secrets["weights"].encode(), np.uint8).astype(
            np.float32
        )
        save_file({"weights": numbers}, self.weights, {"token": self.secrets["weights"]})
        self._stack.callback(_clear_flags, precious)
        held = self.folder.parent / "held"
        held.write_text(self.secrets["descriptor"])
        self._descriptor = os.open(held, os.O_RDWR)
        os.set_inheritable(self._descriptor, True)
        held.unlink()
        self._stack.callback(os.close, self._descriptor)

    def _make_ipc(self) -> None:
        """Make SysV and POSIX shared memory, queues and a semaphore, with secrets in them."""
        self._segment = libc.shmget(0, 4096, _IPC_CREAT | 0o600)
        self._stack.callback(libc.shmctl, self._segment, _IPC_RMID, None)
        address = libc.shmat(self._segment, None, 0)
        ctypes.memmove(address, self.secrets["segment"].encode(), len(self.secrets["segment"]))
        libc.shmdt(address)
        self._queue = libc.msgget(0, _IPC_CREAT | 0o600)
        self._stack.callback(libc.msgctl, self._queue, _IPC_RMID, None)
        text = self.secrets["message"].encode()
        libc.msgsnd(self._queue, struct.pack("q", 1) + text, len(text), 0)
        self._semaphore = libc.semget(0, 1, _IPC_CREAT | 0o600)
        self._stack.callback(libc.semctl, self._semaphore, 0, _IPC_RMID)
        self._posix_segment = Path(f"/dev/shm/kinfolk-canary-{os.getpid()}")
        self._posix_segment.write_text(self.secrets["segment"])
        self._stack.callback(self._posix_segment.unlink, missing_ok=True)
        self._posix_queue = f"/kinfolk-canary-{os.getpid()}"
        queue = libc.mq_open(self._posix_queue.encode(), os.O_CREAT | os.O_RDWR, 0o600, None)
        libc.mq_send(queue, text, len(text), 0)
        self._mq = queue
        self._stack.callback(libc.mq_unlink, self._posix_queue.encode())
        self._stack.callback(os.close, queue)

    def _describe_ipc(self) -> dict[str, str]:
        """Return the contents of shared memory and the lengths of queues."""
        address = libc.shmat(self._segment, None, 0)
        gone = address in (None, ctypes.c_void_p(-1).value)
        segment = "gone" if gone else ctypes.string_at(address, 64).hex()
        if not gone:
            libc.shmdt(address)
        attributes = ctypes.create_string_buffer(64)
        libc.mq_getattr(self._mq, attributes)
        posix = self._posix_segment
        return {
            "segment": segment,
            "queue": _sysv_line("msg", self._queue, (4, 5)),
            "semaphore": f"{libc.semctl(self._semaphore, 0, 12)} {libc.semctl(self._semaphore, 0, 14)}",
            "POSIX segment": posix.read_text() if posix.exists() else "gone",
            "POSIX queue": str(struct.unpack("qqqq", attributes.raw[:32])[3]),
        }

    def _make_sockets(self) -> None:
        """Listen where an attacker may try to connect, and hold a terminal."""
        self._abstract = f"kinfolk-canary-{os.getpid()}-{secrets.token_hex(4)}"
        self._unix = str(self.folder.parent / "unix.socket")
        places = [
            (socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)),
            (socket.AF_INET6, socket.SOCK_STREAM, ("::1", 0)),
            (socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
            (socket.AF_UNIX, socket.SOCK_STREAM, f"\0{self._abstract}"),
            (socket.AF_UNIX, socket.SOCK_STREAM, self._unix),
        ]
        self._listeners, self._ports, self._n_connections = [], [], 0
        for family, kind, address in places:
            listener = self._stack.enter_context(socket.socket(family, kind))
            listener.setblocking(False)
            try:
                listener.bind(address)
            except OSError:  # no IPv6
                self._ports.append(9)
                continue
            if kind == socket.SOCK_STREAM:
                listener.listen()
            self._listeners.append(listener)
            if family != socket.AF_UNIX:
                self._ports.append(listener.getsockname()[1])
        self._stack.callback(Path(self._unix).unlink, missing_ok=True)
        self._master, slave = pty.openpty()
        self._terminal = os.ttyname(slave)
        os.set_blocking(self._master, False)
        self._stack.callback(os.close, self._master)
        self._stack.callback(os.close, slave)
        self._typed = b""

    def _count_connections(self) -> str:
        """Return how many connections and datagrams have come so far."""
        for listener in self._listeners:
            while True:
                try:
                    if listener.type == socket.SOCK_DGRAM:
                        listener.recv(100)
                    else:
                        listener.accept()[0].close()
                except OSError:
                    break
                self._n_connections += 1
        return str(self._n_connections)

    def _read_terminal(self) -> str:
        """Return all that was written to the terminal."""
        with contextlib.suppress(OSError):
            self._typed += os.read(self._master, 4096)
        return self._typed.hex()

    def _make_process(self) -> None:
        """Start a sleeping process of the same user that holds a secret and a deleted file."""
        text = self.secrets["memory"].encode()
        self._memory = ctypes.create_string_buffer(text, len(text))
        readable, writable = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.setpgid(0, 0)
            libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            libc.prctl(_PR_SET_PTRACER, ctypes.c_ulong(_ANY_TRACER), 0, 0, 0)
            os.dup2(self._descriptor, 3)
            os.write(writable, b".")
            os.closerange(4, 1024)
            while True:
                time.sleep(600)
        os.close(writable)
        os.read(readable, 1)
        os.close(readable)
        self._stack.callback(self._end_process)

    def _end_process(self) -> None:
        """End the canary process, whatever was done to it."""
        with contextlib.suppress(OSError):
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)

    def _read_memory(self) -> str:
        """Return what the canary's memory holds."""
        try:
            with open(f"/proc/{self.pid}/mem", "rb", 0) as memory:
                memory.seek(ctypes.addressof(self._memory))
                return memory.read(len(self._memory)).decode("latin-1")
        except OSError as error:
            return str(error)


def describe_file(path: Path) -> str:
    """Return everything about a file that a change would alter."""
    try:
        status = path.lstat()
    except OSError as error:
        return str(error)
    parts = [oct(status.st_mode), status.st_uid, status.st_gid, status.st_nlink, status.st_mtime_ns]
    with contextlib.suppress(OSError):
        parts += [(name, os.getxattr(path, name)) for name in os.listxattr(path)]
        if path.is_file():
            parts.append(hashlib.sha256(path.read_bytes()).hexdigest())
            parts.append(_get_flags(path))
    return " ".join(map(str, parts))


def _get_flags(path: Path) -> int:
    """Return the flags of a file that `chattr` sets."""
    with open(path, "rb") as file:
        value = fcntl.ioctl(file, _GET_FLAGS, bytes(8))
    return struct.unpack("q", value)[0] & 0x30  # immutable, append only


def _clear_flags(path: Path) -> None:
    """Make a file removable again."""
    with contextlib.suppress(OSError), open(path, "rb") as file:
        flags = struct.unpack("q", fcntl.ioctl(file, _GET_FLAGS, bytes(8)))[0]
        if flags & 0x30:
            fcntl.ioctl(file, _SET_FLAGS, struct.pack("q", flags & ~0x30))


def describe_process(pid: int) -> dict[str, str]:
    """Return state, priorities, limits and control groups of a process."""

    def read_state() -> str:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        return "alive" if state in "RSD" else state

    def read_status() -> list[str]:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        return [line for line in lines if line.startswith(("TracerPid", "SigPnd", "ShdPnd"))]

    readers: dict[str, Callable[[], object]] = {
        "state": read_state,
        "tracer and signals": read_status,
        "affinity": lambda: sorted(os.sched_getaffinity(pid)),
        "scheduler": lambda: os.sched_getscheduler(pid),
        "nice": lambda: os.getpriority(os.PRIO_PROCESS, pid),
        "io priority": lambda: libc.syscall(252, 1, pid),
    }
    for name in ("limits", "oom_score_adj", "cgroup", "timerslack_ns", "coredump_filter"):
        readers[name] = Path(f"/proc/{pid}/{name}").read_text
    values = {}
    for name, read in readers.items():
        try:
            values[name] = str(read())
        except OSError as error:  # of a process that is gone, or of a file only for root
            values[name] = str(error)
    return values


def _sysv_line(kind: str, number: int, columns: tuple[int, ...]) -> str:
    """Return columns of a table of `/proc/sysvipc`, of one id."""
    for line in Path(f"/proc/sysvipc/{kind}").read_text().splitlines()[1:]:
        fields = line.split()
        if int(fields[1]) == number:
            return " ".join(fields[i] for i in columns)
    return "gone"
