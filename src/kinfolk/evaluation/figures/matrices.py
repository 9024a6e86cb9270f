"""Figures of matrices: payoffs of a round robin, cells of an archive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kinfolk.core.arrays import Floats
from kinfolk.evaluation.figures.estimates import shorten_name
from kinfolk.evaluation.figures.style import COLOR_MAP, MISSING_COLOR, drawing

_DARK = 0.55  # share of the colour scale below which text is white
_MAX_NUMBERS = 12  # policies up to which every cell shows its number


def draw_matrix(values: Floats, names: Sequence[str], label: str) -> Any:
    """Draw what each policy (row) achieved against each other (column), with the number in each cell.

    Args:
        values: `[policies, policies]`; NaN where two did not meet.
        names: Names of the policies.
        label: What a cell is, for the colour bar.

    Returns:
        A `matplotlib.figure.Figure`.

    Raises:
        MissingLibraryError: matplotlib is not installed.
    """
    n = len(names)
    side = max(2.2, 0.55 * n)
    with drawing(width=side + 2.6, height=side + 1.0) as (figure, axes):
        image = _show_cells(axes, values)
        ticks = [shorten_name(name, 20) for name in names]
        axes.set_xticks(range(n), ticks, rotation=40, ha="right", rotation_mode="anchor")
        axes.set_yticks(range(n), ticks)
        axes.set_xlabel("against")
        if n <= _MAX_NUMBERS:
            low, high = np.nanmin(values), np.nanmax(values)
            for (row, column), value in np.ndenumerate(values):
                if np.isfinite(value):
                    share = 1.0 if high == low else (value - low) / (high - low)
                    color = "white" if share < _DARK else "black"
                    text = f"{value:.3g}"
                    axes.text(column, row, text, ha="center", va="center", color=color, fontsize=8)
        figure.colorbar(image, ax=axes, label=label)
    return figure


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
