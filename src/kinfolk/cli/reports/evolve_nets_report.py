"""Report of an evolution of nets: generations, held-out scores and archives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kinfolk.cli.formatting import note, print_table
from kinfolk.cli.plot import print_plot
from kinfolk.evaluation.formatting import format_estimate

_SHADES = " .:-=+*#%@"


def print_progress(event: Mapping[str, Any], tell: Callable[[int], None]) -> None:
    """Print a line on stderr for each held-out score; advance the bar for each generation."""
    if event["kind"] == "generation_scored":
        tell(event["step"] + 1)
    elif event["kind"] == "held_out":
        start = f"generation {event['step']}: {event['population']} {event['individual']}"
        text = f"{start} scores {format_estimate(event['score'])} on {event['episodes']} held-out episodes"
        note(text)


def print_result(settings: Any, events: Sequence[Mapping[str, Any]]) -> None:
    """Print a table of populations, and the fitness curve of each."""
    last = events[-1]
    scored = [event for event in events if event["kind"] == "generation_scored"]
    names = list(dict.fromkeys(event["population"] for event in scored))
    rows = []
    for name in names:
        generations = [event for event in scored if event["population"] == name]
        # The best of them, of elite or centre, is the one that `run:` plays.
        held = [e["score"] for e in events if e["kind"] == "held_out" and e["population"] == name]
        last_generation = generations[-1]
        rows.append(
            (name, f"{generations[0]['mean']:.3g}", f"{last_generation['mean']:.3g}", f"{last_generation['best']:.3g}",
             format_estimate(max(held, key=lambda score: score[0])) if held else "", last_generation["n_lineages"])
        )  # fmt: skip
        print_plot(
            f"{name}: mean fitness of {len(generations)} generations",
            _above([e["mean"] for e in generations]),
        )
    print_table(
        f"{settings.task}: {settings.net} nets by {settings.algorithm}, "
        f"{last['generations']} generations of {settings.population}, {last['steps']:,} ticks",
        ("population", "first mean", "last mean", "best", "best held-out (95 %)", "lineages"),
        rows,
    )
    if settings.goal is not None:
        word = (
            f"reached in generation {last['generations'] - 1}"
            if last["goal_reached"]
            else "not reached"
        )
        print(f"The goal, {settings.goal_of} of {settings.goal:g}, was {word}.")


def _above(series: Sequence[float]) -> list[float]:
    """Shift a curve so that its lowest point is not below zero, where plots begin."""
    low = min(0.0, *series)
    return [value - low for value in series]


def print_archive(run: Any, settings: Any) -> None:
    """Print the MAP-Elites archive as text; the run holds it as a figure."""
    from kinfolk.jobs.evolve_nets.archive_figure import load_fitness_grid

    grid, axes = load_fitness_grid(run, settings)
    filled = grid[grid == grid]
    low, high = float(filled.min()), float(filled.max())
    print(
        f"MAP-Elites archive, fitness from {low:.3g} (.) to {high:.3g} (@); empty cells are blank"
    )
    print(f"  down: {axes[0]}" + (f"; across: {axes[1]}" if len(axes) > 1 else ""))
    for line in grid.reshape(grid.shape[0], -1):
        cells = (" " if value != value else _shade(value, low, high) for value in line)
        print("  |" + "".join(cells) + "|")


def _shade(value: float, low: float, high: float) -> str:
    """Return the character of a fitness value.

    Args:
        value: The fitness.
        low: Lowest fitness.
        high: Highest fitness.
    """
    share = 1.0 if high == low else (value - low) / (high - low)
    return _SHADES[1 + min(len(_SHADES) - 2, int(share * (len(_SHADES) - 1)))]
