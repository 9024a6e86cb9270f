"""How results are written for people: estimates with their intervals, verdicts as sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

# Mean, low, high and n, as in an event. One value has no interval, and older runs kept no n.
EstimateValues: TypeAlias = Sequence[float | None]


def format_number(value: float) -> str:
    """A number with three digits, or whole from 100 on.

    >>> format_number(0.65342), format_number(12345.6)
    ('0.653', '12,346')
    """
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def format_estimate(estimate: EstimateValues | None) -> str:
    """A mean with its confidence interval, with three digits, for metrics of any size.

    >>> format_estimate((0.6534, 0.61, 0.7, 20)), format_estimate((5993.2, 700.0, 12345.6))
    ('0.653 (0.61 to 0.7)', '5,993 (700 to 12,346)')
    """
    return format_estimate_with(estimate, format_number)


def format_estimate_1dp(estimate: EstimateValues | None) -> str:
    """A mean with its confidence interval, with one decimal.

    >>> format_estimate_1dp((12.345, 10.0, 15.5, 20)), format_estimate_1dp(None)
    ('12.3 (10.0 to 15.5)', 'none')
    """
    return format_estimate_with(estimate, lambda value: f"{value:,.1f}")


def format_estimate_with(
    estimate: EstimateValues | None, format_value: Callable[[float], str]
) -> str:
    """Write an estimate; what applied to nothing is "none", one value has no interval.

    Args:
        estimate: Mean, low, high and more, as in an event; None where there were no values.
        format_value: How a number is written.

    >>> format_estimate_with((2.0, None, None, 1), format_number)
    '2 (no interval)'
    """
    if estimate is None or estimate[0] is None:
        return "none"
    return (
        f"{format_value(estimate[0])} ({format_interval(estimate, format_value) or 'no interval'})"
    )


def format_interval(
    estimate: EstimateValues, format_value: Callable[[float], str] = format_number
) -> str:
    """The confidence interval of an estimate alone; nothing if it has none.

    >>> format_interval((0.6534, 0.61, 0.7)), format_interval((2.0, None, None, 1))
    ('0.61 to 0.7', '')
    """
    low, high = estimate[1:3]
    return "" if low is None or high is None else f"{format_value(low)} to {format_value(high)}"


def format_sample_size(estimate: EstimateValues | None) -> str:
    """The number of values behind an estimate; runs of older versions did not keep it.

    >>> format_sample_size((12.345, 10.0, 15.5, 20)), format_sample_size(None)
    ('20', '0')
    """
    return "0" if estimate is None else f"{estimate[3]}" if len(estimate) > 3 else "?"


def describe_comparison(event: Mapping[str, Any]) -> Iterator[str]:
    """What a comparison found of every pair.

    Args:
        event: The event of kind `event`, as plain values.
    """
    for pair, verdict in event["pairs"].items():
        a, b = (event["policies"][int(i)] for i in pair.split())
        difference, p_value, better, episodes = verdict[:4]
        sure = f"p = {p_value:.4f}, {episodes} common episodes"
        if better == "neither":
            yield f"No difference is shown between {a} and {b}: {format_estimate(difference)}, {sure}."
        else:
            winner, loser = (a, b) if better == "first" else (b, a)
            size = difference if better == "first" else _negate(difference)
            yield f"{winner} is better than {loser}: by {format_estimate(size)}, {sure}."


def _negate(difference: EstimateValues) -> EstimateValues:
    """The same difference, seen from the other side."""
    mean, low, high = (None if v is None else -v for v in difference[:3])
    return [mean, high, low, *difference[3:]]
