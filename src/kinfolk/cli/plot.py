"""Small plots for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

_BARS = " ▁▂▃▄▅▆▇█"


def plot(series: Sequence[float], width: int = 60, height: int = 5) -> list[str]:
    """Return the lines of a bar chart from 0 to the largest value.

    Args:
        series: The values; each column is the mean of its share of them.
        width: Most columns.
        height: Number of lines.

    >>> plot([0, 4, 8], width=3, height=1)
    [' ▄█']
    """
    width = min(width, len(series))
    cuts = [len(series) * i // width for i in range(width + 1)]
    means = [sum(series[a:b]) / (b - a) for a, b in pairwise(cuts)]
    top = max(means) or 1.0
    eighths = [round(8 * height * mean / top) for mean in means]
    return [
        "".join(_BARS[min(8, max(0, eighth - 8 * level))] for eighth in eighths)
        for level in reversed(range(height))
    ]


def print_plot(title: str, series: Sequence[float]) -> None:
    """Print a plot with its title and its scale."""
    top = max(series)
    print(f"{title}, 0 to {f'{top:,.0f}' if top >= 100 else f'{top:g}'}")
    for line in plot(series):
        print(f"  |{line}")
    print(f"  +{'-' * min(60, len(series))}")
