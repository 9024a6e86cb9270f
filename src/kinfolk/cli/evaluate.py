"""`kinfolk eval`."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from kinfolk.cli.begin import ConfigOption, OutOption, ResumeOption, begin, given, going
from kinfolk.cli.compile import compile_kernels
from kinfolk.cli.completion import complete_engine, complete_preset, complete_world
from kinfolk.cli.show import (
    JsonOption,
    command,
    hint,
    note,
    print_json,
    progress,
    stdout_for_document,
)
from kinfolk.cli.slots import MapOption, SetOption, SlotOption, pairs, slot_map, warn_of_idle_slots
from kinfolk.core.errors import DamagedRunError, UsageError


def eval_command(
    world: Annotated[
        str | None, typer.Option(help="See `kinfolk worlds`.", autocompletion=complete_world)
    ] = None,
    preset: Annotated[
        str | None, typer.Option(help="See `kinfolk presets`.", autocompletion=complete_preset)
    ] = None,
    slot: SlotOption = [],  # noqa: B006, typer copies it
    mapping: MapOption = [],  # noqa: B006
    rule: SetOption = [],  # noqa: B006
    inherit_slot: Annotated[
        bool | None, typer.Option("--inherit-slot", help="A newborn takes its parent's slot.")
    ] = None,
    episodes: Annotated[int | None, typer.Option(help="How many to play [100].")] = None,
    seed: Annotated[int | None, typer.Option(help="Where all chance comes from [0].")] = None,
    engine: Annotated[
        str, typer.Option(help="local, processes or ray.", autocompletion=complete_engine)
    ] = "local",
    jobs: Annotated[int, typer.Option(help="Tasks at once.")] = 2,
    address: Annotated[str | None, typer.Option(help="Of a Ray cluster to join.")] = None,
    replay: Annotated[
        int | None, typer.Option(help="Record the first so many episodes, to be watched [0].")
    ] = None,
    isolate: Annotated[
        str | None, typer.Option(help="Processes of their own: none, slot or agent [none].")
    ] = None,
    parallel_policy: Annotated[
        bool, typer.Option("--parallel-policy", help="Short for --isolate agent.")
    ] = False,
    step_timeout: Annotated[float | None, typer.Option(help="Seconds per answer [1].")] = None,
    on_failure: Annotated[
        str | None, typer.Option(help="Of a policy: noop, restart or abort [noop].")
    ] = None,
    max_restarts: Annotated[int | None, typer.Option(help="Per process and episode [3].")] = None,
    max_processes: Annotated[int | None, typer.Option(help="Of policies, per job [64].")] = None,
    memory_limit: Annotated[int | None, typer.Option(help="MB per policy's process.")] = None,
    cpu_limit: Annotated[float | None, typer.Option(help="CPU seconds per process.")] = None,
    strict: Annotated[
        bool | None, typer.Option("--strict", help="Refuse where less can be had than was asked.")
    ] = None,
    sandbox: Annotated[
        bool | None, typer.Option("--sandbox", help="No network, no writing of files.")
    ] = None,
    config: ConfigOption = None,
    out: OutOption = None,
    resume: ResumeOption = None,
    plot: Annotated[bool, typer.Option("--plot", help="Plot the first episode.")] = False,
    json: JsonOption = False,
) -> None:
    """Play episodes of a line-up and say how each slot did."""
    from kinfolk.cli.evaluated import document, plot_populations, print_summary, report_failures
    from kinfolk.core.settings import parse_overrides
    from kinfolk.engines import make_engine
    from kinfolk.jobs.evaluate import Evaluate

    workers = make_engine(engine, jobs, address)
    flags = {
        "world": world,
        "preset": preset,
        "slots": pairs("--slot", slot) or None,
        "agent_slot_map": slot_map(mapping),
        "world_settings": parse_overrides(rule) or None,
        "inherit_slot": inherit_slot,
        "episodes": episodes,
        "seed": seed,
        "replays": replay,
        "isolate": _isolation(isolate, parallel_policy),
        "step_timeout": step_timeout,
        "on_failure": on_failure,
        "max_restarts": max_restarts,
        "max_processes": max_processes,
        "memory_limit": memory_limit,
        "cpu_limit": cpu_limit,
        "strict": strict,
        "sandbox": sandbox,
    }
    with stdout_for_document(json):
        run, settings = begin("evaluate", Evaluate, given(flags), config, out, resume, _look_over)
        summary = _summary_of(run) if run.status == "done" else _play(run, settings, workers)
    failed = summary.get("failed_slots", {})  # runs of earlier versions have none
    in_vain = report_failures(failed, summary["episodes"], to_stderr=json)
    if json:
        print_json(document(run, settings, summary))
    else:
        print_summary(settings.world, settings.seed, summary, run)
        if plot:
            plot_populations(settings)
        print(f"The run lies in {run.folder}")
        if settings.replays:
            hint(f"Watch it: {command('view', run.folder)}")
    if in_vain:
        raise typer.Exit(1)


def _isolation(isolate: str | None, parallel_policy: bool) -> str | None:
    if parallel_policy and isolate not in (None, "agent"):
        raise UsageError(
            f"--parallel-policy is short for --isolate agent; it does not go with --isolate {isolate}."
        )
    return "agent" if parallel_policy else isolate


def _look_over(settings: Any) -> None:
    _say_what_is_enforced(settings)
    try_out(settings)


def try_out(settings: Any) -> None:
    """Find what is wrong with a line-up before a folder is made for it."""
    from kinfolk.policies.resolve import build_policy
    from kinfolk.worlds import build_world as build_world

    trusted = [slot for slot in settings.slots if settings.is_trusted(slot)]
    ours = [s for s in settings.slots if s in trusted or str(s.policy_uri).startswith("kin://")]
    uris = {slot.id: slot.policy_uri for slot in ours if slot.policy_uri is not None}
    compile_kernels(settings.world, settings.world_settings, settings.preset, uris)
    spec = build_world(settings.world, settings.world_settings, 1, settings.preset).spec
    warn_of_idle_slots(settings.slot_ids, settings.build_assignment(spec))
    for slot in settings.slots:
        resolved = slot.resolved(slot in trusted)
        if slot in trusted:  # an isolated policy is not let into this process
            build_policy(resolved, spec).close()


def _say_what_is_enforced(settings: Any) -> None:
    """Before the start, not after: what a sandbox keeps a policy from on this machine."""
    if not settings.sandbox:
        return
    from kinfolk.isolation.sandbox.restrictions import list_enforced, list_unsupported

    if any(settings.is_trusted(slot) for slot in settings.slots):
        raise UsageError("--sandbox shuts processes in; give --isolate slot or agent with it.")
    for part in list_enforced():
        note(f"Sandbox: {part}.")
    for part in list_unsupported():
        if settings.strict:
            raise UsageError(f"This machine cannot enforce: {part}. --strict asks for it.")
        print(f"Sandbox: this machine CANNOT enforce: {part}.", file=sys.stderr)


def _summary_of(run: Any) -> dict[str, Any]:
    """The last event of an evaluation that is done.

    Raises:
        DamagedRunError: It is something else.
    """
    last: dict[str, Any] = {}
    for event in run.events():
        last = event
    if last.get("kind") != "evaluated":
        raise DamagedRunError(f"{run.folder} is damaged: its events do not end with a summary.")
    return last


def _play(run: Any, settings: Any, workers: Any) -> dict[str, Any]:
    """Run the job into the store, with progress; the last event is the summary."""
    from kinfolk.core.events import TimingEvent
    from kinfolk.jobs.evaluate import EpisodePlayed, evaluate
    from kinfolk.store.run_job import run_and_store

    before = [event for event in run.events() if event["kind"] == "episode_played"]
    failures = sum(len(event["failures"]) for event in before)
    warned: set[str] = set()
    summary: dict[str, Any] = {}
    bar = progress("Episodes", settings.episodes, len(before))
    with going("eval", run, workers), bar as tell:
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
