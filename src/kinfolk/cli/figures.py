"""Tables of figures, for benchmarks."""

from __future__ import annotations

from collections.abc import Mapping
from string import Formatter
from typing import Any

from kinfolk.cli.output import print_table

_UNITS = {"M": 1e6, "k": 1e3, "K": 1024}  # before the format of a figure


class _FigureFormatter(Formatter):
    """Formats figures as `str.format` does, with two more format specs.

    `{rate:M.2f}` formats in millions. `{rate:/.0f}` formats a rate per second as its inverse, in
    nanoseconds.
    """

    def format_field(self, value: Any, format_spec: str) -> str:
        """Format one figure; a unit or `/` may precede the usual format spec."""
        if format_spec[:1] == "/":
            value, format_spec = 1e9 / value, format_spec[1:]
        elif format_spec[:1] in _UNITS:
            value, format_spec = value / _UNITS[format_spec[0]], format_spec[1:]
        return str(super().format_field(value, format_spec))


def print_figures(title: str, headings: str, rows: str, *points: Mapping[str, Any]) -> None:
    """Print a table of figures.

    Args:
        title: Line above the table.
        headings: Headings of the columns, with `|` between them.
        rows: Template with a row per line, `|` between cells, and figures as `{name:.2f}`.
        points: Figures by name; the rows are printed once for each of these mappings.
    """
    text = "\n".join(_FigureFormatter().vformat(rows.strip(), (), figures) for figures in points)
    cells = [[cell.strip() for cell in line.split("|")] for line in text.splitlines()]
    print_table(title, [heading.strip() for heading in headings.split("|")], cells)
