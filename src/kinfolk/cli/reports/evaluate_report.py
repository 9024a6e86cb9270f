"""Reports of an evaluation: tables for a terminal and a JSON document."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from kinfolk.cli.formatting import print_table
from kinfolk.evaluation.formatting import format_estimate, format_estimate_1dp, format_sample_size

_SHOWN_FAILURES = 5


def document(run: Any, settings: Any, summary: dict[str, Any]) -> dict[str, Any]:
    """Return the whole of an evaluation; see `kinfolk.evaluation.schema` for its form.

    Args:
        run: The run.
        settings: Its settings.
        summary: Its last event.
    """
    from kinfolk.evaluation.schema import SCHEMA_NAME, SCHEMA_VERSION
    from kinfolk.isolation.sandbox.restrictions import list_enforced, list_unsupported

    requested = settings.sandbox
    return {
        "schema": SCHEMA_NAME,
        "version": SCHEMA_VERSION,
        "run": str(run.folder),
        "settings": settings.model_dump(),
        "summary": summary,
        "failures": [
            {"episode": event["step"], **failure}
            for event in run.events()
            if event["kind"] == "episode_played"
            for failure in event["failures"]
        ],
        "sandbox": {
            "requested": requested,
            "enforced": list_enforced() if requested else [],
            "not_enforced": list_unsupported()
            if requested
            else [*list_enforced(), *list_unsupported()],
        },
        "timings": _timings(run),
    }


def report_failures(failed: Mapping[str, Any], episodes: int, to_stderr: bool) -> bool:
    """Print which slots failed, and return whether one never acted at all.

    Args:
        failed: What `count_failures` returned.
        episodes: Episodes that were played.
        to_stderr: Whether stdout belongs to a document.
    """
    from kinfolk.evaluation.results import describe_failures, has_never_acted

    for line in describe_failures(failed, episodes):
        print(line, file=sys.stderr if to_stderr else sys.stdout)
    return any(has_never_acted(counts, episodes) for counts in failed.values())


def _timings(run: Any) -> dict[str, Any]:
    """Return the run's timings as one; damaged lines are left out with a warning."""
    from kinfolk.evaluation.timing import aggregate_timings, filter_valid_timings
    from kinfolk.store.event_log import TIMINGS_FILE

    timings = run.timings()
    lines = filter_valid_timings(timings.lines)
    damaged = timings.n_damaged + len(timings.lines) - len(lines)
    if damaged:
        count = "1 line" if damaged == 1 else f"{damaged} lines"
        print(f"{run.folder / TIMINGS_FILE} is damaged: {count} left out.", file=sys.stderr)
    return aggregate_timings(lines)


def print_summary(world: str, seed: int, summary: dict[str, Any], run: Any) -> None:
    """Print the results of every slot, the metrics of the world and the failures.

    Args:
        world: Name of the world.
        seed: Random seed of the episodes.
        summary: Last event of the run.
        run: The run.
    """
    timings = _timings(run)
    rows = [
        (
            name,
            format_estimate_1dp(summary["returns"][name]),
            format_estimate_1dp(summary["lives"][name]),
            f"{summary['reward_per_tick'][name][0]:.3f}",
            f"{timings['slots'].get(name, {}).get('us_per_agent_step', 0.0):.1f}",
        )
        for name in summary["returns"]
    ]
    length = format_estimate_1dp(summary["ticks"])
    title = f"{world}: {summary['episodes']} episodes of seed {seed}, length {length} ticks"
    headings = ("slot", "return per episode (95 %)", "lives (95 %)", "reward/tick", "us/step")
    print_table(title, headings, rows)
    if summary["win_rate"]:
        _print_estimates("Earned most per life", "slot", "share of episodes", summary["win_rate"])
        paired = "return per life, paired by episode"
        _print_estimates("", paired, "difference", summary["differences"])
    if summary["metrics"]:
        _print_estimates("", "metric", "mean", summary["metrics"])
    _print_failures(summary, run)


def _print_estimates(title: str, names: str, value: str, estimates: dict[str, Any]) -> None:
    """Print a table with a row per name; n is the number of episodes to which it applies.

    Args:
        title: Line above the table.
        names: Heading of the names.
        value: Heading of the estimates.
        estimates: Estimates by name.
    """
    rows = [(name, format_estimate(e), format_sample_size(e)) for name, e in estimates.items()]
    print_table(title, (names, f"{value} (95 %)", "n"), rows)


def _print_failures(summary: dict[str, Any], run: Any) -> None:
    from kinfolk.isolation.failures import format_failure

    if summary["failures"]:
        print(f"{summary['failures']} failures of policies; the first of them:")
        lines = (
            f"  episode {event['step']}: {format_failure(failure['message'], failure['location'])}"
            for event in run.events()
            if event["kind"] == "episode_played"
            for failure in event["failures"]
        )
        for line, _ in zip(lines, range(_SHOWN_FAILURES), strict=False):
            print(line)
    if summary["invalid_actions"]:
        print(f"{summary['invalid_actions']} actions were invalid, and replaced by doing nothing.")


def plot_populations(settings: Any) -> None:
    """Play the first episode once more, which gives the same, and plot its populations."""
    from kinfolk.cli.plot import print_plot
    from kinfolk.evaluation.trajectory import trace_episode
    from kinfolk.jobs.evaluate import evaluation_tasks

    trace = trace_episode(next(evaluation_tasks(settings)), 0)
    for name, series in zip(trace.groups, trace.populations.T.tolist(), strict=True):
        print_plot(f"{name} alive, over the {trace.report.ticks} ticks of episode 0", series)
