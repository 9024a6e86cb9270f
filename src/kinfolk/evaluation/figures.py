"""Figures for papers, drawn by matplotlib: estimates with intervals over a varied setting."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kinfolk.core.errors import UsageError
from kinfolk.core.imports import optional_import
from kinfolk.evaluation.statistics import Estimate

FIGURE_FORMATS = ("svg", "pdf", "png")
# Okabe and Ito (2008), which people with colour vision deficiency can tell apart; black last.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_MARKERS = "osD^vP*"
_STYLE = {
    "figure.figsize": (4.5, 3.0),
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "kinfolk",  # the same figure has the same bytes
    "pdf.fonttype": 42,
    "savefig.dpi": 300,
}


def draw_estimates(
    settings: Sequence[Mapping[str, Any]],
    estimates: Sequence[Estimate | None],
    metric: str,
    interval: str,
) -> Any:
    """Draw the mean of a metric with its interval at each setting.

    The first setting is the x axis, and each combination of the others has a colour of its own.

    Args:
        settings: Values of the varied settings, by name.
        estimates: The estimate of each; None is left out.
        metric: Name of the metric, for the y axis.
        interval: What intervals are over, such as "10 seeds", for the y axis.

    Returns:
        A `matplotlib.figure.Figure`.

    Raises:
        MissingLibraryError: matplotlib is not installed.
    """
    with optional_import("A figure"):
        import matplotlib
        from matplotlib.figure import Figure
    names = list(settings[0]) if settings and settings[0] else [""]
    lines: dict[str, list[tuple[Any, Estimate]]] = {}
    for values, estimate in zip(settings, estimates, strict=True):
        label = ", ".join(f"{name} = {values[name]}" for name in names[1:])
        if estimate is not None:
            lines.setdefault(label, []).append((values.get(names[0], ""), estimate))
    with matplotlib.rc_context(_STYLE):
        figure = Figure(layout="constrained")
        axes = figure.subplots()
        shift = 0.012 * _find_width(lines)  # so that intervals at one value do not hide each other
        for number, (label, points) in enumerate(lines.items()):
            color, marker = COLORS[number % len(COLORS)], _MARKERS[number % len(_MARKERS)]
            x = [_place(value, number * shift) for value, _ in points]
            means = [estimate.mean for _, estimate in points]
            errors = [
                [_reach(e.mean, end) for _, e in points for end in (e[side],)] for side in (1, 2)
            ]
            axes.errorbar(
                x, means, yerr=errors, label=label or None, color=color, marker=marker,
                markersize=4, linewidth=1.2, capsize=2.5,
            )  # fmt: skip
        axes.set_xlabel(names[0])
        axes.set_ylabel(f"{metric}\nmean, 95 % interval over {interval}")
        numeric = [v for points in lines.values() for v, _ in points if _is_number(v)]
        if numeric:
            axes.set_xticks(sorted(set(numeric)))
        if len(lines) > 1:
            axes.legend()
    return figure


def save_figure(figure: Any, path: str | Path) -> None:
    """Write a figure as SVG, PDF or PNG, by the suffix of the file; the same figure, the same bytes.

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


def _is_number(value: Any) -> bool:
    """Return whether a value has a place on a numeric axis."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _find_width(lines: Mapping[str, Sequence[tuple[Any, Estimate]]]) -> float:
    """Return the width of the x axis; 0 if its values are not numbers."""
    values = [value for points in lines.values() for value, _ in points]
    if not values or not all(map(_is_number, values)):
        return 0.0
    return float(max(values) - min(values))


def _place(value: Any, shift: float) -> Any:
    """Return where a value is drawn: a number as it is, anything else as a category."""
    return value + shift if _is_number(value) else str(value)


def _reach(mean: float, end: float | None) -> float:
    """Return the distance of an interval's end from the mean; 0 without an interval."""
    return 0.0 if end is None else abs(end - mean)
