"""What an evaluation found, as a table and as a document."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from kinfolk.cli.show import figures, interval, print_table

_SHOWN_FAILURES = 5


def document(run: Any, settings: Any, summary: dict[str, Any]) -> dict[str, Any]:
    """The whole of an evaluation; see `kinfolk.evaluation.schema` for its form."""
    from kinfolk.evaluation.sandbox import enforced, missing
    from kinfolk.evaluation.schema import NAME, VERSION
    from kinfolk.evaluation.timing import summed

    asked = settings.sandbox
    return {
        "schema": NAME,
        "version": VERSION,
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
            "enforced": enforced() if asked else [],
            "not_enforced": missing() if asked else [*enforced(), *missing()],
        },
        "timings": summed(run.timings()),
    }


def report_failures(failed: Mapping[str, Any], episodes: int, to_stderr: bool) -> bool:
    """Say which slots failed, before anything else is said; whether one never acted at all.

    Args:
        failed: What `tally_failures` counted.
        episodes: How many were played.
        to_stderr: Whether stdout belongs to a document.
    """
    from kinfolk.evaluation.failed_slots import describe_failures, has_never_acted

    for line in describe_failures(failed, episodes):
        print(line, file=sys.stderr if to_stderr else sys.stdout)
    return any(has_never_acted(one, episodes) for one in failed.values())


def print_summary(world: str, seed: int, summary: dict[str, Any], run: Any) -> None:
    """Tables for a terminal."""
    from kinfolk.evaluation.timing import summed

    timings = summed(run.timings())
    rows = [
        (
            name,
            interval(summary["returns"][name]),
            interval(summary["lives"][name]),
            f"{summary['reward_per_tick'][name][0]:.3f}",
            f"{timings['slots'].get(name, {}).get('us_per_agent_step', 0.0):.1f}",
        )
        for name in summary["returns"]
    ]
    length = interval(summary["ticks"])
    title = f"{world}: {summary['episodes']} episodes of seed {seed}, length {length} ticks"
    headings = ("slot", "return per episode (95 %)", "lives (95 %)", "reward/tick", "us/step")
    print_table(title, headings, rows)
    if summary["win_rate"]:
        wins = [(name, figures(found)) for name, found in summary["win_rate"].items()]
        print_table("Earned most per life", ("slot", "share of episodes (95 %)"), wins)
        pairs = [(name, figures(found)) for name, found in summary["differences"].items()]
        print_table("", ("return per life, paired by episode", "difference (95 %)"), pairs)
    if summary["measures"]:
        measures = [(name, figures(found)) for name, found in summary["measures"].items()]
        print_table("", ("measure", "mean (95 %)"), measures)
    _print_failures(summary, run)


def _print_failures(summary: dict[str, Any], run: Any) -> None:
    from kinfolk.evaluation.failures import told

    if summary["failures"]:
        print(f"{summary['failures']} failures of policies; the first of them:")
        lines = (
            f"  episode {event['step']}: {told(failure['sentence'], failure.get('where', ''))}"
            for event in run.events()
            if event["kind"] == "episode_played"
            for failure in event["failures"]
        )
        for line, _ in zip(lines, range(_SHOWN_FAILURES), strict=False):
            print(line)
    if summary["faults"]:
        print(f"{summary['faults']} answers were no actions, and nothing was done in those steps.")


def plot_populations(settings: Any) -> None:
    """Play the first episode once more, which gives the same, and plot who lived when."""
    from kinfolk.cli.plot import print_plot
    from kinfolk.evaluation.watched import watch_episode
    from kinfolk.jobs.evaluate import matches

    watched = watch_episode(next(matches(settings, 0)), 0)
    for name, series in zip(watched.groups, watched.populations.T.tolist(), strict=True):
        print_plot(f"{name} alive, over the {watched.result.ticks} ticks of episode 0", series)
