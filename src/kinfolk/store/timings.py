"""What a run's work took: a line of JSON each, beside the events and never among them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from kinfolk.store.documents import parse_json
from kinfolk.store.files import saying

TIMINGS = "timings.jsonl"


class Timings(NamedTuple):
    """The lines that could be read, and how many could not.

    No result depends on timings, so a damaged line costs that line and nothing more.
    """

    lines: list[dict[str, Any]]
    damaged: int


def read_timings(path: Path) -> Timings:
    """Read a file of timings; without one there are none. A last line that is not whole is left out."""
    if not path.exists():
        return Timings([], 0)
    with saying(f"{path} could not be read"):
        found = path.read_bytes().split(b"\n")[:-1]
    lines = [line for text in found if (line := _line(text)) is not None]
    return Timings(lines, len(found) - len(lines))


def _line(text: bytes) -> dict[str, Any] | None:
    try:
        found = parse_json(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
