"""Policies that misbehave at their third step, each in its own way."""

import ctypes
import os
import socket
import sys
import threading
import time
from pathlib import Path

import numpy as np

from kinfolk.policies.base import MemoryField
from kinfolk.policies.stateless import NoopPolicy


class Bad(NoopPolicy):
    def __init__(self, spec, after=3, where=""):
        super().__init__(spec)
        self.after, self.where = after, where

    @property
    def memory_layout(self):
        return {"asked": MemoryField((), "int64")}

    def act_async(self, observations, batch, memory, keys):
        super().act_async(observations, batch, memory, keys)
        memory["asked"][batch.place] += 1
        if (memory["asked"][batch.place] == self.after).any():
            self.misbehave()

    def misbehave(self):
        pass


class RaisesAtStart(NoopPolicy):
    def __init__(self, spec):
        raise ValueError("no weights")


class HangsAtStart(NoopPolicy):
    def __init__(self, spec):
        time.sleep(60)


class RaisesInBegin(Bad):
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
                with Path(self.where).open("a") as file:
                    file.write(f"{os.getpid()}\n")
                time.sleep(60)
                os._exit(0)
        time.sleep(0.2)


class Connects(Bad):
    def misbehave(self):
        socket.create_connection(("127.0.0.1", 9), timeout=0.2)


class Deletes(Bad):
    def misbehave(self):
        Path(self.where).unlink()


class Writes(Bad):
    def misbehave(self):
        Path("notes.txt").write_text("in the scratch folder this is allowed")
        Path(self.where).write_text("changed")


class Kills(Bad):
    """Turns on the process that started it."""

    def misbehave(self):
        os.kill(os.getppid(), 9)


class AnswersLate(Bad):
    """Wakes its host with the number of an old question before it answers the new one."""

    def misbehave(self):
        frame = sys._getframe()
        while "guest" not in frame.f_locals:
            frame = frame.f_back
        wire, bell = frame.f_locals["wire"], frame.f_locals["bell"]
        wire.actions[:] = 1
        wire.header[3], wire.header[4] = 12345, 1
        os.write(bell, b".....")
        time.sleep(0.05)


class TakesBack(Bad):
    """Says again and again that it has answered, and that it has not."""

    def misbehave(self):
        frame = sys._getframe()
        while "guest" not in frame.f_locals:
            frame = frame.f_back
        header = frame.f_locals["wire"].header

        def waver():
            while True:
                header[3] = header[0]
                header[3] = 12345

        threading.Thread(target=waver, daemon=True).start()


KINDS = [Raises, Quits, Hangs, Exits, Segfaults, NotANumber, WrongShape, OutOfRange, Floods, Bad]


class Mix(Bad):
    """Each life misbehaves in a way drawn from its key."""

    @property
    def memory_layout(self):
        return {"asked": MemoryField((), "int64"), "kind": MemoryField((), "int64")}

    def reset_agents(self, batch, memory, keys):
        memory["kind"][batch.place] = keys % len(KINDS)

    def act_async(self, observations, batch, memory, keys):
        self.kind = KINDS[int(memory["kind"][batch.place[0]])]
        super().act_async(observations, batch, memory, keys)

    def misbehave(self):
        self.kind.misbehave(self)


class Counting(NoopPolicy):
    """Acts at random, by keys and without a kernel, and counts how often each life was asked."""

    def __init__(self, spec):
        super().__init__(spec)
        self.choices = spec.n_choices

    @property
    def memory_layout(self):
        return {"asked": MemoryField((), "int64")}

    def act_async(self, observations, batch, memory, keys):
        self._actions = (keys[:, None] >> 20) % self.choices[batch.group]
        asked = memory["asked"][batch.place].copy()
        memory["asked"][batch.place] += 1
        self.see(batch, asked)


class FailsAt(Counting):
    """Fails for some agents, by uid, when each has been asked so many times; -1: in `begin`."""

    def __init__(self, spec, agents, tick, how):
        super().__init__(spec)
        self.agents, self.tick, self.how = agents, tick, how

    def reset_agents(self, batch, memory, keys):
        self.see(batch, np.full(len(batch.uid), -1))

    def see(self, rows, asked):
        if (np.isin(rows.uid, self.agents) & (asked == self.tick)).any():
            {"raise": Raises, "hang": Hangs, "exit": Exits, "segfault": Segfaults}[
                self.how
            ].misbehave(self)


class StandsStill(Counting):
    """Plays as `FailsAt` does when it is isolated, but without failing.

    Does nothing for `agents` at `ticks`, and from the tick `ever_after` on.
    """

    def __init__(self, spec, agents, ticks, ever_after):
        super().__init__(spec)
        self.agents, self.ticks, self.ever_after = agents, ticks, ever_after
        self.still = NoopPolicy(spec)

    def see(self, rows, asked):
        now = np.isin(asked, self.ticks) | (asked >= self.ever_after)
        failed = np.isin(rows.uid, self.agents) & now
        self._actions[failed] = self.still.noop_actions(rows.group)[failed]
