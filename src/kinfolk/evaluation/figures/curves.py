"""Figures of curves over steps, generations or ticks, with intervals over seeds; profiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from kinfolk.core.arrays import Floats
from kinfolk.core.errors import UsageError
from kinfolk.evaluation.aggregates import performance_profile
from kinfolk.evaluation.figures.style import (
    add_legend,
    drawing,
    line_style,
    marker_style,
    wrap_label,
)
from kinfolk.evaluation.statistics import t_intervals

_FEW_POINTS = 4  # below which a curve has markers: a single point would not be seen
_MAX_POINTS = 400  # of a curve; more cannot be told apart and make large files


class Curve(NamedTuple):
    """One run's course: `y[i]` at `x[i]`, with x in increasing order."""

    x: Sequence[float]
    y: Sequence[float]


def draw_curves(
    lines: Mapping[str, Sequence[Curve]], x_label: str, y_label: str, over: str = "seeds"
) -> Any:
    """Draw the mean course of each line, with its 95 % interval as a band.

    The interval is Student's t over the curves of a line, at every x; a single curve has none.

    Args:
        lines: By label, the curves of the runs that differ in their seed only.
        x_label: Label of the x axis, such as "steps".
        y_label: Label of the y axis, such as "score".
        over: What a line has several curves of, such as "seeds".

    Returns:
        A `matplotlib.figure.Figure`.

    Raises:
        MissingLibraryError: matplotlib is not installed.
    """
    with drawing() as (figure, axes):
        for number, (label, curves) in enumerate(lines.items()):
            x, values = align_curves(curves)
            style = line_style(number)
            if len(x) < _FEW_POINTS:
                style |= marker_style(number) | {"markersize": 4}
            if len(curves) == 1:
                axes.plot(x, values[0], linewidth=1.2, label=label or None, **style)
                continue
            mean, low, high = t_intervals(values.T)
            if len(x) < _FEW_POINTS:
                bars = [mean - low, high - mean]
                axes.errorbar(x, mean, bars, linewidth=0, elinewidth=1, color=style["color"])
            axes.fill_between(x, low, high, color=style["color"], alpha=0.2, linewidth=0)
            axes.plot(x, mean, linewidth=1.2, label=label or None, **style)
        counts = sorted({len(curves) for curves in lines.values()})
        axes.set_xlabel(x_label)
        if counts[-1:] == [1]:
            axes.set_ylabel(wrap_label(y_label))
        else:
            n = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
            axes.set_ylabel(f"{wrap_label(y_label)}\nmean, 95 % interval over {n} {over}")
        add_legend(axes, [label for label in lines if label])
    return figure


def align_curves(curves: Sequence[Curve]) -> tuple[Floats, Floats]:
    """Return common x, and `[curves, x]` values at them.

    Curves with equally many points are joined point by point, at the mean of their x: updates of
    trainings that differ in their seed come after slightly different numbers of steps. Others are
    interpolated where all of them have values.

    Raises:
        UsageError: There is no x at which all have values.

    >>> x, y = align_curves([Curve([0, 2], [0, 4]), Curve([1, 2, 3], [1, 1, 1])])
    >>> x.tolist(), y.tolist()
    ([1.0, 2.0], [[2.0, 4.0], [1.0, 1.0]])
    """
    if len({len(curve.x) for curve in curves}) == 1:
        x: Floats = np.mean([curve.x for curve in curves], axis=0)
        values: Floats = np.array([curve.y for curve in curves], dtype=np.float64)
    else:
        first, last = max(curve.x[0] for curve in curves), min(curve.x[-1] for curve in curves)
        every = np.unique(np.concatenate([np.array(curve.x, dtype=np.float64) for curve in curves]))
        x = every[(every >= first) & (every <= last)]
        values = np.array([np.interp(x, curve.x, curve.y) for curve in curves])
    if not len(x):
        raise UsageError("The runs of a line have no steps in common, so no mean can be drawn.")
    if len(x) <= _MAX_POINTS:
        return x, values
    chosen = np.linspace(0, len(x) - 1, _MAX_POINTS).round().astype(np.int64)
    return x[chosen], values[:, chosen]


def draw_profiles(values: Mapping[str, Sequence[float]], metric: str, unit: str) -> Any:
    """Draw the share of values above each threshold (Agarwal et al. 2021), with Wilson's intervals.

    Args:
        values: Values of each policy or setting, by its label.
        metric: Name of the metric, for the x axis.
        unit: What has a value each, such as "episodes" or "seeds", for the y axis.

    Returns:
        A `matplotlib.figure.Figure`.

    Raises:
        MissingLibraryError: matplotlib is not installed.
    """
    every = np.concatenate([np.asarray(v, dtype=np.float64) for v in values.values()])
    margin = 0.03 * (every.max() - every.min() or 1.0)
    cuts = np.linspace(every.min() - margin, every.max() + margin, 200).tolist()
    with drawing() as (figure, axes):
        for number, (label, numbers) in enumerate(values.items()):
            points, style = performance_profile(numbers, cuts), line_style(number)
            # Beyond the values of a line its band says nothing, and would hide those of others.
            inside = [(cut, p) for cut, p in zip(cuts, points, strict=True) if 0 < p.mean < 1]
            if len(numbers) > 1 and inside:
                x, low, high = zip(*((cut, p.low, p.high) for cut, p in inside), strict=True)
                axes.fill_between(x, low, high, color=style["color"], alpha=0.2, linewidth=0)
            axes.plot(cuts, [p.mean for p in points], linewidth=1.2, label=label or None, **style)
        axes.set_ylim(0, 1)
        axes.set_xlabel(f"{wrap_label(metric)} (threshold)")
        axes.set_ylabel(f"share of {unit} above it\n95 % interval of each point")
        add_legend(axes, [label for label in values if label])
    return figure
