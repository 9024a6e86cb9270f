"""Documents that people read: JSON with the line in every complaint, and earlier ones kept."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kinfolk.core.errors import DamagedRunError
from kinfolk.store.files import read_bytes, saying, write_atomic

_BLANK = " \t\r\n"


def parse_json(data: bytes | str) -> Any:
    """Parse JSON that may be damaged.

    Raises:
        ValueError: It is not JSON, or is nested too deeply to be read.
    """
    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def parse_document(text: str, source: str) -> dict[str, Any]:
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


def line_of(text: str, place: Sequence[int | str]) -> int:
    r"""The line on which the value at `place` of a valid JSON text begins.

    >>> line_of('{"a": 1,\n "b": [5,\n 6]}', ("b", 1))
    3
    """
    decoder, at = json.JSONDecoder(), _skip(text, 0)
    for step in place:
        found = _enter(decoder, text, at, step)
        if found < 0:  # a missing entry is told by the line of what lacks it
            break
        at = found
    return text[:at].count("\n") + 1


def _enter(decoder: json.JSONDecoder, text: str, at: int, step: int | str) -> int:
    """Where the entry `step` of the table or list at `at` begins; -1 if there is none."""
    if text[at] not in "{[":
        return -1
    is_table, number = text[at] == "{", 0
    at = _skip(text, at + 1)
    while text[at] not in "}]":
        name: int | str = number
        if is_table:
            name, at = decoder.raw_decode(text, at)
            at = _skip(text, _skip(text, at) + 1)  # the colon
        if name == step:
            return at
        at = _skip(text, decoder.raw_decode(text, at)[1])
        at = _skip(text, at + 1) if text[at] == "," else at
        number += 1
    return -1


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _BLANK:
        at += 1
    return at


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


def write_kept(path: Path, data: bytes, kept: int) -> None:
    """Write a file; what it replaces is kept as `NAME.1.SUFFIX`, up to `kept` of them.

    Whenever this is interrupted, the file is whole: the old one or the new one.
    """
    if path.exists() and kept > 0:
        earlier = read_bytes(path)
        if earlier == data:
            return
        for number in range(kept - 1, 0, -1):
            older = _numbered(path, number)
            with saying(f"{older} could not be renamed"):
                if older.exists():
                    older.replace(_numbered(path, number + 1))
        write_atomic(_numbered(path, 1), earlier)
    write_atomic(path, data)


def _numbered(path: Path, number: int) -> Path:
    return path.with_name(f"{path.stem}.{number}{path.suffix}")
