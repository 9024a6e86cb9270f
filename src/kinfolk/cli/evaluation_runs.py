"""What `kinfolk eval` and `kinfolk compare` share: checks, progress, failures and documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from typing import Annotated, Any

import typer

from kinfolk.cli import output
from kinfolk.cli.compile import compile_kernels
from kinfolk.cli.flags import warn_of_idle_slots, warn_of_unmapped_groups
from kinfolk.cli.output import echo
from kinfolk.cli.run_lifecycle import JobCall, interruptible
from kinfolk.core.errors import DamagedRunError, UsageError

ParallelPolicyOption = Annotated[
    bool, typer.Option("--parallel-policy", help="Short for --isolate agent.")
]


def apply_parallel_policy(call: JobCall, parallel_policy: bool) -> None:
    """Set `isolate` as `--parallel-policy` says.

    Raises:
        UsageError: `--isolate` says something else.
    """
    if parallel_policy and call.flags.setdefault("isolate", "agent") != "agent":
        short = "--parallel-policy is short for --isolate agent"
        raise UsageError(f"{short}; it does not go with --isolate {call.flags['isolate']}.")


def check_policies(settings: Any) -> None:
    """Check the policies of all slots and their map, before a run folder is created.

    Raises:
        UsageError: A policy cannot be found or built for this world.
    """
    build_policies(settings)
    spec = settings.world_ref.spec
    warn_of_idle_slots(settings.slot_ids, settings.build_assignments())
    warn_of_unmapped_groups(settings, spec)


def build_policies(settings: Any) -> None:
    """Compile the kernels of the policies of all slots, and build those that are not isolated.

    Raises:
        UsageError: A policy cannot be found or built for this world.
    """
    from kinfolk.isolation.worker_pool import may_build_here, require_trusted_code
    from kinfolk.policies.build import build_policy

    trusted = [slot for slot in settings.slots if settings.is_trusted(slot)]
    limits = settings.isolation_settings
    ours = [  # nothing of an isolated policy is built here, unless it is kinfolk's own
        slot
        for slot in settings.slots
        if slot.policy_uri is not None
        and (slot in trusted or may_build_here(slot.resolve_policy(trusted=False), limits))
    ]
    uris = {slot.id: str(slot.policy_uri) for slot in ours}
    compile_kernels(settings.world, settings.world_settings, settings.preset, uris)
    spec = settings.world_ref.spec
    for slot in settings.slots:
        resolved = slot.resolve_policy(slot in trusted)
        if slot in trusted:  # an isolated policy is not loaded into this process
            build_policy(resolved, spec).close()
        else:
            require_trusted_code(resolved, limits)


def check_sandbox(evaluations: Sequence[Any]) -> None:
    """Print which restrictions and limits this machine can enforce, and which it cannot.

    Args:
        evaluations: Settings of the evaluations, which differ in their slots only.

    Raises:
        EngineError: This machine has no sandbox.
        UsageError: --strict is set and a restriction is unsupported.
    """
    from kinfolk.isolation.failures import IsolationSettings
    from kinfolk.isolation.sandbox.support import (
        describe_resource_limits,
        list_enforced,
        list_unsupported,
        require_sandbox,
    )

    settings = evaluations[0]
    _check_readable(evaluations)
    if settings.sandbox:
        require_sandbox()
    for part in list_enforced() if settings.sandbox else ():
        output.note(f"Sandbox: {part}.")
    if settings.sandbox or settings.memory_limit != IsolationSettings().memory_limit:
        output.note(f"Limits: {describe_resource_limits(settings.memory_limit)}.")
    if not settings.sandbox:
        return
    for part in list_unsupported():
        if settings.strict:
            raise UsageError(f"This machine cannot enforce: {part}. --strict asks for it.")
        echo(f"Sandbox: this machine CANNOT enforce: {part}.", err=True)


def _check_readable(evaluations: Sequence[Any]) -> None:
    """Check that slots which `--sandbox-read` names exist.

    Raises:
        UsageError: One does not.
    """
    from kinfolk.core.errors import format_suggestion
    from kinfolk.isolation.sandbox.policy_files import split_readable

    known = [*dict.fromkeys(name for settings in evaluations for name in settings.slot_ids)]
    for entry in evaluations[0].sandbox_read:
        slot, _ = split_readable(entry)
        if slot and slot not in known:
            hint = f"{format_suggestion(slot, known)} A path with '=' is written ./{entry}"
            raise UsageError(f"--sandbox-read {entry}: there is no slot '{slot}'.{hint}")


def digest_policies(evaluations: Sequence[Any]) -> dict[str, str]:
    """Return a digest of each policy with its own files, by which a resumed run knows it again.

    Args:
        evaluations: Settings of the evaluations, which differ in their slots only.
    """
    from kinfolk.isolation.sandbox.policy_files import digest_policy

    digests: dict[str, set[str]] = {}
    for settings in evaluations:
        for slot in settings.slots:
            resolved = slot.resolve_policy(trusted=False)
            name = slot.policy_uri or resolved.class_path
            digests.setdefault(name, set()).add(digest_policy(resolved))
    return {name: " ".join(sorted(values)) for name, values in digests.items()}


def read_last_event(run: Any, kind: str) -> dict[str, Any]:
    """Return the last event of a finished run, which holds its results.

    Raises:
        DamagedRunError: The last event is of another kind.
    """
    last: dict[str, Any] = {}
    for event in run.events():
        last = event
    if last.get("kind") != kind:
        raise DamagedRunError(f"{run.folder} is damaged: its events do not end with a summary.")
    return last


def run_with_progress(
    command: str,
    run: Any,
    engine: Any,
    job: Callable[[Any], Any],
    total: int,
    unit: str = "Episodes",
) -> dict[str, Any]:
    """Run an evaluation, store it and show progress; return its last event.

    Args:
        command: Command that resumes the run.
        run: Run folder to write or to resume.
        engine: Engine that runs the tasks; it is closed at the end.
        job: Takes the snapshot to resume from, or None, and returns the job's items.
        total: Number of events of played episodes or games, for the progress bar.
        unit: What these events are of: "Episodes", or "Games" that are played from every side.
    """
    from kinfolk.core.events import TimingEvent
    from kinfolk.store.run_job import run_and_store

    failures: list[int] = []  # of each episode that is done
    warned: set[str] = set()
    last: dict[str, Any] = {}
    with interruptible(command, run, engine), ExitStack() as stack:

        def start(snapshot: Any) -> Any:
            """Start the job and its progress; events that a resumed run plays again are cut off now."""
            failures.extend(_count_failures(event) for event in run.events() if _is_played(event))
            bars.append(stack.enter_context(output.progress(unit, total, len(failures))))
            return job(snapshot)

        bars: list[Callable[..., None]] = []
        for event in run_and_store(run, start):
            last = event.to_dict()
            if isinstance(event, TimingEvent):
                fresh = set(last["warnings"]) - warned
                warned |= fresh
                for warning in sorted(fresh):
                    echo(warning, err=True)
            elif _is_played(last):
                failures.append(_count_failures(last))
                note = f"failures of policies so far: {sum(failures)}" if any(failures) else ""
                bars[0](len(failures), note)
    return last


def _is_played(event: Mapping[str, Any]) -> bool:
    """Return whether an event is of a played episode."""
    return str(event["kind"]).endswith("_played")


def _count_failures(event: Mapping[str, Any]) -> int:
    """Return the number of failures in a played episode, which earlier versions stored."""
    failures: list[Any] | int = event["failures"]
    return failures if isinstance(failures, int) else len(failures)


def report_failures(run: Any, last: Mapping[str, Any]) -> bool:
    """Print which policies failed, and return whether one of them failed in every episode.

    Args:
        run: Run folder that holds all failures.
        last: Last event of the run.
    """
    always_failed = print_failures(run, last)
    for message in always_failed:
        note = "the exit code is 1, and the results are stored all the same"
        echo(f"{message}: {note}.", err=True)
    return bool(always_failed)


def print_failures(run: Any, last: Mapping[str, Any]) -> list[str]:
    """Print which policies failed; return a message for each that failed in every episode.

    Args:
        run: Run folder that holds all failures.
        last: Last event of the run.
    """
    from kinfolk.evaluation.failures import describe_run_failures

    messages, always_failed = describe_run_failures(run.config["settings"], last)
    for message in messages:
        echo(message)
    if messages:
        table = output.command("export", "metrics", run.folder, "--table", "failures")
        output.hint(f"All failures with their tracebacks: {table}")
    return always_failed


def describe_sandbox(settings: Any) -> dict[str, Any]:
    """Return what was asked of the sandbox and what this machine enforces, for a JSON document."""
    from kinfolk.isolation.sandbox.support import (
        describe_resource_limits,
        list_enforced,
        list_unsupported,
    )

    requested, enforced, unsupported = settings.sandbox, list_enforced(), list_unsupported()
    limits = []
    if settings.isolate != "none":
        limits.append(describe_resource_limits(settings.memory_limit))
    return {
        "requested": requested,
        "enforced": [*(enforced if requested else []), *limits],
        "not_enforced": unsupported if requested else [*enforced, *unsupported],
    }


def list_failures(run: Any) -> list[dict[str, Any]]:
    """Return a record of each failure in a run, for a JSON document."""
    from kinfolk.evaluation.failures import iter_failures

    return list(iter_failures(run.config["job"], run.config["settings"], run.events()))


def read_timings(run: Any) -> dict[str, Any]:
    """Return the aggregated timings of a run; damaged lines are left out with a warning."""
    from kinfolk.evaluation.rollout import merge_timings, parse_timings
    from kinfolk.store.event_log import TIMINGS_FILE

    timings = run.timings()
    valid = parse_timings(timings.lines)
    damaged = timings.n_damaged + len(timings.lines) - len(valid)
    if damaged:
        count = "1 line" if damaged == 1 else f"{damaged} lines"
        echo(f"{run.folder / TIMINGS_FILE} is damaged: {count} left out.", err=True)
    return asdict(merge_timings(valid))
