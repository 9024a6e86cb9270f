"""Tables of results as pandas or polars frames, files and HTML."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, TypeAlias

from kinfolk.core.errors import UsageError
from kinfolk.core.imports import MissingLibraryError
from kinfolk.evaluation.export import ColumnTable, to_csv, to_parquet
from kinfolk.evaluation.formatting import format_estimate, format_number
from kinfolk.evaluation.statistics import Estimate
from kinfolk.store.files import write_atomic

Backend: TypeAlias = Literal["pandas", "polars"]
_BACKENDS = ("pandas", "polars")
TABLE_FORMATS = ("csv", "parquet", "json")


def make_frame(table: ColumnTable, backend: Backend | None = None) -> Any:
    """Return columns as a data frame.

    Args:
        table: Columns by name.
        backend: `pandas` or `polars`; None takes the first of them that is installed.

    Raises:
        MissingLibraryError: The library, or each of them, is not installed.
        UsageError: There is no such backend.
    """
    if backend is not None and backend not in _BACKENDS:
        raise UsageError(f"A frame is of pandas or of polars, not of {backend!r}.")
    for name in _BACKENDS if backend is None else (backend,):
        if find_spec(name) is not None:
            return import_module(name).DataFrame(dict(table))
    needed = backend or "pandas or polars"
    raise MissingLibraryError(
        f"A data frame needs the library {needed}, which is not installed: pip install "
        f"{backend or 'pandas'}. Without it there is save('table.csv').",
        name=backend or "pandas",
    )


def save_table(table: ColumnTable, path: str | Path) -> None:
    """Write columns as CSV, Parquet or JSON, by the suffix of the file.

    Raises:
        UsageError: The suffix is another one.
        MissingLibraryError: Parquet is asked for, and pyarrow is not installed.
        StoreError: The file could not be written.
    """
    form = Path(path).suffix.removeprefix(".")
    if form not in TABLE_FORMATS:
        raise UsageError(f"A table is written as {', '.join(TABLE_FORMATS)}, not as '{form}'.")
    if form == "json":
        data = json.dumps(dict(table)).encode() + b"\n"
    else:
        data = to_csv(table) if form == "csv" else to_parquet(table)
    write_atomic(Path(path), data)


def list_estimates(facts: Mapping[str, Any], prefix: str = "") -> dict[str, list[Any]]:
    """Return every estimate of a result as columns: name, mean, low, high, n."""
    table: dict[str, list[Any]] = {"name": [], **{name: [] for name in Estimate._fields}}
    for name, value in facts.items():
        path = f"{prefix}{name}"
        if isinstance(value, Mapping):
            for column, values in list_estimates(value, f"{path}/").items():
                table[column] += values
        elif isinstance(value, Estimate):
            for column, part in zip(table, (path, *value), strict=True):
                table[column].append(part)
    return table


def to_html(headings: Sequence[str], rows: Sequence[Sequence[Any]], caption: str = "") -> str:
    """Return a table for a notebook; cells are escaped.

    Args:
        headings: Headings of the columns.
        rows: Cells: text, numbers, estimates or None.
        caption: Text above the table.
    """
    lines = ["<table>", f"<caption>{html.escape(caption)}</caption>" if caption else "", "<tr>"]
    lines += [f"<th>{html.escape(heading)}</th>" for heading in headings]
    lines.append("</tr>")
    for row in rows:
        lines.append("<tr>" + "".join(f"<td>{_format_cell(cell)}</td>" for cell in row) + "</tr>")
    return "\n".join(line for line in [*lines, "</table>"] if line)


def _format_cell(cell: Any) -> str:
    """Return a cell as escaped text."""
    if isinstance(cell, Estimate):
        return html.escape(f"{format_estimate(cell)}, n = {cell.n}")
    if isinstance(cell, float):
        return format_number(cell)
    return "none" if cell is None else html.escape(str(cell))
