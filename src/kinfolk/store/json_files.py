"""JSON files with line numbers in error messages, and files with backups of earlier versions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kinfolk.core.errors import DamagedRunError
from kinfolk.store.files import as_store_error, read_bytes, write_atomic

_BLANKS = " \t\r\n"


def parse_json(data: bytes | str) -> Any:
    """Parse JSON from a file that may be damaged.

    Raises:
        ValueError: It is not JSON, or is nested too deeply to be read.
    """
    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def parse_json_object(text: str, source: str) -> dict[str, Any]:
    """Parse a text that must hold a JSON object.

    Args:
        text: The text.
        source: Name of the file, for error messages.

    Raises:
        DamagedRunError: It does not; the message has the line and the reason.
    """

    def refuse_constant(name: str) -> Any:
        line = text[: text.find(name)].count("\n") + 1
        raise DamagedRunError(f"{source} is damaged at line {line}: {name} is not a number.")

    try:
        data = json.loads(text, parse_constant=refuse_constant)
    except json.JSONDecodeError as error:
        is_cut = error.pos >= len(text.rstrip()) - 1
        reason = "the file ends too early" if is_cut else error.msg[0].lower() + error.msg[1:]
        raise DamagedRunError(f"{source} is damaged at line {error.lineno}: {reason}.") from None
    except RecursionError:
        raise DamagedRunError(f"{source} is damaged: it is nested too deeply.") from None
    if not isinstance(data, dict):
        raise DamagedRunError(f"{source} is damaged at line 1: it must hold a table.")
    return data


def find_line(text: str, path: Sequence[int | str]) -> int:
    r"""Return the line on which a value of a valid JSON text begins.

    Args:
        text: The text.
        path: Keys and indices that lead to the value; where it is missing, the line of the
            innermost value on the way there is returned.

    >>> find_line('{"a": 1,\n "b": [5,\n 6]}', ("b", 1))
    3
    """
    decoder, offset = json.JSONDecoder(), _skip_blanks(text, 0)
    for key in path:
        entry_offset = _find_entry(decoder, text, offset, key)
        if entry_offset < 0:
            break
        offset = entry_offset
    return text[:offset].count("\n") + 1


def _find_entry(decoder: json.JSONDecoder, text: str, offset: int, key: int | str) -> int:
    """Return the offset of an entry of a JSON object or array, or -1 if there is none.

    Args:
        decoder: Skips values.
        text: A valid JSON text.
        offset: Where the object or array begins.
        key: Key of an object, or index of an array.
    """
    if text[offset] not in "{[":
        return -1
    is_object, number = text[offset] == "{", 0
    offset = _skip_blanks(text, offset + 1)
    while text[offset] not in "}]":
        name: int | str = number
        if is_object:
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
    """Return the content of a text file.

    Raises:
        UsageError: There is no such file.
        DamagedRunError: It is not UTF-8.
    """
    try:
        return read_bytes(path).decode()
    except UnicodeDecodeError as error:
        line = read_bytes(path)[: error.start].count(b"\n") + 1
        raise DamagedRunError(f"{path} is damaged at line {line}: it is not text.") from None


def write_with_backups(path: Path, data: bytes, n_backups: int) -> None:
    """Replace a file atomically and keep earlier versions as `NAME.1.SUFFIX`, `NAME.2.SUFFIX`, ...

    Args:
        path: The file.
        data: Its new content; if it is equal to the old one, nothing is written.
        n_backups: How many earlier versions are kept; with 0 the file is always written.

    Raises:
        StoreError: Something could not be written; the file has its old or its new content.
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
