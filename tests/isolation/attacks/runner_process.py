"""Starts runners, one per user and mode, and asks them to play attacks."""

import contextlib
import importlib
import inspect
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from canaries import ENV_NAME
from leftovers import descendants

from kinfolk.core.temporary_folder import remove_tree

HERE = Path(__file__).resolve().parent
MODULES = (
    "signals", "processes", "files", "reading", "ipc", "network", "kernel", "resources", "bombs", "crashes",
    "protocol", "warmup", "hidden", "objects", "calls", "shared",
)  # fmt: skip


def list_attacks() -> dict[str, type]:
    """Return all attacks by `module.Class`; classes whose name ends in `Attack` are only their bases."""
    attacks = {}
    for module_name in MODULES:
        module = importlib.import_module(f"hostile.{module_name}")
        for name, value in vars(module).items():
            is_own = inspect.isclass(value) and value.__module__ == module.__name__
            if is_own and hasattr(value, "without_sandbox") and not name.endswith("Attack"):
                attacks[f"{module_name}.{name}"] = value
    return attacks


class RunnerProcess:
    """A process that plays attacks, started anew if an attack has ended or hung it.

    Args:
        to_command: Returns the whole command for the arguments of a process, as a certain user.
        user_id: The user, who gets a folder.
        sandbox: Whether policies play in a sandbox.
    """

    def __init__(self, to_command, user_id: int, sandbox: bool) -> None:
        self._to_command, self._user_id, self._sandbox = to_command, user_id, sandbox
        self._process: subprocess.Popen[bytes] | None = None
        self._unread = b""

    def play(self, name: str, timeout: float) -> dict:
        """Play an attack and return the runner's report, or one that says that there is none."""
        if self._process is None:
            self._start()
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{name}\n".encode())
        process.stdin.flush()
        deadline = time.monotonic() + timeout
        while b"\n" not in self._unread:
            ready, _, _ = select.select(
                [process.stdout], [], [], max(0.0, deadline - time.monotonic())
            )
            data = os.read(process.stdout.fileno(), 65536) if ready else b""
            if not data:
                self.close()
                reason = "the host has ended" if ready else f"no result within {timeout:g} s"
                return {"name": name, "error": reason}
            self._unread += data
        line, _, self._unread = self._unread.partition(b"\n")
        return json.loads(line)

    def close(self) -> None:
        """End the runner with all its processes, and remove its folder."""
        process, self._process = self._process, None
        if process is None:
            return
        for pid in [process.pid, *descendants(process.pid)]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
        process.wait()
        remove_tree(self._folder)

    def _start(self) -> None:
        """Start the runner in a folder of its user's."""
        self._folder = Path(tempfile.mkdtemp(prefix="kinfolk-attacks-", dir="/tmp"))
        self._folder.chmod(0o755)
        shutil.chown(self._folder, self._user_id, self._user_id)
        source = str(Path(sys.modules["kinfolk"].__file__).parents[1])
        environment = {
            **os.environ, "PYTHONPATH": source, "NUMBA_DISABLE_JIT": "1", "HOME": str(self._folder),
            "KINFOLK_CACHE": str(self._folder / "cache"), ENV_NAME: f"SECRET{os.urandom(8).hex()}token",
        }  # fmt: skip
        arguments = [sys.executable, str(HERE / "runner.py"), str(self._folder)]
        command = self._to_command(arguments + ["--sandbox"] * self._sandbox)
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd="/", env=environment
        )
        self._unread = b""
