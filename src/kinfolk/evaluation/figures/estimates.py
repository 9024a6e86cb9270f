"""Figures of estimates: over a varied setting, and one below the other by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kinfolk.evaluation.figures.style import add_legend, drawing, marker_style, wrap_label
from kinfolk.evaluation.statistics import Estimate

_MAX_NAME = 32  # characters of a name beside the axes; a longer one is cut in the middle


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
    names = list(settings[0]) if settings and settings[0] else [""]
    lines: dict[str, list[tuple[Any, Estimate]]] = {}
    for values, estimate in zip(settings, estimates, strict=True):
        label = ", ".join(f"{name} = {values[name]}" for name in names[1:])
        if estimate is not None:
            lines.setdefault(label, []).append((values.get(names[0], ""), estimate))
    with drawing() as (figure, axes):
        every = [value for points in lines.values() for value, _ in points]
        scale = _choose_scale(every)
        width = 0.0 if scale == "text" else float(max(every) - min(every))
        for number, (label, points) in enumerate(lines.items()):
            # Moved a little, so that intervals at one value do not hide each other.
            if scale == "text":
                x = [str(value) for value, _ in points]
            elif scale == "log":
                x = [value * 1.03**number for value, _ in points]
            else:
                x = [value + 0.012 * width * number for value, _ in points]
            axes.errorbar(
                x, [e.mean for _, e in points], yerr=_error_bars([e for _, e in points]),
                label=label or None, markersize=4, linewidth=1.2 if width else 0, elinewidth=1.2,
                capsize=2.5, **marker_style(number),
            )  # fmt: skip
        axes.set_xlabel(names[0])
        axes.set_ylabel(f"{wrap_label(metric)}\nmean, 95 % interval over {interval}")
        if scale == "log":
            axes.set_xscale("log")
        if scale != "text" and len(set(every)) <= 10:
            axes.set_xticks(sorted(set(every)), [f"{v:g}" for v in sorted(set(every))])
            axes.minorticks_off()
        add_legend(axes, list(lines))
    return figure


def draw_named_estimates(
    groups: Mapping[str, Mapping[str, Estimate | None]], metric: str, interval: str,
    overlapping: bool = False, names: str = "",
) -> Any:  # fmt: skip
    """Draw estimates one below the other, each beside its name.

    Args:
        groups: Estimates by name, by group; groups have colours. None is drawn as the word "none".
        metric: What the estimates are of, for the x axis.
        interval: What intervals are over, such as "20 episodes", for the x axis.
        overlapping: Draw all groups on the lines of their names, for groups without common names.
        names: What the names are of, for the y axis.

    Returns:
        A `matplotlib.figure.Figure`.

    Raises:
        MissingLibraryError: matplotlib is not installed.
    """
    n_lines = 1 if overlapping else len(groups)
    lines = list(dict.fromkeys(name for group in groups.values() for name in group))
    step = 0.8 / max(1, n_lines)
    with drawing(height=0.9 + 0.32 * len(lines) * max(1, 0.6 * n_lines)) as (figure, axes):
        for number, (label, estimates) in enumerate(groups.items()):
            offset = (number - 0.5 * (len(groups) - 1)) * step if n_lines > 1 else 0.0
            known = [(n, e) for n, e in estimates.items() if e is not None]
            axes.errorbar(
                [e.mean for _, e in known], [lines.index(n) + offset for n, _ in known],
                xerr=_error_bars([e for _, e in known]), linewidth=0, elinewidth=1.2, markersize=4,
                capsize=2.5, label=label or None, **marker_style(number),
            )  # fmt: skip
        none = [n for n in lines if all(group.get(n) is None for group in groups.values())]
        axes.set_yticks(
            range(len(lines)), [shorten_name(n) + ": none" * (n in none) for n in lines]
        )
        axes.set_ylim(len(lines) - 0.5, -0.5)
        axes.set_ylabel(names)
        axes.grid(axis="x", color="#eeeeee")
        axes.set_xlabel(f"{wrap_label(metric)}\nmean, 95 % interval over {interval}")
        add_legend(axes, [label for label in groups if label])
    return figure


def shorten_name(name: str, max_chars: int = _MAX_NAME) -> str:
    """Return a name that fits beside an axis, cut in its middle.

    >>> shorten_name("kin://roles?miner=4&scrambler=2", 16)
    'kin://r…rambler=2'
    """
    half = max_chars // 2
    return name if len(name) <= max_chars else f"{name[: half - 1]}…{name[-half - 1 :]}"


def _error_bars(estimates: Sequence[Estimate]) -> list[list[float]]:
    """Return the distances of the ends of intervals from the means; 0 without an interval."""
    return [
        [0.0 if e.low is None else e.mean - e.low for e in estimates],
        [0.0 if e.high is None else e.high - e.mean for e in estimates],
    ]


def _is_number(value: Any) -> bool:
    """Return whether a value has a place on a numeric axis."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _choose_scale(values: Sequence[Any]) -> str:
    """Return "log" for numbers of growing steps over a decade, "linear" for others, or "text".

    >>> _choose_scale([0.001, 0.003, 0.01]), _choose_scale([1, 2, 3]), _choose_scale(["a", 2])
    ('log', 'linear', 'text')
    """
    if not values or not all(map(_is_number, values)):
        return "text"
    numbers = np.unique(np.array(values, dtype=np.float64))
    if len(numbers) < 3 or numbers[0] <= 0 or numbers[-1] < 10 * numbers[0]:
        return "linear"
    steps, ratios = np.diff(numbers), np.diff(np.log(numbers))
    return "log" if ratios.std() / ratios.mean() < steps.std() / steps.mean() else "linear"
