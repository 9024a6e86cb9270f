"""The kinds of figures that runs have, and the one function that draws them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from kinfolk.core.errors import UsageError, format_suggestion
from kinfolk.core.settings import validate_settings
from kinfolk.evaluation.figures.matrices import draw_archive
from kinfolk.evaluation.figures.style import draw_panels
from kinfolk.jobs.figures.curves import draw_populations, draw_run_curves
from kinfolk.jobs.figures.estimates import draw_run_estimates, draw_run_profiles
from kinfolk.jobs.figures.payoffs import draw_payoffs
from kinfolk.jobs.figures.sources import FigureSource, require_no_metric, require_one


def _draw_archive(sources: Sequence[FigureSource], metric: str | None) -> Any:
    """Draw the MAP-Elites archive of an evolution of nets, or of teams of roles."""
    require_no_metric(metric, "archives")
    from kinfolk.jobs.evolve_nets.outputs import load_fitness_grid
    from kinfolk.jobs.evolve_nets.settings import EvolveNets
    from kinfolk.jobs.evolve_roles.archive.file import load_archive

    source = require_one(sources)
    if source.run is None:
        raise UsageError("An archive is drawn from a stored run.")
    if source.job == "evolve_roles":
        archive = load_archive(source.run.folder)
        axes = [(axis["name"], axis["low"], axis["high"]) for axis in archive.axes]
        return draw_archive(archive.score_grid("teams"), axes, f"{archive.metric}, fresh games")
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
        ("train", "exploit", "evolve_roles", "evolve_nets", "sweep"),
        "learning curves, with intervals over runs that differ in their seed",
        draw_run_curves,
    ),
    "estimates": FigureKind(
        (
            "evaluate",
            "scenarios",
            "compare",
            "round_robin",
            "tournament",
            "crossplay",
            "exploit",
            "evolve_roles",
            "sweep",
            "study",
        ),
        "means with intervals",
        draw_run_estimates,
    ),
    "populations": FigureKind(
        ("evaluate", "train"), "how many agents of each group live", draw_populations
    ),
    "payoffs": FigureKind(
        ("round_robin", "tournament", "crossplay", "train", "evolve_roles"),
        "what each policy earned against each other",
        draw_payoffs,
    ),
    "archive": FigureKind(("evolve_nets", "evolve_roles"), "the MAP-Elites archive", _draw_archive),
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
    "tournament": "payoffs",
    "crossplay": "payoffs",
    "sweep": "estimates",
    "study": "estimates",
    "train": "curves",
    "exploit": "estimates",
    "evolve_roles": "curves",
    "evolve_nets": "curves",
}


def draw_runs(
    sources: Sequence[FigureSource],
    kind: str | None = None,
    metric: str | Sequence[str] | None = None,
) -> Any:
    """Draw runs of one job as one figure.

    Args:
        sources: The runs; those that differ in their seed only are one line with an interval.
        kind: One of `FIGURE_KINDS`; None takes the first that the job has.
        metric: What is drawn, several as panels below each other; None takes that of the job.

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
            others = ", ".join(name.replace("_", " ") for name in _DEFAULT_KINDS)
            raise UsageError(
                f"A run of {jobs[0]} has no figure; runs of these jobs have: {others}."
            )
        kind = _DEFAULT_KINDS[jobs[0]]
    if kind not in kinds:
        hint = format_suggestion(kind, kinds)
        raise UsageError(f"A run of {jobs[0]} has no figure '{kind}'.{hint}")
    draw = FIGURE_KINDS[kind].draw
    metrics: Sequence[Any] = [metric] if isinstance(metric, str) else metric or (None,)
    return draw_panels([partial(draw, sources, each) for each in metrics])
