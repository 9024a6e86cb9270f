"""Numeric fields of a run's events as columns, for line charts over the steps of the run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

_ESTIMATE_LENGTHS = (3, 4)  # mean, low, high and, in most events, n


MAX_POINTS = 2000  # of a line: more than a chart has pixels


_EXCLUDED_FIELDS = (
    *("counters", "group_lives", "mean_alive", "ticks_lived", "max_ticks", "agents", "seed"),
)


# Timings are not results, and comparisons are shown as a table (`kinfolk.viewer.results`).
_EXCLUDED_KINDS = ("rollout_timed", "candidate_played", "compared", "pair_played", "rated",
                   "game_played", "tournament_done", "crossplay_done", "league_updated")  # fmt: skip


def collect_metrics(events: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the steps and numeric fields of each kind of event.

    Nested mappings become names with a dot, and an estimate is reduced to its mean. A kind with
    more than `MAX_POINTS` events is thinned to at most that many.

    Args:
        events: Events of a run as plain values, in their order.

    Returns:
        `{kind: {"step": [...], "fields": {name: [...]}}}`; None where an event lacks a field.

    >>> collect_metrics([{"kind": "scored", "step": 1, "best": 2.0, "by": {"a": 1}, "who": "x"}])
    {'scored': {'step': [1], 'fields': {'best': [2.0], 'by.a': [1]}}}
    >>> collect_metrics([{"kind": "evaluation_done", "step": 1, "length": [5.0, None, None, 1],
    ...                   "uid": [1, 2, 3]}])
    {'evaluation_done': {'step': [1], 'fields': {'length': [5.0]}}}
    """
    kinds: dict[str, _ThinnedEvents] = {}
    for event in events:
        if event["kind"] not in _EXCLUDED_KINDS:
            kinds.setdefault(event["kind"], _ThinnedEvents()).add(event)
    return {kind: thinned.columns() for kind, thinned in kinds.items()}


class _ThinnedEvents:
    """Each n-th event of one kind; n doubles whenever there are more than `MAX_POINTS`."""

    def __init__(self) -> None:
        self._steps: list[int] = []
        self._rows: list[dict[str, float]] = []
        self._stride, self._seen = 1, 0

    def add(self, event: Mapping[str, Any]) -> None:
        """Add an event, unless thinning drops it."""
        if self._seen % self._stride == 0:
            if len(self._rows) == MAX_POINTS:
                self._steps, self._rows = self._steps[::2], self._rows[::2]
                self._stride *= 2
            if self._seen % self._stride == 0:
                self._steps.append(event["step"])
                self._rows.append(_flatten_event(event))
        self._seen += 1

    def columns(self) -> dict[str, Any]:
        """Return `step` and `fields` of the events, as `collect_metrics` describes."""
        names = dict.fromkeys(name for row in self._rows for name in row)
        fields = {name: [row.get(name) for row in self._rows] for name in names}
        return {"step": self._steps, "fields": fields}


def _flatten_event(event: Mapping[str, Any]) -> dict[str, float]:
    """Return the numbers of an event by name; those of a nested mapping as `field.key`."""
    numbers: dict[str, float] = {}
    for name, value in event.items():
        if name == "step" or name in _EXCLUDED_FIELDS:
            continue
        nested = value if isinstance(value, Mapping) else {"": value}
        for key, number in nested.items():
            if _is_estimate(number):
                number = number[0]
            if _is_finite_number(number):
                numbers[f"{name}.{key}" if key else name] = number
    return numbers


def _is_estimate(value: Any) -> bool:
    """Return whether a JSON value is an estimate: a mean with its confidence interval.

    The mean is a float, which tells estimates from lists of uids.
    """
    has_length = isinstance(value, list) and len(value) in _ESTIMATE_LENGTHS
    return has_length and isinstance(value[0], float)


def _is_finite_number(value: Any) -> bool:
    """Return whether a JSON value is a number that can be drawn.

    A damaged file may hold 1e999, or an integer of a thousand digits.
    """
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63
