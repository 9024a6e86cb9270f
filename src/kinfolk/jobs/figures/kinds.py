"""The kinds of figures that runs have, and the one function that draws them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from kinfolk.core.errors import UsageError, format_suggestion
from kinfolk.core.settings import validate_settings
from kinfolk.evaluation.figures.matrices import draw_archive, draw_matrix
from kinfolk.jobs.figures.curves import draw_populations, draw_run_curves
from kinfolk.jobs.figures.estimates import draw_run_estimates, draw_run_profiles
from kinfolk.jobs.figures.sources import FigureSource, name_policies, require_one


def _draw_payoffs(sources: Sequence[FigureSource], metric: str | None) -> Any:
    """Draw what each policy of a round robin earned against each other, or how often it won."""
    if metric not in (None, "score", "won"):
        raise UsageError(f"Payoffs are of the metric score or won, not of '{metric}'.")
    source = require_one(sources)
    games = source.of_kind("pair_played")
    names = name_policies(list(source.settings["policies"]))
    cells: dict[tuple[int, int], list[float]] = {}
    for game in games:
        a, b = float(game["first_score"]), float(game["second_score"])
        pair = (a, b) if metric != "won" else ((a > b) + 0.5 * (a == b), (b > a) + 0.5 * (a == b))
        cells.setdefault((game["first"], game["second"]), []).append(pair[0])
        cells.setdefault((game["second"], game["first"]), []).append(pair[1])
    values = np.full((len(names), len(names)), np.nan)
    for place, scores in cells.items():
        values[place] = np.mean(scores)
    n = len(games) // max(1, len(names) * (len(names) - 1) // 2)
    what = "share of games won" if metric == "won" else "mean return per life"
    return draw_matrix(values, names, f"{what}\n{n} games each")


def _draw_archive(sources: Sequence[FigureSource], metric: str | None) -> Any:  # noqa: ARG001, of all kinds
    """Draw the MAP-Elites archive of an evolution of nets."""
    from kinfolk.jobs.evolve_nets.outputs import load_fitness_grid
    from kinfolk.jobs.evolve_nets.settings import EvolveNets

    source = require_one(sources)
    if source.run is None:
        raise UsageError("An archive is drawn from a stored run.")
    settings = validate_settings(EvolveNets, source.settings)
    grid, _ = load_fitness_grid(source.run, settings)
    ranges = [(axis.name.replace("_", " "), axis.low, axis.high) for axis in settings.archive]
    return draw_archive(grid, ranges, "fitness")


class FigureKind(NamedTuple):
    """A kind of figure: who has it, what it shows, and the function that draws it."""

    jobs: tuple[str, ...]
    description: str
    draw: Callable[[Sequence[FigureSource], str | None], Any]


FIGURE_KINDS = {
    "curves": FigureKind(
        ("train", "evolve_roles", "evolve_nets", "sweep"),
        "learning curves, with intervals over runs that differ in their seed",
        draw_run_curves,
    ),
    "estimates": FigureKind(
        ("evaluate", "scenarios", "compare", "round_robin", "evolve_roles", "sweep"),
        "means with intervals",
        draw_run_estimates,
    ),
    "populations": FigureKind(
        ("evaluate", "train"), "how many agents of each group live", draw_populations
    ),
    "payoffs": FigureKind(
        ("round_robin",), "what each policy earned against each other", _draw_payoffs
    ),
    "archive": FigureKind(("evolve_nets",), "the MAP-Elites archive", _draw_archive),
    "profile": FigureKind(
        ("evaluate", "compare", "sweep", "train", "evolve_roles", "evolve_nets"),
        "the share of episodes or seeds above each value",
        draw_run_profiles,
    ),
}
_DEFAULT_KINDS = {
    "evaluate": "estimates",
    "scenarios": "estimates",
    "compare": "estimates",
    "round_robin": "payoffs",
    "sweep": "estimates",
    "train": "curves",
    "evolve_roles": "curves",
    "evolve_nets": "curves",
}


def draw_runs(
    sources: Sequence[FigureSource], kind: str | None = None, metric: str | None = None
) -> Any:
    """Draw runs of one job as one figure.

    Args:
        sources: The runs; those that differ in their seed only are one line with an interval.
        kind: One of `FIGURE_KINDS`; None takes the first that the job has.
        metric: What is drawn; None takes that of the job.

    Returns:
        A `matplotlib.figure.Figure`.

    Raises:
        UsageError: There is no such kind or metric, or the runs do not go together.
        MissingLibraryError: matplotlib is not installed.
    """
    if not sources:
        raise UsageError("There is no run to draw.")
    jobs = list(dict.fromkeys(source.job for source in sources))
    if len(jobs) > 1:
        raise UsageError(
            f"One figure is of runs of one job; these are of {' and '.join(jobs)}. Draw them one by one."
        )
    kinds = [name for name, known in FIGURE_KINDS.items() if jobs[0] in known.jobs]
    if kind is None:
        if not kinds:
            raise UsageError(f"A run of {jobs[0]} has no figure.")
        kind = _DEFAULT_KINDS[jobs[0]]
    if kind not in kinds:
        hint = format_suggestion(kind, kinds)
        raise UsageError(f"A run of {jobs[0]} has no figure '{kind}'.{hint}")
    return FIGURE_KINDS[kind].draw(sources, metric)
