"""Tables of results as pandas or polars frames, files and HTML."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, TypeAlias

from kinfolk.core.errors import UsageError
from kinfolk.core.html_table import html_table
from kinfolk.core.imports import MissingLibraryError
from kinfolk.evaluation.export import ColumnTable, to_csv, to_parquet
from kinfolk.evaluation.figures.style import FIGURE_FORMATS, save_figure
from kinfolk.evaluation.formatting import format_estimate, format_number
from kinfolk.evaluation.statistics import Estimate
from kinfolk.store.files import write_atomic

Backend: TypeAlias = Literal["pandas", "polars"]
_BACKENDS: tuple[Backend, ...] = ("pandas", "polars")
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
    names: tuple[Backend, ...] = _BACKENDS if backend is None else (backend,)
    for name in names:
        if find_spec(name) is not None:
            import narwhals

            columns = {column: _unify_types(values) for column, values in table.items()}
            return narwhals.from_dict(columns, backend=name).to_native()
    needed = backend or "pandas or polars"
    raise MissingLibraryError(
        f"A data frame needs the library {needed}, which is not installed: pip install "
        f"{backend or 'pandas'}. Without it there is save('table.csv').",
        name=backend or "pandas",
    )


def _unify_types(values: Any) -> list[Any]:
    """Return values of one type, which polars needs: floats if some are, else texts if they differ.

    >>> _unify_types([0, 0.5, None]), _unify_types([1, "two"])
    ([0.0, 0.5, None], ['1', 'two'])
    """
    numbers = list(values)
    types = {type(value) for value in numbers if value is not None}
    if types == {int, float}:
        return [None if value is None else float(value) for value in numbers]
    if len(types) > 1 or types & {dict, list, tuple}:
        return [None if value is None else str(value) for value in numbers]
    return numbers


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


def save_result(
    path: str | Path, table: Callable[[], ColumnTable], plot: Callable[[], Any]
) -> None:
    """Write the table or the figure of a result, by the suffix of the file.

    Args:
        path: File to write.
        table: Returns the table; called for CSV, Parquet and JSON.
        plot: Returns the figure; called for PDF, SVG and PNG.

    Raises:
        UsageError: The suffix is another one.
        StoreError: The file could not be written.
    """
    form = Path(path).suffix.removeprefix(".")
    if form in FIGURE_FORMATS:
        save_figure(plot(), path)
    elif form in TABLE_FORMATS:
        save_table(table(), path)
    else:
        known = f"table ({', '.join(TABLE_FORMATS)}) or a figure ({', '.join(FIGURE_FORMATS)})"
        raise UsageError(f"A result is written as a {known}, not as '{form}'.")


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
    return html_table(headings, [[_format_cell(cell) for cell in row] for row in rows], caption)


def _format_cell(cell: Any) -> str:
    """Return a cell as text."""
    if isinstance(cell, Estimate):
        return f"{format_estimate(cell)}, n = {cell.n}"
    if isinstance(cell, float):
        return format_number(cell)
    return "none" if cell is None else str(cell)
