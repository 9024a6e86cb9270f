"""Children that do not outlive their parent, even when it is killed without a word."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import sys
import threading
from multiprocessing.connection import wait

_PR_SET_PDEATHSIG = 1


def exit_with_parent(use_death_signal: bool) -> None:
    """End this process when its parent ends, and leave Ctrl-C to the parent.

    A thread waits for the parent's end. `use_death_signal` also asks the Linux kernel for a kill signal,
    which reaches a process that holds the interpreter lock for ever; it fires when the *thread*
    that started this process ends, so it is only for parents that start us from a lasting thread.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    threading.Thread(target=_exit_when_parent_ends, args=(parent.sentinel,), daemon=True).start()
    if use_death_signal and sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent.pid:  # it ended before the request was made
            os._exit(1)


def _exit_when_parent_ends(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)
