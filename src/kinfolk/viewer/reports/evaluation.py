"""The pages of evaluations: metrics with intervals, and every episode as a point."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from kinfolk.evaluation.formatting import format_interval, format_number
from kinfolk.evaluation.statistics import estimate_mean
from kinfolk.viewer.reports.blocks import (
    Block,
    EventList,
    find_last,
    join_notes,
    make_estimates,
    make_row,
    make_table,
    make_text,
    show_estimate,
)

# Of an episode, by field: the title of its figure. The field of the last event has the same name.
_EPISODE_FIGURES = {
    "returns": "Return of each slot", "group_returns": "Return of each group", "lives": "Lives",
    "ticks": "Length",
}  # fmt: skip


def report_evaluation(settings: Mapping[str, Any], events: EventList) -> list[Block]:
    """Return the page of an evaluation, also while it is running.

    Args:
        settings: Settings of the run.
        events: All events of the run.
    """
    played = [event for event in events if event["kind"] == "episode_played"]
    last = find_last(events, "evaluated")
    blocks = []
    if last is None:
        planned = settings.get("episodes", 0)
        blocks.append(make_text("", [f"{len(played)} of {planned} episodes are played."]))
    for field, title in _EPISODE_FIGURES.items():
        rows = list(_list_rows(field, played, last))
        if rows:
            unit = "ticks" if field == "ticks" else f"{field.replace('_', ' ')} per episode"
            blocks.append(make_estimates(title, f"{unit}; mean, 95 % interval, episodes", rows))
    if last is not None:
        differences = [make_row(name, value) for name, value in last["differences"].items()]
        if differences:
            blocks.append(
                make_estimates("Differences between slots", "return per life", differences, True)
            )
        blocks += _list_metrics(last["metrics"])
        blocks += join_notes(last.get("notes", []))
    return blocks


def _list_rows(
    field: str, played: EventList, last: Mapping[str, Any] | None
) -> Iterable[dict[str, Any]]:
    """Yield a row for each slot or group of a field of episodes, with a value per episode.

    Args:
        field: Name of the field: a number, or a mapping by slot or group.
        played: Events of the episodes.
        last: Event of the finished evaluation, whose estimates are shown; None if it is running.
    """
    values: dict[str, list[float | None]] = {}
    for event in played:
        value = event.get(field)
        for name, number in (value if isinstance(value, Mapping) else {field: value}).items():
            values.setdefault(name, []).append(number)
    known: Mapping[str, Any] = {}
    if last is not None:
        estimates = last.get("length" if field == "ticks" else field)
        known = estimates if isinstance(estimates, Mapping) else {field: estimates}
    for name, numbers in values.items():
        yield make_row(name, known.get(name) or estimate(numbers), numbers)


def estimate(values: Iterable[float | None]) -> list[float | None] | None:
    """Return the mean of values with its interval; None without a value."""
    numbers = [value for value in values if value is not None]
    return list(estimate_mean(np.array(numbers))) if numbers else None


def _list_metrics(metrics: Mapping[str, Any]) -> list[Block]:
    """Return the table of metrics, and a figure of those that are shares."""
    rows = []
    for name, value in metrics.items():
        is_known = value is not None and value[0] is not None
        mean, interval = (format_number(value[0]), format_interval(value)) if is_known else ("", "")
        rows.append([name.replace("_", " "), mean, interval, str(value[3]) if is_known else "0"])
    if not rows:
        return []
    return [make_table("Metrics", ["metric", "mean", "95 % interval", "n"], rows)]


def report_scenarios(settings: Mapping[str, Any], events: EventList) -> list[Block]:
    """Return the page of an evaluation in scenarios.

    Args:
        settings: Settings of the run.
        events: All events of the run.
    """
    played = [event for event in events if event["kind"] == "scenario_episode_played"]
    last = find_last(events, "scenarios_evaluated")
    if last is None:
        episodes = settings.get("episodes", 0)
        return [make_text("", [f"{len(played)} episodes are played, {episodes} of each scenario."])]
    by_name: dict[str, list[float | None]] = {}
    for event in played:
        by_name.setdefault(event["scenario"], []).append(event["score"])
    means = [make_row(name, mean) for name, mean in last["means"].items() if mean is not None]
    scores, rows = [], []
    for name, world, mode, held_out, focal, score, *_, failures in last["scenarios"]:
        if score is not None:
            scores.append(make_row(name, score, by_name.get(name, [])))
        kind = f"{mode}, held out" if held_out else mode
        cells = [show_estimate(focal), show_estimate(score), str(failures)]
        rows.append([name, world, kind, *cells])
    axis = "score: 0 is the floor, 1 the ceiling; mean, 95 % interval, episodes"
    headings = ["scenario", "world", "mode", "focal return", "score", "failures"]
    blocks = [make_estimates("Mean score", axis, means, True)] if means else []
    blocks += [make_estimates("Score in each scenario", axis, scores, True)] if scores else []
    blocks.append(make_table("Scenarios", headings, rows))
    skipped = [f"{name} is left out: {reason}" for name, reason in last["skipped"].items()]
    return [*blocks, *join_notes([*skipped, *last.get("notes", [])])]
