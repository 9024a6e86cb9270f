"""Errors in code of other people: what was raised, and where in their own files."""

from __future__ import annotations

import sysconfig
import traceback
from pathlib import PurePath
from types import FrameType
from typing import NamedTuple

from kinfolk.core.printable import printable, printable_lines

_PACKAGE = __name__.partition(".")[0]
_LIBRARIES = tuple({sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")})


class Explained(NamedTuple):
    """An error without the paths of a machine."""

    what: str  # class and message, one line
    where: str  # file, line and function of the author's code, such as "mine.py:14 in step"
    trace: str  # all frames, a line each, the outermost first


NOTHING_RAISED = Explained("", "", "")


def explain(error: BaseException, leave_out: str = "") -> Explained:
    """Say what was raised and where.

    Args:
        error: As it was caught.
        leave_out: Modules whose frames are of no interest, by the start of their names.
    """
    # Where an error was raised from another one by us, the other one began in the author's code.
    chain = [error, *([error.__cause__] if error.__cause__ is not None else [])]
    frames = [
        [
            (frame, _place(frame, line))
            for frame, line in traceback.walk_tb(one.__traceback__)
            if not leave_out or not _module(frame).startswith(leave_out)
        ]
        for one in chain
    ]
    every = [place for raised in frames for _, place in raised]
    written = [[place for frame, place in raised if _is_the_authors(frame)] for raised in frames]
    where = next((found[-1] for found in written if found), every[-1] if every else "")
    if isinstance(error, SyntaxError) and error.filename:  # the file that could not be read
        where = f"{PurePath(error.filename).name}:{error.lineno}"
    try:
        message = str(error)
    except Exception:  # a class of their own may fail in this as well
        message = ""
    what = f"{type(error).__name__}{': ' if message else ''}{message}"
    trace = "\n".join(every)
    return Explained(printable(what), printable(where), printable_lines(trace))


def _is_the_authors(frame: FrameType) -> bool:
    """Whether it is neither kinfolk nor a library that is installed."""
    if _module(frame).partition(".")[0] == _PACKAGE:
        return False
    file = frame.f_code.co_filename
    return not file.startswith(_LIBRARIES) and not file.startswith("<")


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


def _place(frame: FrameType, line: int) -> str:
    return f"{PurePath(frame.f_code.co_filename).name}:{line} in {frame.f_code.co_name}"
