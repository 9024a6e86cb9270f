"""`kinfolk replay-trace`: our savanna against recordings of the published one."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from kinfolk.cli.show import JsonOption, print_json, print_table
from kinfolk.cli.warm import warm


def replay_trace(
    files: Annotated[list[Path], typer.Argument(help="Traces, *.json.gz.")],
    json: JsonOption = False,
) -> None:
    """Replay recorded savanna traces and compare every step."""
    from kinfolk.store.files import read_bytes
    from kinfolk.worlds.savanna.trace import parse, replay

    traces = [(path, parse(read_bytes(path), str(path))) for path in files]
    warm("savanna", {}, None, {})
    rows, failed = [], False
    for path, trace in traces:
        found = replay(trace)
        rows.append({"file": str(path), "matches": found.matches, **asdict(found)})
        if not found.matches:
            failed = True
            if not json:
                typer.echo(f"{path}: {found.difference}", err=True)
            break
    if json:
        print_json(rows)
    else:
        print_table(
            "Traces",
            ("file", "steps", "values compared", "cells from the trace", "result"),
            [
                (
                    Path(str(r["file"])).name,
                    r["steps"],
                    f"{r['values']:,}",
                    r["fallbacks"],
                    "matches" if r["matches"] else "differs",
                )
                for r in rows
            ],
        )
    if failed:
        raise typer.Exit(1)
