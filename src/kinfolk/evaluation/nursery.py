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

_START_SECONDS = 60.0
_WARM_SECONDS = 600.0  # a cold compilation
_EXIT_SECONDS = 3.0
_ROOM = 65536
_MAIN = "from kinfolk.evaluation.nursery_process import main; main()"
# Threads of libraries would be lost in the fork, and two busy ones per core are slower anyway.
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
# All that a shut-in policy learns of our environment.
_HARMLESS = ("PATH", "PYTHONPATH", "LANG", "LC_ALL", "HOME", "XDG_CACHE_HOME", "COLUMNS")


class NoMoreProcessesError(EngineError):
    """The system makes no more processes for us."""


class Nursery:
    """Starts guests. It is made at the first of them, and ends with `close` or with its host."""

    def __init__(self, bare: bool = False) -> None:
        self._bare = bare  # whether its environment is cut down to what is harmless
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._unread = b""
        self._warmed: set[str] = set()
        self._exits: dict[int, int] = {}
        self._facts: list[dict[str, Any]] = []

    def fileno(self) -> int:
        """What becomes readable when a guest has ended."""
        return self._control.fileno() if self._control is not None else -1

    def warm(self, content: str, handle: int, size: int) -> None:
        """Load and compile, once, what guests with this policy of our own will need."""
        self._start()
        if content not in self._warmed:
            self._warmed.add(content)
            self._send({"warm": size}, [handle])
            self._wait_for("warmed", _WARM_SECONDS)

    def fork(self, asked: dict[str, Any], handles: list[int]) -> int:
        """A new guest's process id.

        Raises:
            NoMoreProcessesError: The system refused.
        """
        self._start()
        self._send(asked, handles)
        fact = self._wait_for("forked")
        if fact["forked"] == 0:
            raise NoMoreProcessesError(f"No process could be made for a policy: {fact['why']}.")
        return int(fact["forked"])

    def exit_code(self, pid: int, seconds: float = 0.0) -> int | None:
        """How a guest ended; None if it has not, after so many seconds."""
        end = time.monotonic() + seconds
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
            self.exit_code(pid, _EXIT_SECONDS)

    def close(self) -> None:
        """End it and all of its guests. May be called twice."""
        control, self._control = self._control, None
        process, self._process = self._process, None
        if control is not None:
            control.close()
        if process is not None:
            try:
                process.wait(_EXIT_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._warmed.clear()
        self._exits.clear()
        self._facts.clear()
        self._unread = b""

    def _start(self) -> None:
        if self._process is not None and self._process.poll() is None:
            return
        self.close()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        kept = {
            name: value
            for name, value in os.environ.items()
            if not self._bare or name in _HARMLESS or name.startswith(("KINFOLK_", "NUMBA_"))
        }
        paths = os.pathsep.join(path for path in sys.path if path)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _MAIN, str(theirs.fileno()), str(os.getpid())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={**kept, **_ONE_THREAD, "PYTHONPATH": paths},
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        except OSError as error:
            ours.close()
            raise NoMoreProcessesError(
                f"No process could be made for policies: {error.strerror}."
            ) from error
        finally:
            theirs.close()
        self._control = ours
        self._wait_for("ready")

    def _send(self, fact: dict[str, Any], handles: list[int] | None = None) -> None:
        assert self._control is not None  # _start has seen to it
        socket.send_fds(self._control, [json.dumps(fact).encode() + b"\n"], handles or [])

    def _wait_for(self, name: str, seconds: float = _START_SECONDS) -> dict[str, Any]:
        end = time.monotonic() + seconds
        while True:
            for fact in self._facts:
                if name in fact:
                    self._facts.remove(fact)
                    return fact
            if not self._read(max(0.0, end - time.monotonic())):
                self.close()
                raise NoMoreProcessesError("The process that starts policies did not come up.")

    def _read(self, seconds: float) -> bool:
        """Take in what the nursery says; False if it says nothing in time, or is gone."""
        if self._control is None:
            return False
        ready = select.poll()  # `select.select` refuses handles above 1023
        ready.register(self._control, select.POLLIN)
        if not ready.poll(1000.0 * seconds):
            return False
        data = self._control.recv(_ROOM)
        *lines, self._unread = (self._unread + data).split(b"\n")
        for line in lines:
            fact = json.loads(line)
            if "exited" in fact:
                self._exits[fact["exited"]] = fact["code"]
            else:
                self._facts.append(fact)
        return bool(data)
