"""The error tree. A message is one or two sentences: what was wrong, what it was, what is right."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class KinfolkError(Exception):
    """Anything kinfolk says is wrong. The command line prints it and leaves with `exit_code`."""

    exit_code = 1


class UsageError(KinfolkError):
    """The caller asked for something that cannot be: exit code 2."""

    exit_code = 2


class SettingsError(UsageError):
    """A setting is unknown, missing, of the wrong type or out of range."""


class UnknownNameError(UsageError, LookupError):
    """A registry has no such name. Not a KeyError: that prints its message in quotes."""


class ContractError(KinfolkError):
    """A world, a policy or a task broke the contract it promised to keep."""


class PolicyFailedError(KinfolkError):
    """A policy raised, hung, died or lied."""


class EngineError(KinfolkError):
    """An engine could not run a task."""


class StoreError(KinfolkError):
    """Something could not be read from or written to the disk."""


class DamagedRunError(StoreError):
    """A run folder, or a file in it, is not what kinfolk wrote."""


def require(condition: bool, message: str) -> None:
    """Raise `SettingsError(message)` unless `condition` holds."""
    if not condition:
        raise SettingsError(message)


def format_suggestion(name: str, known: Iterable[str]) -> str:
    """A hint for a mistyped name, ready to be appended to a sentence.

    >>> format_suggestion("forrage", ["forage", "ecology"])
    " Did you mean 'forage'? Known: forage, ecology."
    >>> format_suggestion("x", ["forage", "ecology"])
    ' Known: forage, ecology.'
    """
    names = list(known)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    hint = f" Did you mean '{close[0]}'?" if close else ""
    return f"{hint} Known: {', '.join(names) or 'none'}."
