"""Errors raised in users' code: what was raised and where in their files, escaped for a terminal."""

from __future__ import annotations

import sysconfig
import traceback
from pathlib import PurePath
from types import FrameType
from typing import NamedTuple

MAX_LINE_CHARS = 1000

MAX_LINES = 40  # lines

_ELLIPSIS = "..."


def escape_text(text: str, max_chars: int = MAX_LINE_CHARS) -> str:
    r"""One line in which every control, format and bidirectional character is escaped.

    Escape codes could repaint the terminal, and U+202E could make a name read as another. Applying
    it twice changes nothing.

    Args:
        text: Anything.
        max_chars: Characters that are kept; a longer text ends in `...`.

    >>> escape_text("\x1b[31mred\x1b[0m, \u202eright to left\nsecond line")
    '\\x1b[31mred\\x1b[0m, \\u202eright to left\\nsecond line'
    """
    text = text[: max_chars + 1]
    if not text.isprintable():
        text = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
    return text if len(text) <= max_chars else text[: max_chars - len(_ELLIPSIS)] + _ELLIPSIS


def escape_lines(text: str, max_lines: int = MAX_LINES) -> str:
    """The same for a text whose line breaks are kept, with at most so many lines.

    Args:
        text: Anything.
        max_lines: Lines that are kept: half of them from the start and half from the end.
    """
    lines = text.split("\n")
    if len(lines) > max_lines:
        lines = [*lines[: max_lines // 2 - 1], _ELLIPSIS, *lines[len(lines) - max_lines // 2 :]]
    return "\n".join(escape_text(line) for line in lines)


_PACKAGE = __name__.partition(".")[0]

_LIBRARY_PATHS = tuple({sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")})


class ErrorSummary(NamedTuple):
    """An error without the paths of a machine."""

    message: str  # class and message, one line
    location: str  # file, line and function of the author's code, such as "mine.py:14 in step"
    traceback: str  # all frames, a line each, the outermost first


NO_ERROR = ErrorSummary("", "", "")


def summarize_error(error: BaseException, skip_modules: str = "") -> ErrorSummary:
    """Say what was raised and where.

    Args:
        error: As it was caught.
        skip_modules: Modules whose frames are of no interest, by the start of their names.
    """
    # Where an error was raised from another one by us, the other one began in the author's code.
    chain = [error, *([error.__cause__] if error.__cause__ is not None else [])]
    frames = [
        [
            (frame, _format_frame(frame, line))
            for frame, line in traceback.walk_tb(one.__traceback__)
            if not skip_modules or not _module_name(frame).startswith(skip_modules)
        ]
        for one in chain
    ]
    every = [place for raised in frames for _, place in raised]
    written = [[place for frame, place in raised if _is_user_code(frame)] for raised in frames]
    where = next((found[-1] for found in written if found), every[-1] if every else "")
    if isinstance(error, SyntaxError) and error.filename:  # the file that could not be read
        where = f"{PurePath(error.filename).name}:{error.lineno}"
    try:
        message = str(error)
    except Exception:  # a class of their own may fail in this as well
        message = ""
    what = f"{type(error).__name__}{': ' if message else ''}{message}"
    trace = "\n".join(every)
    return ErrorSummary(escape_text(what), escape_text(where), escape_lines(trace))


def _is_user_code(frame: FrameType) -> bool:
    """Whether it is neither kinfolk nor a library that is installed."""
    if _module_name(frame).partition(".")[0] == _PACKAGE:
        return False
    file = frame.f_code.co_filename
    return not file.startswith(_LIBRARY_PATHS) and not file.startswith("<")


def _module_name(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


def _format_frame(frame: FrameType, line: int) -> str:
    return f"{PurePath(frame.f_code.co_filename).name}:{line} in {frame.f_code.co_name}"
