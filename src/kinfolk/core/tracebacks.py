"""Summaries of errors raised in users' code: message, file and line, escaped for a terminal."""

from __future__ import annotations

import sysconfig
import traceback
from pathlib import PurePath
from types import FrameType
from typing import NamedTuple

MAX_LINE_CHARS = 1000

MAX_LINES = 40

_ELLIPSIS = "..."


def escape_text(text: str, max_chars: int = MAX_LINE_CHARS) -> str:
    r"""Return one line in which every control, format and bidirectional character is escaped.

    Escape codes could repaint the terminal, and U+202E could make a name read as another. Applying
    it twice changes nothing.

    Args:
        text: Text from an untrusted source.
        max_chars: Maximum length; a longer text is cut and ends in `...`.

    >>> escape_text("\x1b[31mred\x1b[0m, \u202eright to left\nsecond line")
    '\\x1b[31mred\\x1b[0m, \\u202eright to left\\nsecond line'
    """
    text = text[: max_chars + 1]
    if not text.isprintable():
        text = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
    return text if len(text) <= max_chars else text[: max_chars - len(_ELLIPSIS)] + _ELLIPSIS


def escape_lines(text: str, max_lines: int = MAX_LINES) -> str:
    """Escape every line of a text as `escape_text` does, and cut the middle of a long text.

    Args:
        text: Text from an untrusted source.
        max_lines: Maximum number of lines: half from the start, half from the end.
    """
    lines = text.split("\n")
    if len(lines) > max_lines:
        lines = [*lines[: max_lines // 2 - 1], _ELLIPSIS, *lines[len(lines) - max_lines // 2 :]]
    return "\n".join(escape_text(line) for line in lines)


_PACKAGE = __name__.partition(".")[0]

_LIBRARY_PATHS = tuple({sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")})


class ErrorSummary(NamedTuple):
    """Message and location of an error, without absolute paths."""

    message: str  # class and message in one line
    location: str  # last frame in the user's code, such as "mine.py:14 in step"
    traceback: str  # all frames, one per line, outermost first


NO_ERROR = ErrorSummary("", "", "")


def summarize_error(error: BaseException, skip_modules: str = "") -> ErrorSummary:
    """Return the message of an error and where in the user's code it was raised.

    Args:
        error: The error that was caught.
        skip_modules: Prefix of the names of modules whose frames are left out.
    """
    # kinfolk may have raised this error from another one, whose traceback leads to the user's code.
    chain = [error, *([error.__cause__] if error.__cause__ is not None else [])]
    tracebacks = [
        [
            (_format_frame(frame, line), _is_user_code(frame))
            for frame, line in traceback.walk_tb(link.__traceback__)
            if not skip_modules or not _module_name(frame).startswith(skip_modules)
        ]
        for link in chain
    ]
    lines = [line for frames in tracebacks for line, _ in frames]
    user_lines = [[line for line, is_user in frames if is_user] for frames in tracebacks]
    location = next((frames[-1] for frames in user_lines if frames), lines[-1] if lines else "")
    if isinstance(error, SyntaxError) and error.filename:  # the file that could not be parsed
        location = f"{PurePath(error.filename).name}:{error.lineno}"
    try:
        text = str(error)
    except Exception:  # __str__ of a user's own exception class may fail as well
        text = ""
    message = f"{type(error).__name__}{': ' if text else ''}{text}"
    return ErrorSummary(escape_text(message), escape_text(location), escape_lines("\n".join(lines)))


def _is_user_code(frame: FrameType) -> bool:
    """Return whether a frame belongs neither to kinfolk nor to an installed library."""
    if _module_name(frame).partition(".")[0] == _PACKAGE:
        return False
    file = frame.f_code.co_filename
    return not file.startswith(_LIBRARY_PATHS) and not file.startswith("<")


def _module_name(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


def _format_frame(frame: FrameType, line: int) -> str:
    return f"{PurePath(frame.f_code.co_filename).name}:{line} in {frame.f_code.co_name}"
