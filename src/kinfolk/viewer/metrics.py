"""Events as columns of numbers, for charts over the steps of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

_ESTIMATE = (3, 4)  # mean, low, high and, in newer runs, n
MOST_POINTS = 2000  # of a line: more than a chart has pixels
_LEFT_OUT = ("counters", "group_lives", "mean_alive", "ticks_lived", "agents", "seed")
_KINDS_LEFT_OUT = ("match_timed",)  # what it took is no result


def metrics_of(events: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """For each kind of event its steps and its numbers, thinned to `MOST_POINTS`.

    Tables within become names with a dot; of a mean with its interval the mean is taken.

    >>> metrics_of([{"kind": "scored", "step": 1, "best": 2.0, "by": {"a": 1}, "who": "x"}])
    {'scored': {'step': [1], 'fields': {'best': [2.0], 'by.a': [1]}}}
    >>> metrics_of([{"kind": "judged", "step": 1, "length": [5.0, None, None, 1], "uid": [1, 2, 3]}])
    {'judged': {'step': [1], 'fields': {'length': [5.0]}}}
    """
    kinds: dict[str, list[Mapping[str, Any]]] = {}
    for event in events:
        if event["kind"] in _KINDS_LEFT_OUT:
            continue
        kinds.setdefault(event["kind"], []).append(event)
    return {kind: _columns(found) for kind, found in kinds.items()}


def _columns(events: list[Mapping[str, Any]]) -> dict[str, Any]:
    stride = -(-len(events) // MOST_POINTS)
    kept = events[::stride]
    rows = [_flat(event) for event in kept]
    names = dict.fromkeys(name for row in rows for name in row)
    fields = {name: [row.get(name) for row in rows] for name in names}
    return {"step": [event["step"] for event in kept], "fields": fields}


def _flat(event: Mapping[str, Any]) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, value in event.items():
        if name == "step" or name in _LEFT_OUT:
            continue
        inner = value if isinstance(value, Mapping) else {"": value}
        for key, number in inner.items():
            if isinstance(number, list) and len(number) in _ESTIMATE and _is_float(number[0]):
                number = number[0]
            if isinstance(number, int | float) and not isinstance(number, bool):
                found[f"{name}.{key}" if key else name] = number
    return found


def _is_float(value: Any) -> bool:
    """A mean is written with a point, unlike uids and counts in lists."""
    return isinstance(value, float)
