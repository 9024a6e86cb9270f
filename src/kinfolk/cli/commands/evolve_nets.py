"""`kinfolk evolve nets`: the command, its checks and its report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import typer

from kinfolk import jobs
from kinfolk.cli.compile import compile_kernels
from kinfolk.cli.flags import job_call
from kinfolk.cli.output import echo, note, print_json, print_plot, print_table, progress
from kinfolk.cli.run_lifecycle import format_policy_uris, interruptible
from kinfolk.evaluation.formatting import (
    format_estimate,
    format_sample_size,
)

_SHADES = " .:-=+*#%@"  # of cells of an archive, from the lowest fitness to the highest


def nets(context: typer.Context) -> None:
    """Evolve nets in a world, on a Gymnasium task, or to imitate another policy."""
    call = job_call(context)
    run, settings = call.open_run("evolve_nets", jobs.EvolveNets, _check_nets)
    if run.status != "done":
        _evolve_nets(run, settings, call.make_engine())
    events = list(run.events())
    if call.json:
        folder, chosen = str(run.folder), settings.model_dump()
        print_json({"run": folder, "settings": chosen, "summary": events[-1]})
    else:
        names = _print_result(settings, events)
        if settings.archive:
            _print_archive(run, settings)
        echo(f"The run lies in {run.folder}; its nets play as {format_policy_uris(run, names)}")
        every, done = settings.hall_every, events[-1]["generations"]
        if every is not None and done >= every:
            uris = [f"run:{run.folder}@hall/{name}-{done - done % every}" for name in names]
            echo(f"The hall of fame plays too: its last champions are {', '.join(uris)}")
    if events[-1]["goal_reached"] is False:
        raise typer.Exit(1)


def _check_nets(settings: Any) -> None:
    """Check the settings and compile their kernels, before a run folder is created.

    Raises:
        UsageError: Something in the settings is unknown or does not fit.
    """
    from kinfolk.jobs.evolve_nets.state import initial_state

    initial_state(settings)
    compile_kernels(settings.task, settings.world_settings, settings.preset, settings.fixed)


def _evolve_nets(run: Any, settings: Any, engine: Any) -> None:
    """Run the evolution, store it in its run folder and show progress.

    Args:
        run: Run folder to write or to resume.
        settings: Settings of the evolution.
        engine: Engine that runs the tasks; it is closed at the end.
    """
    from kinfolk.store.run_job import run_and_store

    bar = progress("Generations", settings.generations)
    with interruptible("evolve nets", run, engine), bar as tell:
        for event in run_and_store(run, lambda state: jobs.evolve_nets(settings, engine, state)):
            if event.kind == "generation_scored":
                tell(event.step + 1)
            elif event.kind == "held_out":
                note(_describe_score(event))


def _describe_score(event: Any) -> str:
    """Return one line about a net's score on held-out episodes."""
    scored = f"generation {event.step}: {event.population} {event.individual}"
    return f"{scored} scores {format_estimate(event.score)} on {event.episodes} held-out episodes"


def _print_result(settings: Any, events: Sequence[Mapping[str, Any]]) -> list[str]:
    """Print a table of populations and the fitness curve of each; return the populations' names."""
    last = events[-1]
    scored = [event for event in events if event["kind"] == "generation_scored"]
    names = list(dict.fromkeys(event["population"] for event in scored))
    rows = []
    for name in names:
        generations = [event for event in scored if event["population"] == name]
        best = last["best"].get(name)
        means, end = [event["mean"] for event in generations], generations[-1]
        figures = [f"{value:.3g}" for value in (means[0], means[-1], end["best"])]
        estimate = (format_estimate(best), format_sample_size(best))
        rows.append((name, *figures, *estimate, end["n_lineages"]))
        lowest = min(0.0, *means)  # plots begin at zero
        title = f"{name}: mean fitness of {len(generations)} generations"
        print_plot(title, [mean - lowest for mean in means])
    print_table(
        f"{settings.task}: {settings.net} nets by {settings.search_name}, "
        f"{last['generations']} generations of {settings.population}, {last['steps']:,} ticks",
        ("population", "first mean", "last mean", "last best", "@best held-out (95 %)", "n",
         "lineages"),
        rows,
    )  # fmt: skip
    if last["best"]:
        echo(
            "@best is the net with the best score of all held-out evaluations; its score above is on "
            "other episodes."
        )
    if settings.goal is not None:
        reached = f"reached in generation {last['generations'] - 1}"
        outcome = reached if last["goal_reached"] else "not reached"
        echo(f"The goal, {settings.goal_of} of {settings.goal:g}, was {outcome}.")
    return names


def _print_archive(run: Any, settings: Any) -> None:
    """Print the MAP-Elites archive of a run as text, a character per cell."""
    from kinfolk.jobs.evolve_nets.outputs import load_fitness_grid

    grid, axes = load_fitness_grid(run, settings)
    filled = grid[grid == grid]
    low, high = float(filled.min()), float(filled.max())
    scale = f"fitness from {low:.3g} (.) to {high:.3g} (@)"
    echo(f"MAP-Elites archive, {scale}; empty cells are blank")
    echo(f"  down: {axes[0]}" + (f"; across: {axes[1]}" if len(axes) > 1 else ""))
    for line in grid.reshape(grid.shape[0], -1):
        cells = (" " if value != value else _shade(value, low, high) for value in line)
        echo("  |" + "".join(cells) + "|")


def _shade(value: float, low: float, high: float) -> str:
    """Return the character that shows a fitness value; higher values have darker characters.

    Args:
        value: Fitness between `low` and `high`.
        low: Lowest fitness in the archive.
        high: Highest fitness in the archive.
    """
    share = 1.0 if high == low else (value - low) / (high - low)
    return _SHADES[1 + min(len(_SHADES) - 2, int(share * (len(_SHADES) - 1)))]
