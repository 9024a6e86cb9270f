"""`kinfolk scenarios` lists scenarios, and `kinfolk eval --scenario` evaluates a policy in them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from kinfolk import jobs
from kinfolk.cli import output
from kinfolk.cli.completion import complete_world
from kinfolk.cli.evaluation_runs import read_last_event, run_with_progress
from kinfolk.cli.output import echo
from kinfolk.cli.run_lifecycle import JobCall
from kinfolk.core.errors import UsageError
from kinfolk.evaluation.formatting import format_estimate

JOB = "scenarios"  # in a run's folder
_SCENARIO_SETTINGS = (
    "world",
    "preset",
    "world_settings",
    "seed",
    "agent_slot_map",
    "world_slot_maps",
    "replays",
)


def complete_scenario(incomplete: str) -> list[tuple[str, str]]:
    """Complete the name of a scenario of the package."""
    from kinfolk.scenario_table.read import SELECTIONS, read_scenarios

    known = [(name, "several scenarios") for name in SELECTIONS]
    known += [(name, scenario.about) for name, scenario in read_scenarios().scenarios.items()]
    return [entry for entry in known if entry[0].startswith(incomplete)]


ScenarioOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME|all|development|held-out",
        help="Evaluate in scenarios instead; may be given again. See `kinfolk scenarios`.",
        autocompletion=complete_scenario,
    ),
]
ScenarioFileOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Scenarios of your own, from a .toml, for --scenario."),
]


def scenarios(
    world: Annotated[
        str | None, typer.Option(help="Only those of this world.", autocompletion=complete_world)
    ] = None,
    file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Scenarios of your own, from a .toml.")
    ] = None,
    json: output.JsonOption = False,
) -> None:
    """List the scenarios in which `kinfolk eval --scenario` evaluates a policy."""
    from kinfolk.scenario_table.read import assign_scenario_rows, read_scenarios

    table = read_scenarios(file)
    chosen = {n: s for n, s in table.scenarios.items() if world in (None, s.world)}
    if file is not None:
        for name, scenario in chosen.items():
            assign_scenario_rows(name, scenario)
    if json:
        listed = [{"name": name, **scenario.model_dump()} for name, scenario in chosen.items()]
        backgrounds = [{"name": n, **b.model_dump()} for n, b in table.backgrounds.items()]
        output.print_json({"scenarios": listed, "backgrounds": backgrounds})
        return
    for title, held_out in (("Scenarios", False), ("Held-out scenarios, for final figures", True)):
        rows = [(n, _describe(s)) for n, s in chosen.items() if s.held_out == held_out]
        if rows:
            output.print_list(f"{title} ({len(rows)})", rows)


def _describe(scenario: Any) -> str:
    """Return a line about a scenario."""
    others = f" with {', '.join(scenario.backgrounds)}" if scenario.backgrounds else ""
    groups = " and ".join(scenario.focal_groups)
    return (
        f"[{scenario.world}, {scenario.mode}: {scenario.n_focal} {groups}{others}] {scenario.about}"
    )


def is_scenario_run(folder: Path | None) -> bool:
    """Return whether a run to resume is an evaluation in scenarios."""
    from kinfolk.store.run import open_run

    return folder is not None and folder.exists() and open_run(folder).config["job"] == JOB


def eval_scenarios(call: JobCall, names: Sequence[str], file: Path | None) -> None:
    """Evaluate policies in scenarios, and print the score of each.

    Args:
        call: Settings and options of `kinfolk eval`.
        names: Names of the scenarios.
        file: Scenarios of the user's own.

    Raises:
        UsageError: A setting is given that scenarios have themselves.
    """
    engine = call.make_engine()
    if call.resume is None:
        _take_scenario_flags(call, names, file)
    with output.stdout_for_document(call.json):
        run, settings = call.open_run(JOB, jobs.EvaluateScenarios, _check, _digest)
        if run.status == "done":
            last = read_last_event(run, "scenarios_evaluated")
        else:
            job = partial(jobs.evaluate_scenarios, settings, engine)
            total = len(_plan(settings).planned) * settings.episodes
            last = run_with_progress("eval", run, engine, job, total)
    if call.json:
        output.print_json({"schema": "kinfolk.scenarios", "version": 1, "run": str(run.folder),
                           "settings": settings.model_dump(), "summary": last})  # fmt: skip
    else:
        _print_scores(last)
        echo(f"The run lies in {run.folder}")
        output.hint(f"A picture of it: {output.command('plot', run.folder)}")


def _take_scenario_flags(call: JobCall, names: Sequence[str], file: Path | None) -> None:
    """Turn the flags of `kinfolk eval` into settings of an evaluation in scenarios.

    Args:
        call: Its flags are changed in place.
        names: Names of the scenarios.
        file: Scenarios of the user's own.

    Raises:
        UsageError: A setting is given that scenarios have themselves.
    """
    refused = [name for name in _SCENARIO_SETTINGS if name in call.flags]
    if refused:
        given = " and ".join(name.replace("_", " ") for name in refused)
        raise UsageError(
            f"A scenario has its own {given}. Leave them out, or write a scenario of your own for "
            "--scenario-file."
        )
    if "slots" in call.flags:
        call.flags["policies"] = call.flags.pop("slots")
    call.flags["scenarios"] = list(names)
    if file is not None:
        call.flags["scenario_file"] = str(file)


def _plan(settings: Any) -> Any:
    """Return the plan of an evaluation, which checks its scenarios and policies."""
    from kinfolk.jobs.scenarios.plan import plan_scenarios

    return plan_scenarios(settings)


def _check(settings: Any) -> None:
    """Check scenarios and policies, before a run folder is created."""
    _plan(settings)


def _digest(settings: Any) -> dict[str, str]:
    """Return the digest of every policy, so that a run is not resumed with others."""
    policies = {
        f"{planned.name}/{slot}": resolved.sha256
        for planned in _plan(settings).planned
        for slot, resolved in planned.policies.items()
    }
    return policies


def _print_scores(last: dict[str, Any]) -> None:
    """Print the score of each scenario, the means over scenarios, and what failed."""
    rows = []
    for name, _, mode, held_out, focal_return, score, floor, ceiling, failures in last["scenarios"]:
        bounds = "" if floor is None else f"{floor:.3g} to {ceiling:.3g}"
        mark = f"{mode}, held out" if held_out else mode
        text = "" if score is None else format_estimate(score)
        rows.append((name, mark, text, format_estimate(focal_return), bounds, failures or ""))
    headings = ("scenario", "mode", "score (95 %)", "per focal agent (95 %)", "floor to ceiling",
                "failures")  # fmt: skip
    output.print_table("Scores: 0 is the floor, 1 the ceiling", headings, rows)
    means = [(name, format_estimate(estimate)) for name, estimate in last["means"].items()]
    if means:
        output.print_table("Mean over scenarios", ("scenarios", "score (95 %)"), means)
    for text in last["notes"]:
        output.note(text)
    first = last["first_failure"]
    if first is not None:
        echo(
            f"The policy failed {last['failures']} times, first in {first['scenario']} at tick "
            f"{first['tick']}: {first['message']}"
        )
