"""Policies that use more time, memory, processes or disk than they should."""

import contextlib
import mmap
import os
import signal
import threading
import time

from kinfolk.policies.base import MemoryField, NoopPolicy


class Greedy(NoopPolicy):
    def act_async(self, observations, batch, memory, keys):
        super().act_async(observations, batch, memory, keys)
        self.use()

    def use(self):
        """Use what the policy is greedy for; here nothing."""


class Sleeps(Greedy):
    """Takes a tenth of a second for every step, and says it took none."""

    def use(self):
        time.sleep(0.1)
        import sys

        frame = sys._getframe()
        while "worker_loop" not in frame.f_locals:
            frame = frame.f_back
        frame.f_locals["worker_loop"]._buffer.header[8] = 0  # the time of its reply


class SleepsInReset(NoopPolicy):
    def reset_agents(self, batch, memory, keys):
        time.sleep(0.3)


class Burns(Greedy):
    def use(self):
        end = time.process_time() + 0.1
        while time.process_time() < end:
            pass


class BurnsForEver(Greedy):
    def use(self):
        while True:
            pass


class Ponders(Greedy):
    """Computes in a thread while it is not asked, and stops for its steps."""

    def __init__(self, spec):
        super().__init__(spec)
        self.is_asked = threading.Event()

    def act_async(self, observations, batch, memory, keys):
        self.is_asked.set()
        super().act_async(observations, batch, memory, keys)

    def use(self):
        self.is_asked.clear()

        def ponder():
            while not self.is_asked.is_set():
                pass

        threading.Thread(target=ponder, daemon=True).start()


class BurnsInThread(Greedy):
    """Replies at once, and goes on computing."""

    def use(self):
        def burn():
            while True:
                pass

        threading.Thread(target=burn, daemon=True).start()
        time.sleep(0.05)


class BurnsInChild(Greedy):
    def use(self):
        if os.fork() == 0:
            while True:
                pass
        time.sleep(0.1)


class SharesMemory(Greedy):
    """Takes memory that limits of a process's data do not count."""

    def use(self):
        self.taken = mmap.mmap(-1, 2**29)
        for start in range(0, 2**29, 4096):
            self.taken[start] = 1


class HidesSharedMemory(Greedy):
    """Takes shared memory and drops its pages, which stay, from the tables that are counted."""

    def use(self):
        self.taken = mmap.mmap(-1, 2**29)
        for start in range(0, 2**29, 2**22):
            self.taken[start : start + 2**22] = b"x" * 2**22
            self.taken.madvise(mmap.MADV_DONTNEED, start, 2**22)
        time.sleep(5)


class FillsScratch(Greedy):
    """Takes memory by a file in its temporary folder."""

    def use(self):
        with open("large", "wb") as file:
            for _ in range(300):
                file.write(bytes(2**20))


class FillsChildren(Greedy):
    """Takes memory in three processes, each of which stays below the limit."""

    def use(self):
        if os.fork() == 0 or os.fork() == 0 or os.fork() == 0:
            taken = bytearray(100 * 2**20)
            for start in range(0, len(taken), 4096):
                taken[start] = 1
            time.sleep(60)
            os._exit(0)
        time.sleep(2)


class BequeathsMuch(Greedy):
    """Declares memory that would take the host's, because children inherit it through the host."""

    @property
    def memory_layout(self):
        return {"map": MemoryField((70, 2**20), "uint8")}


class BurnsInShortChildren(Greedy):
    """Burns processor time in children that have ended when the step has."""

    def use(self):
        with contextlib.suppress(OSError):
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # would hide their time
        for _ in range(10):
            end = time.monotonic() + 0.02
            pid = os.fork()
            if pid == 0:
                while time.monotonic() < end:
                    pass
                os._exit(0)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)


class ClosesItsOutput(Greedy):
    def use(self):
        for fd in (1, 2):
            with contextlib.suppress(OSError):
                os.close(fd)


class WritesLargeFile(Greedy):
    def use(self):
        with open("large", "wb") as file:
            for _ in range(100):
                file.write(bytes(2**20))


class FillsDisk(Greedy):
    def use(self):
        for number in range(100):
            with open(f"file{number}", "wb") as file:
                file.write(bytes(2**22))


class StartsThreads(Greedy):
    def use(self):
        for _ in range(5000):
            threading.Thread(target=time.sleep, args=(60,), daemon=True).start()


class LeavesDaemons(Greedy):
    """Leaves a process that forks itself anew for ever, in sessions of its own."""

    def use(self):
        if os.fork() == 0:
            while True:
                os.setsid()
                time.sleep(0.01)
                if os.fork():
                    os._exit(0)
        time.sleep(0.1)


class ForksMore(Greedy):
    """Starts more processes than it may, which do nothing."""

    def use(self):
        for _ in range(8):
            if os.fork() == 0:
                time.sleep(60)
                os._exit(0)
        time.sleep(1)


class HangsLater(Greedy):
    """Hangs in its second step."""

    steps = 0

    def use(self):
        self.steps += 1
        if self.steps > 1:
            time.sleep(60)
