"""Tables in HTML, for notebooks."""

from __future__ import annotations

import html
from collections.abc import Sequence

_STYLE = "text-align: left; vertical-align: top; font-variant-numeric: tabular-nums"


def html_table(headings: Sequence[str], rows: Sequence[Sequence[str]], caption: str = "") -> str:
    """Return a table; texts are escaped.

    Args:
        headings: Headings of the columns.
        rows: Cells of each row.
        caption: Text above the table.

    >>> html_table(("a",), [("<b>",)]).splitlines()[-2]
    '<tr><td style="text-align: left; vertical-align: top; font-variant-numeric: tabular-nums">&lt;b&gt;</td></tr>'
    """
    top = f'<caption style="text-align: left; font-weight: bold">{html.escape(caption)}</caption>'
    lines = ["<table>", *([top] if caption else []), _make_row("th", headings)]
    return "\n".join([*lines, *(_make_row("td", row) for row in rows), "</table>"])


def _make_row(tag: str, cells: Sequence[str]) -> str:
    """Return a row of cells."""
    texts = (f'<{tag} style="{_STYLE}">{html.escape(cell)}</{tag}>' for cell in cells)
    return f"<tr>{''.join(texts)}</tr>"
