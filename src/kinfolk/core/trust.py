"""Whose words are followed: those of the user, or those of a file, which may name no code.

What a user types, or passes in Python, may name any code. A run, a policy file, a capsule or a study
plan may come from anybody: whatever acts on what such a file says does so within `untrusted(file)`, and
`core.imports.import_object` then refuses to import what is not part of kinfolk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from kinfolk.core.errors import UsageError, escape_text

Item = TypeVar("Item")
Result = TypeVar("Result")


class UntrustedCodeError(UsageError):
    """A file names code to import, or a file to write, and nobody has said that it is trusted."""


class Trust(NamedTuple):
    """Whose words are followed, and whether files may name code."""

    source: str | None = None  # the file whose words are followed; None: they are the user's
    are_files_trusted: bool = False  # as `--trust` says
    may_sandbox: bool = True  # whether a policy that is not trusted may run in a sandbox
    working_folder: str | None = None  # where modules may lie that the user names


_THE_USERS = Trust()
_trust: ContextVar[Trust] = ContextVar("kinfolk_trust", default=_THE_USERS)


@contextmanager
def _following(trust: Trust) -> Iterator[None]:
    """Follow the words of somebody else within this context."""
    before = _trust.get()
    _trust.set(trust)
    try:
        yield
    finally:
        _trust.set(before)  # not by its token: a generator may be closed in another context


@contextmanager
def untrusted(source: object, may_sandbox: bool = False) -> Iterator[None]:
    """Follow the words of a file within this context.

    Args:
        source: The file; None changes nothing.
        may_sandbox: Whether policies from outside of kinfolk may run if the file asks for a sandbox. It
            also says what the sandbox may read, so it must be a file that the user began himself.
    """
    trust = _trust.get()
    if source is not None:
        trust = trust._replace(source=str(source), may_sandbox=may_sandbox)
    with _following(trust):
        yield


@contextmanager
def trust_files(trusted: bool = True) -> Iterator[None]:
    """Let files name code to import within this context, as `--trust` does on the command line.

    Runs, policy files, capsules, study plans and scenario files may name worlds, policies, networks,
    losses and logs that are not part of kinfolk. That code then runs with your rights, so use this only
    for files that you wrote, or whose author you trust.

    Args:
        trusted: False changes nothing.

    >>> with trust_files():
    ...     get_trust().are_files_trusted
    True
    """
    trust = _trust.get()
    if trusted and trust.source is None:  # a file cannot say that it is trusted
        trust = trust._replace(are_files_trusted=True)
    with _following(trust):
        yield


@contextmanager
def find_modules_in(folder: str | None) -> Iterator[None]:
    """Let modules that the user names lie in a folder within this context; None: nowhere else."""
    with _following(_trust.get()._replace(working_folder=folder)):
        yield


def get_trust() -> Trust:
    """Return whose words are followed now."""
    return _trust.get()


def get_untrusted_source() -> str | None:
    """Return the file whose words are followed and that may name no code; None if there is none."""
    trust = _trust.get()
    return None if trust.are_files_trusted else trust.source


def make_untrusted_error(source: str, path: str) -> UntrustedCodeError:
    """Return the error for a file that names code.

    Args:
        source: The file.
        path: What it names.
    """
    return UntrustedCodeError(
        f"{escape_text(source)} names the code '{escape_text(path)}', which is no policy or "
        "world of kinfolk and would run with your rights. If you trust it, add --trust (in Python: with kf.trust_files()). A policy "
        "also runs without trust in a sandbox: --sandbox, with --sandbox-read FILE for its modules."
    )


def require_trust_to_write(path: object) -> None:
    """Check that a file may be written whose path a setting names.

    Raises:
        UntrustedCodeError: A file that is not trusted names it.
    """
    source = get_untrusted_source()
    if source is not None:
        raise UntrustedCodeError(
            f"{escape_text(source)} names the file '{escape_text(str(path))}', which would be written. If "
            "you trust it, add --trust (in Python: with kf.trust_files())."
        )


@dataclass(frozen=True)
class _TrustedCall(Generic[Item, Result]):
    """A function of one argument, called in another process as if by the code that made this value."""

    function: Callable[[Item], Result]
    trust: Trust

    def __call__(self, item: Item) -> Result:
        """Call the function."""
        with _following(self.trust):
            return self.function(item)


def carry_trust(function: Callable[[Item], Result]) -> Callable[[Item], Result]:
    """Return a function for another process, which follows there whom this process follows now."""
    trust = _trust.get()
    if trust == _THE_USERS:
        return function
    return _TrustedCall(function, trust)
