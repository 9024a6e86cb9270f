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


def tie_to_parent(at_once: bool) -> None:
    """End this process when its parent ends, and leave Ctrl-C to the parent.

    A thread waits for the parent's end. `at_once` also asks the Linux kernel for a kill signal,
    which reaches a process that holds the interpreter lock for ever; it fires when the *thread*
    that started this process ends, so it is only for parents that start us from a lasting thread.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    threading.Thread(target=_outlive_nobody, args=(parent.sentinel,), daemon=True).start()
    if at_once and sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent.pid:  # it ended before the request was made
            os._exit(1)


def _outlive_nobody(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)
