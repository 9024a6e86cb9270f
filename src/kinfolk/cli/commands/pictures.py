"""`kinfolk plot` and `kinfolk export gif|mp4|png|html`: figures, pictures, videos and pages of runs."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from kinfolk.cli.commands.view import need_viewer
from kinfolk.cli.output import note, progress
from kinfolk.cli.run_lifecycle import run_argument
from kinfolk.core.errors import UsageError
from kinfolk.core.imports import import_libraries

RunArgument = Annotated[Path, run_argument("A run with a replay.")]
AnyRunArgument = Annotated[Path, run_argument("Any run, with or without a replay.")]
OutOption = Annotated[Path | None, typer.Option(help="File to write.")]
ReplayOption = Annotated[str | None, typer.Option(help="Which replay of the run [the first].")]
WithOption = Annotated[Path | None, typer.Option("--with", help="A second run beside it.")]
WithReplayOption = Annotated[
    str | None, typer.Option("--with-replay", help="Which replay of the second, or a second one.")
]
TabOption = Annotated[
    str | None,
    typer.Option(
        help="Panel of --part page: agent, charts, lineage, roles, run, or its key 1 to 5 "
        "[agent; of an mp4, charts]."
    ),
]
_PICTURE_SUFFIXES = (".png", ".gif", ".mp4", ".html", ".jpg", ".jpeg", ".svg", ".pdf", ".webm")
MOST_FRAMES = 2000
_FIGURE_KINDS = "curves, estimates, populations, payoffs, archive or profile"


def _video_options(
    first: Annotated[int, typer.Option("--from", min=0, help="First tick.")] = 0,
    last: Annotated[int | None, typer.Option("--to", min=0, help="Last tick [the last].")] = None,
    every: Annotated[int, typer.Option(min=1, help="Show each n-th tick.")] = 1,
    speed: Annotated[float, typer.Option(min=1, max=60, help="Pictures a second.")] = 25.0,
) -> None:
    """Declare, by its signature, the options that only `gif` and `mp4` have.

    It is never called; `_takes_options` copies its parameters into the commands.
    """


def _picture_options(
    replay: ReplayOption = None,
    compare: WithOption = None,
    compare_replay: WithReplayOption = None,
    part: Annotated[str, typer.Option(help="map, charts, lineage or page.")] = "page",
    size: Annotated[str, typer.Option(help="Width and height of the page in pixels.")] = "1280x720",
    theme: Annotated[str, typer.Option(help="light or dark.")] = "light",
    agent: Annotated[int | None, typer.Option(help="The agent that is chosen, by its uid.")] = None,
) -> None:
    """Declare, by its signature, the options that `png`, `gif` and `mp4` share.

    It is never called; `_takes_options` copies its parameters into the commands.
    """


def _takes_options(*declarations: Callable[..., None], **defaults: Any) -> Callable[[Any], Any]:
    """Return a decorator that replaces a command's `**options` by declared options.

    Args:
        declarations: Functions whose parameters are the options.
        defaults: Defaults of this command that differ from the declared ones, by option.
    """
    signatures = [inspect.signature(declared, eval_str=True) for declared in declarations]
    options = {name: p for signature in signatures for name, p in signature.parameters.items()}
    options |= {name: options[name].replace(default=value) for name, value in defaults.items()}
    shared = [option.replace(kind=option.KEYWORD_ONLY) for option in options.values()]

    def decorate(command: Any) -> Any:
        """Give the command a signature with the declared options."""
        parameters = list(inspect.signature(command, eval_str=True).parameters.values())
        first = [p for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
        last = [p for p in parameters if p.kind is p.KEYWORD_ONLY]
        command.__signature__ = inspect.Signature([*first, *shared, *last])
        return command

    return decorate


@_takes_options(_picture_options)
def png(
    run: RunArgument,
    out: OutOption = None,
    tick: Annotated[int, typer.Option(min=0, help="Which tick.")] = 0,
    *,
    descendants: Annotated[bool, typer.Option("--descendants", help="Mark its kin.")] = False,
    tab: TabOption = None,
    **options: Any,
) -> None:
    """Export a screenshot of one tick, or of the charts."""
    path = _choose_file(run, out, f"-{tick}", ".png")
    if descendants and options["agent"] is None:
        raise UsageError("--descendants marks the kin of an agent: say which with --agent UID.")
    replays, screenshot = _read_options(run, descendants=descendants, tab=tab, **options)
    from kinfolk.replay.reader import Replay, find_replay
    from kinfolk.viewer.screenshots import capture, open_page

    end = Replay(find_replay(*replays[0])).ticks
    if tick > end:
        raise UsageError(f"The game has the ticks 0 to {end}, not {tick}.")
    with open_page(replays, screenshot) as page:
        data = capture(page, screenshot, tick)
    _write(path, data)


@_takes_options(_video_options, _picture_options, speed=15.0, part="map", size="640x660")
def gif(run: RunArgument, out: OutOption = None, **options: Any) -> None:
    """Export a video as a gif."""
    import_libraries("A gif", "PIL")  # checked before pictures are taken
    from kinfolk.viewer.screenshots import encode_gif

    _export_video(encode_gif, run, _choose_file(run, out, "", ".gif"), tab=None, **options)


@_takes_options(_video_options, _picture_options)
def mp4(run: RunArgument, out: OutOption = None, *, tab: TabOption = None, **options: Any) -> None:
    """Export a video as an mp4; it needs ffmpeg."""
    from kinfolk.viewer.screenshots import encode_mp4

    if tab is None and options["part"] == "page":
        tab = "charts"
    _export_video(encode_mp4, run, _choose_file(run, out, "", ".mp4"), tab=tab, **options)


def html(
    run: AnyRunArgument,
    out: OutOption = None,
    replay: ReplayOption = None,
    compare: WithOption = None,
    compare_replay: WithReplayOption = None,
) -> None:
    """Export one page that opens from disk, as `kinfolk view RUN --export` writes it.

    It has the results of the run, its settings and, if the run has replays, one game or two. With
    two it opens on them side by side, and the name of the run leads to its results.
    """
    need_viewer()
    from kinfolk.viewer.export import export_page

    path = _choose_file(run, out, "", ".html")
    data = export_page(_list_replays(run, replay, compare, compare_replay))
    _write(path, data)


def _choose_file(run: Path, out: Path | None, name: str, suffix: str) -> Path:
    """Return the file to write, by default in this folder, with the name of the run.

    Raises:
        UsageError: It has the suffix of another kind of file.
    """
    if out is None:
        return Path(f"{run.name}{name}{suffix}")
    other = out.suffix.lower()
    if other != suffix and other in _PICTURE_SUFFIXES:
        raise UsageError(f"This command writes a {suffix[1:]}, not a {other[1:]}: --out {out}")
    return out


def _list_replays(
    run: Path, replay: str | None, compare: Path | None, compare_replay: str | None
) -> list[tuple[Path, str | None]]:
    """Return the replays to show: for each the run folder, and the replay's name or None.

    Args:
        run: Run folder of the first replay.
        replay: Name of its replay; None for the first one.
        compare: Run folder of a replay to show beside it, or None.
        compare_replay: Name of the replay to show beside it; without `compare`, one of `run`.

    Raises:
        UsageError: There is no such run.
    """
    from kinfolk.store.run import open_run

    for folder in (run, compare):
        if folder is not None:
            open_run(folder)  # names similar runs if it is none
    if compare is None and compare_replay is None:
        return [(run, replay)]
    return [(run, replay), (compare or run, compare_replay)]


def _read_options(
    run: Path,
    *,
    size: str,
    agent: int | None,
    tab: str | None,
    descendants: bool = False,
    **options: Any,
) -> tuple[list[tuple[Path, str | None]], Any]:
    """Return the replays to show, as `_list_replays` does, and the settings of a screenshot.

    Args:
        run: Run folder of the first replay.
        size: Width and height of the page in pixels, as 1280x720.
        agent: uid of the selected agent.
        tab: Panel that the page shows, by its name or key; None for the first.
        descendants: Whether descendants of the agent are marked.
        options: Values of `replay`, `compare`, `compare_replay`, `part` and `theme`.

    Raises:
        UsageError: The size is not written WIDTHxHEIGHT, there is no such panel, or the part that
            is shown has no panels.
        SettingsError: A setting is out of bounds.
    """
    need_viewer()
    from kinfolk.core.settings import validate_settings
    from kinfolk.viewer.screenshots import Screenshot, parse_tab

    width, times, height = size.partition("x")
    if not (times and width.isdecimal() and height.isdecimal()):
        raise UsageError(f"--size is written WIDTHxHEIGHT, such as 1280x720, not '{size}'.")
    settings = {"part": options.pop("part"), "theme": options.pop("theme")}
    settings |= {"width": width, "height": height, "selected_uid": agent}
    settings |= {"tab": parse_tab(tab or "agent"), "mark_descendants": descendants}
    if tab is not None and settings["part"] != "page":
        raise UsageError(
            f"--tab chooses a panel of --part page; --part {settings['part']} has none."
        )
    return _list_replays(run, **options), validate_settings(Screenshot, settings)


def _export_video(
    encode: Callable[..., bytes], run: Path, out: Path, *, first: int, last: int | None, every: int,
    speed: float, **options: Any,
) -> None:  # fmt: skip
    """Capture screenshots of a range of ticks and write them as a video.

    Args:
        encode: Encodes PNG pictures at a number of pictures per second.
        run: Run folder of the first replay.
        out: File to write.
        first: First tick.
        last: Last tick; None for the end.
        every: Ticks from one picture to the next.
        speed: Pictures per second.
        options: Further arguments of `_read_options`.
    """
    from kinfolk.replay.reader import Replay, find_replay
    from kinfolk.viewer.screenshots import capture, open_page

    replays, screenshot = _read_options(run, **options)
    end = Replay(find_replay(*replays[0])).ticks
    if last is None:
        last = end
    if last > end:
        note(f"The game ends at tick {end}, before --to {last}.")
    shown = range(first, min(last, end) + 1, every)
    if not 1 <= len(shown) <= MOST_FRAMES:
        raise UsageError(
            f"A video has 1 to {MOST_FRAMES} pictures, not {len(shown)}; "
            f"choose --from, --to and --every (the game has the ticks 0 to {end})."
        )
    frames: list[bytes] = []
    with open_page(replays, screenshot) as page, progress("Pictures", len(shown)) as tell:
        for tick in shown:
            frames.append(capture(page, screenshot, tick))
            tell(len(frames))
    _write(out, encode(frames, speed))


def _write(path: Path, data: bytes) -> None:
    """Write a file, and print its size on stderr."""
    from kinfolk.store.files import write_atomic

    write_atomic(path, data)
    note(f"{path}: {len(data) / 1024:,.0f} KB")


def plot(
    runs: Annotated[list[Path], run_argument("One run, or several of the same job.")],
    kind: Annotated[
        str | None, typer.Option(help=f"{_FIGURE_KINDS} [the first that the job has].")
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(help="What is drawn; several are panels of one figure [that of the job]."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="File to write: .pdf, .svg or .png [NAME.pdf].")
    ] = None,
) -> None:
    """Draw runs as a figure: learning curves, estimates, populations, payoffs, archives, profiles.

    Runs that differ in their seed only are pooled: one line or marker, with a 95 % interval over
    seeds. Payoffs, archives, and populations and profiles of an evaluation are of one run.
    """
    from kinfolk.evaluation.figures.style import save_figure
    from kinfolk.jobs.figures.kinds import draw_runs
    from kinfolk.jobs.figures.sources import FigureSource
    from kinfolk.store.run import open_run

    opened = [open_run(run) for run in runs]
    with warnings.catch_warnings(record=True) as caught:
        figure = draw_runs([FigureSource.of_run(run) for run in opened], kind, metric)
    for warning in caught:
        note(str(warning.message))
    path = out or Path(f"{opened[0].name}{f'-{kind}' if kind else ''}.pdf")
    save_figure(figure, path)
    note(f"{path}: {path.stat().st_size / 1024:,.0f} KB")
