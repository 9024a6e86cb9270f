"""The command `kinfolk eval` and its checks."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Annotated, Any

import typer

from kinfolk import jobs
from kinfolk.cli import output
from kinfolk.cli.compile import compile_kernels
from kinfolk.cli.flags import job_call, warn_of_idle_slots
from kinfolk.cli.run_lifecycle import interruptible
from kinfolk.core.errors import DamagedRunError, UsageError
from kinfolk.evaluation.formatting import format_estimate, format_estimate_1dp, format_sample_size

_SHOWN_FAILURES = 5


def eval_command(
    context: typer.Context,
    parallel_policy: Annotated[
        bool, typer.Option("--parallel-policy", help="Short for --isolate agent.")
    ] = False,
    plot: Annotated[bool, typer.Option("--plot", help="Plot the first episode.")] = False,
) -> None:
    """Play episodes with a team of policies and report how each slot did."""
    call = job_call(context)
    engine = call.make_engine()
    if parallel_policy and call.flags.setdefault("isolate", "agent") != "agent":
        short = "--parallel-policy is short for --isolate agent"
        raise UsageError(f"{short}; it does not go with --isolate {call.flags['isolate']}.")
    with output.stdout_for_document(call.json):
        run, settings = call.open_run("evaluate", jobs.Evaluate, _check)
        summary = _read_summary(run) if run.status == "done" else _evaluate(run, settings, engine)
    failed, episodes = summary["failed_slots"], summary["episodes"]
    never_acted = report_failures(failed, episodes, to_stderr=call.json)
    if call.json:
        output.print_json(_build_document(run, settings, summary))
    else:
        print_summary(settings.world, settings.seed, summary, run)
        if plot:
            plot_populations(settings)
        print(f"The run lies in {run.folder}")
        if settings.replays:
            output.hint(f"Watch it: {output.command('view', run.folder)}")
    if never_acted:
        raise typer.Exit(1)


def _check(settings: Any) -> None:
    """Check the settings before a run folder is created.

    Raises:
        UsageError: A policy cannot play this world, or the sandbox cannot be used.
    """
    if settings.sandbox:
        _print_enforced(settings)
    check_policies(settings)


def check_policies(settings: Any) -> None:
    """Check the policies of all slots and compile their kernels, before a run folder is created.

    Raises:
        UsageError: A policy cannot be found or built for this world.
    """
    from kinfolk.policies.build import build_policy

    trusted = [slot for slot in settings.slots if settings.is_trusted(slot)]
    ours = [s for s in settings.slots if s in trusted or str(s.policy_uri).startswith("kin://")]
    uris = {slot.id: slot.policy_uri for slot in ours if slot.policy_uri is not None}
    compile_kernels(settings.world, settings.world_settings, settings.preset, uris)
    spec = settings.world_ref.spec
    warn_of_idle_slots(settings.slot_ids, settings.build_assignment(spec))
    for slot in settings.slots:
        resolved = slot.resolve_policy(slot in trusted)
        if slot in trusted:  # an isolated policy is not loaded into this process
            build_policy(resolved, spec).close()


def _print_enforced(settings: Any) -> None:
    """Print which restrictions of the sandbox this machine can enforce, and which it cannot.

    Raises:
        UsageError: A slot is not isolated, or --strict is set and a restriction is unsupported.
    """
    from kinfolk.isolation.sandbox.support import list_enforced, list_unsupported

    if any(settings.is_trusted(slot) for slot in settings.slots):
        advice = "give --isolate slot or agent with it"
        raise UsageError(f"--sandbox restricts worker processes; {advice}.")
    for part in list_enforced():
        output.note(f"Sandbox: {part}.")
    for part in list_unsupported():
        if settings.strict:
            raise UsageError(f"This machine cannot enforce: {part}. --strict asks for it.")
        print(f"Sandbox: this machine CANNOT enforce: {part}.", file=sys.stderr)


def _read_summary(run: Any) -> dict[str, Any]:
    """Return the summary of a finished evaluation, which is its last event.

    Raises:
        DamagedRunError: The last event is not a summary.
    """
    last: dict[str, Any] = {}
    for event in run.events():
        last = event
    if last.get("kind") != "evaluated":
        raise DamagedRunError(f"{run.folder} is damaged: its events do not end with a summary.")
    return last


def _evaluate(run: Any, settings: Any, engine: Any) -> dict[str, Any]:
    """Run the evaluation, store it and show progress; return its last event, the summary.

    Args:
        run: Run folder to write or to resume.
        settings: Settings of the evaluation.
        engine: Engine that runs the tasks; it is closed at the end.
    """
    from kinfolk.core.events import TimingEvent
    from kinfolk.jobs.evaluate import EpisodePlayed
    from kinfolk.store.run_job import run_and_store

    before = [event for event in run.events() if event["kind"] == "episode_played"]
    failures = sum(len(event["failures"]) for event in before)
    warned: set[str] = set()
    summary: dict[str, Any] = {}
    bar = output.progress("Episodes", settings.episodes, len(before))
    with interruptible("eval", run, engine), bar as tell:
        for event in run_and_store(run, lambda state: jobs.evaluate(settings, engine, state)):
            if isinstance(event, EpisodePlayed):
                failures += len(event.failures)
                note = f"failures of policies so far: {failures}" if failures else ""
                tell(event.step + 1, note)
            elif isinstance(event, TimingEvent):
                fresh = set(event.to_dict()["warnings"]) - warned
                warned |= fresh
                for warning in sorted(fresh):
                    print(warning, file=sys.stderr, flush=True)
            else:
                summary = event.to_dict()
    return summary


def _build_document(run: Any, settings: Any, summary: dict[str, Any]) -> dict[str, Any]:
    """Return an evaluation as one JSON document; its schema is in `kinfolk.evaluation.export`.

    Args:
        run: Run folder of the evaluation.
        settings: Settings of the evaluation.
        summary: Last event of the run.
    """
    from kinfolk.evaluation.export import SCHEMA_NAME, SCHEMA_VERSION
    from kinfolk.isolation.sandbox.support import list_enforced, list_unsupported

    requested, enforced, unsupported = settings.sandbox, list_enforced(), list_unsupported()
    return {
        "schema": SCHEMA_NAME,
        "version": SCHEMA_VERSION,
        "run": str(run.folder),
        "settings": settings.model_dump(),
        "summary": summary,
        "failures": [{"episode": episode, **failure} for episode, failure in _iter_failures(run)],
        "sandbox": {
            "requested": requested,
            "enforced": enforced if requested else [],
            "not_enforced": unsupported if requested else [*enforced, *unsupported],
        },
        "timings": _read_timings(run),
    }


def _iter_failures(run: Any) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the failures of policies in a run, each with the number of its episode."""
    for event in run.events():
        if event["kind"] == "episode_played":
            yield from ((event["step"], failure) for failure in event["failures"])


def report_failures(failed: Mapping[str, Any], episodes: int, to_stderr: bool) -> bool:
    """Print which slots failed, and return whether the policy of any slot never acted.

    Args:
        failed: Counts by slot, from `count_failures`.
        episodes: Episodes that were played.
        to_stderr: Whether to print on stderr, because stdout is reserved for a JSON document.
    """
    from kinfolk.evaluation.statistics import describe_failures, has_never_acted

    for line in describe_failures(failed, episodes):
        print(line, file=sys.stderr if to_stderr else sys.stdout)
    return any(has_never_acted(counts, episodes) for counts in failed.values())


def _read_timings(run: Any) -> dict[str, Any]:
    """Return the aggregated timings of a run; damaged lines are left out with a warning."""
    from kinfolk.evaluation.rollout import aggregate_timings, filter_valid_timings
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
        run: Run folder, from which the first failures are read.
    """
    timings = _read_timings(run)
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
    _print_failures(summary, run)


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


def _print_failures(summary: dict[str, Any], run: Any) -> None:
    """Print the number of failures and invalid actions, and the first failures."""
    from kinfolk.isolation.failures import format_failure

    if summary["failures"]:
        print(f"{summary['failures']} failures of policies; the first of them:")
        for episode, failure in islice(_iter_failures(run), _SHOWN_FAILURES):
            print(f"  episode {episode}: {format_failure(failure['message'], failure['location'])}")
    if summary["invalid_actions"]:
        print(f"{summary['invalid_actions']} actions were invalid, and replaced by doing nothing.")


def plot_populations(settings: Any) -> None:
    """Play the first episode again, with the same result, and plot its population sizes."""
    from kinfolk.evaluation.trajectory import trace_episode
    from kinfolk.jobs.evaluate import evaluation_tasks

    trace = trace_episode(next(evaluation_tasks(settings)), 0)
    for name, series in zip(trace.groups, trace.populations.T.tolist(), strict=True):
        output.print_plot(f"{name} alive, over the {trace.report.ticks} ticks of episode 0", series)
