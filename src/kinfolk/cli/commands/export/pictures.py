"""`kinfolk export gif|mp4|png|html`: pictures, videos and pages of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from kinfolk.cli.commands.view import need_viewer
from kinfolk.cli.completion import complete_run
from kinfolk.cli.formatting import note, progress
from kinfolk.core.errors import UsageError
from kinfolk.core.optional_dependencies import import_libraries

RunArgument = Annotated[
    Path, typer.Argument(help="A run with a replay.", autocompletion=complete_run)
]
OutOption = Annotated[Path | None, typer.Option(help="File to write.")]
ReplayOption = Annotated[str | None, typer.Option(help="Which replay of the run [the first].")]
WithOption = Annotated[Path | None, typer.Option("--with", help="A second run beside it.")]
WithReplayOption = Annotated[
    str | None, typer.Option("--with-replay", help="Which replay of the second, or a second one.")
]
PartOption = Annotated[str, typer.Option(help="map, charts, lineage or page.")]
SizeOption = Annotated[str, typer.Option(help="Width and height of the page in pixels.")]
ThemeOption = Annotated[str, typer.Option(help="light or dark.")]
AgentOption = Annotated[int | None, typer.Option(help="The agent that is chosen, by its uid.")]
TabOption = Annotated[int, typer.Option(min=1, max=5, help="Which panel the page shows.")]
FromOption = Annotated[int, typer.Option("--from", min=0, help="First tick.")]
ToOption = Annotated[int | None, typer.Option("--to", min=0, help="Last tick [the last].")]
EveryOption = Annotated[int, typer.Option(min=1, help="Show each n-th tick.")]
SpeedOption = Annotated[float, typer.Option(min=1, max=60, help="Pictures a second.")]
MOST_FRAMES = 2000


def png(
    run: RunArgument,
    out: OutOption = None,
    tick: Annotated[int, typer.Option(min=0, help="Which tick.")] = 0,
    replay: ReplayOption = None,
    compare: WithOption = None,
    compare_replay: WithReplayOption = None,
    part: PartOption = "page",
    size: SizeOption = "1280x720",
    theme: ThemeOption = "light",
    agent: AgentOption = None,
    descendants: Annotated[bool, typer.Option("--descendants", help="Mark its kin.")] = False,
    tab: TabOption = 1,
) -> None:
    """Export a screenshot of one tick, or of the charts."""
    from kinfolk.store.files import write_atomic

    screenshot = _picture(part, size, theme, agent, tab, descendants)
    from kinfolk.viewer.screenshots import capture, open_page

    with open_page(_shown(run, replay, compare, compare_replay), screenshot) as page:
        data = capture(page, screenshot, tick)
    _write(write_atomic, out or Path(f"{run.name}-{tick}.png"), data)


def gif(
    run: RunArgument,
    out: OutOption = None,
    first: FromOption = 0,
    last: ToOption = None,
    every: EveryOption = 1,
    speed: SpeedOption = 15.0,
    replay: ReplayOption = None,
    compare: WithOption = None,
    compare_replay: WithReplayOption = None,
    part: PartOption = "map",
    size: SizeOption = "640x660",
    theme: ThemeOption = "light",
    agent: AgentOption = None,
) -> None:
    """Export a video as a gif."""
    import_libraries("A gif", "PIL")  # checked before pictures are taken
    from kinfolk.viewer.screenshots import encode_gif

    _export_video("gif", encode_gif, run, out, (first, last, every), speed, (replay, compare, compare_replay),
          _picture(part, size, theme, agent, 1))  # fmt: skip


def mp4(
    run: RunArgument,
    out: OutOption = None,
    first: FromOption = 0,
    last: ToOption = None,
    every: EveryOption = 1,
    speed: SpeedOption = 25.0,
    replay: ReplayOption = None,
    compare: WithOption = None,
    compare_replay: WithReplayOption = None,
    part: PartOption = "page",
    size: SizeOption = "1280x720",
    theme: ThemeOption = "light",
    agent: AgentOption = None,
    tab: TabOption = 2,
) -> None:
    """Export a video as an mp4; it needs ffmpeg."""
    from kinfolk.viewer.screenshots import encode_mp4

    _export_video("mp4", encode_mp4, run, out, (first, last, every), speed, (replay, compare, compare_replay),
          _picture(part, size, theme, agent, tab))  # fmt: skip


def html(
    run: RunArgument,
    out: OutOption = None,
    replay: ReplayOption = None,
    compare: WithOption = None,
    compare_replay: WithReplayOption = None,
) -> None:
    """Export one page that opens from disk, as `kinfolk view RUN --export` writes it."""
    need_viewer()
    from kinfolk.store.files import write_atomic
    from kinfolk.viewer.export import export_page

    data = export_page(_shown(run, replay, compare, compare_replay))
    _write(write_atomic, out or Path(f"{run.name}.html"), data)


def _shown(
    run: Path, replay: str | None, compare: Path | None, compare_replay: str | None
) -> list[tuple[Path, str | None]]:
    """Return the runs that are shown, each with the name of its replay.

    Args:
        run: The run.
        replay: Which of its replays; None for the first.
        compare: A second run beside it.
        compare_replay: Which replay of the second run, or a second one of the first.
    """
    if compare is None and compare_replay is None:
        return [(run, replay)]
    return [(run, replay), (compare or run, compare_replay)]


def _picture(
    part: str, size: str, theme: str, agent: int | None, tab: int, marks: bool = False
) -> Any:
    """Validate the settings of a screenshot.

    Args:
        part: stage, charts, family or page.
        size: Width and height of the page in pixels, as 1280x720.
        theme: light or dark.
        agent: uid of the selected agent.
        tab: Panel that the page shows, from 1.
        marks: Whether descendants of the agent are marked.
    """
    need_viewer()
    from kinfolk.core.settings import validate_settings
    from kinfolk.viewer.screenshots import Screenshot

    width, times, height = size.partition("x")
    if not (times and width.isdecimal() and height.isdecimal()):
        raise UsageError(f"--size is written WIDTHxHEIGHT, such as 1280x720, not '{size}'.")
    settings = {
        "part": part,
        "width": width,
        "height": height,
        "theme": theme,
        "selected_uid": agent,
    }
    return validate_settings(Screenshot, settings | {"tab": tab - 1, "mark_descendants": marks})


def _export_video(
    form: str, encode: Any, run: Path, out: Path | None, ticks: tuple[int, int | None, int],
    speed: float, beside: tuple[str | None, Path | None, str | None], screenshot: Any,
) -> None:  # fmt: skip
    """Capture every tick and encode the pictures as a video.

    Args:
        form: Suffix of the file.
        encode: Function that encodes pictures at a speed.
        run: The run.
        out: File to write; None names it after the run.
        ticks: First tick, last tick (None for the end) and step.
        speed: Pictures per second.
        beside: Replay of the run, second run, and replay of that.
        screenshot: Settings of the pictures.
    """
    from kinfolk.replay.reader import Replay, find_replay
    from kinfolk.store.files import write_atomic
    from kinfolk.viewer.screenshots import capture, open_page

    first, last, every = ticks
    end = Replay(find_replay(run, beside[0])).ticks
    shown = range(first, (end if last is None else min(last, end)) + 1, every)
    if not 1 <= len(shown) <= MOST_FRAMES:
        raise UsageError(
            f"A video has 1 to {MOST_FRAMES} pictures, not {len(shown)}; "
            f"choose --from, --to and --every (the game has the ticks 0 to {end})."
        )
    with (
        open_page(_shown(run, *beside), screenshot) as page,
        progress("Pictures", len(shown)) as tell,
    ):
        frames = []
        for tick in shown:
            frames.append(capture(page, screenshot, tick))
            tell(len(frames))
    _write(write_atomic, out or Path(f"{run.name}.{form}"), encode(frames, speed))


def _write(write: Any, path: Path, data: bytes) -> None:
    """Write a file, and note its size.

    Args:
        write: Function that writes bytes to a path.
        path: The file.
        data: Its content.
    """
    write(path, data)
    note(f"{path}: {len(data) / 1024:,.0f} KB")
