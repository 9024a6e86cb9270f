"""CSV text that a spreadsheet shows and does not compute."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from typing import Any

# A cell that begins so is a formula to a spreadsheet (OWASP, "CSV Injection").
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def write_csv(rows: Iterable[Iterable[Any]]) -> str:
    r"""Return rows as CSV; a text that a spreadsheet would take for a formula gets a `'` before it.

    Numbers keep all digits and their sign, also as text.

    >>> write_csv([["policy", "score"], ["=1+1", -0.5], ["-inf", None]])
    "policy,score\n'=1+1,-0.5\n-inf,\n"
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for row in rows:
        writer.writerow(_escape_formulas(row))
    return text.getvalue()


def _escape_formulas(row: Iterable[Any]) -> Iterator[Any]:
    """Yield the cells of a row."""
    for cell in row:
        is_formula = isinstance(cell, str) and cell.startswith(_FORMULA_STARTS)
        yield f"'{cell}" if is_formula and not _is_number(cell) else cell


def _is_number(text: str) -> bool:
    """Return whether a text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True
