"""Reading of role history files, and which earlier version can be used instead of a damaged one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kinfolk.core.errors import KinfolkError
from kinfolk.roles.history import parse_history
from kinfolk.roles.history_schema import RoleHistory
from kinfolk.store.backups import list_backups
from kinfolk.store.files import parse_json_object, read_text
from kinfolk.store.integrity import advising


def read_history(path: Path) -> RoleHistory:
    """Read a role history file.

    Raises:
        UsageError: There is no such file.
        DamagedRunError: It is damaged; the message names an earlier version that is not.
    """
    return parse_history(read_history_text(path), str(path))


def read_history_document(path: Path) -> dict[str, Any]:
    """Return the JSON values of a role history file; the errors are those of `read_history`."""
    return parse_json_object(read_history_text(path), str(path))


def read_history_text(path: Path) -> str:
    """Return the text of a role history file that was checked as in `read_history`."""
    with advising(lambda: _advise_backups(path)):
        text = read_text(path)
        parse_history(text, str(path))
        return text


def _advise_backups(path: Path) -> str:
    """Return which of the earlier versions beside a history is the newest intact one."""
    for backup in list_backups(path):
        try:
            parse_history(read_text(backup), str(backup))
        except KinfolkError:
            continue
        return f"The earlier version {backup} is intact."
    return ""
