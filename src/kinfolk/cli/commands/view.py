"""`kinfolk view`: show runs in a browser."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from kinfolk.cli.completion import complete_run
from kinfolk.cli.output import echo, note
from kinfolk.cli.run_lifecycle import run_argument
from kinfolk.core.errors import UsageError
from kinfolk.core.imports import import_libraries

PORT = 8713
HOST = "127.0.0.1"
RUNS = Path("runs")


def view(
    run: Annotated[Path | None, run_argument("A run; without it, all of --root.")] = None,
    root: Annotated[Path, typer.Option(help="Folder that holds runs.")] = RUNS,
    episode: Annotated[
        int | None, typer.Option(min=0, help="Record this episode of the run first.")
    ] = None,
    compare: Annotated[
        Path | None,
        typer.Option("--with", help="A second run beside it.", autocompletion=complete_run),
    ] = None,
    replay: Annotated[str | None, typer.Option(help="Which replay of the run.")] = None,
    compare_replay: Annotated[
        str | None, typer.Option("--with-replay", help="Which replay of the second run.")
    ] = None,
    export: Annotated[
        Path | None, typer.Option(help="Write one page that opens from disk, instead.")
    ] = None,
    host: Annotated[str, typer.Option(help="Where to listen; others need a token.")] = HOST,
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes any.")] = PORT,
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
) -> None:
    """Look at a run, live or later: the world, its numbers, families, roles and reasons."""
    from kinfolk.store.run import open_run

    if run is None and (export or episode is not None or compare or replay):
        raise UsageError("Say which run: kinfolk view RUN.")
    if run is not None and root != RUNS:
        raise UsageError(f"--root is for all runs of a folder; {run} is one run.")
    if episode is not None and replay is not None:
        raise UsageError(
            "--episode records the game to show, and --replay names one: give one of them."
        )
    if export is not None and (host, port, browser) != (HOST, PORT, True):
        raise UsageError(
            "--export writes a file, without a server: leave out --host, --port, --browser."
        )
    if compare is None and compare_replay is not None:
        compare = run  # two games of one run
    for path in filter(None, (run, compare)):
        open_run(path)
    if run is not None and episode is not None:
        replay = _record_again(run, episode)
    replays = [(run, replay), (compare, compare_replay)]
    if export is not None:
        _export(replays, export)
        return
    if run is not None:
        root = run.resolve().parent
    elif not root.is_dir():
        raise UsageError(
            f"There is no folder {root}, so there are no runs to view. Name another folder with --root, or make a "
            f"run: kinfolk play --world savanna --record"
        )
    if compare is not None and compare.resolve().parent != root:
        raise UsageError(f"{compare} must lie beside {run}, in one folder of runs.")
    _serve(root, host, port, _make_fragment(replays), browser)


def _serve(root: Path, host: str, port: int, fragment: str, browser: bool) -> None:
    """Serve the viewer until the process is interrupted.

    Args:
        root: Folder that holds the runs.
        host: Address to listen on.
        port: Port to listen on; 0 takes any free port.
        fragment: Fragment of the URL, from `_make_fragment`.
        browser: Whether to open the page in a browser.
    """
    need_viewer()
    from kinfolk.viewer.server import serve

    def ready(address: str) -> None:
        """Print the address of the page, and open it in a browser if wanted."""
        echo(f"Looking at {root}. Open {address}{fragment}")
        note("Ctrl-C ends it.")
        if browser and sys.stdout.isatty():
            import webbrowser

            webbrowser.open(address + fragment)

    serve(root, host, port, ready)


def need_viewer() -> None:
    """Check that the libraries of the viewer are installed.

    Raises:
        MissingLibraryError: One is missing; the message has the command to install it.
    """
    import_libraries("The viewer", "starlette", "uvicorn", "websockets")


def _make_fragment(replays: list[tuple[Path | None, str | None]]) -> str:
    """Return the fragment of the page's URL that selects what is shown; "" for the list of runs.

    Args:
        replays: Two pairs of a run folder, or None, and the name of its replay, or None.
    """
    from urllib.parse import urlencode

    from kinfolk.viewer.run_index import ADDRESS_KEYS

    parameters: dict[str, str] = {}
    for (run, replay), (name, game) in zip(replays, ADDRESS_KEYS, strict=True):
        if run is not None:
            parameters |= {name: run.resolve().name, game: replay or ""}
    text = urlencode({name: value for name, value in parameters.items() if value})
    return f"#{text}" if text else ""


def _record_again(run: Path, episode: int) -> str:
    """Play an episode of a run again, with the same result, and store its replay in the run.

    Returns:
        The name of the replay.

    Raises:
        UsageError: The run is not of `kinfolk eval`, or has no such episode.
    """
    from kinfolk.core.settings import validate_settings
    from kinfolk.jobs.evaluate import Evaluate, evaluation_tasks
    from kinfolk.replay.reader import REPLAY_FOLDER, REPLAY_SUFFIX
    from kinfolk.replay.record import record_replay, replay_name
    from kinfolk.store.files import write_atomic
    from kinfolk.store.run import open_run

    stored = open_run(run)
    if stored.config["job"] != "evaluate":
        other = f"{run} is a run of {stored.config['job']}"
        raise UsageError(
            f"{other}; only episodes of `kinfolk eval` can be recorded again. With the same "
            f"settings and seed it plays the same episodes; --replay 1 records the first."
        )
    settings = validate_settings(Evaluate, stored.config["settings"])
    if episode >= settings.episodes:
        raise UsageError(f"{run} has the episodes 0 to {settings.episodes - 1}, not {episode}.")
    path = run / REPLAY_FOLDER / f"{replay_name(episode)}{REPLAY_SUFFIX}"
    if not path.exists():
        note(f"Recording episode {episode} of {run}.")
        write_atomic(path, b"".join(record_replay(next(evaluation_tasks(settings)), episode)))
    return replay_name(episode)


def _export(replays: list[tuple[Path | None, str | None]], file: Path) -> None:
    """Write a page that shows one replay, or two side by side, and opens from disk.

    Args:
        replays: Pairs of a run folder and the name of its replay, or None for its first replay.
            Pairs without a run folder are skipped.
        file: HTML file to write.
    """
    need_viewer()
    from kinfolk.store.files import write_atomic
    from kinfolk.viewer.export import export_page

    page = export_page([(run, replay) for run, replay in replays if run is not None])
    write_atomic(file, page)
    note(f"{file} has {len(page) / 2**20:.1f} MB and opens from disk.")
