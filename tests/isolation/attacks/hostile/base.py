"""The base class of attacks: one agent of the slot attacks, its mates behave."""

# ruff: noqa: RUF012, these tables are never changed

import ctypes
import os
import time
from contextlib import suppress

from kinfolk.policies.base import NoopPolicy

ATTACKER_UID, MATE_UID = 3, 4  # the agents of the attacker's slot in the harness's world
ATTACK_STEP = 3  # the attack begins at the attacker's third action
_MAX_EVIDENCE = 300
_HIGHEST_PID = 60  # how far an attacker looks for processes in a namespace of its own

libc = ctypes.CDLL(None, use_errno=True)


class AttackReport(Exception):  # noqa: N818, it reports
    """What came of an attack; the failure's message carries it out of the process."""


def syscall(number, *arguments):
    """Call the kernel by number, and return its result.

    Raises:
        OSError: The kernel refused.
    """
    values = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    libc.syscall.restype = ctypes.c_long
    result = libc.syscall(ctypes.c_long(number), *values)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def do_syscall(number, *arguments):
    """Call the kernel by number for its effect, and return None."""
    syscall(number, *arguments)


class Attack(NoopPolicy):
    """Plays noop; at its third step the attacker calls `attack` and raises what came of it.

    Subclasses define `attack`, which calls `attempt` for each thing it tries, or another method of a
    policy if they attack elsewhere.

    Args:
        spec: Spec of the world.
        targets: What the harness gives to be attacked; see `canaries.py`.

    Attributes:
        limits: Isolation settings that the match of this attack has beside the usual ones.
        whole_slot: Whether every agent of the slot attacks, and so may be named.
        without_sandbox: "" if the attack succeeds without a sandbox; otherwise why it does not. A
            dictionary has a reason for `root` and `user`.
        either: Users for whom it may succeed or not without a sandbox.
        episodes: Number of episodes of the match.
        max_seconds: Seconds after which the match should long have ended.
    """

    limits = {}
    whole_slot = False
    without_sandbox = ""
    either = ()
    episodes = 1
    max_seconds = 120.0  # machines may be busy; without an end it would be 150 s

    def __init__(self, spec, targets=None):
        super().__init__(spec)
        self.targets = targets or {}
        self.n_steps, self.uid = 0, -1
        self.achieved, self.done, self.refused = [], [], []

    def reset_agents(self, batch, memory, keys):
        self.uid, self.n_steps = int(batch.uid[0]), 0

    def act_async(self, observations, batch, memory, keys):
        super().act_async(observations, batch, memory, keys)
        self.n_steps += 1
        if self.uid == ATTACKER_UID:
            self.step()
        elif self.uid == MATE_UID:
            self.mate_step()

    def step(self):
        """Do what the attacker does at each of its steps."""
        if self.n_steps == ATTACK_STEP:
            self.attack()
            self.report()

    def mate_step(self):
        """Do what its mate does at each of its steps."""

    def attack(self):
        raise NotImplementedError

    def attempt(self, label, function, *arguments):
        """Call a function and note its result: evidence of success, None for unknown, or an error."""
        try:
            evidence = function(*arguments)
        except OSError as error:
            self.refused.append(f"{label}: {error.strerror}")
            return None
        except (RuntimeError, ValueError, MemoryError, AttributeError, TypeError) as error:
            self.refused.append(f"{label}: {error}")
            return None
        if evidence is None or evidence is False:
            self.done.append(label)
        else:
            self.achieved.append(f"{label}={str(evidence)[:_MAX_EVIDENCE]}")
        return evidence

    def report(self):
        """Raise what came of the attack."""
        parts = {"ACHIEVED": self.achieved, "done": self.done, "refused": self.refused}
        raise AttackReport(" | ".join(f"{k} {'; '.join(v)}" for k, v in parts.items() if v))

    def pids(self):
        """Return the processes to attack: the canary, and all others in a namespace of its own.

        Without that namespace they would be the machine's.
        """
        canary = self.targets["pid"]
        pids = [canary]
        if in_own_pid_namespace(canary):
            others = [os.getppid(), self.targets["host_pid"], *range(1, _HIGHEST_PID)]
            pids += [pid for pid in dict.fromkeys(others) if pid not in (0, os.getpid())]
        return pids

    def attempt_on_pids(self, label, function):
        """Attack each process with a function of its pid; note the first outcome of each kind."""
        seen = set()
        for pid in self.pids():
            n_before = len(self.achieved), len(self.done), len(self.refused)
            self.attempt(
                f"{label} {'canary' if pid == self.targets['pid'] else pid}", function, pid
            )
            for outcomes, n in zip((self.achieved, self.done, self.refused), n_before, strict=True):
                if len(outcomes) > n:
                    kind = (id(outcomes), outcomes[-1].rpartition(":")[2])
                    if kind in seen:
                        outcomes.pop()
                    seen.add(kind)


def in_own_pid_namespace(canary):
    """Return whether the canary, which runs on the machine, is not to be seen."""
    try:
        os.getpgid(canary)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


def wait_a_moment(seconds=0.1):
    """Give the kernel or the host time to act."""
    time.sleep(seconds)


def read_file(path, n_bytes=4096):
    """Return the beginning of a file as text."""
    handle = os.open(path, os.O_RDONLY)
    try:
        return os.read(handle, n_bytes).decode("utf-8", "replace")
    finally:
        os.close(handle)


def open_fds():
    """Return the open file descriptors of this process, without the help of /proc."""
    fds = []
    for fd in range(1024):
        with suppress(OSError):
            os.fstat(fd)
            fds.append(fd)
    return fds


class Harmless(Attack):
    """Plays noop and attacks nobody: the reference of what rivals reach."""

    def step(self):
        pass
