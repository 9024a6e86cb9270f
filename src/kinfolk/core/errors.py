"""Exceptions of kinfolk, and safe summaries of errors raised in users' code.

A message says what was wrong, what it was and what would be right.
"""

from __future__ import annotations

import difflib
import inspect
import linecache
import sys
import sysconfig
import traceback
from collections.abc import Callable, Iterable
from pathlib import PurePath
from types import FrameType
from typing import Any, NamedTuple

MAX_LINE_CHARS = 1000
MAX_LINES = 40
_MAX_KNOWN, _FEW_KNOWN = 24, 8  # names that a message lists; of more than 24, the first 8
_MAX_SOURCE_CHARS = 120  # of a source line in a traceback
_ELLIPSIS = "..."
_PACKAGE = __name__.partition(".")[0]
_LIBRARY_PATHS = tuple({sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")})


class KinfolkError(Exception):
    """Base of all errors with a message for users; the command line exits with `exit_code`."""

    exit_code = 1


class UsageError(KinfolkError):
    """Raised for wrong use, such as an unknown name or a missing file: exit code 2."""

    exit_code = 2


class SettingsError(UsageError):
    """A setting is unknown, missing, of the wrong type or out of range."""


class UnknownNameError(UsageError, LookupError):
    """A name is not registered. Not a KeyError, which prints its message in quotes."""


class ContractError(KinfolkError):
    """A world, a policy or a task violated the protocol that it implements.

    Args:
        message: What was wrong, what it was and what would be right.
        location: File, line and function of the user's code, such as `mine.py:14 in step`. Given for
            a wrong return value, of which no frame of the traceback lies in the user's code.
    """

    def __init__(self, message: str, location: str = "") -> None:
        super().__init__(message)
        self.location = location

    def __str__(self) -> str:
        message = super().__str__()
        return f"{message.removesuffix('.')} ({self.location})." if self.location else message


class PolicyFailedError(KinfolkError):
    """A policy raised, timed out, lost its process or returned invalid actions."""


class EngineError(KinfolkError):
    """An engine could not run a task."""


class StoreError(KinfolkError):
    """A file or folder could not be read or written."""


class DamagedRunError(StoreError):
    """A run folder, or a file in it, is incomplete, corrupt or of another format version."""


def require(condition: bool, message: str) -> None:
    """Raise `SettingsError(message)` unless `condition` holds."""
    if not condition:
        raise SettingsError(message)


def make_unknown_name_error(problem: str, name: str, known: Iterable[str]) -> UnknownNameError:
    """Return the error for a name that is not known, with the most similar one.

    Args:
        problem: Start of the message, such as "No world is named".
        name: Name that was given.
        known: Names that would be right.
    """
    return UnknownNameError(f"{problem} '{name}'.{format_suggestion(name, known)}")


def format_suggestion(name: str, known: Iterable[str], listing: str = "") -> str:
    """Return a hint for a mistyped name, to be appended to an error message.

    Args:
        name: Name that was given.
        known: Names that would be right; of very many, only the first are shown.
        listing: What lists all names, for a message that shows only some: "`kinfolk x` lists them".

    >>> format_suggestion("forrage", ["forage", "ecology"])
    " Did you mean 'forage'? Known: forage, ecology."
    >>> format_suggestion("x", ["forage", "ecology"])
    ' Known: forage, ecology.'
    >>> format_suggestion("x", [f"rule_{number}" for number in range(60)], "`kinfolk x` lists them")
    ' Known: rule_0, rule_1, rule_2, rule_3, rule_4, rule_5, rule_6, rule_7 and 52 more; `kinfolk x` lists them.'
    """
    names = list(known)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    hint = f" Did you mean '{close[0]}'?" if close else ""
    shown, rest = ", ".join(names) or "none", ""
    if len(names) > _MAX_KNOWN:
        shown = ", ".join(names[:_FEW_KNOWN])
        rest = f" and {len(names) - _FEW_KNOWN} more" + (f"; {listing}" if listing else "")
    return f"{hint} Known: {shown}{rest}."


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


class ErrorSummary(NamedTuple):
    """Message and location of an error, without absolute paths."""

    message: str  # class and message in one line
    location: str  # last frame in the user's code, such as "mine.py:14 in step"
    traceback: str  # all frames, one per line, outermost first; the user's and the last with source


NO_ERROR = ErrorSummary("", "", "")


def summarize_error(error: BaseException, skip_modules: str = "") -> ErrorSummary:
    """Return the message of an error and where in the user's code it was raised.

    Args:
        error: The error that was caught.
        skip_modules: Prefix of the names of modules whose frames are left out.
    """
    # kinfolk may have raised this error from another one, whose traceback leads to the user's code.
    chain = [error, *([error.__cause__] if error.__cause__ is not None else [])]
    lines: list[str] = []  # of all frames
    locations: list[str] = []  # innermost user's frame of each error
    location = ""
    for link in chain:
        frames = list(traceback.walk_tb(link.__traceback__))
        if skip_modules:
            frames = [f for f in frames if not _get_module_name(f[0]).startswith(skip_modules)]
        texts = [_format_frame(*frame) for frame in frames]
        location = texts[-1] if texts else location
        user_frames = [i for i, frame in enumerate(frames) if _is_user_code(frame[0])][-1:]
        locations += [texts[i] for i in user_frames]
        for i in {*user_frames, *range(len(frames))[-1:]}:  # nobody reads the source of others
            texts[i] += _format_source(*frames[i])
        lines += texts
    location = locations[0] if locations else location
    for link in chain:
        if isinstance(link, SyntaxError) and link.filename:  # the file that could not be parsed
            location = f"{PurePath(link.filename).name}:{link.lineno}"
            source = escape_text((link.text or "").strip(), _MAX_SOURCE_CHARS)
            lines.append(f"{location}: {source}" if source else location)
    stated = str(getattr(error, "location", "")) if isinstance(error, ContractError) else ""
    try:
        text = Exception.__str__(error).removesuffix(".") if stated else str(error)
    except Exception:  # __str__ of a user's own exception class may fail as well
        text = ""
    message = f"{type(error).__name__}{': ' if text else ''}{text}"
    return ErrorSummary(
        escape_text(message), escape_text(stated or location), escape_lines("\n".join(lines))
    )


def _is_user_code(frame: FrameType) -> bool:
    """Return whether a frame belongs neither to kinfolk nor to an installed library."""
    if _get_module_name(frame).partition(".")[0] == _PACKAGE:
        return False
    file = frame.f_code.co_filename
    installed = any(f"/{name}/" in file for name in ("site-packages", "dist-packages"))
    is_cell = file.startswith("<ipython-input")
    return not installed and (is_cell or not file.startswith((*_LIBRARY_PATHS, "<")))


def _get_module_name(frame: FrameType) -> str:
    """Return the name of the module that a frame runs in."""
    return str(frame.f_globals.get("__name__", ""))


def find_definition(function: Callable[..., Any]) -> str:
    """Return where a function of the user's is defined, such as `mine.py:14 in step`; "" if unknown."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None:
        return ""
    return f"{_name_file(code.co_filename)}:{code.co_firstlineno} in {code.co_name}"


def _format_frame(frame: FrameType, line: int) -> str:
    """Return a frame as text such as `mine.py:14 in step`, or `Cell In[3]:5 in step`."""
    return f"{_name_file(frame.f_code.co_filename)}:{line} in {frame.f_code.co_name}"


def _name_file(file: str) -> str:
    """Return the name of a source file, or the number of the notebook's cell that it holds."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    cell = None if shell is None else shell.compile.format_code_name(file)
    return " ".join(cell) if cell else PurePath(file).name


def _format_source(frame: FrameType, line: int) -> str:
    """Return the source line of a frame as text such as `: return 1 / 0`; "" if it is unknown."""
    file = frame.f_code.co_filename
    linecache.checkcache(file)  # it may have been edited since the last failure
    source = linecache.getline(file, line, frame.f_globals).strip()
    return f": {escape_text(source, _MAX_SOURCE_CHARS)}" if source else ""
