"""One self-contained HTML page of a tournament: leaderboard, matrix, failures, games that play in it.

The player is the exported page of the viewer (`export.py`), stored once and opened in a frame with the
chosen game.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from html import escape
from pathlib import Path
from typing import Any

from kinfolk.core.errors import UsageError
from kinfolk.evaluation.failures import describe_run_failures
from kinfolk.evaluation.formatting import (
    describe_standings,
    format_interval,
    format_number,
    leave_out_empty,
)
from kinfolk.replay.reader import REPLAY_FOLDER, REPLAY_SUFFIX, Replay
from kinfolk.store.files import read_bytes
from kinfolk.store.run import open_run
from kinfolk.store.run_list import creation_time
from kinfolk.viewer.export import fill_template
from kinfolk.viewer.reports.meetings import find_games
from kinfolk.viewer.results import build_failures
from kinfolk.viewer.run_table import make_row

PAGE_FILE = "tournament.html"
_KINDS = ("tournament_done", "crossplay_done")
_DATA_MARK = "@@DATA@@"  # where the player's data goes in the viewer's page


def export_tournament_page(folder: Path) -> bytes:
    """Return the page of a finished tournament or cross-play.

    Args:
        folder: Folder of the run.

    Returns:
        The page, with the viewer and all recorded games inside; it needs no network.

    Raises:
        UsageError: There is no such run, or it is of another job or not finished.
        DamagedRunError: A replay is damaged.
    """
    run = open_run(folder)
    events = list(run.events())
    last: Mapping[str, Any] = events[-1] if events else {}
    if last.get("kind") not in _KINDS:
        raise UsageError(f"{folder} is not a finished run of `kinfolk tournament` or `crossplay`.")
    settings = run.config["settings"]
    date = datetime.fromtimestamp(creation_time(folder) / 1e9).strftime("%Y-%m-%d %H:%M")
    failures = build_failures(run.config["job"], settings, events)
    body = [
        *_format_standings(last.get("standings", [])),
        *_format_ranking(settings, last),
        *_format_analysis(last),
        *(_format_matrix(table, last) for table in last["payoffs"]),
        _format_player(last["replays"]),
        _format_failures(settings, last, failures),
        _format_refused(settings.get("refused", {})),  # runs of earlier versions have none
    ]
    before, after = fill_template(_DATA_MARK).split(_DATA_MARK)
    # The frame shows one game, not the page of a tournament.
    run_entry = {**make_row(run), "job": "play", "tags": [], "settings": _public_settings(settings)}
    viewer = {"before": before, "after": after, "run": run_entry,
              "failures": {**failures, "total": 0, "rows": []}}  # fmt: skip
    parts = {
        "title": escape(
            f"{'Tournament' if last['kind'] == _KINDS[0] else 'Cross-play'}: {run.name}"
        ),
        "facts": _format_facts(settings, last, date),
        "body": "\n".join(body),
        "viewer": json.dumps(viewer).replace("<", "\\u003c"),
        "replays": "\n".join(_embed_replay(folder, name) for name in last["replays"]),
    }
    page = read_bytes(Path(__file__).with_suffix(".html")).decode()
    # In one pass: what a policy is called must not be taken for a mark.
    pieces = page.split("{{")
    filled = [pieces[0]]
    for piece in pieces[1:]:
        name, _, rest = piece.partition("}}")
        filled += [parts[name], rest]
    return "".join(filled).encode()


def _public_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a run without the policies, whose URIs may hold folders of this machine."""
    return {name: value for name, value in settings.items() if name != "policies"}


def _format_facts(settings: Mapping[str, Any], last: Mapping[str, Any], date: str) -> str:
    """Return the lines about what was played.

    Args:
        settings: Settings of the run.
        last: Its last event.
        date: When the run was started.
    """
    world = settings["world"] + (f", preset {settings['preset']}" if settings["preset"] else "")
    rules = ", ".join(f"{name} = {value}" for name, value in settings["world_settings"].items())
    form = settings.get("format", "every combination")
    sandbox = "in a sandbox" if settings["sandbox"] else "without a sandbox"
    from_sides = " each" if last["sides"] else " each, every game played from every side"
    facts = [
        f"{world}{f' ({rules})' if rules else ''}, seed {settings['seed']}, score: {settings['metric']}",
        f"{form}, {len(last['policies'])} policies, {len(last['pairings'])} pairings of "
        f"{settings['games']} games{from_sides}, policies ran {sandbox}",
        date,
    ]
    return "\n".join(f'<p class="facts">{escape(fact)}</p>' for fact in facts)


def _format_standings(standings: Sequence[Sequence[Any]]) -> Iterator[str]:
    """Yield a leaderboard for each side."""
    sides = list(dict.fromkeys(standing[2] for standing in standings))
    headings = ["policy", "rating", "won (95 %)", "score (95 %)", "points", "games",
                "failures", "SHA-256"]  # fmt: skip
    for side in sides:
        rows = []
        for rank, name, of_side, rating, won, score, points, failed, _, sha256, *_ in standings:
            if of_side == side:
                place = "-" if rank is None else f"{rank}."
                cells = [
                    f"{place} {escape(name)}",
                    format_number(rating[0]),
                    *map(_format_estimate, (won, score)),
                ]
                cells += ["" if points is None else f"{points:g}", str(rating[3])]
                rows.append([*cells, str(failed), f"<code>{escape(sha256[:12])}</code>"])
        title = f"Leaderboard{f' of {escape(side)}' if side else ''}"
        yield _format_table(title, *leave_out_empty(headings, rows, "points"))


def _format_ranking(settings: Mapping[str, Any], last: Mapping[str, Any]) -> Iterator[str]:
    """Yield how the policies are ranked, and whose intervals have no width."""
    for text in describe_standings(settings.get("format", ""), last.get("standings", [])):
        yield f'<p class="facts">{escape(text)}</p>'


def _format_analysis(last: Mapping[str, Any]) -> Iterator[str]:
    """Yield the tables of cross-play: alpha-rank and Nash mixture, self-play minus cross-play."""
    for mixture in last.get("mixtures", []):
        side, names, ranks, nash = mixture[:4]
        rows = [
            [
                escape(name),
                *("" if values is None else f"{values[i]:.3f}" for values in (ranks, nash)),
            ]
            for i, name in enumerate(names)
        ]
        title = f"Alpha-rank and Nash mixture{f' of {escape(side)}' if side else ''}"
        yield _format_table(title, ["policy", "alpha-rank", "Nash"], rows)
    rows = [
        [escape(side or "all"), *(_format_estimate(value) for value in values)]
        for side, *values in last.get("self_play", [])
    ]
    if rows:
        headings = ["side", "self-play", "cross-play", "self-play minus cross-play"]
        yield _format_table("Self-play and cross-play", headings, rows)


def _format_estimate(estimate: Sequence[float | None] | None) -> str:
    """Return a mean with its interval as HTML; nothing where there is none."""
    if estimate is None or estimate[0] is None:
        return ""
    interval = format_interval(estimate)
    note = f' <span class="interval">{escape(interval)}</span>' if interval else ""
    return f"{format_number(estimate[0])}{note}"


def _format_table(title: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table with a heading; cells are HTML.

    Args:
        title: HTML of the heading.
        headings: Texts of the columns.
        rows: Cells of each row.
    """
    head = "".join(f"<th>{escape(text)}</th>" for text in headings)
    lines = "\n".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return (
        f'{f"<h2>{title}</h2>" if title else ""}\n<div class="scroll"><table><thead><tr>{head}</tr></thead>\n'
        f"<tbody>{lines}</tbody></table></div>"
    )


def _format_matrix(table: Sequence[Any], last: Mapping[str, Any]) -> str:
    """Return a payoff matrix, whose cells are coloured by their value and play a recorded game.

    Args:
        table: Side, side of the columns, names of rows and columns, and estimates.
        last: Last event of the run.
    """
    side, against, names, others, by_name = table
    rows, columns = _by_rank(names, last), _by_rank(others, last)
    cells = [[by_name[i][j] for j in columns] for i in rows]
    games = find_games(last["pairings"], last["replays"])
    means = [cell[0] for row in cells for cell in row if cell is not None]
    low, high = min(means, default=0.0), max(means, default=0.0)
    middle, half = 0.5 * (low + high), max(0.5 * (high - low), 1e-12)
    lines = []
    for i, estimates in zip(rows, cells, strict=True):
        line = [f"<th>{escape(names[i].removesuffix(f' ({side})'))}</th>"]
        for j, cell in zip(columns, estimates, strict=True):
            game = games.get(frozenset((names[i], others[j])))
            line.append(_format_cell(cell, game, (cell[0] - middle) / half if cell else 0.0))
        lines.append(f"<tr>{''.join(line)}</tr>")
    # The title names both sides, so that names need not.
    short = [others[j].removesuffix(f" ({against})") for j in columns]
    head = "".join(f"<th>{escape(name)}</th>" for name in short)
    title = (
        f"Score of {escape(side)} against {escape(against)}"
        if side
        else "Score of row against column"
    )
    return (
        f'<h2>{title}</h2>\n<p class="facts">Mean score per game; hold the pointer over a cell for its 95 % '
        f'interval, click it to watch a game.</p>\n<div class="scroll"><table class="matrix"><thead><tr>'
        f"<th></th>{head}</tr></thead>\n<tbody>{''.join(lines)}</tbody></table></div>"
    )


def _by_rank(names: Sequence[str], last: Mapping[str, Any]) -> list[int]:
    """Return the numbers of players of a matrix, the best first; as they are without ranks."""
    ranks: dict[str, int] = {}
    for rank, (_, name, side, *_) in enumerate(last.get("standings", [])):
        ranks |= {name: rank} if not side else {f"{name} ({side})": rank}
        ranks.setdefault(name, rank)
    return sorted(range(len(names)), key=lambda number: ranks.get(names[number], 0))


def _format_cell(cell: Sequence[Any] | None, game: str | None, level: float) -> str:
    """Return a cell of a matrix.

    Args:
        cell: Mean, low, high and n; None if the two have not met.
        game: Name of a recorded game of the two.
        level: Value from -1 for the lowest of the matrix to 1 for the highest.
    """
    if cell is None:
        return "<td></td>"
    hue = "--win" if level > 0 else "--lose"
    interval = format_interval(cell)
    hint = escape(f"95 %: {interval or 'no interval'}, {cell[3]} seeds", quote=True)
    text = format_number(cell[0])
    if game is not None:
        text = f'<button class="play" data-game="{escape(game, quote=True)}">{text}</button>'
    style = f"background: rgb(var({hue}) / {0.5 * abs(level):.2f})"
    return f'<td title="{hint}" style="{style}">{text}</td>'


def _format_failures(
    settings: Mapping[str, Any], last: Mapping[str, Any], failures: Mapping[str, Any]
) -> str:
    """Return the section about policies that failed: a message for each, and a table of failures.

    Args:
        settings: Settings of the run.
        last: Its last event.
        failures: Table of `build_failures`.
    """
    messages, _ = describe_run_failures(settings, last)
    if not messages:
        return '<h2>Failures</h2>\n<p class="facts">No policy failed.</p>'
    texts = "\n".join(f"<pre>{escape(message)}</pre>" for message in messages)
    rows = [[escape(text) for text in row] for row in failures["rows"]]
    shown = f"{len(rows)} of {failures['total']} failures"
    table = _format_table("", failures["headings"], rows).replace("<td>", '<td class="text">')
    return f"<h2>Failures</h2>\n{texts}\n<details><summary>{shown}</summary>\n{table}</details>"


def _format_refused(refused: Mapping[str, str]) -> str:
    """Return the section about submissions that were not admitted; nothing if all were."""
    rows = [[escape(name), escape(reason)] for name, reason in refused.items()]
    if not rows:
        return ""
    return _format_table("Refused", ["submission", "reason"], rows)


def _format_player(replays: Sequence[str]) -> str:
    """Return the choice of games and the frame that plays them."""
    if not replays:
        return (
            '<h2>Games</h2>\n<p class="facts">No game was recorded; ask for some with --replay.</p>'
        )
    options = "".join(f"<option>{escape(name)}</option>" for name in replays)
    return (
        f'<h2>Games</h2>\n<p><label>Watch <select id="game"><option value="">choose a game</option>'
        f'{options}</select></label></p>\n<iframe id="player" title="Player" sandbox="allow-scripts" hidden>'
        f"</iframe>"
    )


def _embed_replay(folder: Path, name: str) -> str:
    """Return the script element that holds a replay, after checking that it is not damaged."""
    path = folder / REPLAY_FOLDER / f"{name}{REPLAY_SUFFIX}"
    Replay(path).require_complete()
    data = read_bytes(path)
    identifier = escape(f"game:{name}", quote=True)
    return (
        f'<script type="application/octet-stream" id="{identifier}" data-bytes="{len(data)}">'
        f"{b64encode(data).decode()}</script>"
    )
