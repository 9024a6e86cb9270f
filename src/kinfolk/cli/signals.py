"""Signals that end a command: it stops as by Ctrl-C, so that whatever was opened is closed."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_WORDS = {signal.SIGTERM: "Terminated.", signal.SIGHUP: "Hung up."}
_OFFSET = 128  # what shells add to the number of a signal to make an exit code


class Received:
    """The signal that has ended the command, if one has."""

    number: signal.Signals | None = None

    def describe(self) -> tuple[str, int] | None:
        """Return a message and the exit code: 143 for SIGTERM, 129 for SIGHUP; None without a signal."""
        return None if self.number is None else (_WORDS[self.number], _OFFSET + self.number)


@contextmanager
def signals_interrupt() -> Iterator[Received]:
    """Raise `KeyboardInterrupt` on SIGTERM and SIGHUP within the context; all libraries handle it.

    A signal that is ignored (`nohup`) stays ignored.
    """
    received = Received()

    def end(number: int, frame: FrameType | None) -> None:  # noqa: ARG001, signature of signal handlers
        # A session that ends sends both, and a supervisor repeats itself: closing goes on.
        for other in _WORDS:
            signal.signal(other, signal.SIG_IGN)
        received.number = signal.Signals(number)
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield received
        return
    before = {number: signal.getsignal(number) for number in _WORDS}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, end)
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)
