"""The parts of a run's page, as JSON values that the page draws without knowing the job.

An estimate is `[mean, low, high, n]` as in events, with None for an interval that there is not. A
`group` names what a row is about (a slot, a group of agents, a policy): it has one colour on a page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from kinfolk.evaluation.formatting import format_interval, format_number

Block: TypeAlias = dict[str, Any]
EventList: TypeAlias = Sequence[Mapping[str, Any]]

MAX_POINTS = 2000  # of a line or a row: more than a chart has pixels


def find_last(events: EventList, *kinds: str) -> Mapping[str, Any] | None:
    """Return the last event of some kinds; None if there is none yet."""
    return next((event for event in reversed(events) if event["kind"] in kinds), None)


def show_estimate(estimate: Any) -> str:
    """Return an estimate as the text of a cell; "" where there is none.

    >>> show_estimate([1.5, 1.0, 2.0, 8]), show_estimate([1.5, None, None, 1]), show_estimate(None)
    ('1.5 (1 to 2)', '1.5', '')
    """
    if estimate is None or estimate[0] is None:
        return ""
    interval = format_interval(estimate)
    return f"{format_number(estimate[0])} ({interval})" if interval else format_number(estimate[0])


def make_text(title: str, lines: Sequence[str], style: str = "note") -> Block:
    """Return sentences below a heading.

    Args:
        title: Heading, "" for none.
        lines: The sentences.
        style: `verdict`, `note`, or `diff` for lines that begin with + and -.
    """
    return {"type": "text", "title": title, "lines": [*lines], "style": style}


def make_table(title: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Block:
    """Return a table of text cells.

    Args:
        title: Heading.
        headings: Names of the columns.
        rows: Cells of each row.
    """
    return {"type": "table", "title": title, "headings": [*headings], "rows": [*map(list, rows)]}


def make_row(
    name: str, estimate: Any, values: Sequence[float | None] = (), note: str = ""
) -> dict[str, Any]:
    """Return a row of `make_estimates`.

    Args:
        name: Name beside the row, which is also its group.
        estimate: Mean with its interval; None where there was no value.
        values: Single values, such as one per episode, drawn as points; None is left out.
        note: Text at the end of the row, such as a p-value.
    """
    points = [] if len(values) > MAX_POINTS else [_clean(value) for value in values]
    shown = None if estimate is None or estimate[0] is None else [_clean(v) for v in estimate]
    return {"name": name, "group": name, "estimate": shown, "values": points, "note": note}


def make_estimates(
    title: str, x_label: str, rows: Sequence[Mapping[str, Any]], zero: bool = False
) -> Block:
    """Return a forest plot: means with intervals one below the other, over the values themselves.

    Args:
        title: Heading.
        x_label: What the axis shows.
        rows: From `make_row`.
        zero: Whether 0 is marked, for differences.
    """
    return {
        "type": "estimates", "title": title, "x_label": x_label, "rows": [*map(dict, rows)],
        "zero": zero,
    }  # fmt: skip


def make_line(
    name: str,
    x: Sequence[float],
    y: Sequence[float | None],
    band: tuple[Sequence[float | None], Sequence[float | None]] | None = None,
) -> dict[str, Any]:
    """Return a line of `make_curves`, thinned to `MAX_POINTS`.

    Args:
        name: Name in the legend, which is also its group.
        x: Places along the axis.
        y: Value at each; None leaves a gap.
        band: Lower and upper end of an area around the line; None for no area.
    """
    stride = max(1, -(-len(x) // MAX_POINTS))
    low, high = band or ([], [])
    columns = {"x": x, "y": y, "low": low, "high": high}
    thinned = {key: [_clean(v) for v in values[::stride]] for key, values in columns.items()}
    return {"name": name, "group": name, **thinned}


def make_curves(
    title: str, x_label: str, lines: Sequence[Mapping[str, Any]], note: str = ""
) -> Block:
    """Return a chart of lines with areas.

    Args:
        title: Heading.
        x_label: What the x axis shows.
        lines: From `make_line`.
        note: What areas around lines are.
    """
    return {
        "type": "curves", "title": title, "x_label": x_label, "note": note,
        "lines": [*map(dict, lines)],
    }  # fmt: skip


def make_matrix(
    title: str,
    names: tuple[Sequence[str], Sequence[str]],
    cells: Sequence[Sequence[Any]],
    note: str = "",
    replays: Sequence[Sequence[str | None]] = (),
) -> Block:
    """Return a matrix with coloured cells.

    Args:
        title: Heading.
        names: Names of the rows and of the columns.
        cells: `[row][column]`, an estimate, or None where two did not meet.
        note: What a cell is.
        replays: `[row][column]`, name of a replay that shows the two, or None.
    """
    table = [[None if c is None else [_clean(v) for v in c] for c in row] for row in cells]
    return {
        "type": "matrix", "title": title, "rows": [*names[0]], "columns": [*names[1]],
        "cells": table, "note": note, "replays": [*map(list, replays)],
    }  # fmt: skip


def join_notes(notes: Sequence[Any]) -> list[Block]:
    """Return the notes of a result as a block; nothing if there are none."""
    return [make_text("", [str(note) for note in notes])] if notes else []


def _clean(value: Any) -> float | None:
    """Return a number that can be drawn; None for anything else that a file may hold."""
    if value is None or isinstance(value, bool | str):
        return None
    number = float(value)
    return number if np.isfinite(number) else None
