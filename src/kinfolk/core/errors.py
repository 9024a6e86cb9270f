"""Exceptions of kinfolk. A message says what was wrong, what it was and what would be right."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


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
    """A world, a policy or a task violated the protocol that it implements."""


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


def format_suggestion(name: str, known: Iterable[str]) -> str:
    """Return a hint for a mistyped name, to be appended to an error message.

    >>> format_suggestion("forrage", ["forage", "ecology"])
    " Did you mean 'forage'? Known: forage, ecology."
    >>> format_suggestion("x", ["forage", "ecology"])
    ' Known: forage, ecology.'
    """
    names = list(known)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    hint = f" Did you mean '{close[0]}'?" if close else ""
    return f"{hint} Known: {', '.join(names) or 'none'}."
