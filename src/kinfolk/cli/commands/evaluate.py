"""The command `kinfolk eval` and its checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, Any

import typer

from kinfolk import jobs
from kinfolk.cli import output
from kinfolk.cli.evaluation_runs import (
    ParallelPolicyOption,
    apply_parallel_policy,
    check_policies,
    check_sandbox,
    describe_sandbox,
    digest_policies,
    list_failures,
    read_last_event,
    read_timings,
    report_failures,
    run_with_progress,
)
from kinfolk.cli.flags import job_call
from kinfolk.cli.output import echo
from kinfolk.cli.scenarios import (
    ScenarioFileOption,
    ScenarioOption,
    eval_scenarios,
    is_scenario_run,
)
from kinfolk.evaluation.formatting import format_estimate, format_estimate_1dp, format_sample_size


def eval_command(
    context: typer.Context,
    parallel_policy: ParallelPolicyOption = False,
    plot: Annotated[bool, typer.Option("--plot", help="Plot the first episode.")] = False,
    scenario: ScenarioOption = None,
    scenario_file: ScenarioFileOption = None,
) -> None:
    """Play episodes with a team of policies and report how each slot did.

    With --scenario, a slot is named after what its policy plays: a group, a world, or all.
    """
    call = job_call(context)
    apply_parallel_policy(call, parallel_policy)
    if scenario or is_scenario_run(call.resume):
        eval_scenarios(call, scenario or (), scenario_file)
        return
    engine = call.make_engine()
    with output.stdout_for_document(call.json):
        run, settings = call.open_run(
            "evaluate", jobs.Evaluate, _check, lambda settings: digest_policies([settings])
        )
        if run.status == "done":
            summary = read_last_event(run, "evaluated")
        else:
            job = partial(jobs.evaluate, settings, engine)
            summary = run_with_progress("eval", run, engine, job, settings.episodes)
        always_failed = report_failures(run, summary)
    if call.json:
        output.print_json(_build_document(run, settings, summary))
    else:
        print_summary(settings.world, settings.seed, summary, run)
        if plot:
            plot_populations(settings)
        echo(f"The run lies in {run.folder}")
        if settings.replays:
            output.hint(f"Watch it: {output.command('view', run.folder)}")
    if always_failed:
        raise typer.Exit(1)


def _check(settings: Any) -> None:
    """Check the settings before a run folder is created.

    Raises:
        UsageError: A policy cannot play this world, or the sandbox cannot be used.
    """
    check_sandbox([settings])
    check_policies(settings)


def _build_document(run: Any, settings: Any, summary: dict[str, Any]) -> dict[str, Any]:
    """Return an evaluation as one JSON document; its schema is in `kinfolk.evaluation.export`.

    Args:
        run: Run folder of the evaluation.
        settings: Settings of the evaluation.
        summary: Last event of the run.
    """
    from kinfolk.evaluation.export import SCHEMA_NAME, SCHEMA_VERSION

    return {
        "schema": SCHEMA_NAME,
        "version": SCHEMA_VERSION,
        "run": str(run.folder),
        "settings": settings.model_dump(),
        "summary": summary,
        "failures": list_failures(run),
        "sandbox": describe_sandbox(settings),
        "timings": read_timings(run),
    }


def print_summary(world: str, seed: int, summary: dict[str, Any], run: Any) -> None:
    """Print the results of every slot, the metrics of the world and the number of invalid actions.

    Args:
        world: Name of the world.
        seed: Random seed of the episodes.
        summary: Last event of the run.
        run: Run folder, from which timings are read.
    """
    timings = read_timings(run)
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
    output.print_table(title, headings, rows)
    if summary["win_rate"]:
        _print_estimates("Earned most per life", "slot", "share of episodes", summary["win_rate"])
        paired = "return per life, paired by episode"
        _print_estimates("", paired, "difference", summary["differences"])
    if summary["metrics"]:
        _print_estimates("", "metric", "mean", summary["metrics"])
    _print_slot_metrics(summary.get("slot_metrics", {}), list(summary["returns"]))
    if summary["invalid_actions"]:
        echo(f"{summary['invalid_actions']} actions were invalid, and replaced by doing nothing.")
    for note in summary["notes"]:
        echo(note)


def _print_estimates(title: str, names: str, value: str, estimates: dict[str, Any]) -> None:
    """Print a table of estimates, one row per name.

    Args:
        title: Line above the table.
        names: Heading of the first column, such as "slot".
        value: Heading of the column of means with confidence intervals.
        estimates: Estimates by name; their sample size is the last column.
    """
    rows = [(name, format_estimate(e), format_sample_size(e)) for name, e in estimates.items()]
    output.print_table(title, (names, f"{value} (95 %)", "n"), rows)


def _print_slot_metrics(estimates: Mapping[str, Any], slots: Sequence[str]) -> None:
    """Print what the agents of each slot did, a row per statistic; without what nobody did."""
    names = list(dict.fromkeys(name.removeprefix(f"{slots[0]}/") for name in estimates))
    rows = []
    for name in names:
        found = [estimates.get(f"{slot}/{name}") for slot in slots]
        if any(estimate is not None and estimate[0] != 0 for estimate in found):
            rows.append((name, *map(format_estimate, found)))
    if rows:
        title = "What each slot did, per episode (95 %)"
        output.print_table(title, ("", *slots), rows)


def plot_populations(settings: Any) -> None:
    """Play the first episode again, with the same result, and plot its population sizes."""
    from kinfolk.evaluation.trajectory import trace_episode
    from kinfolk.jobs.evaluate import evaluation_tasks

    trace = trace_episode(next(evaluation_tasks(settings)), 0)
    for name, series in zip(trace.groups, trace.populations.T.tolist(), strict=True):
        output.print_plot(f"{name} alive, over the {trace.report.ticks} ticks of episode 0", series)
