"""The command `kinfolk eval` and its checks."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from kinfolk.cli.compile import compile_kernels
from kinfolk.cli.flags import job_call
from kinfolk.cli.formatting import command, hint, note, print_json, progress, stdout_for_document
from kinfolk.cli.run_lifecycle import interruptible
from kinfolk.cli.slots import warn_of_idle_slots
from kinfolk.core.errors import DamagedRunError, UsageError


def eval_command(
    context: typer.Context,
    parallel_policy: Annotated[
        bool, typer.Option("--parallel-policy", help="Short for --isolate agent.")
    ] = False,
    plot: Annotated[bool, typer.Option("--plot", help="Plot the first episode.")] = False,
) -> None:
    """Play episodes with a team of policies and report how each slot did."""
    from kinfolk.cli.reports.evaluate_report import (
        document,
        plot_populations,
        print_summary,
        report_failures,
    )
    from kinfolk.jobs.evaluate import Evaluate

    call = job_call(context)
    workers = call.make_engine()
    if parallel_policy and call.flags.setdefault("isolate", "agent") != "agent":
        raise UsageError(
            f"--parallel-policy is short for --isolate agent; it does not go with "
            f"--isolate {call.flags['isolate']}."
        )
    with stdout_for_document(call.json):
        run, settings = call.open_run("evaluate", Evaluate, _check)
        summary = _summary_of(run) if run.status == "done" else _play(run, settings, workers)
    failed = summary["failed_slots"]
    never_acted = report_failures(failed, summary["episodes"], to_stderr=call.json)
    if call.json:
        print_json(document(run, settings, summary))
    else:
        print_summary(settings.world, settings.seed, summary, run)
        if plot:
            plot_populations(settings)
        print(f"The run lies in {run.folder}")
        if settings.replays:
            hint(f"Watch it: {command('view', run.folder)}")
    if never_acted:
        raise typer.Exit(1)


def _check(settings: Any) -> None:
    """Find what is wrong before a folder is made for the run."""
    _print_enforced(settings)
    check_policies(settings)


def check_policies(settings: Any) -> None:
    """Find what is wrong with a team before a folder is made for it."""
    from kinfolk.policies.resolve import build_policy

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
    """Print, before the start, what a sandbox can enforce on this machine."""
    if not settings.sandbox:
        return
    from kinfolk.isolation.sandbox.restrictions import list_enforced, list_unsupported

    if any(settings.is_trusted(slot) for slot in settings.slots):
        raise UsageError(
            "--sandbox restricts worker processes; give --isolate slot or agent with it."
        )
    for part in list_enforced():
        note(f"Sandbox: {part}.")
    for part in list_unsupported():
        if settings.strict:
            raise UsageError(f"This machine cannot enforce: {part}. --strict asks for it.")
        print(f"Sandbox: this machine CANNOT enforce: {part}.", file=sys.stderr)


def _summary_of(run: Any) -> dict[str, Any]:
    """Return the last event of an evaluation that is done.

    Raises:
        DamagedRunError: The last event is no summary.
    """
    last: dict[str, Any] = {}
    for event in run.events():
        last = event
    if last.get("kind") != "evaluated":
        raise DamagedRunError(f"{run.folder} is damaged: its events do not end with a summary.")
    return last


def _play(run: Any, settings: Any, workers: Any) -> dict[str, Any]:
    """Run the job into the store with progress, and return its last event, the summary.

    Args:
        run: The run.
        settings: Its settings.
        workers: Engine that runs its tasks.
    """
    from kinfolk.core.events import TimingEvent
    from kinfolk.jobs.evaluate import EpisodePlayed, evaluate
    from kinfolk.store.run_job import run_and_store

    before = [event for event in run.events() if event["kind"] == "episode_played"]
    failures = sum(len(event["failures"]) for event in before)
    warned: set[str] = set()
    summary: dict[str, Any] = {}
    bar = progress("Episodes", settings.episodes, len(before))
    with interruptible("eval", run, workers), bar as tell:
        for event in run_and_store(run, lambda snapshot: evaluate(settings, workers, snapshot)):
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
