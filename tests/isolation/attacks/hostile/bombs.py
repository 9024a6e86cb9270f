"""Attacks by processes, threads and processor time: bombs, daemons, slow and endless play."""

# ruff: noqa: RUF012, these tables are never changed

import atexit
import gc
import hashlib
import os
import signal
import threading
import time

from hostile.base import ATTACKER_UID, Attack, libc, wait_a_moment

LIFETIME = 12.0  # seconds after which every child ends by itself


def live_for_a_while():
    """Sleep in a child, for a limited time."""
    time.sleep(LIFETIME)
    os._exit(0)


class ForkBomb(Attack):
    """Forks children that fork children; a hundred here."""

    limits = {"process_limit": 4}

    def attack(self):
        def fork_all():
            for _ in range(100):
                if os.fork() == 0:
                    live_for_a_while()
            return "100 processes of 4"

        self.attempt("fork", fork_all)


class ForksAtAll(Attack):
    """Forks by every call although no process is allowed."""

    def attack(self):
        def fork(function):
            pid = function()
            if pid == 0:
                live_for_a_while()
            return f"child {pid}"

        self.attempt("fork", fork, os.fork)
        self.attempt("vfork", fork, lambda: libc.syscall(57))
        self.attempt("clone", fork, lambda: libc.syscall(56, 17, 0, 0, 0, 0))

    def attempt(self, label, function, *arguments):
        """Note a child only if there is one."""
        evidence = super().attempt(label, function, *arguments)
        if evidence == "child -1":
            self.achieved.pop()


class ThreadBomb(Attack):
    """Starts two thousand threads."""

    limits = {"process_limit": 4, "step_timeout": 10.0}

    def attack(self):
        stop = threading.Event()
        threading.stack_size(65536)

        def start_all():
            for _ in range(2000):
                threading.Thread(target=stop.wait, args=(5,), daemon=True).start()
            return f"{threading.active_count()} threads"

        self.attempt("threads", start_all)
        stop.set()


class LeavesDaemons(Attack):
    """Leaves children in sessions of their own, with their parents gone."""

    limits = {"process_limit": 8}
    without_sandbox = "the fork server adopts orphans and kills them"

    def attack(self):
        self.attempt("daemon", self.leave, 3)

    def leave(self, depth):
        """Fork a chain of children; each leaves its session and its parent."""
        if os.fork() == 0:
            os.setsid()
            libc.prctl(1, 0, 0, 0, 0)
            for number in range(1, 65):
                if number not in (signal.SIGKILL, signal.SIGSTOP, 32, 33):
                    signal.signal(number, signal.SIG_IGN)
            if depth:
                self.leave(depth - 1)
            live_for_a_while()


class LeavesReforkingDaemons(Attack):
    """Leaves daemons that fork anew without pause, so that their pids are always others."""

    either = ("root", "user")  # whether the fork server catches them all is a race
    limits = {"process_limit": 8}

    def attack(self):
        for _ in range(6):
            self.attempt("daemon", self.leave)

    def leave(self):
        """Fork a daemon that lives on in its children, for a limited time."""
        if os.fork() == 0:
            end = time.monotonic() + LIFETIME
            while time.monotonic() < end:
                if os.fork():
                    os._exit(0)
                os.setsid()
            os._exit(0)


class CpuAttack(Attack):
    """Uses more processor time than the episode allows, and reports at its end if nobody minds."""

    limits = {"episode_cpu_limit": 1.0, "step_timeout": 10.0}

    def step(self):
        if self.n_steps == 1:
            self.start()
        wait_a_moment(0.3)
        if self.n_steps == 8:
            for _ in range(50):  # on a busy machine it takes its time
                if sum(os.times()[:2]) < 2.5 and not self.alternative():
                    wait_a_moment(0.1)
            seconds = sum(os.times()[:2])
            self.attempt(
                "cpu",
                lambda: self.alternative() or (f"{seconds:.1f} s of 1" if seconds > 2 else None),
            )
            self.report()

    def start(self):
        """Start what burns."""

    def alternative(self):
        """Return other evidence."""


class BurnsInThreads(CpuAttack):
    """Burns processor time in a thread while its steps are quick."""

    def start(self):
        def burn():
            for _ in range(8):
                hashlib.pbkdf2_hmac("sha256", b"x", b"y", 1_500_000)

        threading.Thread(target=burn, daemon=True).start()


class BurnsInChildren(CpuAttack):
    """Burns processor time in children, which the limit of a process does not count."""

    limits = {**CpuAttack.limits, "process_limit": 8}

    def start(self):
        self.children = 0

        def burn():
            pid = os.fork()
            if pid == 0:
                end = time.monotonic() + 6
                while time.monotonic() < end:
                    hashlib.pbkdf2_hmac("sha256", b"x", b"y", 10_000)
                os._exit(0)
            self.children = pid

        self.attempt("fork", burn)

    def alternative(self):
        return "a child burns" if self.children else None


class PlaysSlowly(Attack):
    """Takes most of the timeout in every step, so that an episode takes very long."""

    limits = {"step_timeout": 1.0, "episode_timeout": 1.2}

    def step(self):
        wait_a_moment(0.35)
        if self.n_steps == 8:
            self.attempt("slow", lambda: "2.8 s of 1.2")
            self.report()


class PlaysManySlowEpisodes(Attack):
    """Takes its time in every episode, so that a match takes very long."""

    limits = {"step_timeout": 1.0, "match_timeout": 2.0}
    episodes = 3
    whole_slot = True  # the limit is one of the slot
    without_sandbox = "it cannot count its games: each of them has a new process"
    n_played = 0

    def step(self):
        wait_a_moment(0.2)
        if self.n_steps == 8:
            self.n_played += 1
        if self.n_played == 3:
            self.attempt("slow", lambda: "4.8 s of 2")
            self.report()


class StartsSlowly(Attack):
    """Hangs when it is built, after having eaten time."""

    limits = {"start_timeout": 2.0}
    whole_slot = True
    without_sandbox = "the start has a timeout"

    def __init__(self, spec, targets=None):
        super().__init__(spec, targets)
        time.sleep(60)


class ResetsSlowly(Attack):
    """Hangs when an agent is reset."""

    limits = {"step_timeout": 1.0, "start_timeout": 4.0}
    without_sandbox = "a reset has a timeout"

    def reset_agents(self, batch, memory, keys):
        super().reset_agents(batch, memory, keys)
        if self.uid == ATTACKER_UID:
            time.sleep(60)


class HangsAtTheEnd(Attack):
    """Hangs when it is closed, deleted, and when its interpreter exits."""

    without_sandbox = "a worker that does not exit is killed"

    def step(self):
        if self.n_steps == 1:
            atexit.register(time.sleep, 60)
            signal.signal(signal.SIGTERM, signal.SIG_IGN)

    def close(self):
        if self.uid == ATTACKER_UID:
            time.sleep(60)

    def __del__(self):
        if self.uid == ATTACKER_UID:
            time.sleep(60)


class StopsItself(Attack):
    """Stops itself by SIGSTOP, and has a thread that would wake it."""

    limits = {"step_timeout": 1.0}
    without_sandbox = "a step has a timeout"

    def attack(self):
        os.kill(os.getpid(), signal.SIGSTOP)
        time.sleep(30)


class CollectsGarbageForever(Attack):
    """Makes garbage whose finalizers make more of it, so that collecting never ends."""

    limits = {"step_timeout": 1.5}
    without_sandbox = "a step has a timeout"

    def attack(self):
        class Phoenix:
            def __del__(self):
                self.again = Phoenix()
                self.again.cycle = self.again

        Phoenix()
        while True:
            gc.collect()
