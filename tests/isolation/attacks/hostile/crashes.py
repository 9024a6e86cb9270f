"""Policies that end their process in every way, and exceptions meant to harm those who read them."""

import ctypes
import os
import resource
import signal
import sys
from pathlib import Path

from hostile.base import ATTACKER_UID, Attack

HARMLESS_TO_OTHERS = "only its own process ends, with or without a sandbox"


class CrashAttack(Attack):
    """Ends its own process."""

    without_sandbox = HARMLESS_TO_OTHERS


class OverflowsTheStack(CrashAttack):
    """Overflows the stack by recursion in C."""

    def attack(self):
        sys.setrecursionlimit(10**9)
        nested = []
        for _ in range(10**6):
            nested = [nested]
        repr(nested)
        eval("(" * 200_000)


class RaisesFatalSignals(CrashAttack):
    """Ends itself by a fault, after having asked for a core dump."""

    def attack(self):
        self.attempt("core", lambda: resource.setrlimit(resource.RLIMIT_CORE, (-1, -1)))
        ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # dumpable
        os.chdir("/tmp")
        for number in (
            signal.SIGQUIT,
            signal.SIGXCPU,
            signal.SIGILL,
            signal.SIGFPE,
            signal.SIGSEGV,
        ):
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)


class Aborts(CrashAttack):
    """Ends itself by writing to address zero, from a thread."""

    def attack(self):
        ctypes.memset(0, 0, 8)


class ExitsAsIfWell(CrashAttack):
    """Exits with code 0 in the middle of a step."""

    def attack(self):
        os._exit(0)


class ClosesEverything(CrashAttack):
    """Closes all its descriptors and plays on."""

    def attack(self):
        os.closerange(0, 65536)


class RaisesExitExceptions(CrashAttack):
    """Raises what ends interpreters: SystemExit, KeyboardInterrupt, GeneratorExit."""

    def attack(self):
        try:
            raise SystemExit(0)
        except SystemExit as error:
            raise KeyboardInterrupt from GeneratorExit(error)


class ErrorAttack(Attack):
    """Raises an error that is meant to harm those who read it."""

    without_sandbox = "text from policies is escaped and cut on receipt"


class SendsEscapeCodes(ErrorAttack):
    """Raises an error with escape codes, right-to-left marks and markup, in file names too."""

    def attack(self):
        text = "\x1b[2J\x1b]0;owned\x07\u202egnp.exe\u2066[red]bold[/red]\r\n\0<script>alert(1)</script>\udcff"
        name = type("Error\x1b[31m\u202e", (Exception,), {})
        exec(
            compile("def f\u00e9(error): raise error", "\x1b[31m\u202efile\n.py", "exec"), globals()
        )
        globals()["f\u00e9"](name(text))


class SendsLongErrors(ErrorAttack):
    """Raises an error of ten megabytes."""

    def attack(self):
        raise ValueError("x\n" * 5_000_000)


class SendsHostileErrors(ErrorAttack):
    """Raises errors whose texts cannot be made: they raise, are no text, or exit."""

    def attack(self):
        class Hostile(Exception):  # noqa: N818
            def __str__(self):
                os._exit(7)

            __repr__ = __str__

            @property
            def __traceback__(self):
                raise SystemExit

            def __getattribute__(self, name):
                raise KeyboardInterrupt

        raise Hostile


class SendsEndlessErrors(ErrorAttack):
    """Raises an error that causes itself, in a long chain and from deep recursion."""

    def attack(self):
        first = error = ValueError("0")
        for i in range(20_000):
            error.__cause__ = ValueError(str(i))
            error = error.__cause__
        error.__cause__ = first

        def deep(n):
            if n:
                deep(n - 1)
            raise first

        sys.setrecursionlimit(20_000)
        deep(5_000)


class PrintsFloods(ErrorAttack):
    """Prints without end, to streams and to all low descriptors, lines that look like results."""

    without_sandbox = "what policies print is discarded"

    def attack(self):
        line = '{"name": "forged", "error": ""}\n'
        for _ in range(200):
            print(line * 100)  # noqa: T201
            print(line * 100, file=sys.__stderr__)
        for fd in (0, 1, 2):
            self.attempt(f"fd {fd}", lambda fd=fd: os.write(fd, line.encode() * 1000) and None)
        for path in ("/dev/stdout", "/dev/stderr", "/proc/self/fd/1"):
            self.attempt(path, lambda path=path: Path(path).write_text(line) and None)


class PatchesEverything(Attack):
    """Replaces functions of numpy, kinfolk and the interpreter, then goes on playing."""

    without_sandbox = "patches stay in its own process"

    def step(self):
        if self.n_steps != 3:
            return
        import builtins

        import numpy

        import kinfolk.isolation.failures as failures
        import kinfolk.isolation.shared_buffers as shared
        import kinfolk.isolation.worker_main as worker_main
        import kinfolk.policies.base as base

        def broken(*arguments, **keywords):
            raise RuntimeError("patched")

        numpy.asarray = numpy.array = numpy.zeros = broken
        shared.memory_fence = base.single_agent_batch = broken
        shared.STATUS_OK = shared.STATUS_RAISED = 99
        for module in (failures, worker_main):
            for name, value in list(vars(module).items()):
                if callable(value) and name.startswith("summarize"):
                    setattr(module, name, broken)
        base.NoopPolicy.noop_actions = broken
        builtins.isinstance = builtins.len = builtins.print = broken


class AnswersStrangely(Attack):
    """Returns actions that are no arrays, lie about their shape, or take for ever to convert."""

    without_sandbox = "actions are converted in the worker and checked by the host"

    def step(self):
        pass

    def act_wait(self):
        if self.uid != ATTACKER_UID:
            return super().act_wait()
        import numpy as np

        class Liar(np.ndarray):
            dtype, shape = np.dtype(np.int64), (1, 2)

        class Number:
            def __index__(self):
                raise SystemError("no number")

        huge = np.lib.stride_tricks.as_strided(np.zeros(1, np.int64), (10**12, 2), (0, 0))
        strange = [None, np.zeros(3).view(Liar), [[Number(), Number()]], huge, {"a": 1}, "left", [[1e300, -1]],
                   np.array([[2**63, 2**64 - 1]], np.uint64)]  # fmt: skip
        return strange[self.n_steps % len(strange)]
