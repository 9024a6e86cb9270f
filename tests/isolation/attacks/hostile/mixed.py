"""A policy that is honest most of the time, and otherwise hostile in one of many ways."""

import contextlib
import ctypes
import os
import tempfile
import time
from pathlib import Path

from hostile.base import Attack, libc


class Mixed(Attack):
    """Chooses by the key of an agent's life whether and how it attacks."""

    def reset_agents(self, batch, memory, keys):
        super().reset_agents(batch, memory, keys)
        self.choice = int(keys[0]) % 60
        self.when = 1 + int(keys[0]) // 60 % 6

    def act_async(self, observations, batch, memory, keys):
        super().act_async(observations, batch, memory, keys)
        if self.n_steps == self.when and self.choice < len(WAYS):
            with contextlib.suppress(OSError):
                WAYS[self.choice](self)

    def step(self):
        pass


def hang(policy):
    """Never answer."""
    time.sleep(30)


def exit_at_once(policy):
    """End the process."""
    os._exit(3)


def crash(policy):
    """End the process by a fault."""
    ctypes.string_at(0)


def fail(policy):
    """Raise an error."""
    raise ValueError("\x1b[31mhostile")


def leave_daemons(policy):
    """Leave children in sessions of their own, then fail."""
    for _ in range(3):
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                time.sleep(30)
            os._exit(0)
    raise ValueError("left daemons")


def leave_queues(policy):
    """Leave shared memory, queues and semaphores."""
    key = policy.targets["ipc_key"]
    for function, arguments in ((libc.shmget, (4096,)), (libc.msgget, ()), (libc.semget, (2,))):
        function(key, *arguments, 0o1600)


def leave_files(policy):
    """Leave deep and closed folders."""
    os.chdir(tempfile.gettempdir())
    for _ in range(200):
        os.mkdir("deeper")
        os.chdir("deeper")
    Path("closed").mkdir()
    os.chmod("closed", 0)
    Path(f"/tmp/{policy.targets['mark']}").write_text("left")


def take_memory(policy):
    """Take more memory than allowed, slowly enough to be seen."""
    policy.held = []
    for _ in range(70):
        policy.held.append(bytearray(b"x") * 2**24)
        time.sleep(0.005)


def kill_parent(policy):
    """Kill the process that it was forked from."""
    os.kill(os.getppid(), 9)


WAYS = (
    hang,
    exit_at_once,
    crash,
    fail,
    leave_daemons,
    leave_queues,
    leave_files,
    take_memory,
    kill_parent,
)
