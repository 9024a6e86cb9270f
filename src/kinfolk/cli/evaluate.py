"""`kinfolk eval`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from kinfolk.cli.folders import fresh_folder
from kinfolk.cli.show import (
    JsonOption,
    figures,
    interval,
    print_json,
    print_table,
    progress,
)
from kinfolk.cli.slots import MapOption, SetOption, SlotOption, pairs, warn_of_idle_slots
from kinfolk.cli.warm import warm
from kinfolk.core.errors import UsageError


def eval_command(
    world: Annotated[str | None, typer.Option(help="See `kinfolk worlds`.")] = None,
    preset: Annotated[str | None, typer.Option(help="See `kinfolk presets`.")] = None,
    slot: SlotOption = [],  # noqa: B006, typer copies it
    mapping: MapOption = [],  # noqa: B006
    rule: SetOption = [],  # noqa: B006
    episodes: Annotated[int | None, typer.Option(help="How many to play [100].")] = None,
    seed: Annotated[int | None, typer.Option(help="Where all chance comes from [0].")] = None,
    engine: Annotated[str, typer.Option(help="local or processes.")] = "local",
    jobs: Annotated[int, typer.Option(help="Tasks at once.")] = 2,
    replay: Annotated[
        int | None, typer.Option(help="Record the first so many episodes, to be watched [0].")
    ] = None,
    isolate: Annotated[str | None, typer.Option(help="none or slot [none].")] = None,
    step_timeout: Annotated[float | None, typer.Option(help="Seconds per answer [1].")] = None,
    config: Annotated[Path | None, typer.Option(help="Settings from a .toml or .json.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the run.")] = None,
    resume: Annotated[Path | None, typer.Option(help="Go on with this run.")] = None,
    plot: Annotated[bool, typer.Option("--plot", help="Plot the first episode.")] = False,
    json: JsonOption = False,
) -> None:
    """Play episodes of a line-up and say how each slot did."""
    from kinfolk.core.settings import from_flags, merged, read
    from kinfolk.engines import make_engine
    from kinfolk.jobs.evaluate import Evaluate, evaluate
    from kinfolk.store.files import read_settings
    from kinfolk.store.keep import keep
    from kinfolk.store.run import create, open_run

    workers = make_engine(engine, jobs)
    flags = {
        "world": world,
        "preset": preset,
        "slots": pairs("--slot", slot) or None,
        "slot_map": pairs("--map", mapping) or None,
        "world_settings": from_flags(rule) or None,
        "episodes": episodes,
        "seed": seed,
        "replays": replay,
        "isolate": isolate,
        "step_timeout": step_timeout,
    }
    given = {name: value for name, value in flags.items() if value is not None}
    if resume is not None:
        if given or config or out:
            raise UsageError(
                "--resume goes on with the run's own settings; give no others with it."
            )
        run = open_run(resume)
        settings = read(Evaluate, run.about["settings"])
        done = sum(1 for event in run.events() if event["kind"] == "episode_played")
    else:
        settings = read(Evaluate, merged(read_settings(config) if config else {}, given))
        _try_out(settings)
        run = create(out or fresh_folder("evaluate"), "evaluate", settings.model_dump())
        done = 0
    summary: dict[str, Any] | None = None
    if run.status == "done":
        summary = list(run.events())[-1]
    else:
        try:
            with progress("Episodes", settings.episodes, done) as tell:
                for event in keep(run, lambda snapshot: evaluate(settings, workers, snapshot)):
                    tell(min(event.step + 1, settings.episodes))
                    summary = event.to_dict()
        except KeyboardInterrupt:
            print(f"Stopped; go on with: kinfolk eval --resume {run.folder}", file=sys.stderr)
            raise
        finally:
            workers.close()
    assert summary is not None
    if json:
        print_json({"run": str(run.folder), "settings": settings.model_dump(), "summary": summary})
    else:
        _print_summary(settings.world, settings.seed, summary)
        if plot:
            _print_populations(settings)
        print(f"The run lies in {run.folder}")
        if settings.replays:
            print(f"Watch it: kinfolk view {run.folder}")


def _try_out(settings: Any) -> None:
    """Find what is wrong with a line-up before a folder is made for it."""
    from kinfolk.play.slots import slot_table
    from kinfolk.policies.resolve import build, resolve
    from kinfolk.worlds import build as build_world

    warm(settings.world, settings.world_settings, settings.preset, settings.slots)
    spec = build_world(settings.world, settings.world_settings, 1, settings.preset).spec
    warn_of_idle_slots(
        list(settings.slots), slot_table(spec, list(settings.slots), settings.slot_map)
    )
    for uri in settings.slots.values():
        resolved = resolve(uri)
        if settings.isolate == "none":  # an isolated policy is not let into this process
            build(resolved, spec).close()


def _print_summary(world: str, seed: int, summary: dict[str, Any]) -> None:
    rows = [
        (
            name,
            interval(summary["returns"][name]),
            interval(summary["lives"][name]),
            f"{summary['reward_per_tick'][name][0]:.3f}",
        )
        for name in summary["returns"]
    ]
    length = interval(summary["ticks"])
    title = f"{world}: {summary['episodes']} episodes of seed {seed}, length {length} ticks"
    print_table(title, ("slot", "return per episode (95 %)", "lives (95 %)", "reward/tick"), rows)
    if summary["measures"]:
        measures = [(name, figures(found)) for name, found in summary["measures"].items()]
        print_table("", ("measure", "mean (95 %)"), measures)


def _print_populations(settings: Any) -> None:
    """Play the first episode once more, which gives the same, and plot who lived when."""
    from kinfolk.cli.plot import print_plot
    from kinfolk.evaluation.watched import watch_episode
    from kinfolk.jobs.evaluate import matches

    watched = watch_episode(next(matches(settings, 0)), 0)
    for name, series in zip(watched.groups, watched.populations.T.tolist(), strict=True):
        print_plot(f"{name} alive, over the {watched.result.ticks} ticks of episode 0", series)
