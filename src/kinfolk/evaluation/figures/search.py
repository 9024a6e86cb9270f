"""The figure of a search: the metric of every trial over each searched setting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kinfolk.evaluation.figures.style import drawing, marker_style, wrap_label
from kinfolk.evaluation.statistics import Estimate

_PANEL = 2.2  # inches
_MAX_PANELS = 5


def draw_search(
    settings: Sequence[Mapping[str, Any]],
    estimates: Sequence[Estimate | None],
    metric: str,
    ranges: Mapping[str, Any],
    best: int,
) -> Any:
    """Draw the metric of all trials: in their order, and over each searched setting.

    Args:
        settings: Values of the searched settings of each trial, by name.
        estimates: The estimate of each trial; None is left out.
        metric: Name of the metric, for the y axis.
        ranges: What was searched, as in the settings of the sweep; ranges with `log` have such an axis.
        best: Number of the best trial, which is marked.

    Returns:
        A `matplotlib.figure.Figure`.

    Raises:
        MissingLibraryError: matplotlib is not installed.
    """
    names = ["", *ranges][:_MAX_PANELS]
    known = [i for i, estimate in enumerate(estimates) if estimate is not None]
    means = {i: e.mean for i, e in enumerate(estimates) if e is not None}
    with drawing(width=_PANEL * len(names) + 0.6, height=2.6) as (figure, axes):
        axes.remove()
        panels = figure.subplots(1, len(names), sharey=True, squeeze=False)[0]
        for panel, name in zip(panels, names, strict=True):
            values = [settings[i][name] if name else i for i in known]
            is_text = any(isinstance(v, str | bool) or v is None for v in values)
            x = [str(v) for v in values] if is_text else values
            style = marker_style(0)
            panel.plot(x, [means[i] for i in known], linewidth=0, markersize=4, alpha=0.6, **style)
            if best in known:
                place = known.index(best)
                panel.plot(
                    [x[place]], [means[best]], linewidth=0, markersize=9, fillstyle="none",
                    label="best", **{**marker_style(1), "marker": "o"},
                )  # fmt: skip
            if str(ranges.get(name, "")).endswith(":log"):
                panel.set_xscale("log")
                low, high = (float(end) for end in ranges[name].split(":")[:2])
                panel.set_xticks([low, high], [f"{low:g}", f"{high:g}"])
                panel.minorticks_off()
            panel.set_xlabel(name or "trial")
        panels[0].set_ylabel(wrap_label(metric))
        panels[0].legend()
    return figure
