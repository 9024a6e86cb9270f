"""How an evolution of nets is shown: generations, unseen episodes, maps of behaviours."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kinfolk.cli.formatting import note, print_table
from kinfolk.cli.plot import print_plot
from kinfolk.evaluation.formatting import format_estimate

_SHADES = " .:-=+*#%@"


def print_progress(event: Mapping[str, Any], tell: Callable[[int], None]) -> None:
    """A line on stderr for each unseen score; the bar for each generation."""
    if event["kind"] == "generation_scored":
        tell(event["step"] + 1)
    elif event["kind"] == "held_out":
        said = f"generation {event['step']}: {event['population']} {event['who']}"
        text = f"{said} scores {format_estimate(event['score'])} on {event['episodes']} unseen episodes"
        note(text)


def print_result(settings: Any, events: Sequence[Mapping[str, Any]]) -> None:
    """A table of populations, and a curve for each."""
    last = events[-1]
    scored = [event for event in events if event["kind"] == "generation_scored"]
    names = list(dict.fromkeys(event["population"] for event in scored))
    rows = []
    for name in names:
        mine = [event for event in scored if event["population"] == name]
        # The best of them, of elite or centre, is the one that `run:` plays.
        held = [e["score"] for e in events if e["kind"] == "held_out" and e["population"] == name]
        now = mine[-1]
        rows.append(
            (name, f"{mine[0]['mean']:.3g}", f"{now['mean']:.3g}", f"{now['best']:.3g}",
             format_estimate(max(held, key=lambda score: score[0])) if held else "", now["founders"])
        )  # fmt: skip
        print_plot(
            f"{name}: mean fitness of {len(mine)} generations", _above([e["mean"] for e in mine])
        )
    print_table(
        f"{settings.task}: {settings.net} nets by {settings.algorithm}, "
        f"{last['generations']} generations of {settings.population}, {last['steps']:,} ticks",
        ("population", "first mean", "last mean", "best", "best unseen (95 %)", "founders' lines"),
        rows,
    )
    if settings.goal is not None:
        word = (
            f"reached in generation {last['generations'] - 1}" if last["reached"] else "not reached"
        )
        print(f"The goal, {settings.goal_of} of {settings.goal:g}, was {word}.")


def _above(series: Sequence[float]) -> list[float]:
    """A curve that begins at its lowest point, if that is below zero: plots begin at zero."""
    low = min(0.0, *series)
    return [value - low for value in series]


def print_map(run: Any, settings: Any) -> None:
    """The map of behaviours as text; the picture lies in the run."""
    from kinfolk.jobs.evolve_nets.archive_figure import load_fitness_grid

    grid, axes = load_fitness_grid(run, settings)
    filled = grid[grid == grid]
    low, high = float(filled.min()), float(filled.max())
    print(f"Map of behaviours, fitness from {low:.3g} (.) to {high:.3g} (@); empty cells are blank")
    print(f"  down: {axes[0]}" + (f"; across: {axes[1]}" if len(axes) > 1 else ""))
    for line in grid.reshape(grid.shape[0], -1):
        cells = (" " if value != value else _shade(value, low, high) for value in line)
        print("  |" + "".join(cells) + "|")


def _shade(value: float, low: float, high: float) -> str:
    share = 1.0 if high == low else (value - low) / (high - low)
    return _SHADES[1 + min(len(_SHADES) - 2, int(share * (len(_SHADES) - 1)))]
