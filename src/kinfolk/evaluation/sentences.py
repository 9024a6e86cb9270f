"""How results are written for people: estimates with their intervals, verdicts as sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

# Mean, low, high and n, as in an event. One value has no interval, and older runs kept no n.
Written: TypeAlias = Sequence[float | None]


def number(value: float) -> str:
    """A number with three digits, or whole from 100 on.

    >>> number(0.65342), number(12345.6)
    ('0.653', '12,346')
    """
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def figures(estimate: Written | None) -> str:
    """A mean with its confidence interval, with three digits, for metrics of any size.

    >>> figures((0.6534, 0.61, 0.7, 20)), figures((5993.2, 700.0, 12345.6))
    ('0.653 (0.61 to 0.7)', '5,993 (700 to 12,346)')
    """
    return with_interval(estimate, number)


def interval(estimate: Written | None) -> str:
    """A mean with its confidence interval, with one decimal.

    >>> interval((12.345, 10.0, 15.5, 20)), interval((12.345, None, None, 1)), interval(None)
    ('12.3 (10.0 to 15.5)', '12.3 (no interval)', 'none')
    """
    return with_interval(estimate, lambda value: f"{value:,.1f}")


def with_interval(estimate: Written | None, form: Callable[[float], str]) -> str:
    """Write an estimate; what applied to nothing is "none", one value has no interval.

    Args:
        estimate: Mean, low, high and more, as in an event; None where there were no values.
        form: How a number is written.

    >>> with_interval((2.0, None, None, 1), number), with_interval(None, number)
    ('2 (no interval)', 'none')
    """
    if estimate is None or estimate[0] is None:
        return "none"
    return f"{form(estimate[0])} ({interval_of(estimate, form) or 'no interval'})"


def interval_of(estimate: Written, form: Callable[[float], str] = number) -> str:
    """The confidence interval of an estimate alone; nothing if it has none.

    >>> interval_of((0.6534, 0.61, 0.7)), interval_of((2.0, None, None, 1))
    ('0.61 to 0.7', '')
    """
    low, high = estimate[1:3]
    return "" if low is None or high is None else f"{form(low)} to {form(high)}"


def count_of(estimate: Written | None) -> str:
    """The number of values behind an estimate; runs of older versions did not keep it.

    >>> count_of((12.345, 10.0, 15.5, 20)), count_of(None)
    ('20', '0')
    """
    return "0" if estimate is None else f"{estimate[3]}" if len(estimate) > 3 else "?"


def sentences(compared: Mapping[str, Any]) -> Iterator[str]:
    """What a comparison found of every pair.

    Args:
        compared: The event of kind `compared`, as plain values.
    """
    for pair, verdict in compared["pairs"].items():
        a, b = (compared["policies"][int(i)] for i in pair.split())
        difference, p_value, better, episodes = verdict[:4]
        sure = f"p = {p_value:.4f}, {episodes} common episodes"
        if better == "neither":
            yield f"No difference is shown between {a} and {b}: {figures(difference)}, {sure}."
        else:
            winner, loser = (a, b) if better == "first" else (b, a)
            size = difference if better == "first" else _turned(difference)
            yield f"{winner} is better than {loser}: by {figures(size)}, {sure}."


def _turned(difference: Written) -> Written:
    """The same difference, seen from the other side."""
    mean, low, high = (None if v is None else -v for v in difference[:3])
    return [mean, high, low, *difference[3:]]
