"""`kinfolk compare`: whether one policy is better than another, with a p-value."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import typer

from kinfolk import jobs
from kinfolk.cli.commands.evaluate import check_policies, report_failures
from kinfolk.cli.completion import complete_policy
from kinfolk.cli.flags import flag_name, job_call
from kinfolk.cli.output import command, print_json, print_table, progress, stdout_for_document
from kinfolk.cli.run_lifecycle import JobCall
from kinfolk.core.errors import UsageError
from kinfolk.evaluation.formatting import describe_comparison, format_estimate, format_sample_size

SCHEMA, VERSION = "kinfolk.comparison", 2


def compare(
    context: typer.Context,
    policies: Annotated[
        list[str] | None,
        typer.Argument(
            help="Two or more: a URI each, or a team of slots as 'a=URI;b=URI'.",
            autocompletion=complete_policy,
        ),
    ] = None,
    round_robin: Annotated[
        bool, typer.Option("--round-robin", help="Let them meet in one game, and rate them.")
    ] = False,
) -> None:
    """Test whether one policy is better than another, with a p-value.

    Each plays the same episodes in the same slots: those of --map GROUP=candidate, or all in a
    world with one group. Other slots are played by --slot policies, the same for each.
    """
    from kinfolk.store.run import new_run_folder

    call = job_call(context)
    engine = call.make_engine()
    if policies:
        call.flags["policies"] = policies
    settings: Any
    job: Any
    if round_robin:
        settings = _read_round_robin(call)
        rivals = len(settings.policies) - 1
        job, name, each = jobs.round_robin, "round_robin", 2 * settings.episodes * rivals
        total = settings.episodes * len(settings.policies) * rivals // 2
    else:
        settings = call.read_settings(jobs.Compare)
        with stdout_for_document(call.json):
            _check_candidates(settings)
        job, name, each = jobs.compare_policies, "compare", settings.episodes
        total = each * len(settings.policies)
    folder = call.out or new_run_folder(name)
    with stdout_for_document(call.json):
        last = _run_and_store(job, settings, engine, folder, name, total)
    never_acted = _report_failures(last, call.json, each)
    if call.json:
        print_json({"schema": SCHEMA, "version": VERSION, "run": str(folder), **last})
    elif round_robin:
        _print_ratings(settings.world, last)
    else:
        _print_comparison(settings.world, settings.seed, last)
    if never_acted:
        raise typer.Exit(1)


def _read_round_robin(call: JobCall) -> Any:
    """Return the settings of a round robin.

    Raises:
        UsageError: A flag was given that a round robin does not use.
    """
    from kinfolk.core.settings import fields_of
    from kinfolk.play.settings import SlotConfig

    unused = {*jobs.Compare.model_fields} - {*jobs.RoundRobin.model_fields}
    wrong = (unused | {*SlotConfig.model_fields}) & {*call.flags}
    refused = [flag_name(field) for field in fields_of(jobs.Compare) if field.name in wrong]
    if refused:
        raise UsageError(
            f"--round-robin takes no {' and no '.join(refused)}: its policies play all slots in turn and "
            f"are rated by return per life. Leave out either."
        )
    return call.read_settings(jobs.RoundRobin)


def _check_candidates(settings: Any) -> None:
    """Check the candidates and their map, before a run folder is created.

    Raises:
        UsageError: A policy, a setting or the map is wrong.
    """
    from kinfolk.jobs.compare import candidate_settings, parse_team, unmapped_groups
    from kinfolk.play.slots import parse_slot

    for policy in settings.policies:  # reports a mistyped policy before anything else
        for name, uri in parse_team(policy).items():
            parse_slot(name, uri).resolve_policy(trusted=False)
    _check_all_groups_mapped(settings, unmapped_groups(settings))
    for candidate in candidate_settings(settings):
        check_policies(candidate)


def _report_failures(last: dict[str, Any], json: bool, episodes: int) -> bool:
    """Print the failures of each policy under its URI, and return whether any policy never acted.

    Args:
        last: Last event of the run.
        json: Whether stdout is reserved for a JSON document; failures then go to stderr.
        episodes: Episodes that each policy played.
    """
    never_acted = False
    for uri, failed in zip(last["policies"], last["failed_slots"], strict=True):
        if failed:
            print(f"{uri}:", file=sys.stderr if json else sys.stdout)
        never_acted |= report_failures(failed, episodes, to_stderr=json)
    return never_acted


def _check_all_groups_mapped(settings: Any, groups: list[str]) -> None:
    """Refuse a comparison in which each candidate would play several groups, such as both species.

    Args:
        settings: Settings of the comparison.
        groups: Groups that no slot map assigns, from `unmapped_groups`.

    Raises:
        UsageError: There are such groups; the message suggests a map.
    """
    from kinfolk.jobs.compare import example_map, parse_team

    if not groups:
        return
    team = list(parse_team(settings.policies[0]))
    if settings.slot_map_for(settings.world) is not None:
        raise UsageError(
            f"World {settings.world} has the group {groups[0]} too, and no --map says who plays it. "
            f"Give --map {groups[0]}={team[0]}, or for somebody else --slot others=kin://random "
            f"--map {groups[0]}=others."
        )
    words = ["compare", *settings.policies, "--world", settings.world]
    words += ["--preset", settings.preset] if settings.preset else []
    if len(team) > 1:  # a team has a slot for each group already
        named = {group: team[i % len(team)] for i, group in enumerate(groups)}
    else:
        words += ["--slot", "others=kin://random"]
        example = example_map(groups)
        named = {g: slot if slot == "others" else team[0] for g, slot in example.items()}
    for group, slot in named.items():
        words += ["--map", f"{group}={slot}"]
    raise UsageError(
        f"World {settings.world} has the groups {', '.join(groups)}, and without --map every policy "
        f"would play all of them. Say which it plays, and who plays the others: {command(*words)}"
    )


def _run_and_store(
    job: Any, settings: Any, engine: Any, folder: Path, name: str, total: int
) -> dict[str, Any]:
    """Run a job, store it in a new run folder and show progress; return its last event.

    Args:
        job: `compare_policies` or `round_robin`.
        settings: Settings of the job.
        engine: Engine that runs the tasks; it is closed at the end.
        folder: Run folder to create.
        name: Name of the job in the run's `settings.json`.
        total: Number of episodes, for the progress bar.
    """
    from kinfolk.store.run import create_run
    from kinfolk.store.run_job import run_and_store

    run = create_run(folder, name, settings.model_dump())
    last: dict[str, Any] = {}
    failures = done = 0
    with closing(engine), progress("Episodes", total) as tell:
        for event in run_and_store(run, lambda snapshot: job(settings, engine, snapshot)):
            last = event.to_dict()
            if isinstance(last.get("failures"), int):
                done, failures = done + 1, failures + last["failures"]
                tell(done, f"failures of policies so far: {failures}" if failures else "")
    return last


def _print_comparison(world: str, seed: int, last: dict[str, Any]) -> None:
    """Print the mean of each policy and the test of each pair.

    Args:
        world: Name of the world.
        seed: Random seed of the episodes.
        last: Last event of the run.
    """
    columns = zip(last["policies"], last["means"], last["failures"], strict=True)
    rows = [(uri, format_estimate(m), format_sample_size(m), failed) for uri, m, failed in columns]
    title = f"{world}, seed {seed}: {last['metric']} per episode"
    print_table(title, ("policy", "mean (95 %)", "n", "failures"), rows)
    for line in (*describe_comparison(last), *last["notes"]):
        print(line)


def _print_ratings(world: str, last: dict[str, Any]) -> None:
    """Print the rating of each policy, the best first."""
    rated = zip(last["policies"], last["ratings"], strict=True)
    ranked = sorted(rated, key=lambda pair: -pair[1][2])
    rows = [
        (uri, f"{mu:.1f}", f"{sigma:.1f}", games, format_estimate(win_rate))
        for uri, (mu, sigma, _, games, *win_rate) in ranked
    ]
    headings = ("policy", "rating", "+-", "games", "won (95 %)")
    print_table(f"{world}: every policy against every other, from both sides", headings, rows)
