"""The pages of comparisons and round robins: forest plots, matrices and the verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kinfolk.evaluation.formatting import name_policies
from kinfolk.evaluation.payoffs import collect_scores
from kinfolk.evaluation.ratings import PlayerScores
from kinfolk.viewer.reports.blocks import (
    Block,
    EventList,
    find_last,
    make_estimates,
    make_matrix,
    make_row,
    make_table,
    make_text,
)
from kinfolk.viewer.reports.evaluation import estimate
from kinfolk.viewer.results import build_results


def report_comparison(settings: Mapping[str, Any], events: EventList) -> list[Block]:
    """Return the page of a comparison: verdict, differences, means over episodes, and a table.

    Args:
        settings: Settings of the run.
        events: All events of the run.
    """
    results = build_results("compare", settings, events)
    names = name_policies([str(policy) for policy in settings["policies"]])
    last = find_last(events, "compared")
    values: list[list[float | None]] = [[] for _ in names]
    for event in events:
        if event["kind"] == "candidate_played":
            values[event["policy"]].append(event["value"])
    n_pairs = 0 if last is None else len(last["pairs"])
    verdict, notes = (
        results["verdict"][:n_pairs] or results["verdict"],
        results["verdict"][n_pairs:],
    )
    blocks = [make_text("Verdict", verdict, "verdict")]
    if last is not None:
        blocks.append(_compare_pairs(last, names))
    metric = str(settings.get("metric", "return"))
    means = last["means"] if last is not None else [None for _ in names]
    rows = [
        make_row(name, mean or estimate(numbers), numbers)
        for name, mean, numbers in zip(names, means, values, strict=True)
    ]
    title = f"{metric.replace('_', ' ')} of each policy"
    blocks.append(make_estimates(title, f"{metric}; mean, 95 % interval, episodes", rows))
    if last is not None and len(names) > 2:
        blocks.append(_make_difference_matrix(last, names))
    blocks.append(make_table("Policies", results["headings"], results["rows"]))
    return [*blocks, make_text("", notes)] if n_pairs and notes else blocks


def _compare_pairs(last: Mapping[str, Any], names: Sequence[str]) -> Block:
    """Return the forest plot of the differences of all pairs, with their p-values."""
    rows = []
    for pair, comparison in last["pairs"].items():
        first, second = (names[int(i)] for i in pair.split())
        difference, p_value = comparison[:2]
        if len(last["pairs"]) > 1 and len(comparison) > 5:
            p_value = comparison[5]  # adjusted for the number of comparisons
        rows.append(make_row(f"{first} - {second}", difference, note=f"p = {p_value:.4f}"))
    adjusted = "; p adjusted for all comparisons" if len(rows) > 1 else ""
    axis = f"difference in {last['metric']}, 95 % interval over common episodes{adjusted}"
    return make_estimates("Differences", axis, rows, True)


def _make_difference_matrix(last: Mapping[str, Any], names: Sequence[str]) -> Block:
    """Return by how much the policy of each row is above that of each column."""
    cells: list[list[Any]] = [[None for _ in names] for _ in names]
    for pair, (difference, *_) in last["pairs"].items():
        i, j = map(int, pair.split())
        mean, low, high, n = difference
        negated = [None if v is None else -v for v in (mean, high, low)]
        cells[i][j], cells[j][i] = difference, [*negated, n]
    note = f"Mean difference in {last['metric']} of the row to the column."
    return make_matrix("Every policy against every other", (names, names), cells, note)


def report_round_robin(settings: Mapping[str, Any], events: EventList) -> list[Block]:
    """Return the page of a round robin: verdict, ratings, shares won, payoffs and a table.

    Args:
        settings: Settings of the run.
        events: All events of the run.
    """
    results = build_results("round_robin", settings, events)
    names = name_policies([str(policy) for policy in settings["policies"]])
    last = find_last(events, "rated")
    blocks = [make_text("Verdict", results["verdict"], "verdict")]
    if last is not None:
        won = []
        for name, rating in zip(names, last["ratings"], strict=True):
            games, share = rating[3:5]
            # Runs of earlier versions have no interval, or one that took games as independent.
            low, high, n_seeds = rating[5:8] if len(rating) > 7 else (None, None, games)
            won.append(make_row(name, [share, low, high, n_seeds]))
        blocks.append(make_estimates("Games won", "share of games, 95 % interval", won))
    games = [
        PlayerScores((e["first"], e["second"]), (e["first_score"], e["second_score"]), e["step"])
        for e in events
        if e["kind"] == "pair_played"
    ]
    blocks.append(make_payoffs(names, games, "Score of row against column"))
    return [*blocks, make_table("Policies", results["headings"], results["rows"])]


def make_payoffs(names: Sequence[str], games: Sequence[PlayerScores], title: str) -> Block:
    """Return the mean score of each player against each other.

    Args:
        names: Names of the players.
        games: Their games, by number of the player.
        title: Heading.
    """
    cells: list[list[Any]] = [[None for _ in names] for _ in names]
    for (i, j), scores in collect_scores(games).items():
        cells[i][j] = estimate(scores)
    return make_matrix(title, (names, names), cells, "Mean score per game.")
