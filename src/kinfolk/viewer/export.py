"""One page that holds all it shows, and opens from disk with no network."""

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
from kinfolk.store.json_files import parse_json_object, read_text
from kinfolk.store.run import open_run
from kinfolk.viewer.metrics import collect_metrics
from kinfolk.viewer.run_index import ROLE_HISTORY_FILE
from kinfolk.viewer.server import read_page_file


def export_page(replays: Sequence[tuple[Path, str | None]]) -> bytes:
    """The page of one replay, or of two side by side; each is a run and the name of its replay.

    Raises:
        UsageError: A run or replay is not there.
        DamagedRunError: A replay is damaged.
    """
    runs: list[dict[str, Any]] = []
    metrics: dict[str, Any] = {}
    roles: dict[str, Any] = {}
    parts: list[str] = []
    for folder, name in replays:
        run, path = open_run(folder), find_replay(folder, name)
        replay = Replay(path)
        for found in replay.records.values():
            for part in found:
                replay.read_compressed(part)  # checked
        has_roles = (folder / ROLE_HISTORY_FILE).is_file()
        title = path.stem
        called = run.name if all(run.name != one["name"] for one in runs) else f"{run.name} again"
        runs.append(
            {"name": called, "job": run.config["job"], "status": "done", "roles": has_roles, "problem": "",
             "world": replay.head()["world"], "settings": run.config["settings"],
             "replays": [{"name": title, "bytes": path.stat().st_size}]}
        )  # fmt: skip
        metrics[called] = collect_metrics(run.events())
        if has_roles:
            roles[called] = parse_json_object(
                read_text(folder / ROLE_HISTORY_FILE), str(folder / ROLE_HISTORY_FILE)
            )
        packed = b64encode(read_bytes(path)).decode()
        tag = escape(f"replay:{called}/{title}", quote=True)
        parts.append(f'<script type="application/octet-stream" id="{tag}">{packed}</script>')
    data = {"runs": runs, "metrics": metrics, "roles": roles}
    text = json.dumps(data).replace("<", "\\u003c")  # nothing in it may end the script
    parts.append(f'<script type="application/json" id="kinfolk-data">{text}</script>')
    return _fill_template("\n".join(parts)).encode()


def _fill_template(data: str) -> str:
    """The page with its style and script inside, and the data before them."""
    page = read_page_file("index.html").decode()
    style, script = read_page_file("app.css").decode(), read_page_file("app.js").decode()
    script = re.sub(r"</(script)", r"<\\/\1", script, flags=re.I)
    page = page.replace('<link rel="stylesheet" href="app.css">', f"<style>{style}</style>")
    tail = f"{data}\n<script>{script}</script>"
    return page.replace('<script src="app.js" defer></script>', tail)
