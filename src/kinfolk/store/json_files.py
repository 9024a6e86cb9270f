"""Documents that people read: JSON with the line in every complaint, and earlier ones kept."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kinfolk.core.errors import DamagedRunError
from kinfolk.store.files import as_store_error, read_bytes, write_atomic

_BLANKS = " \t\r\n"


def parse_json(data: bytes | str) -> Any:
    """Parse JSON that may be damaged.

    Raises:
        ValueError: It is not JSON, or is nested too deeply to be read.
    """
    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def parse_json_object(text: str, source: str) -> dict[str, Any]:
    """The table that a JSON text holds.

    Raises:
        DamagedRunError: It holds none; with the line and the reason.
    """

    def refuse(word: str) -> Any:
        line = text[: text.find(word)].count("\n") + 1
        raise DamagedRunError(f"{source} is damaged at line {line}: {word} is not a number.")

    try:
        data = json.loads(text, parse_constant=refuse)
    except json.JSONDecodeError as error:
        cut = error.pos >= len(text.rstrip()) - 1
        reason = "the file ends too early" if cut else error.msg[0].lower() + error.msg[1:]
        raise DamagedRunError(f"{source} is damaged at line {error.lineno}: {reason}.") from None
    except RecursionError:
        raise DamagedRunError(f"{source} is damaged: it is nested too deeply.") from None
    if not isinstance(data, dict):
        raise DamagedRunError(f"{source} is damaged at line 1: it must hold a table.")
    return data


def find_line(text: str, path: Sequence[int | str]) -> int:
    r"""The line on which the value at `path` of a valid JSON text begins.

    >>> find_line('{"a": 1,\n "b": [5,\n 6]}', ("b", 1))
    3
    """
    decoder, at = json.JSONDecoder(), _skip_blanks(text, 0)
    for step in path:
        found = _find_entry(decoder, text, at, step)
        if found < 0:  # a missing entry is told by the line of what lacks it
            break
        at = found
    return text[:at].count("\n") + 1


def _find_entry(decoder: json.JSONDecoder, text: str, offset: int, key: int | str) -> int:
    """Where the entry `key` of the table or list at `offset` begins; -1 if there is none."""
    if text[offset] not in "{[":
        return -1
    is_table, number = text[offset] == "{", 0
    offset = _skip_blanks(text, offset + 1)
    while text[offset] not in "}]":
        name: int | str = number
        if is_table:
            name, offset = decoder.raw_decode(text, offset)
            offset = _skip_blanks(text, _skip_blanks(text, offset) + 1)  # the colon
        if name == key:
            return offset
        offset = _skip_blanks(text, decoder.raw_decode(text, offset)[1])
        offset = _skip_blanks(text, offset + 1) if text[offset] == "," else offset
        number += 1
    return -1


def _skip_blanks(text: str, offset: int) -> int:
    while offset < len(text) and text[offset] in _BLANKS:
        offset += 1
    return offset


def read_text(path: Path) -> str:
    """All of a text file.

    Raises:
        DamagedRunError: It is not text.
    """
    try:
        return read_bytes(path).decode()
    except UnicodeDecodeError as error:
        line = read_bytes(path)[: error.start].count(b"\n") + 1
        raise DamagedRunError(f"{path} is damaged at line {line}: it is not text.") from None


def write_with_backups(path: Path, data: bytes, n_backups: int) -> None:
    """Write a file; what it replaces is kept as `NAME.1.SUFFIX`, up to `n_backups` of them.

    Whenever this is interrupted, the file is whole: the old one or the new one.
    """
    if path.exists() and n_backups > 0:
        earlier = read_bytes(path)
        if earlier == data:
            return
        for number in range(n_backups - 1, 0, -1):
            older = _backup_path(path, number)
            with as_store_error(f"{older} could not be renamed"):
                if older.exists():
                    older.replace(_backup_path(path, number + 1))
        write_atomic(_backup_path(path, 1), earlier)
    write_atomic(path, data)


def _backup_path(path: Path, number: int) -> Path:
    return path.with_name(f"{path.stem}.{number}{path.suffix}")
