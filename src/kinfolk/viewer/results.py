"""What a comparison or a round robin came to: a table and a verdict, as text."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from kinfolk.core.errors import DamagedRunError, UsageError
from kinfolk.evaluation.formatting import describe_comparison, format_interval, format_number
from kinfolk.evaluation.statistics import win_shares

_EMPTY_CELL = "-"  # where there is nothing to write
_TIE = 0.5


def build_results(
    job: str, settings: Mapping[str, Any], events: Iterable[Mapping[str, Any]]
) -> dict[str, Any]:
    """The table and the verdict of a run, also of one that has not ended.

    Args:
        job: `compare` or `round_robin`.
        settings: Of the run.
        events: All of the run.

    Returns:
        `title`, `headings`, `rows` (text, a row per policy) and `verdict` (sentences).

    Raises:
        UsageError: Runs of this job have no such table.
        DamagedRunError: An event has not the form that this job writes.
    """
    makers = {"compare": _build_comparison, "round_robin": _build_ratings}
    if job not in makers:
        raise UsageError(f"A run of {job} has no table of policies.")
    try:
        policies = [str(policy) for policy in settings["policies"]]
        headings, rows, verdict = makers[job](settings, policies, events)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise DamagedRunError(f"The events of this run are damaged ({reason}).") from None
    title = f"{settings.get('world')}, seed {settings.get('seed')}"
    return {"title": title, "headings": headings, "rows": rows, "verdict": verdict}


ResultTable = tuple[list[str], list[list[str]], list[str]]


def _build_comparison(
    settings: Mapping[str, Any], policies: Sequence[str], events: Iterable[Mapping[str, Any]]
) -> ResultTable:
    """Each policy's mean over the common episodes, and every pair."""
    values: list[dict[int, float]] = [{} for _ in policies]
    failures, last = [0 for _ in policies], None
    for event in events:
        if event["kind"] == "candidate_played":
            values[event["policy"]][event["step"]] = float(event["value"])
            failures[event["policy"]] += event["failures"]
        elif event["kind"] == "compared":
            last = event
    won = _count_wins(values)
    rows = []
    for i, policy in enumerate(policies):
        found = list(values[i].values())
        mean = float(np.mean(found)) if found else None
        estimate = last["means"][i] if last else [mean, None, None, len(found)]
        mean = estimate[0]
        n = estimate[3] if len(estimate) > 3 else len(found)
        rows.append(
            [policy, _EMPTY_CELL if mean is None else format_number(mean), format_interval(estimate) or _EMPTY_CELL,
             str(n), f"{round(won[i], 2):g}", str(failures[i])]
        )  # fmt: skip
    headings = ["policy", f"mean {settings.get('metric', 'return')}", "95 % confidence interval",
                "n", "wins", "failures"]  # fmt: skip
    if last:
        return headings, rows, [*describe_comparison(last), *map(str, last.get("notes", []))]
    played, wanted = sum(map(len, values)), settings.get("episodes", 0) * len(policies)
    return headings, rows, [f"No verdict yet: {played} of {wanted} episodes are played."]


def _count_wins(values: Sequence[Mapping[int, float]]) -> list[float]:
    """How many common episodes each policy won; a tie is shared."""
    common = sorted(set.intersection(*(set(played) for played in values)))
    if not common:
        return [0.0 for _ in values]
    table = {str(i): np.array([one[e] for e in common]) for i, one in enumerate(values)}
    return [float(np.nansum(shares)) for shares in win_shares(table).values()]


def _build_ratings(
    settings: Mapping[str, Any], policies: Sequence[str], events: Iterable[Mapping[str, Any]]
) -> ResultTable:
    """Each policy's rating, best first."""
    games, won, last = [0 for _ in policies], [0.0 for _ in policies], None
    for event in events:
        if event["kind"] == "pair_played":
            first, second = event["first"], event["second"]
            lead = event["first_score"] - event["second_score"]
            games[first], games[second] = games[first] + 1, games[second] + 1
            won[first] += 1.0 if lead > 0 else _TIE * (lead == 0)
            won[second] += 1.0 if lead < 0 else _TIE * (lead == 0)
        elif event["kind"] == "rated":
            last = event
    headings = ["policy", "rating", "uncertainty", "games", "wins"]
    order = list(range(len(policies)))
    if last is None:
        pairs = len(policies) * (len(policies) - 1) // 2
        wanted = settings.get("episodes", 0) * pairs
        rows = [
            [policies[i], _EMPTY_CELL, _EMPTY_CELL, str(games[i]), f"{won[i]:g}"] for i in order
        ]
        return headings, rows, [f"No ratings yet: {sum(games) // 2} of {wanted} games are played."]
    ratings = last["ratings"]
    order.sort(key=lambda i: -ratings[i][2])
    rows = [
        [policies[i], f"{ratings[i][0]:.1f}", f"{ratings[i][1]:.1f}", str(games[i]), f"{won[i]:g}"]
        for i in order
    ]
    best, second = order[:2]
    lead = ratings[best][0] - ratings[second][0]
    doubt = 2 * math.hypot(ratings[best][1], ratings[second][1])
    verdict = f"{policies[best]} is rated highest, {lead:.1f} above {policies[second]}"
    sure = "more" if lead > doubt else "not more"
    return headings, rows, [
        f"{verdict}: {sure} than twice the uncertainty of the difference ({doubt:.1f})."
    ]  # fmt: skip
