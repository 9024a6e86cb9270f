"""The command `kinfolk train` and its checks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from kinfolk import jobs
from kinfolk.cli.commands.tournament import print_matrices
from kinfolk.cli.compile import compile_kernels
from kinfolk.cli.flags import job_call, warn_of_idle_slots
from kinfolk.cli.hints import refuse_name_as_config
from kinfolk.cli.output import echo, note, print_json, print_table, progress
from kinfolk.cli.run_lifecycle import format_policy_uris, interruptible
from kinfolk.core.errors import UsageError
from kinfolk.core.imports import import_libraries
from kinfolk.evaluation.formatting import (
    WIN_RATE_NOTE,
    describe_budget,
    describe_mixtures,
    format_estimate,
    format_estimate_1dp,
    format_sample_size,
    has_separate_sides,
    mean_win_rates,
)

_LEAST_SHARE = 0.005  # weight in a mixture from which a member is printed


def train_command(
    context: typer.Context,
    file: Annotated[Path | None, typer.Argument(help="Short for --config FILE.")] = None,
    previous: Annotated[
        bool,
        typer.Option("--previous-checkpoint", help="Use the one before, if the last is damaged."),
    ] = False,
    tensorboard: Annotated[
        bool, typer.Option("--tensorboard", help="Write the figures for TensorBoard too.")
    ] = False,
    wandb: Annotated[str | None, typer.Option(help="Send them to this W&B project too.")] = None,
) -> None:
    """Train nets by PPO: one for all agents, or several slots side by side."""
    refuse_name_as_config(file)
    call = job_call(context)
    if file is not None and call.config is not None:
        raise UsageError(f"Give one file of settings, not {file} and --config {call.config}.")
    for wanted, package in ((tensorboard, "tensorboard"), (wandb is not None, "wandb")):
        if wanted:  # before a folder is made for the run
            import_libraries(f"--{package}", package)
    from kinfolk.jobs.train.job import describe_idle_jobs
    from kinfolk.store.run_job import open_loggers

    engine = call.make_engine()
    call = replace(call, config=file or call.config)
    run, settings = call.open_run("train", jobs.Train, _check)
    if previous:
        for name in run.drop_damaged_checkpoints():
            echo(f"The damaged checkpoint {name} was removed.", err=True)
    loggers = open_loggers(run.folder, run.name, settings.model_dump(), tensorboard, wandb)
    if run.status != "done":
        idle = describe_idle_jobs(settings, engine.jobs)
        if idle:
            note(idle)
        _train(run, settings, engine, loggers)
    events = list(run.events())
    if call.json:
        start = {"run": str(run.folder), "settings": settings.model_dump()}
        print_json({**start, **_last_events(events)})
    else:
        _print_report(run, settings, events)


def _check(settings: Any) -> None:
    """Check the settings and compile their kernels, before a run folder is created.

    Raises:
        UsageError: A policy is missing, or cannot be built or trained in this world.
    """
    from kinfolk.jobs.train.state import build_plan, initial_state

    initial_state(settings, build_plan(settings).resolved)
    if settings.league:
        from kinfolk.jobs.train.league.learners import find_league_sides

        find_league_sides(settings)
    teachers = {teaching.teacher for teaching in settings.teachers.values()}
    watchers = {name for name, teaching in settings.teachers.items() if teaching.teacher_led}
    warn_of_idle_slots(settings.slot_ids, settings.build_assignments(), teachers | watchers)
    owners = [slot for slot in settings.slots if settings.net_owner(slot) is slot]
    uris = {slot.id: slot.policy_uri for slot in owners if slot.policy_uri is not None}
    compile_kernels(settings.world, settings.world_settings, settings.preset, uris)


def _train(run: Any, settings: Any, engine: Any, loggers: Any) -> None:
    """Run the training, store it in its run folder and show progress.

    Args:
        run: Run folder to write or to resume.
        settings: Settings of the training.
        engine: Engine that runs the tasks; it is closed at the end.
        loggers: `MetricLoggers` to which every event is sent; they are closed at the end.

    Raises:
        DamagedRunError: The checkpoint to resume from is damaged.
    """
    from kinfolk.store.run_job import run_and_store

    before = [event for event in run.events() if event["kind"] == "update_done"]
    done = before[-1]["step"] if before else 0
    bar = progress("Steps", settings.steps, min(done, settings.steps))
    with interruptible("train", run, engine, loggers), bar as tell:
        for event in run_and_store(run, lambda state: jobs.train(settings, engine, state)):
            loggers.log_event(event)
            if event.kind == "update_done":
                tell(min(event.step, settings.steps), _describe_update(event, settings))
            elif event.kind == "league_updated":
                note(_describe_league(event))
            elif event.kind == "evaluation_done":
                note(_describe_evaluation(event))
            elif event.kind == "episodes_restarted":
                note(_describe_restart(settings.world, event))


def _describe_update(event: Any, settings: Any) -> str:
    """Return the means over the last episodes, as text for the progress bar."""
    if event.length is None:
        return "no episode has ended yet"
    scores = f"score {event.score:,.2f}"
    if settings.league and len(settings.slots) > 1:  # sides without a common scale
        known = {s: event.slots[s].get("return_per_life") for s in settings.slot_ids}
        scores = ", ".join(
            f"{slot} {value:,.2f}" for slot, value in known.items() if value is not None
        )
    return f"length {event.length:,.0f}, {scores}"


def _describe_league(event: Any) -> str:
    """Return one line about members that joined the league."""
    joined = ", ".join(f"{name} ({reason})" for name, reason in event.joined.items())
    return (
        f"Joined the league after {event.update} updates: {joined}; members: {len(event.members)}."
    )


def _describe_restart(world: str, event: Any) -> str:
    """Return one line about episodes that could not be continued."""
    count = f"{event.episodes} episode{'s' * (event.episodes != 1)}"
    return (
        f"{count} of {world} began anew: the task cannot be copied, so what the stopped process "
        f"played of them is lost. Nets, optimisers and counts continue exactly."
    )


def _describe_evaluation(event: Any) -> str:
    """Return one line about an evaluation on held-out seeds."""
    best = ", the best so far" if event.is_best else ""
    others = ", ".join(
        f"{name} {_format_score(base['score'])}" for name, base in event.baselines.items()
    )
    compared = f"; baselines: {others}" if others else ""
    score, length = f"score {_format_score(event.score)}{best}", format_estimate_1dp(event.length)
    return f"Evaluated at {event.step:,} steps: {score}, length {length}{compared}"


def _format_score(score: float | None) -> str:
    """Return a score as text; "none" if its metric applied to no episode."""
    return "none" if score is None else f"{score:,.2f}"


def _last_events(events: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the final events of a training.

    Returns:
        `result`, `last_update` and `league` (None if there is no such event yet), and the list
        `evaluations`.
    """
    last = {event["kind"]: event for event in events}
    return {
        "result": last.get("training_done"),
        "last_update": last.get("update_done"),
        "evaluations": [event for event in events if event["kind"] == "evaluation_done"],
        "league": last.get("league_updated"),
    }


def _print_report(run: Any, settings: Any, events: list[dict[str, Any]]) -> None:
    """Print a table of slots, the last evaluation, and how to play the result.

    Args:
        run: Run folder of the training.
        settings: Settings of the training.
        events: All events of the run.
    """
    last = _last_events(events)
    result, update = last["result"], last["last_update"]
    is_divided = last["league"] is not None and has_separate_sides(last["league"])
    shown = ("win_rate" if is_divided else "wins", "entropy", "explained_variance")
    won = mean_win_rates(last["league"]) if is_divided else {}
    stats = {
        name: {**values, **({"win_rate": won[name]} if name in won else {})}
        for name, values in update["slots"].items()
    }
    returns = result["return_per_life"]
    rows = [
        (name, format_estimate(returns[name]), format_sample_size(returns[name]),
         *(f"{values[s]:.3g}" if s in values else "" for s in shown))
        for name, values in stats.items()
    ]  # fmt: skip
    length = f"{result['step']:,} steps in {result['updates']} updates"
    length += f" and {result['episodes']:,} episodes"
    estimate = ("return per life (95 %)", "n")
    headings = ("slot", *estimate, *(name.replace("_", " ") for name in shown))
    print_table(f"{settings.world}: {length}; stopped by {result['reason']}", headings, rows)
    if update["length"] is not None:
        recent = min(settings.stats_window, result["episodes"])
        echo(
            f"The last {recent} episodes of this training were {update['length']:,.0f} ticks long; n "
            f"counts those in which the slot had a life."
        )
    if result["reason"] == "steps":
        for text in describe_budget(settings.steps, {"": result["step"]}):
            echo(text)
    if won:
        echo(WIN_RATE_NOTE)
    if last["evaluations"]:
        _print_evaluation(last["evaluations"][-1])
    if last["league"] is not None:
        _print_league(run, last["league"])
    if settings.league:
        trained = list(update["slots"])
    else:
        owners = [slot for slot in settings.slots if settings.net_owner(slot) is slot]
        trained = [slot.id for slot in owners if slot.trainable]
    moment = "@latest" if result["best_step"] is None else "@best"
    echo(f"The run lies in {run.folder}; play it as {format_policy_uris(run, trained, moment)}")
    if not settings.league and not settings.has_comparable_score:
        echo(
            "No checkpoint is the best: the scores of learners that play each other cannot be compared. "
            "Set evaluation.metric, or play all but one of them by a fixed policy in evaluation.slots."
        )


def _print_league(run: Any, event: dict[str, Any]) -> None:
    """Print the payoff matrices of a league, its mixtures, and how it is exploited."""
    print_matrices(event["payoffs"])
    for side, names, ranks, nash in event["mixtures"]:
        of = f" of {side}" if side else ""
        for title, weights in (("Nash mixture", nash), ("Alpha-rank", ranks)):
            if weights is None:  # alpha-rank is left out of large leagues
                continue
            known = zip(names, weights, strict=True)
            shares = [f"{name} {weight:.2f}" for name, weight in known if weight >= _LEAST_SHARE]
            echo(f"{title}{of}: {', '.join(shares)}.")
    for text in describe_mixtures(event):
        echo(text)
    place = run.folder
    echo(f"Members play as run:{place}@league/NAME; measure their mixture: kinfolk exploit {place}")
    sides = [side for side, *_ in event["mixtures"] if side]
    if sides:
        last = " ".join(f"{side}/last=run:{place}/{side}" for side in sides)
        echo(f"Measure the last nets: kinfolk exploit {last}")


def _print_evaluation(event: dict[str, Any]) -> None:
    """Print the trained team beside the baselines, a row per metric."""
    baselines = event["baselines"]
    teams = (event, *baselines.values())
    rows = [("length", *(format_estimate(team["length"]) for team in teams))]
    for name in event["metrics"]:
        rows.append((name, *(format_estimate(team["metrics"].get(name)) for team in teams)))
    for slot, estimate in event["return_per_life"].items():
        others = [format_estimate(team.get("return_per_life", {}).get(slot)) for team in teams[1:]]
        rows.append((f"return per life, {slot}", format_estimate(estimate), *others))
    episodes = f"{format_sample_size(event['length'])} episodes of held-out seeds"
    title = f"Evaluated on {episodes} at the end, means (95 %)"
    print_table(title, ("", "trained", *baselines), rows)
