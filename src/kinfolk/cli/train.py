"""`kinfolk train`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from kinfolk.cli.begin import OutOption, ResumeOption, as_uris, begin, given, going
from kinfolk.cli.compile import compile_kernels
from kinfolk.cli.completion import complete_engine, complete_preset, complete_world
from kinfolk.cli.hints import refuse_as_config
from kinfolk.cli.show import JsonOption, note, print_json, print_table, progress
from kinfolk.cli.slots import MapOption, SetOption, SlotOption, pairs, slot_map, warn_of_idle_slots
from kinfolk.core.errors import DamagedRunError
from kinfolk.core.optional_dependencies import import_libraries
from kinfolk.evaluation.formatting import format_estimate, format_estimate_1dp, format_sample_size


def train_command(
    config: Annotated[Path | None, typer.Argument(help="Settings from a .toml or .json.")] = None,
    world: Annotated[
        str | None,
        typer.Option(
            help="See `kinfolk worlds`; gym:ID or gym:MODULE:ID.", autocompletion=complete_world
        ),
    ] = None,
    preset: Annotated[
        str | None, typer.Option(help="See `kinfolk presets`.", autocompletion=complete_preset)
    ] = None,
    slot: SlotOption = [],  # noqa: B006, typer copies it
    mapping: MapOption = [],  # noqa: B006
    rule: SetOption = [],  # noqa: B006
    option: Annotated[
        list[str], typer.Option("--with", help="KEY=VALUE: of ppo, evaluation or any table.")
    ] = [],  # noqa: B006
    steps: Annotated[int | None, typer.Option(help="Rows to learn from [100000].")] = None,
    seed: Annotated[int | None, typer.Option(help="Where all chance comes from [0].")] = None,
    worlds: Annotated[int | None, typer.Option(help="Side by side [16].")] = None,
    ticks: Annotated[int | None, typer.Option(help="Between two updates [64].")] = None,
    stop_at: Annotated[float | None, typer.Option(help="Stop at this score.")] = None,
    engine: Annotated[
        str, typer.Option(help="local, processes or ray.", autocompletion=complete_engine)
    ] = "local",
    jobs: Annotated[int, typer.Option(help="Tasks at once.")] = 2,
    out: OutOption = None,
    resume: ResumeOption = None,
    previous: Annotated[
        bool,
        typer.Option("--previous-checkpoint", help="Use the one before, if the last is damaged."),
    ] = False,
    tensorboard: Annotated[
        bool, typer.Option("--tensorboard", help="Write the figures for TensorBoard too.")
    ] = False,
    wandb: Annotated[str | None, typer.Option(help="Send them to this W&B project too.")] = None,
    json: JsonOption = False,
) -> None:
    """Train nets: one for all, or slots of policies side by side."""
    refuse_as_config(config)
    for wanted, package in ((tensorboard, "tensorboard"), (wandb is not None, "wandb")):
        if wanted:  # before a folder is made for the run
            import_libraries(f"--{package}", package)
    from kinfolk.core.settings import merge_settings, parse_overrides
    from kinfolk.engines import make_engine
    from kinfolk.jobs.train.settings import Train
    from kinfolk.store.loggers import open_loggers

    workers = make_engine(engine, jobs)
    flags = {
        "world": world,
        "preset": preset,
        "slots": pairs("--slot", slot) or None,
        "agent_slot_map": slot_map(mapping),
        "world_settings": parse_overrides(rule) or None,
        "steps": steps,
        "seed": seed,
        "worlds": worlds,
        "rollout_length": ticks,
        "target_score": stop_at,
    }
    asked = merge_settings(given(flags), parse_overrides(option))
    run, settings = begin("train", Train, asked, config, out, resume, _try_out)
    if previous:
        for name in run.drop_damaged_checkpoints():
            print(f"The damaged checkpoint {name} was removed.", file=sys.stderr)
    sinks = open_loggers(run.folder, run.name, settings.model_dump(), tensorboard, wandb)
    if run.status != "done":
        _train(run, settings, workers, sinks)
    events = list(run.events())
    if json:
        print_json({"run": str(run.folder), "settings": settings.model_dump(), **_told(events)})
    else:
        _print_report(run, settings, events)


def _try_out(settings: Any) -> None:
    """Find what is wrong before a folder is made, and compile before workers wait for it."""
    from kinfolk.jobs.train.plan import build_plan
    from kinfolk.jobs.train.state import initial_state
    from kinfolk.worlds import build_world as build_world

    initial_state(settings, build_plan(settings))
    spec = build_world(settings.world, settings.world_settings, 1, settings.preset).spec
    taught = {lesson.teacher for lesson in settings.teachers.values()}
    playing = settings.build_assignment(spec)
    idle = [name for name in settings.slot_ids if name not in taught]
    warn_of_idle_slots(idle, _renumbered(playing, settings.slot_ids, idle))
    uris = {slot.id: slot.policy_uri for slot in settings.slots if slot.policy_uri is not None}
    compile_kernels(settings.world, settings.world_settings, settings.preset, uris)


def _renumbered(table: Any, names: list[str], some: list[str]) -> Any:
    import numpy as np

    return np.array([some.index(n) if n in some else -1 for n in names])[table]


def _train(run: Any, settings: Any, workers: Any, sinks: Any) -> None:
    from kinfolk.jobs.train.events import EvaluationDone, UpdateDone
    from kinfolk.jobs.train.job import train
    from kinfolk.store.run_job import run_and_store

    before = [event for event in run.events() if event["kind"] == "update_done"]
    done = before[-1]["step"] if before else 0
    bar = progress("Steps", settings.steps, min(done, settings.steps))
    try:
        with going("train", run, workers, sinks), bar as tell:
            for event in run_and_store(run, lambda snapshot: train(settings, workers, snapshot)):
                sinks.log_event(event)
                if isinstance(event, UpdateDone):
                    tell(min(event.step, settings.steps), _note(event))
                elif isinstance(event, EvaluationDone):
                    note(_judged(event))
    except DamagedRunError as error:
        raise DamagedRunError(
            f"{error} To go on from the one before it, add --previous-checkpoint."
        ) from None


def _note(event: Any) -> str:
    if event.length is None:
        return "no episode has ended yet"
    return f"length {event.length:,.0f}, score {event.score:,.2f}"


def _judged(event: Any) -> str:
    best = ", the best so far" if event.is_best else ""
    others = ", ".join(f"{name} {base['score']:,.2f}" for name, base in event.baselines.items())
    beside = f"; beside it {others}" if others else ""
    return (
        f"Judged at {event.step:,} steps: score {event.score:,.2f}{best}, "
        f"length {format_estimate_1dp(event.length)}{beside}"
    )


def _told(events: list[dict[str, Any]]) -> dict[str, Any]:
    last = {event["kind"]: event for event in events}
    judged = [event for event in events if event["kind"] == "evaluation_done"]
    return {
        "trained": last.get("training_done"),
        "last": last.get("update_done"),
        "evaluations": judged,
    }


def _print_report(run: Any, settings: Any, events: list[dict[str, Any]]) -> None:
    told = _told(events)
    trained, last = told["trained"], told["last"]
    shown = ("return_per_life", "wins", "entropy", "approx_kl", "explained_variance")
    print_table(
        f"{settings.world}: {trained['step']:,} steps in {trained['updates']} updates and "
        f"{trained['episodes']:,} episodes; stopped by {trained['reason']}",
        ("slot", *(name.replace("_", " ") for name in shown)),
        [
            (name, *(f"{values[s]:.3g}" if s in values else "" for s in shown))
            for name, values in last["slots"].items()
        ],
    )
    if last["length"] is not None:
        recent = min(settings.stats_window, trained["episodes"])
        print(f"The last {recent} episodes were {last['length']:,.0f} ticks long.")
    if told["evaluations"]:
        judged = told["evaluations"][-1]
        others = judged["baselines"]
        sides = (judged, *others.values())
        rows = [("length", *(format_estimate(one["length"]) for one in sides))]
        rows += [
            (name, *(format_estimate(one["metrics"].get(name)) for one in sides))
            for name in judged["metrics"]
        ]  # fmt: skip
        rows += [
            (f"return per life, {n}", format_estimate(v), *("" for _ in others))
            for n, v in judged["return_per_life"].items()
        ]
        episodes = format_sample_size(judged["length"])
        print_table(
            f"Judged on {episodes} episodes of unseen seeds at the end, means (95 %)",
            ("", "trained", *others),
            rows,
        )
    learnt = [slot.id for slot in settings.slots if slot.trainable]
    print(f"The run lies in {run.folder}; play it as {as_uris(run, learnt, '@best')}")
