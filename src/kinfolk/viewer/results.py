"""Result tables of comparisons and round robins, as text for the page."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from kinfolk.core.errors import DamagedRunError, UsageError
from kinfolk.evaluation.formatting import describe_comparison, format_interval, format_number
from kinfolk.evaluation.statistics import win_shares

_ESTIMATE_LENGTHS = (3, 4)  # mean, low, high and, in most events, n
MAX_POINTS = 2000  # of a line: more than a chart has pixels
_EXCLUDED_FIELDS = ("counters", "group_lives", "mean_alive", "ticks_lived", "agents", "seed")
# Timings are not results, and comparisons are shown as a table (`kinfolk.viewer.results`).
_EXCLUDED_KINDS = ("rollout_timed", "candidate_played", "compared", "pair_played", "rated")


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


_EMPTY_CELL = "-"  # of a table, where there is no value
_TIE = 0.5  # wins that a drawn game counts for each side

ResultTable = tuple[list[str], list[list[str]], list[str]]  # headings, rows, verdict


def build_results(
    job: str, settings: Mapping[str, Any], events: Iterable[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the result table and the verdict of a run, also while it is running.

    Args:
        job: `compare` or `round_robin`.
        settings: Settings of the run.
        events: All events of the run as plain values, in their order.

    Returns:
        `title`, `headings`, `rows` (text, one row per policy) and `verdict` (sentences).

    Raises:
        UsageError: Runs of this job have no such table.
        DamagedRunError: An event lacks a field, or its values are of the wrong kind.
    """
    builders = {"compare": _build_comparison, "round_robin": _build_ratings}
    if job not in builders:
        raise UsageError(f"A run of {job} has no table of policies.")
    try:
        policies = [str(policy) for policy in settings["policies"]]
        headings, rows, verdict = builders[job](settings, policies, events)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise DamagedRunError(f"The events of this run are damaged ({reason}).") from None
    title = f"{settings.get('world')}, seed {settings.get('seed')}"
    return {"title": title, "headings": headings, "rows": rows, "verdict": verdict}


def _build_comparison(
    settings: Mapping[str, Any], policies: Sequence[str], events: Iterable[Mapping[str, Any]]
) -> ResultTable:
    """Return each policy's mean over the episodes, and the verdict on every pair.

    Args:
        settings: Settings of the run; `metric` and `episodes` are read.
        policies: URIs of the policies, in the order in which events number them.
        events: All events of the run.
    """
    values: list[dict[int, float]] = [{} for _ in policies]
    failures, last = [0 for _ in policies], None
    for event in events:
        if event["kind"] == "candidate_played":
            values[event["policy"]][event["step"]] = float(event["value"])
            failures[event["policy"]] += event["failures"]
        elif event["kind"] == "compared":
            last = event
    wins = _count_wins(values)
    rows = []
    for i, policy in enumerate(policies):
        played = list(values[i].values())
        mean_so_far = float(np.mean(played)) if played else None
        estimate = last["means"][i] if last else [mean_so_far, None, None, len(played)]
        mean = _EMPTY_CELL if estimate[0] is None else format_number(estimate[0])
        n = estimate[3] if len(estimate) > 3 else len(played)
        counts = [str(n), f"{round(wins[i], 2):g}", str(failures[i])]
        rows.append([policy, mean, format_interval(estimate) or _EMPTY_CELL, *counts])
    metric = f"mean {settings.get('metric', 'return')}"
    headings = ["policy", metric, "95 % confidence interval", "n", "wins", "failures"]
    if last:
        return headings, rows, [*describe_comparison(last), *map(str, last.get("notes", []))]
    n_played, n_planned = sum(map(len, values)), settings.get("episodes", 0) * len(policies)
    return headings, rows, [f"No verdict yet: {n_played} of {n_planned} episodes are played."]


def _count_wins(values: Sequence[Mapping[int, float]]) -> list[float]:
    """Return how many of the episodes that all have played each policy won; ties are shared."""
    common = sorted(set.intersection(*(set(by_episode) for by_episode in values)))
    if not common:
        return [0.0 for _ in values]
    scores = [[by_episode[episode] for episode in common] for by_episode in values]
    table = {str(i): np.array(of_policy) for i, of_policy in enumerate(scores)}
    return [float(np.nansum(shares)) for shares in win_shares(table).values()]


def _build_ratings(
    settings: Mapping[str, Any], policies: Sequence[str], events: Iterable[Mapping[str, Any]]
) -> ResultTable:
    """Return each policy's rating, best first, and by how much the best one leads.

    Args:
        settings: Settings of the run; `episodes` is read.
        policies: URIs of the policies, in the order in which events number them.
        events: All events of the run.
    """
    games, wins, last = [0 for _ in policies], [0.0 for _ in policies], None
    for event in events:
        if event["kind"] == "pair_played":
            first, second = event["first"], event["second"]
            lead = event["first_score"] - event["second_score"]
            games[first], games[second] = games[first] + 1, games[second] + 1
            wins[first] += 1.0 if lead > 0 else _TIE * (lead == 0)
            wins[second] += 1.0 if lead < 0 else _TIE * (lead == 0)
        elif event["kind"] == "rated":
            last = event
    headings = ["policy", "rating", "uncertainty", "games", "wins"]
    counts = [[str(n), f"{won:g}"] for n, won in zip(games, wins, strict=True)]
    order = list(range(len(policies)))
    if last is None:
        n_planned = settings.get("episodes", 0) * (len(policies) * (len(policies) - 1) // 2)
        rows = [[policies[i], _EMPTY_CELL, _EMPTY_CELL, *counts[i]] for i in order]
        verdict = f"No ratings yet: {sum(games) // 2} of {n_planned} games are played."
        return headings, rows, [verdict]
    ratings = last["ratings"]
    order.sort(key=lambda i: -ratings[i][2])
    figures = [[f"{mu:.1f}", f"{sigma:.1f}"] for mu, sigma, *_ in ratings]
    rows = [[policies[i], *figures[i], *counts[i]] for i in order]
    best, second = order[:2]
    lead = ratings[best][0] - ratings[second][0]
    uncertainty = 2 * math.hypot(ratings[best][1], ratings[second][1])
    leader = f"{policies[best]} is rated highest, {lead:.1f} above {policies[second]}"
    relation = "more" if lead > uncertainty else "not more"
    margin = f"{relation} than twice the uncertainty of the difference ({uncertainty:.1f})"
    return headings, rows, [f"{leader}: {margin}."]
