"""Export of replays as one self-contained HTML page that opens from disk without a network."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from kinfolk.replay.reader import Replay, find_replay
from kinfolk.store.files import read_bytes
from kinfolk.store.run import open_run
from kinfolk.viewer.metrics import collect_metrics
from kinfolk.viewer.results import JOBS_WITH_RESULTS, build_failures, build_results
from kinfolk.viewer.run_index import ROLE_HISTORY_FILE, read_roles
from kinfolk.viewer.server import read_page_file


def export_page(replays: Sequence[tuple[Path, str | None]]) -> bytes:
    """Return an HTML page that shows one replay, or two side by side.

    Args:
        replays: Folder of a run and name of its replay; None means the run's first replay.

    Returns:
        The page, with scripts, styles, metrics, results, role histories and replays inside.

    Raises:
        UsageError: There is no such run or replay.
        DamagedRunError: A replay is damaged.
    """
    runs: list[dict[str, Any]] = []
    metrics: dict[str, Any] = {}
    results: dict[str, Any] = {}
    failures: dict[str, Any] = {}
    roles: dict[str, Any] = {}
    scripts: list[str] = []
    for folder, name in replays:
        run, path = open_run(folder), find_replay(folder, name)
        replay = Replay(path)
        if run.status == "done":
            replay.require_complete()
        for records in replay.records.values():
            for record in records:
                replay.read_compressed(record)  # raises if it is damaged
        history = folder / ROLE_HISTORY_FILE
        is_taken = any(run.name == other["name"] for other in runs)
        title = f"{run.name} again" if is_taken else run.name
        runs.append(
            {"name": title, "job": run.config["job"], "status": "done", "roles": history.is_file(),
             "problem": "", "world": replay.head()["world"], "settings": run.config["settings"],
             "replays": [{"name": path.stem, "bytes": path.stat().st_size}]}
        )  # fmt: skip
        metrics[title] = collect_metrics(run.events())
        job, settings = run.config["job"], run.config["settings"]
        failures[title] = build_failures(job, settings, run.events())
        if job in JOBS_WITH_RESULTS:
            results[title] = build_results(job, settings, run.events())
        if history.is_file():
            roles[title] = read_roles(folder)
        data = b64encode(read_bytes(path)).decode()
        identifier = escape(f"replay:{title}/{path.stem}", quote=True)
        scripts.append(f'<script type="application/octet-stream" id="{identifier}">{data}</script>')
    tables = {"metrics": metrics, "results": results, "failures": failures, "roles": roles}
    text = json.dumps({"runs": runs, **tables})
    text = text.replace("<", "\\u003c")  # so that nothing in it can close the script element
    scripts.append(f'<script type="application/json" id="kinfolk-data">{text}</script>')
    return fill_template("\n".join(scripts)).encode()


def fill_template(data: str) -> str:
    """Return the viewer's page with its style sheet and script inlined, and `data` before them."""
    page = read_page_file("index.html").decode()
    style, script = read_page_file("app.css").decode(), read_page_file("app.js").decode()
    script = re.sub(r"</(script)", r"<\\/\1", script, flags=re.I)
    page = page.replace('<link rel="stylesheet" href="app.css">', f"<style>{style}</style>")
    scripts = f"{data}\n<script>{script}</script>"
    return page.replace('<script src="app.js" defer></script>', scripts)
