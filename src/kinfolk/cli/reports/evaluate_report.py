"""What an evaluation found, as a table and as a document."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from kinfolk.cli.formatting import print_table
from kinfolk.evaluation.formatting import format_estimate, format_estimate_1dp, format_sample_size

_SHOWN_FAILURES = 5


def document(run: Any, settings: Any, summary: dict[str, Any]) -> dict[str, Any]:
    """The whole of an evaluation; see `kinfolk.evaluation.schema` for its form."""
    from kinfolk.evaluation.schema import SCHEMA_NAME, SCHEMA_VERSION
    from kinfolk.isolation.sandbox.restrictions import list_enforced, list_unsupported

    asked = settings.sandbox
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
            "asked": asked,
            "enforced": list_enforced() if asked else [],
            "not_enforced": list_unsupported()
            if asked
            else [*list_enforced(), *list_unsupported()],
        },
        "timings": _timings(run),
    }


def report_failures(failed: Mapping[str, Any], episodes: int, to_stderr: bool) -> bool:
    """Say which slots failed, before anything else is said; whether one never acted at all.

    Args:
        failed: What `tally_failures` counted.
        episodes: How many were played.
        to_stderr: Whether stdout belongs to a document.
    """
    from kinfolk.evaluation.results import describe_failures, has_never_acted

    for line in describe_failures(failed, episodes):
        print(line, file=sys.stderr if to_stderr else sys.stdout)
    return any(has_never_acted(one, episodes) for one in failed.values())


def _timings(run: Any) -> dict[str, Any]:
    """The run's timings as one; lines that are damaged are left out, which is said."""
    from kinfolk.evaluation.timing import aggregate_timings, filter_valid_timings
    from kinfolk.store.event_log import TIMINGS_FILE

    kept = run.timings()
    lines = filter_valid_timings(kept.lines)
    damaged = kept.n_damaged + len(kept.lines) - len(lines)
    if damaged:
        count = "1 line" if damaged == 1 else f"{damaged} lines"
        print(f"{run.folder / TIMINGS_FILE} is damaged: {count} left out.", file=sys.stderr)
    return aggregate_timings(lines)


def print_summary(world: str, seed: int, summary: dict[str, Any], run: Any) -> None:
    """Tables for a terminal."""
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


def _print_estimates(title: str, names: str, value: str, found: dict[str, Any]) -> None:
    """A table with a row per name; n is the number of episodes to which it applies."""
    rows = [(name, format_estimate(one), format_sample_size(one)) for name, one in found.items()]
    print_table(title, (names, f"{value} (95 %)", "n"), rows)


def _print_failures(summary: dict[str, Any], run: Any) -> None:
    from kinfolk.isolation.failures import format_failure

    if summary["failures"]:
        print(f"{summary['failures']} failures of policies; the first of them:")
        lines = (
            f"  episode {event['step']}: {format_failure(failure['message'], failure.get('location', ''))}"
            for event in run.events()
            if event["kind"] == "episode_played"
            for failure in event["failures"]
        )
        for line, _ in zip(lines, range(_SHOWN_FAILURES), strict=False):
            print(line)
    if summary["invalid_actions"]:
        print(
            f"{summary['invalid_actions']} answers were no actions, and nothing was done in those steps."
        )


def plot_populations(settings: Any) -> None:
    """Play the first episode once more, which gives the same, and plot who lived when."""
    from kinfolk.cli.plot import print_plot
    from kinfolk.evaluation.trajectory import trace_episode
    from kinfolk.jobs.evaluate import evaluation_tasks

    watched = trace_episode(next(evaluation_tasks(settings)), 0)
    for name, series in zip(watched.groups, watched.populations.T.tolist(), strict=True):
        print_plot(f"{name} alive, over the {watched.report.ticks} ticks of episode 0", series)
