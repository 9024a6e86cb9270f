"""Figures of matrices: payoffs of policies that meet each other, cells of an archive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from kinfolk.core.arrays import Floats
from kinfolk.evaluation.figures.estimates import shorten_name
from kinfolk.evaluation.figures.style import COLOR_MAP, MISSING_COLOR, drawing

_DARK = 0.55  # share of the colour scale below which text is white
_MAX_NUMBERS = 12  # policies up to which every cell shows its number


class MatrixPanel(NamedTuple):
    """One matrix of a figure: what each policy of the rows achieved against those of the columns."""

    values: Floats  # [rows, columns]; NaN where two did not meet
    rows: Sequence[str]
    columns: Sequence[str]
    label: str  # what a cell is, for the colour bar
    row_side: str = ""  # whose policies the rows are; "" if policies change sides
    column_side: str = ""


def draw_matrices(panels: Sequence[MatrixPanel]) -> Any:
    """Draw matrices below each other, with the number in each cell.

    Args:
        panels: One matrix, or one for each two sides.

    Returns:
        A `matplotlib.figure.Figure`.

    Raises:
        MissingLibraryError: matplotlib is not installed.
    """
    width = max(2.2, *(0.55 * len(panel.columns) for panel in panels)) + 2.6
    heights = [max(2.2, 0.55 * len(panel.rows)) + 1.0 for panel in panels]
    with drawing(width, sum(heights), n_rows=len(panels), height_ratios=heights) as (figure, axes):
        for panel, place in zip(panels, np.ravel(axes), strict=True):
            _draw_panel(figure, place, panel)
    return figure


def _draw_panel(figure: Any, axes: Any, panel: MatrixPanel) -> None:
    """Draw one matrix on its axes."""
    values = panel.values
    image = _show_cells(axes, values)
    across = [shorten_name(name, 20) for name in panel.columns]
    axes.set_xticks(range(len(across)), across, rotation=40, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(panel.rows)), [shorten_name(name, 20) for name in panel.rows])
    axes.set_xlabel(f"against {panel.column_side}".strip())
    axes.set_ylabel(panel.row_side)
    if max(values.shape) <= _MAX_NUMBERS:
        low, high = np.nanmin(values), np.nanmax(values)
        for (row, column), value in np.ndenumerate(values):
            if np.isfinite(value):
                share = 1.0 if high == low else (value - low) / (high - low)
                color = "white" if share < _DARK else "black"
                text = f"{value:.3g}"
                axes.text(column, row, text, ha="center", va="center", color=color, fontsize=8)
    figure.colorbar(image, ax=axes, label=panel.label)


def draw_archive(grid: Floats, ranges: Sequence[tuple[str, float, float]], label: str) -> Any:
    """Draw the fitness in each cell of a MAP-Elites archive; empty cells are grey.

    Of an archive with more than two axes, a cell shows the fittest along the others.

    Args:
        grid: Fitness by cell, NaN where it is empty.
        ranges: Name, lowest and highest value of each axis.
        label: What a cell is, for the colour bar.

    Returns:
        A `matplotlib.figure.Figure`.

    Raises:
        MissingLibraryError: matplotlib is not installed.
    """
    filled, further = int(np.isfinite(grid).sum()), [name for name, _, _ in ranges[2:]]
    counts = f"{filled} of {grid.size} cells filled"
    if further:
        lowest = np.where(np.isnan(grid), -np.inf, grid).max(axis=tuple(range(2, grid.ndim)))
        grid, counts = (
            np.where(np.isinf(lowest), np.nan, lowest),
            f"best over {', '.join(further)}; {counts}",
        )
    table = grid.reshape(grid.shape[0], -1)
    (name, low, high), other = ranges[0], ranges[1] if len(ranges) > 1 else None
    width, height = (4.5, 3.6) if other else (4.5, 1.9)
    with drawing(width, height) as (figure, axes):
        # The first axis goes to the right, the second upwards, as a reader of a chart expects.
        across, up = (low, high), (0.0, 1.0) if other is None else other[1:]
        image = _show_cells(axes, table.T, extent=(*across, *up))
        axes.set_xlabel(name)
        if other is None:
            axes.set_yticks([])
        else:
            axes.set_ylabel(other[0])
        figure.colorbar(image, ax=axes, label=f"{label}\n{counts}")
    return figure


def _show_cells(axes: Any, values: Floats, extent: tuple[float, ...] | None = None) -> Any:
    """Draw a matrix as coloured cells, with NaN in grey, and return matplotlib's image.

    Args:
        axes: Axes to draw on.
        values: `[rows, columns]`.
        extent: Left, right, bottom and top in the units of the axes; the first row is then below.
    """
    import matplotlib

    colors = matplotlib.colormaps[COLOR_MAP].with_extremes(bad=MISSING_COLOR)
    if extent is None:
        image = axes.imshow(values, cmap=colors)
    else:
        image = axes.imshow(values, cmap=colors, extent=extent, origin="lower", aspect="auto")
    for spine in axes.spines.values():
        spine.set_visible(False)
    return image
