"""`kinfolk replay-trace`: compare the worlds with recordings of the games they come from."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from kinfolk.cli import output
from kinfolk.cli.compile import compile_kernels
from kinfolk.cli.output import echo
from kinfolk.core.errors import KinfolkError, UsageError


def replay_trace(
    files: Annotated[list[Path], typer.Argument(help="Recordings, *.json.gz.")],
    json: output.JsonOption = False,
) -> None:
    """Replay recordings of the savanna's and CogsGuard's originals and compare every step.

    All files are gone through; if one differs or cannot be read, the exit code is 1.
    """
    for path in files:
        if not path.exists():  # reported before minutes are spent on the others
            raise UsageError(f"There is no file {path}.")
    rows, compiled = [], set[str]()
    for path in files:
        row = _replay_file(path, compiled)
        rows.append(row)
        if not json and not row["matches"]:
            echo(f"{path}: {row['error'] or row['message']}", err=True)
    if json:
        output.print_json([{k: v for k, v in row.items() if k != "message"} for row in rows])
    else:
        headings = ("file", "steps", "values compared", "taken from the file", "result")
        cells = [
            (
                path.name,
                r["steps"],
                f"{r['n_values']:,}",
                _describe_taken(r),
                _describe_result(r),
            )
            for path, r in zip(files, rows, strict=True)
        ]
        output.print_table("Recordings", headings, cells)
    if not all(row["matches"] for row in rows):
        raise typer.Exit(1)


def _replay_file(path: Path, compiled: set[str]) -> dict[str, Any]:
    """Replay the recording in one file.

    Args:
        path: A trace of the savanna or a scene of CogsGuard.
        compiled: Worlds whose kernels are compiled already, added to.

    Returns:
        `file`, the fields of `TraceReplay` or `SceneReplay`, `matches`, `message` (the first
        difference) and `error` (why the file could not be replayed, or None).
    """
    from kinfolk.store.files import read_bytes
    from kinfolk.worlds.cogsguard.io import replay_scene
    from kinfolk.worlds.cogsguard.io.scene_format import is_scene
    from kinfolk.worlds.savanna.io import golden_trace

    replay: replay_scene.SceneReplay | golden_trace.TraceReplay
    replay, error = golden_trace.TraceReplay(0, 0, 0, None), None
    try:
        data = golden_trace.parse_trace(read_bytes(path), str(path))
        world = "cogsguard" if is_scene(data) else "savanna"
        if world not in compiled:
            compile_kernels(world, {}, None, {})
            compiled.add(world)
        if world == "cogsguard":
            replay = replay_scene.replay_scene(data)
        else:
            replay = golden_trace.replay_golden_trace(golden_trace.add_log(data, path))
    except KinfolkError as refused:
        error = str(refused).removeprefix(f"{path} ")
    except (LookupError, TypeError, ValueError, AttributeError) as wrong:
        # It has the keys of a recording, and values of another kind behind them.
        error = f"cannot be replayed, with {type(wrong).__name__}: {wrong}."
    return {
        "file": str(path),
        **asdict(replay),
        "matches": replay.matches and error is None,
        "message": str(replay.difference),
        "error": error,
    }


def _describe_taken(row: dict[str, Any]) -> str:
    """Return what a replay took from its file: cells of newborns, or the outcomes of draws."""
    if "outcomes" not in row:
        return str(row["n_random_placements"])
    return "" if row["outcomes"] in ((), (0,)) else f"{len(row['outcomes'])} outcomes"


def _describe_result(row: dict[str, Any]) -> str:
    """Return the outcome of `_replay_file` as one word."""
    if row["error"] is not None:
        return "error"
    return "matches" if row["matches"] else "differs"
