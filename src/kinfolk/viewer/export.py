"""Export of runs as one self-contained HTML page that opens from disk without a network."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any

from kinfolk.core.errors import UsageError
from kinfolk.replay.reader import Replay, find_replay, list_replays
from kinfolk.store.files import read_bytes
from kinfolk.store.run import Run, open_run
from kinfolk.viewer.metrics import collect_metrics
from kinfolk.viewer.reports.report import build_report
from kinfolk.viewer.run_index import read_roles, read_symbols
from kinfolk.viewer.run_table import make_row
from kinfolk.viewer.server import read_page_file

# Chromium decodes an embedded replay into an array of 8 bytes per byte, of at most 1 GB.
MAX_EMBEDDED_BYTES = 2**27


def export_page(replays: Sequence[tuple[Path, str | None]]) -> bytes:
    """Return an HTML page that shows a run with one replay, or two replays side by side.

    Args:
        replays: Folder of a run and name of its replay; None means the run's first replay, or none
            for a run without any.

    Returns:
        The page, with scripts, styles, metrics, reports, role histories and replays inside.

    Raises:
        UsageError: There is no such run or replay, a run without replays is beside another, or a
            replay is too large for a page.
        DamagedRunError: A replay or the events are damaged.
    """
    tables: dict[str, Any] = {"runs": [], "metrics": {}, "reports": {}, "roles": {}}
    scripts: list[str] = []
    chosen: dict[Path, list[tuple[Path, str | None]]] = {}  # replays of each run, by its folder
    for folder, name in replays:
        chosen.setdefault(folder.resolve(), []).append((folder, name))
    titles = title_runs(folder for folder, _ in replays)
    for title, of_run in zip(titles, chosen.values(), strict=True):
        folder = of_run[0][0]
        run = open_run(folder)
        row = {**make_still_row(run), "name": title, "replays": []}
        for _, name in of_run:
            if name is not None or len(replays) > 1 or list_replays(folder):
                path = find_replay(folder, name)
                row["replays"].append({"name": path.stem, "bytes": path.stat().st_size})
                scripts.append(_embed_replay(run, path, title))
        tables["runs"].append({**row, "settings": run.config["settings"]})
        tables["metrics"][title] = collect_metrics(run.events())
        report = {**build_report(run), "symbols": read_symbols(folder)}
        _unlink_missing_replays(report, {replay["name"] for replay in row["replays"]})
        tables["reports"][title] = report
        if row["roles"]:
            tables["roles"][title] = read_roles(folder)
    text = json.dumps(tables)
    text = text.replace("<", "\\u003c")  # so that nothing in it can close the script element
    scripts.append(f'<script type="application/json" id="kinfolk-data">{text}</script>')
    return fill_template("\n".join(scripts)).encode()


def title_runs(folders: Iterable[Path]) -> dict[str, Path]:
    """Return the resolved folders of runs by a title that tells them apart."""
    titles: dict[str, Path] = {}
    for folder in dict.fromkeys(folder.resolve() for folder in folders):
        title = folder.name
        if title in titles:
            title = f"{title} ({folder.parent.name})"
        titles[title] = folder
    return titles


def make_still_row(run: Run) -> dict[str, Any]:
    """Return the row of a run for a page that shows what there is now, and waits for nothing."""
    row = make_row(run)
    if row["status"] == "running":
        row["status"] = "done"
    return row


def check_replay(run: Run, path: Path) -> None:
    """Read all of a replay.

    Raises:
        DamagedRunError: It is damaged, or cut short although the run is done.
    """
    replay = Replay(path)
    if run.status == "done":
        replay.require_complete()
    for records in replay.records.values():
        for record in records:
            replay.read_compressed(record)


def _unlink_missing_replays(report: dict[str, Any], embedded: set[str]) -> None:
    """Remove the links of a report to replays that are not in the page."""
    for block in report["blocks"]:
        if block["type"] == "matrix":
            block["replays"] = [
                [name if name in embedded else None for name in row] for row in block["replays"]
            ]


def _embed_replay(run: Run, path: Path, title: str) -> str:
    """Return the script element that holds a replay.

    Args:
        run: The run.
        path: File of the replay.
        title: Name of the run in the page.

    Raises:
        UsageError: The replay is too large for a page.
        DamagedRunError: The replay is damaged.
    """
    size = path.stat().st_size
    if size > MAX_EMBEDDED_BYTES:
        raise UsageError(
            f"{path} has {size / 2**20:,.0f} MB; browsers do not open a page with a replay of more "
            f"than {MAX_EMBEDDED_BYTES // 2**20} MB in it. Look at the run with `kinfolk view`, take "
            "pictures of it with `kinfolk export png|gif|mp4`, or record fewer ticks."
        )
    check_replay(run, path)
    data = b64encode(read_bytes(path)).decode()
    identifier = escape(f"replay:{title}/{path.stem}", quote=True)
    return f'<script type="application/octet-stream" id="{identifier}">{data}</script>'


def fill_template(data: str) -> str:
    """Return the viewer's page with its style sheet and script inlined, and `data` before them."""
    page = read_page_file("index.html").decode()
    style, script = read_page_file("app.css").decode(), read_page_file("app.js").decode()
    script = re.sub(r"</(script)", r"<\\/\1", script, flags=re.I)
    page = page.replace('<link rel="stylesheet" href="app.css">', f"<style>{style}</style>")
    scripts = f"{data}\n<script>{script}</script>"
    return page.replace('<script src="app.js" defer></script>', scripts)
