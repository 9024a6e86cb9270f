"""The MAP-Elites archive of an evolution of nets, as a figure (SVG)."""

from __future__ import annotations

from xml.sax.saxutils import escape

import numpy as np

from kinfolk.core.arrays import Floats
from kinfolk.core.errors import DamagedRunError, UsageError
from kinfolk.jobs.evolve_nets.settings import EvolveNets
from kinfolk.store.checkpoints import load_snapshot
from kinfolk.store.run import Run

_CELL, _LEFT, _TOP, _RIGHT, _BOTTOM = 18, 70, 40, 90, 60
# Viridis at five points; colours between them are interpolated.
_COLORS = ((68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (253, 231, 37))


def load_fitness_grid(run: Run, settings: EvolveNets) -> tuple[Floats, list[str]]:
    """Return the fitness in each cell of a run's archive, and the labels of its axes.

    Empty cells are NaN.

    Raises:
        UsageError: The run has no archive, or no checkpoint yet.
        DamagedRunError: The checkpoint is damaged.
    """
    if not settings.archive:
        raise UsageError(f"The run {run.folder} has no archive: it was not evolved with --archive.")
    checkpoints = run.checkpoints()
    if not checkpoints:
        raise UsageError(f"The run {run.folder} has no checkpoint yet.")
    arrays = load_snapshot(checkpoints[-1])[0].arrays
    cells = [axis.cells for axis in settings.archive]
    flat = np.full(int(np.prod(cells)), np.nan)
    try:
        name = next(n.split("/")[1] for n in arrays if n.startswith("search/"))
        flat[arrays[f"search/{name}/index"]] = arrays[f"search/{name}/objective"]
    except (StopIteration, LookupError, TypeError, ValueError) as error:
        problem = f"it holds no archive of these settings ({type(error).__name__}: {error})"
        raise DamagedRunError(f"The checkpoint {checkpoints[-1]} is damaged: {problem}.") from None
    return flat.reshape(cells), axis_labels(settings)


def axis_labels(settings: EvolveNets) -> list[str]:
    """Return the name and range of each axis of an archive."""
    return [f"{axis.name} from {axis.low:g} to {axis.high:g}" for axis in settings.archive]


def render_svg(grid: Floats, axes: list[str], title: str) -> str:
    """Render an archive as SVG: first axis down, second across, colour by fitness.

    Args:
        grid: Fitness in each cell, NaN where it is empty; one or two axes.
        axes: Labels of the axes.
        title: Title of the figure.
    """
    rows, columns = grid.shape[0], grid.shape[1] if grid.ndim == 2 else 1
    width, height = _LEFT + columns * _CELL + _RIGHT, _TOP + rows * _CELL + _BOTTOM
    low, high = float(np.nanmin(grid)), float(np.nanmax(grid))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="{_LEFT}" y="20" font-size="14">{escape(title)}</text>',
    ]
    for (row, column), value in np.ndenumerate(grid.reshape(rows, columns)):
        color = "#eeeeee" if np.isnan(value) else _viridis_color(value, low, high)
        x, y, size = _LEFT + column * _CELL, _TOP + row * _CELL, _CELL - 1
        parts.append(f'<rect x="{x}" y="{y}" width="{size}" height="{size}" fill="{color}"/>')
    parts += _render_labels(axes, rows, columns, low, high)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _render_labels(axes: list[str], rows: int, columns: int, low: float, high: float) -> list[str]:
    """Return the SVG elements of axis labels and colour bar.

    Args:
        axes: Labels of the axes.
        rows: Cells along the first axis.
        columns: Cells along the second axis.
        low: Lowest fitness.
        high: Highest fitness.
    """
    below, beside = _TOP + rows * _CELL, _LEFT + columns * _CELL + 12
    elements = [
        f'<text transform="translate(20 {_TOP + rows * _CELL / 2}) rotate(-90)" '
        f'text-anchor="middle">{escape(axes[0])}</text>'
    ]
    if len(axes) > 1:
        elements.append(f'<text x="{_LEFT}" y="{below + 20}">{escape(axes[1])}</text>')
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        value, y = low + share * (high - low), below - _CELL - share * (rows - 1) * _CELL
        color = _viridis_color(value, low, high)
        elements.append(f'<rect x="{beside}" y="{y}" width="12" height="12" fill="{color}"/>')
        elements.append(f'<text x="{beside + 17}" y="{y + 11}">{value:.3g}</text>')
    return elements


def _viridis_color(value: float, low: float, high: float) -> str:
    """Return the Viridis colour of a value as `#rrggbb`.

    Args:
        value: Value between `low` and `high`.
        low: Value of the first colour.
        high: Value of the last colour.
    """
    position = (1.0 if high == low else (value - low) / (high - low)) * (len(_COLORS) - 1)
    channels = zip(*_COLORS, strict=True)  # red, green and blue
    mixed = (round(float(np.interp(position, range(len(_COLORS)), c))) for c in channels)
    return "#" + "".join(f"{part:02x}" for part in mixed)
