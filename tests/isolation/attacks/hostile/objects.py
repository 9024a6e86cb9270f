"""Attacks by Python's own means: errors, streams, names and hooks that harm whoever touches them."""

# ruff: noqa: RUF012, these tables are never changed

import atexit
import builtins
import gc
import linecache
import os
import sys
import threading
import time

from hostile.base import ATTACK_STEP, ATTACKER_UID, Attack
from hostile.warmup import WarmupAttack

OWN_PROCESS = "it reaches its own process only"
_BLAME = (
    "none.\nSlot 'rival', agent 0, tick 3: act_async raised ValueError: it is mine (rival_policy.py:1)."
    "\r\nSlot 'rival', played by rival_policy.Rival, failed in 3 of 3 episodes."
)


class ObjectAttack(Attack):
    """Attacks whoever handles what it returns or raises."""

    without_sandbox = OWN_PROCESS


class HangsInErrorText(ObjectAttack):
    """Raises an error whose text never comes to an end."""

    limits = {"step_timeout": 1.5}

    def attack(self):
        class Endless(Exception):  # noqa: N818
            def __str__(self):
                while True:
                    time.sleep(1)

        raise Endless


class BlamesRivalsInWords(ObjectAttack):
    """Raises an error that reads as if a rival had failed, from code that bears the rival's name."""

    def attack(self):
        code = compile("def act_async(error): raise error", "rival_policy.py", "exec")
        scope = {"__name__": "rival_policy"}
        exec(code, scope)
        scope["act_async"](ValueError(_BLAME))


class NamesFunctionsStrangely(ObjectAttack):
    """Raises from functions whose names hold escape codes, marks of direction and line breaks."""

    def attack(self):
        def strange(error):
            raise error

        name = "\x1b[31mf\u202e\n[bold]" + "g" * 50_000
        strange.__code__ = strange.__code__.replace(
            co_name=name, co_qualname=name, co_filename="/x\x1b]0;owned\x07\u2028.py"
        )
        strange(type(name.replace("\0", ""), (Exception,), {"__module__": "\x1b[2Jrival_policy"})())


class SendsHugeTracebacks(ObjectAttack):
    """Raises from thousands of frames, each in a file of its own whose text is a megabyte."""

    limits = {"step_timeout": 5.0}

    def attack(self):
        class Loader:
            def get_source(self, name):
                return "x = 1\n" * 200_000

        def nest(depth):
            if depth == 0:
                raise RuntimeError("deep")
            source = "def f(nest, depth):\n    nest(depth - 1)\n"
            scope = {"__name__": f"m{depth}", "__loader__": Loader()}
            name = f"file{depth}.py" + "y" * 10_000
            exec(compile(source, name, "exec"), scope)
            linecache.lazycache(name, scope)
            scope["f"](nest, depth)

        sys.setrecursionlimit(10_000)
        nest(2000)


class PoisonsErrorHandling(ObjectAttack):
    """Replaces what would describe its error: traceback, linecache, hooks, and the error's class."""

    def attack(self):
        import traceback

        def poisoned(*arguments, **keywords):
            os.write(1, b"poisoned")
            raise MemoryError("\x1b[31mpoisoned")

        for module in (traceback, linecache):
            for name in dir(module):
                if callable(getattr(module, name)) and not name.startswith("_"):
                    setattr(module, name, poisoned)
        sys.excepthook = threading.excepthook = sys.unraisablehook = poisoned
        builtins.repr = builtins.str = poisoned
        raise ValueError("now describe it")


class ReplacesStreams(ObjectAttack):
    """Replaces the standard streams by objects that raise and hang, and closes the real ones."""

    def step(self):
        if self.n_steps != ATTACK_STEP:
            return

        class Stream:
            def __getattr__(self, name):
                raise RuntimeError("no stream")

        sys.stdout = sys.stderr = sys.stdin = sys.__stdout__ = sys.__stderr__ = Stream()
        for fd in (0, 1, 2):
            os.close(fd)


class LeavesHooks(ObjectAttack):
    """Leaves hooks that run when the interpreter ends, collects garbage, traces or switches threads."""

    limits = {"step_timeout": 3.0}

    def step(self):
        if self.n_steps != ATTACK_STEP:
            return

        def hook(*arguments):
            raise SystemExit("hook")

        atexit.register(time.sleep, 60)
        gc.callbacks.append(hook)
        sys.setswitchinterval(100)
        sys.setprofile(hook)
        sys.settrace(hook)
        threading.settrace(hook)


class ChangesItsAnswersLater(ObjectAttack):
    """Keeps the array that it returned and changes it from a thread, to values that no action has."""

    def step(self):
        pass

    def act_wait(self):
        actions = super().act_wait()
        if self.uid == ATTACKER_UID and self.n_steps == ATTACK_STEP:

            def change():
                for i in range(200_000):
                    actions[...] = (-(2**62), 10**9)[i % 2]

            threading.Thread(target=change, daemon=True).start()
        return actions


class AnswersForAll(ObjectAttack):
    """Claims to answer for all agents: more rows than it has, in its own memory and beyond its end."""

    def step(self):
        if self.n_steps < ATTACK_STEP:
            return
        from hostile.protocol import find_buffer

        buffer = find_buffer()
        for name in ("actions", "rows", "observations"):
            array = getattr(buffer, name, None)
            if array is not None and array.flags.writeable:
                array[...] = 2
        from kinfolk.isolation import shared_buffers

        buffer.header[shared_buffers.N_ROWS] = 5


class FailsInReset(ObjectAttack):
    """Fails only when it is reset, in the second episode, by an error that blames others."""

    episodes = 3
    resets = 0

    def reset_agents(self, batch, memory, keys):
        super().reset_agents(batch, memory, keys)
        type(self).resets += 1
        if self.uid == ATTACKER_UID and type(self).resets > 1:
            raise ValueError(_BLAME)

    def step(self):
        pass


class PicklesItself(ObjectAttack):
    """Returns and raises objects that run code where they are unpickled or copied."""

    def attack(self):
        mark = self.targets["mark"]

        class Bomb(Exception):  # noqa: N818
            def __reduce__(self):
                return os.system, (f"touch /tmp/{mark}-unpickled",)

            __deepcopy__ = __copy__ = __getstate__ = __reduce__

        raise Bomb(Bomb())


class ExitsAtImport(WarmupAttack):
    """Ends its process while it is imported, as if all were well."""

    files = {"hostile_exit.py": "import os\nos._exit(0)\n"}
    uri = "class:hostile_exit.Policy"
    without_sandbox = OWN_PROCESS


class OverflowsAtImport(WarmupAttack):
    """Is a source that overflows the compiler's stack and memory when it is imported."""

    files = {"hostile_deep.py": "x = " + "-" * 200_000 + "1\n" + "[" * 100_000 + "]" * 100_000}
    uri = "class:hostile_deep.Policy"
    without_sandbox = OWN_PROCESS


class NamesOurModules(WarmupAttack):
    """Names every module of kinfolk as if it imported them, so that its fork server loads them first."""

    _NAMES = (
        "kinfolk.__main__", "kinfolk.cli.app", "kinfolk.isolation.forkserver_main", "kinfolk.testing",
        "kinfolk.testing.contracts", "kinfolk.isolation.cgroups.watcher", "kinfolk.bench.isolation",
        "kinfolk.viewer.server", "kinfolk.nothing.at.all", "kinfolk..", "torch", "numba",
    )  # fmt: skip
    files = {
        "hostile_names.py": "'''\n"
        + "".join(f"import {name}\n" for name in _NAMES)
        + "'''\nfrom kinfolk.policies.base import NoopPolicy\nclass Policy(NoopPolicy):\n    pass\n"
    }
    uri = "class:hostile_names.Policy"
    without_sandbox = "nothing is loaded for it"
