"""Payoff matrices and estimates of jobs in which policies meet each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kinfolk.core.errors import UsageError, format_suggestion
from kinfolk.evaluation.figures.matrices import MatrixPanel, draw_matrices
from kinfolk.evaluation.formatting import describe_counts, name_policies
from kinfolk.evaluation.payoffs import PayoffTable, collect_scores
from kinfolk.evaluation.ratings import PlayerScores, count_wins
from kinfolk.evaluation.statistics import Estimate
from kinfolk.jobs.figures.sources import FigureSource, read_estimate, require_one

_METRICS = ("score", "won")
# Estimates of a standing of a tournament: what they are called, and where they are in the row.
_STANDING_ESTIMATES = {"win_rate": 4, "score": 5, "rating": 3}
_SELF_PLAY_ESTIMATES = {"self-play": 1, "cross-play": 2, "difference": 3}


def draw_payoffs(sources: Sequence[FigureSource], metric: str | None) -> Any:
    """Draw what each policy earned against each other (`score`), or how often it won (`won`).

    Of a co-evolution, it is the mean lead of the champions of all populations by generation.
    """
    if sources[0].job == "evolve_roles":
        return draw_matrices([_find_hall(require_one(sources), metric)])
    if sources[0].job == "train":
        return draw_matrices(_find_league(require_one(sources), metric))
    if metric not in (None, *_METRICS):
        raise UsageError(f"Payoffs are of the metric score or won, not of '{metric}'.")
    source = require_one(sources)
    if source.job == "round_robin":
        return draw_matrices([_find_round_robin_payoffs(source, metric)])
    if metric == "won":
        return draw_matrices([_find_win_shares(source)])
    tables = [PayoffTable(*table) for table in source.last()["payoffs"]]
    return draw_matrices([_make_panel(table) for table in tables])


def _find_hall(source: FigureSource, metric: str | None) -> MatrixPanel:
    """Return by how much each champion of a co-evolution led over each other.

    Raises:
        UsageError: The run has no hall of fame, or the metric is another one.
    """
    if metric not in (None, "score"):
        raise UsageError(f"Payoffs of champions are of the metric score, not of '{metric}'.")
    halls = source.of_kind("hall_updated")
    if not halls:
        raise UsageError("The run has no hall of fame: it was not evolved with --coevolve.")
    last = halls[-1]
    label = f"mean lead of the row's champion\n{last['games']} games each"
    return MatrixPanel(np.array(last["payoffs"]), last["champions"], last["champions"], label)


def _find_league(source: FigureSource, metric: str | None) -> list[MatrixPanel]:
    """Return what the members of a league scored against each other.

    Raises:
        UsageError: The run has no league, or the metric is another one.
    """
    if metric not in (None, "score"):
        raise UsageError(f"Payoffs of a league are of the metric score, not of '{metric}'.")
    updates = source.of_kind("league_updated")
    if not updates:
        raise UsageError("The run has no payoffs: it was not trained with --league.")
    return [_make_panel(PayoffTable(*table)) for table in updates[-1]["payoffs"]]


def _make_panel(table: PayoffTable) -> MatrixPanel:
    """Return the payoff matrix of a tournament or of cross-play, as a figure shows it."""
    cells = [[read_estimate(cell) for cell in row] for row in table.cells]
    values = np.array([[np.nan if cell is None else cell.mean for cell in row] for row in cells])
    counts = {cell.n for row in cells for cell in row if cell is not None}
    label = f"mean score\n{describe_counts(counts, 'seeds')} each"
    # Labels of players of fixed sides end with the side, which the axis names already.
    rows = [name.removesuffix(f" ({table.side})") for name in table.rows]
    columns = [name.removesuffix(f" ({table.against})") for name in table.columns]
    return MatrixPanel(values, rows, columns, label, table.side, table.against)


def _find_round_robin_payoffs(source: FigureSource, metric: str | None) -> MatrixPanel:
    """Return what each policy of a round robin earned against each other, or how often it won."""
    names = name_policies(list(source.settings["policies"]))
    games = [
        PlayerScores((e["first"], e["second"]), (e["first_score"], e["second_score"]), e["step"])
        for e in source.of_kind("pair_played")
    ]
    what = "share of games won" if metric == "won" else "mean return per life"
    return _find_means(names, count_wins(games) if metric == "won" else games, what)


def _find_win_shares(source: FigureSource) -> MatrixPanel:
    """Return how often each policy of a tournament or of cross-play won against each other.

    Raises:
        UsageError: Policies have sides of their own, whose scores cannot be compared.
    """
    last = source.last()
    if last["sides"]:
        sides = " and ".join(last["sides"])
        raise UsageError(f"{sides} do not win against each other; draw the metric score.")
    names = list(last["policies"])
    games = [
        PlayerScores(
            tuple(names.index(name) for name in e["policies"]), tuple(e["scores"]), e["step"]
        )
        for e in source.of_kind("game_played")
    ]
    return _find_means(names, count_wins(games), "share of games won")


def _find_means(names: Sequence[str], games: Sequence[PlayerScores], what: str) -> MatrixPanel:
    """Return the mean score of each player against each other."""
    values, counts = np.full((len(names), len(names)), np.nan), set[int]()
    for place, scores in collect_scores(games).items():
        values[place] = np.mean(scores)
        counts.add(len(scores))
    return MatrixPanel(values, names, names, f"{what}\n{describe_counts(counts, 'seeds')} each")


def list_meeting_estimates(
    job: str, last: Mapping[str, Any], metric: str | None
) -> tuple[str, dict[str, Estimate | None]]:
    """Return what the estimates of a tournament or of cross-play are of, and the estimates by name.

    Args:
        job: `tournament` or `crossplay`.
        last: Last event of the run.
        metric: Of a tournament `win_rate`, `score` or `rating`; of cross-play `score`.

    Raises:
        UsageError: The job has no such metric.
    """
    known = list(_STANDING_ESTIMATES) if job == "tournament" else ["score"]
    name = metric or known[0]
    if name not in known:
        raise UsageError(
            f"A run of {job} has no estimate of '{name}'.{format_suggestion(name, known)}"
        )
    estimates: dict[str, Estimate | None] = {}
    if job == "tournament":
        for row in last["standings"]:
            side = f" ({row[2]})" if row[2] else ""
            estimates[f"{row[1]}{side}"] = read_estimate(row[_STANDING_ESTIMATES[name]])
        return name, estimates
    for row in last["self_play"]:
        side = f" ({row[0]})" if row[0] else ""
        for label, column in _SELF_PLAY_ESTIMATES.items():
            estimates[f"{label}{side}"] = read_estimate(row[column])
    return name, estimates
