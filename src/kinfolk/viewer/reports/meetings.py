"""The pages of tournaments and cross-play: leaderboards, payoff matrices, mixtures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from kinfolk.evaluation.formatting import (
    describe_standings,
    format_number,
    leave_out_empty,
)
from kinfolk.evaluation.ratings import PlayerScores
from kinfolk.viewer.reports.blocks import (
    Block,
    EventList,
    find_last,
    join_notes,
    make_estimates,
    make_matrix,
    make_row,
    make_table,
    make_text,
    show_estimate,
)
from kinfolk.viewer.reports.comparison import make_payoffs


def report_meetings(settings: Mapping[str, Any], events: EventList) -> list[Block]:
    """Return the page of a tournament or of cross-play, also while it is running.

    Args:
        settings: Settings of the run; `games` and `format` are read.
        events: All events of the run.
    """
    last = find_last(events, "tournament_done", "crossplay_done")
    if last is None:
        return _report_games(settings, [e for e in events if e["kind"] == "game_played"])
    standings = last.get("standings", [])
    blocks = _list_standings(standings)
    if standings:
        blocks.append(make_text("", describe_standings(settings.get("format", ""), standings)))
    blocks += _list_analysis(last)
    for table in last["payoffs"]:
        blocks.append(_make_payoff_matrix(table, last))
    return [*blocks, *join_notes(last.get("notes", []))]


def _report_games(settings: Mapping[str, Any], games: EventList) -> list[Block]:
    """Return how far a meeting has come, and the mean scores so far."""
    text = make_text("", [f"No ranking yet: {len(games)} games are played."])
    names = list(dict.fromkeys(name for game in games for name in game["policies"]))
    if not names:
        return [text]
    scores = [
        PlayerScores(
            tuple(names.index(name) for name in game["policies"]),
            tuple(game["scores"]),
            game["step"],
        )
        for game in games
    ]
    title = f"Score of row against column, of {settings.get('games', 0)} games each"
    return [text, make_payoffs(names, scores, title)]


def _list_standings(standings: Sequence[Sequence[Any]]) -> list[Block]:
    """Return a leaderboard and the shares won with intervals for each side."""
    blocks = []
    headings = ["", "policy", "rating", "won", "score", "points", "games", "failures", "SHA-256"]
    for side in dict.fromkeys(row[2] for row in standings):
        rows, shares = [], []
        for rank, name, of_side, rating, won, score, points, failed, _, sha256, *_ in standings:
            if of_side != side:
                continue
            cells = [
                "-" if rank is None else f"{rank}.",
                name,
                format_number(rating[0]),
                *map(show_estimate, (won, score)),
            ]
            cells += ["" if points is None else f"{points:g}", str(rating[3]), str(failed)]
            rows.append([*cells, sha256[:12]])
            shares.append(make_row(name, won))
        of = f" of {side}" if side else ""
        table = leave_out_empty(headings, rows, "points")
        blocks.append(make_table(f"Leaderboard{of}, 95 % intervals", *table))
        blocks.append(make_estimates(f"Won{of}", "share of rivals beaten, 95 % interval", shares))
    return blocks


def _list_analysis(last: Mapping[str, Any]) -> list[Block]:
    """Return what follows of cross-play: alpha-rank and Nash mixture, self-play minus cross-play."""
    blocks = []
    for side, names, ranks, nash, *_ in last.get("mixtures", []):
        columns = [ranks or [None] * len(names), nash or [None] * len(names)]
        cells = [["" if v is None else f"{v:.3f}" for v in column] for column in columns]
        rows = [[*row] for row in zip(names, *cells, strict=True)]
        title = f"Alpha-rank and Nash mixture{f' of {side}' if side else ''}"
        blocks.append(make_table(title, ["policy", "alpha-rank", "Nash"], rows))
    for side, self_play, cross_play, difference, *_ in last.get("self_play", []):
        scores = [make_row("self-play", self_play), make_row("cross-play", cross_play),
                  make_row("self-play - cross-play", difference)]  # fmt: skip
        title = f"Self-play and cross-play{f' of {side}' if side else ''}"
        blocks.append(make_estimates(title, "score, 95 % interval", scores, True))
    return blocks


def _make_payoff_matrix(table: Sequence[Any], last: Mapping[str, Any]) -> Block:
    """Return a payoff matrix, whose cells lead to recorded games.

    Args:
        table: Side, side of the columns, names of rows and columns, and estimates.
        last: Last event of the run.
    """
    side, against, names, others, cells = table
    games = find_games(last["pairings"], last["replays"])
    replays = [[games.get(frozenset((name, other))) for other in others] for name in names]
    rows = [name.removesuffix(f" ({side})") for name in names]
    columns = [name.removesuffix(f" ({against})") for name in others]
    title = f"Score of {side} against {against}" if side else "Score of row against column"
    watch = " Click a cell to watch a game." if games else ""
    return make_matrix(title, (rows, columns), cells, f"Mean score per game.{watch}", replays)


def find_games(
    pairings: Sequence[Sequence[str]], replays: Sequence[str]
) -> dict[frozenset[str], str]:
    """Return the first recorded game of every two policies that have met."""
    n_each = len(replays) // max(1, len(pairings))
    games: dict[frozenset[str], str] = {}
    for number, pairing in enumerate(pairings if n_each else ()):
        for pair in combinations(pairing, 2):
            games.setdefault(frozenset(pair), replays[number * n_each])
    return games
