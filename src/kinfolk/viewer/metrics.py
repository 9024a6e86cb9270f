"""Events as columns of numbers, for charts over the steps of a run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

_ESTIMATE_LENGTHS = (3, 4)  # mean, low, high and, in newer runs, n
MAX_POINTS = 2000  # of a line: more than a chart has pixels
_EXCLUDED_FIELDS = ("counters", "group_lives", "mean_alive", "ticks_lived", "agents", "seed")
# What it took is no result; what was compared is a table (`kinfolk.viewer.results`), not a line.
_EXCLUDED_KINDS = ("rollout_timed", "candidate_played", "compared", "pair_played", "rated")


def collect_metrics(events: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """For each kind of event its steps and its numbers, thinned to `MOST_POINTS`.

    Tables within become names with a dot; of a mean with its interval the mean is taken.

    >>> metrics_of([{"kind": "scored", "step": 1, "best": 2.0, "by": {"a": 1}, "who": "x"}])
    {'scored': {'step': [1], 'fields': {'best': [2.0], 'by.a': [1]}}}
    >>> metrics_of([{"kind": "evaluation_done", "step": 1, "length": [5.0, None, None, 1], "uid": [1, 2, 3]}])
    {'evaluation_done': {'step': [1], 'fields': {'length': [5.0]}}}
    """
    kinds: dict[str, _ThinnedEvents] = {}
    for event in events:
        if event["kind"] not in _EXCLUDED_KINDS:
            kinds.setdefault(event["kind"], _ThinnedEvents()).add(event)
    return {kind: found.columns() for kind, found in kinds.items()}


class _ThinnedEvents:
    """Events of one kind, each n-th of them: n doubles whenever there are too many."""

    def __init__(self) -> None:
        self._steps: list[int] = []
        self._rows: list[dict[str, float]] = []
        self._stride, self._seen = 1, 0

    def add(self, event: Mapping[str, Any]) -> None:
        if self._seen % self._stride == 0:
            if len(self._rows) == MAX_POINTS:
                self._steps, self._rows = self._steps[::2], self._rows[::2]
                self._stride *= 2
            if self._seen % self._stride == 0:
                self._steps.append(event["step"])
                self._rows.append(_flatten_event(event))
        self._seen += 1

    def columns(self) -> dict[str, Any]:
        names = dict.fromkeys(name for row in self._rows for name in row)
        fields = {name: [row.get(name) for row in self._rows] for name in names}
        return {"step": self._steps, "fields": fields}


def _flatten_event(event: Mapping[str, Any]) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, value in event.items():
        if name == "step" or name in _EXCLUDED_FIELDS:
            continue
        inner = value if isinstance(value, Mapping) else {"": value}
        for key, number in inner.items():
            if (
                isinstance(number, list)
                and len(number) in _ESTIMATE_LENGTHS
                and _is_float(number[0])
            ):
                number = number[0]
            if _is_number(number):
                found[f"{name}.{key}" if key else name] = number
    return found


def _is_float(value: Any) -> bool:
    """A mean is written with a point, unlike uids and counts in lists."""
    return isinstance(value, float)


def _is_number(value: Any) -> bool:
    """Whether it can be drawn: JSON from a damaged file may hold 1e999 or a thousand digits."""
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63
