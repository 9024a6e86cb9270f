"""Policies that misbehave at their third step, each in its own way."""

import ctypes
import os
import socket
import sys
import threading
import time
from pathlib import Path

import numpy as np

from kinfolk.policies.base import MemoryField, NoopPolicy


class Bad(NoopPolicy):
    def __init__(self, spec, after=3, path=""):
        super().__init__(spec)
        self.after, self.path = after, path

    @property
    def memory_layout(self):
        return {"n_steps": MemoryField((), "int64")}

    def act_async(self, observations, batch, memory, keys):
        super().act_async(observations, batch, memory, keys)
        memory["n_steps"][batch.memory_index] += 1
        if (memory["n_steps"][batch.memory_index] == self.after).any():
            self.misbehave()

    def misbehave(self):
        pass


class RaisesAtStart(NoopPolicy):
    def __init__(self, spec):
        raise ValueError("no weights")


class HangsAtStart(NoopPolicy):
    def __init__(self, spec):
        time.sleep(60)


class RaisesInReset(Bad):
    def reset_agents(self, batch, memory, keys):
        raise KeyError("parents")


class Raises(Bad):
    def misbehave(self):
        raise ZeroDivisionError("boom")


class Quits(Bad):
    def misbehave(self):
        sys.exit("bye")


class Hangs(Bad):
    def misbehave(self):
        time.sleep(60)


class Exits(Bad):
    def misbehave(self):
        os._exit(3)


class Segfaults(Bad):
    def misbehave(self):
        ctypes.string_at(0)


class EatsMemory(Bad):
    def misbehave(self):
        self.eaten = [bytearray(2**26) for _ in range(64)]


class BurnsTime(Bad):
    def misbehave(self):
        while True:
            pass


class Floods(Bad):
    def misbehave(self):
        for _ in range(100):
            print("x" * 9_999)  # noqa: T201, that is what it does
            os.write(1, b"y" * 100_000)


class NotANumber(Bad):
    def misbehave(self):
        self._actions = np.full(self._actions.shape, np.nan)


class NotNumbers(Bad):
    def misbehave(self):
        self._actions = np.full(self._actions.shape, "left")


class WrongShape(Bad):
    def misbehave(self):
        self._actions = np.zeros((2, 7), dtype=np.int64)


class OutOfRange(Bad):
    def misbehave(self):
        self._actions = np.full(self._actions.shape, 99)


class Forks(Bad):
    """Leaves a child, and a grandchild that has left the process group."""

    def misbehave(self):
        for leaves_group in (False, True):
            if os.fork() == 0:
                if leaves_group:
                    os.setsid()
                    if os.fork():
                        os._exit(0)
                with Path(self.path).open("a") as file:
                    file.write(f"{os.getpid()}\n")
                time.sleep(60)
                os._exit(0)
        time.sleep(0.2)


class Connects(Bad):
    def misbehave(self):
        socket.create_connection(("127.0.0.1", 9), timeout=0.2)


class Deletes(Bad):
    def misbehave(self):
        Path(self.path).unlink()


class Writes(Bad):
    def misbehave(self):
        Path("notes.txt").write_text("in the scratch folder this is allowed")
        Path(self.path).write_text("changed")


class Kills(Bad):
    """Kills the process that started it."""

    def misbehave(self):
        os.kill(os.getppid(), 9)


class RepliesToOldRequest(Bad):
    """Wakes the host with a reply to an old request before it replies to the current one."""

    def misbehave(self):
        frame = sys._getframe()
        while "worker_loop" not in frame.f_locals:
            frame = frame.f_back
        worker_loop = frame.f_locals["worker_loop"]
        buffer, reply_fd = worker_loop._buffer, worker_loop._reply_fd
        buffer.actions[:] = 1
        buffer.header[3], buffer.header[4] = 12345, 1
        os.write(reply_fd, b".....")
        time.sleep(0.05)


class RetractsReply(Bad):
    """Writes and retracts the id of its reply again and again."""

    def misbehave(self):
        frame = sys._getframe()
        while "worker_loop" not in frame.f_locals:
            frame = frame.f_back
        header = frame.f_locals["worker_loop"]._buffer.header

        def waver():
            while True:
                header[3] = header[0]
                header[3] = 12345

        threading.Thread(target=waver, daemon=True).start()


KINDS = [Raises, Quits, Hangs, Exits, Segfaults, NotANumber, WrongShape, OutOfRange, Floods, Bad]


class Mix(Bad):
    """Each agent misbehaves in a way drawn from its key."""

    @property
    def memory_layout(self):
        return {"n_steps": MemoryField((), "int64"), "kind": MemoryField((), "int64")}

    def reset_agents(self, batch, memory, keys):
        memory["kind"][batch.memory_index] = keys % len(KINDS)

    def act_async(self, observations, batch, memory, keys):
        self.kind = KINDS[int(memory["kind"][batch.memory_index[0]])]
        super().act_async(observations, batch, memory, keys)

    def misbehave(self):
        self.kind.misbehave(self)


class Counting(NoopPolicy):
    """Acts at random, by keys and without a kernel, and counts the steps of each agent."""

    def __init__(self, spec):
        super().__init__(spec)
        self.choices = spec.n_choices

    @property
    def memory_layout(self):
        return {"n_steps": MemoryField((), "int64")}

    def act_async(self, observations, batch, memory, keys):
        self._actions = (keys[:, None] >> 20) % self.choices[batch.group]
        n_steps = memory["n_steps"][batch.memory_index].copy()
        memory["n_steps"][batch.memory_index] += 1
        self.after_step(batch, n_steps)


class FailsAt(Counting):
    """Fails for some agents, by uid, at the step `tick` of each; -1: in `reset_agents`."""

    def __init__(self, spec, agents, tick, how):
        super().__init__(spec)
        self.agents, self.tick, self.how = agents, tick, how

    def reset_agents(self, batch, memory, keys):
        self.after_step(batch, np.full(len(batch.uid), -1))

    def after_step(self, batch, n_steps):
        if (np.isin(batch.uid, self.agents) & (n_steps == self.tick)).any():
            {"raise": Raises, "hang": Hangs, "exit": Exits, "segfault": Segfaults}[
                self.how
            ].misbehave(self)


class StandsStill(Counting):
    """Plays as an isolated `FailsAt` does, but acts as noop instead of failing.

    Acts as noop for `agents` at `ticks`, and from the tick `ever_after` on.
    """

    def __init__(self, spec, agents, ticks, ever_after):
        super().__init__(spec)
        self.agents, self.ticks, self.ever_after = agents, ticks, ever_after
        self.still = NoopPolicy(spec)

    def after_step(self, batch, n_steps):
        now = np.isin(n_steps, self.ticks) | (n_steps >= self.ever_after)
        failed = np.isin(batch.uid, self.agents) & now
        self._actions[failed] = self.still.noop_actions(batch.group)[failed]
