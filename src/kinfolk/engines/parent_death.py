"""End worker processes with their parent, even when the parent is killed by SIGKILL."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from multiprocessing.connection import wait

from kinfolk.core import libc


def exit_with_parent(use_death_signal: bool) -> None:
    """Exit this process when its parent exits, and leave Ctrl-C to the parent.

    A thread waits for the parent's exit.

    Args:
        use_death_signal: Whether to also ask the Linux kernel for a kill signal, which ends even a
            process that never releases the interpreter lock. It fires when the *thread* that
            started this process ends, so use it only if that thread lives as long as the parent.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    threading.Thread(target=_exit_when_parent_ends, args=(parent.sentinel,), daemon=True).start()
    has_death_signal = use_death_signal and libc.prctl(libc.PDEATHSIG, signal.SIGKILL) == 0
    if (
        has_death_signal and os.getppid() != parent.pid
    ):  # the parent exited before the request was made
        os._exit(1)


def _exit_when_parent_ends(sentinel: int) -> None:
    """Wait for the end of the parent process and exit."""
    wait([sentinel])
    os._exit(1)
