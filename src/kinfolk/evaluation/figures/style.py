"""The look of all figures, and how they are written: vector formats, the same bytes each time."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import Any

from kinfolk.core.errors import UsageError
from kinfolk.core.imports import optional_import

FIGURE_FORMATS = ("pdf", "svg", "png")
# Okabe and Ito (2008), which people with colour vision deficiency can tell apart; black last.
_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_MARKERS = "osD^vP*"
_LINES = ("-", "--", "-.", ":")  # so that lines differ in a print without colours
COLOR_MAP = "viridis"  # perceptually uniform, also without colours
MISSING_COLOR = "#dddddd"
_PREVIEW_DPI = 110
_LABEL_WIDTH = 34  # characters
_WIDTH, _HEIGHT = 4.5, 3.0  # inches: a column of most journals is 3.3 to 4.5 wide
_STYLE = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "kinfolk",  # the same figure has the same bytes
    "pdf.fonttype": 42,
    "savefig.dpi": 300,
}
# Part of a larger figure on which `drawing` draws while `draw_panels` runs; None makes a new figure.
_PANEL: ContextVar[Any] = ContextVar("panel", default=None)


@contextmanager
def drawing(
    width: float = _WIDTH,
    height: float = _HEIGHT,
    n_rows: int = 1,
    height_ratios: Sequence[float] | None = None,
) -> Iterator[tuple[Any, Any]]:
    """Yield a new figure and its axes, to be drawn on in the style of all figures.

    Args:
        width: Width in inches.
        height: Height in inches.
        n_rows: Axes below each other; with more than one, an array of axes is yielded.
        height_ratios: Heights of these axes in relation to each other; None makes them equal.

    Raises:
        MissingLibraryError: matplotlib is not installed.
    """
    with optional_import("A figure"):
        import matplotlib
        from matplotlib.figure import Figure
    with matplotlib.rc_context(_STYLE):
        figure: Any = _PANEL.get()
        if figure is None:
            figure = Figure(figsize=(width, height), layout="constrained")
            # So that a notebook shows it, whether or not pyplot was imported there.
            figure._repr_png_ = partial(_encode_preview, figure)
        yield figure, figure.subplots(n_rows, height_ratios=height_ratios)


def draw_panels(draws: Sequence[Callable[[], Any]]) -> Any:
    """Draw one figure whose panels, below each other, are what the functions draw by `drawing`.

    Each is drawn alone first, which says how high its panel has to be.
    """
    figures = [draw() for draw in draws]
    if len(figures) == 1:
        return figures[0]
    widths, heights = zip(*(figure.get_size_inches() for figure in figures), strict=True)
    with drawing(max(widths), sum(heights)) as (figure, axes):
        axes.remove()
        panels = figure.subfigures(len(draws), 1, height_ratios=heights)
        for draw, panel in zip(draws, panels, strict=True):
            outside = _PANEL.set(panel)
            try:
                draw()
            finally:
                _PANEL.reset(outside)
    return figure


def _encode_preview(figure: Any) -> bytes:
    """Return a figure as a PNG of the size in which a notebook shows it."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=_PREVIEW_DPI)
    return buffer.getvalue()


def line_style(number: int) -> dict[str, Any]:
    """Return colour and dashes of the line with this number."""
    return {"color": _COLORS[number % len(_COLORS)], "linestyle": _LINES[number % len(_LINES)]}


def marker_style(number: int) -> dict[str, Any]:
    """Return colour and marker of the points with this number."""
    return {"color": _COLORS[number % len(_COLORS)], "marker": _MARKERS[number % len(_MARKERS)]}


def wrap_label(text: str) -> str:
    """Return the name of a metric as a label of several lines, which fits beside the axes.

    >>> wrap_label("cooperative_meal_fraction_all_episodes").splitlines()
    ['cooperative meal fraction all', 'episodes']
    """
    return "\n".join(textwrap.wrap(text.replace("_", " "), _LABEL_WIDTH))


def add_legend(axes: Any, labels: list[str]) -> None:
    """Add a legend for several labels: inside if they are few and short, else above the axes."""
    if len(labels) < 2:
        return
    if len(labels) <= 3 and max(map(len, labels)) <= 20:
        axes.legend()
        return
    columns = 1 if max(map(len, labels)) > 24 else 2
    axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=columns)
    figure = axes.figure  # made higher by the legend, so that the axes keep their size
    if _PANEL.get() is None:  # a panel is as high as its figure was
        figure.set_figheight(figure.get_figheight() + 0.19 * -(-len(labels) // columns))


def save_figure(figure: Any, path: str | Path) -> None:
    """Write a figure as PDF, SVG or PNG, by the suffix of the file; the same figure, the same bytes.

    Raises:
        UsageError: The suffix is another one.
        StoreError: The file could not be written.
    """
    from kinfolk.store.files import write_atomic

    write_atomic(Path(path), encode_figure(figure, Path(path).suffix.removeprefix(".")))


def encode_figure(figure: Any, form: str) -> bytes:
    """Return the bytes of a figure.

    Raises:
        UsageError: `form` is not one of `FIGURE_FORMATS`.
    """
    if form not in FIGURE_FORMATS:
        raise UsageError(f"A figure is written as {', '.join(FIGURE_FORMATS)}, not as '{form}'.")
    import matplotlib

    dates = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}
    buffer = io.BytesIO()
    with matplotlib.rc_context(_STYLE):
        figure.savefig(buffer, format=form, metadata=dates[form])
    return buffer.getvalue()
