"""The host's end of the process that starts policies' processes."""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
import sys
import time
from typing import Any

from kinfolk.core.errors import EngineError

_START_TIMEOUT = 60.0
_PRELOAD_TIMEOUT = 600.0  # a cold compilation
_EXIT_TIMEOUT = 3.0
_MAX_MESSAGE_BYTES = 65536
_MAIN_COMMAND = "from kinfolk.isolation.forkserver_main import main; main()"
# Threads of libraries would be lost in the fork, and two busy ones per core are slower anyway.
_SINGLE_THREAD_ENV = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"
)
# All that a shut-in policy learns of our environment.
_SANDBOX_ENV_NAMES = ("PATH", "PYTHONPATH", "LANG", "LC_ALL", "HOME", "XDG_CACHE_HOME", "COLUMNS")


class ProcessLimitError(EngineError):
    """The system makes no more processes for us."""


class ForkServerClient:
    """Starts guests. It is made at the first of them, and ends with `close` or with its host."""

    def __init__(self, minimal_env: bool = False) -> None:
        self._minimal_env = minimal_env  # whether its environment is cut down to what is harmless
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._unread = b""
        self._preloaded: set[str] = set()
        self._exits: dict[int, int] = {}
        self._messages: list[dict[str, Any]] = []

    def fileno(self) -> int:
        """What becomes readable when a guest has ended."""
        return self._control.fileno() if self._control is not None else -1

    def preload(self, content_hash: str, fd: int, size: int) -> None:
        """Load and compile, once, what guests with this policy of our own will need."""
        self._start()
        if content_hash not in self._preloaded:
            self._preloaded.add(content_hash)
            self._send({"warm": size}, [fd])
            self._wait_for("warmed", _PRELOAD_TIMEOUT)

    def fork(self, config: dict[str, Any], fds: list[int]) -> int:
        """A new guest's process id.

        Raises:
            NoMoreProcessesError: The system refused.
        """
        self._start()
        self._send(config, fds)
        fact = self._wait_for("forked")
        if fact["forked"] == 0:
            raise ProcessLimitError(f"No process could be made for a policy: {fact['why']}.")
        return int(fact["forked"])

    def exit_code(self, pid: int, timeout: float = 0.0) -> int | None:
        """How a guest ended; None if it has not, after so many seconds."""
        end = time.monotonic() + timeout
        while pid not in self._exits:
            if not self._read(max(0.0, end - time.monotonic())):
                break
        return self._exits.get(pid)

    def kill(self, pid: int) -> None:
        """End a guest, and all that it started, and wait until it is gone."""
        if pid not in self._exits and self._control is not None:
            try:
                self._send({"kill": pid})
            except OSError:
                return  # the nursery is gone, and its guests with it
            self.exit_code(pid, _EXIT_TIMEOUT)

    def close(self) -> None:
        """End it and all of its guests. May be called twice."""
        control, self._control = self._control, None
        process, self._process = self._process, None
        if control is not None:
            control.close()
        if process is not None:
            try:
                process.wait(_EXIT_TIMEOUT)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._preloaded.clear()
        self._exits.clear()
        self._messages.clear()
        self._unread = b""

    def _start(self) -> None:
        if self._process is not None and self._process.poll() is None:
            return
        self.close()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        kept = {
            name: value
            for name, value in os.environ.items()
            if not self._minimal_env
            or name in _SANDBOX_ENV_NAMES
            or name.startswith(("KINFOLK_", "NUMBA_"))
        }
        paths = os.pathsep.join(path for path in sys.path if path)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _MAIN_COMMAND, str(theirs.fileno()), str(os.getpid())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={**kept, **_SINGLE_THREAD_ENV, "PYTHONPATH": paths},
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        except OSError as error:
            ours.close()
            raise ProcessLimitError(
                f"No process could be made for policies: {error.strerror}."
            ) from error
        finally:
            theirs.close()
        self._control = ours
        self._wait_for("ready")

    def _send(self, message: dict[str, Any], fds: list[int] | None = None) -> None:
        assert self._control is not None  # _start has seen to it
        socket.send_fds(self._control, [json.dumps(message).encode() + b"\n"], fds or [])

    def _wait_for(self, key: str, timeout: float = _START_TIMEOUT) -> dict[str, Any]:
        end = time.monotonic() + timeout
        while True:
            for fact in self._messages:
                if key in fact:
                    self._messages.remove(fact)
                    return fact
            if not self._read(max(0.0, end - time.monotonic())):
                self.close()
                raise ProcessLimitError("The process that starts policies did not come up.")

    def _read(self, timeout: float) -> bool:
        """Take in what the nursery says; False if it says nothing in time, or is gone."""
        if self._control is None:
            return False
        ready = select.poll()  # `select.select` refuses handles above 1023
        ready.register(self._control, select.POLLIN)
        if not ready.poll(1000.0 * timeout):
            return False
        data = self._control.recv(_MAX_MESSAGE_BYTES)
        *lines, self._unread = (self._unread + data).split(b"\n")
        for line in lines:
            fact = json.loads(line)
            if "exited" in fact:
                self._exits[fact["exited"]] = fact["code"]
            else:
                self._messages.append(fact)
        return bool(data)
