"""`kinfolk compare`: whether one policy is better than another, with a p-value."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import typer

from kinfolk import jobs
from kinfolk.cli.completion import complete_policy
from kinfolk.cli.evaluation_runs import (
    ParallelPolicyOption,
    apply_parallel_policy,
    build_policies,
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
from kinfolk.cli.flags import flag_name, job_call
from kinfolk.cli.output import command, echo, hint, print_json, print_table, stdout_for_document
from kinfolk.cli.run_lifecycle import JobCall
from kinfolk.core.errors import UsageError
from kinfolk.evaluation.formatting import describe_comparison, format_estimate, format_sample_size


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
    parallel_policy: ParallelPolicyOption = False,
) -> None:
    """Test whether one policy is better than another, with a p-value.

    Each plays the same episodes in the same slots: those of --map GROUP=candidate, or all in a
    world with one group. Other slots are played by --slot policies, the same for each.
    """
    call = job_call(context)
    engine = call.make_engine()
    apply_parallel_policy(call, parallel_policy)
    if policies:
        call.flags["policies"] = policies
    if _is_round_robin(call, round_robin):
        _check_round_robin_flags(call)
        name, check, kind = "round_robin", _check_pairs, "rated"
        model: Any = jobs.RoundRobin
        job: Any = jobs.round_robin
    else:
        name, check, kind = "compare", _check_candidates, "compared"
        model, job = jobs.Compare, jobs.compare_policies
    with stdout_for_document(call.json):
        run, settings = call.open_run(name, model, check, _digest_policies)
        if run.status == "done":
            last = read_last_event(run, kind)
        else:
            n_policies = len(settings.policies)
            games = n_policies * (n_policies - 1) // 2 if name == "round_robin" else n_policies
            start = partial(job, settings, engine)
            unit = "Games" if name == "round_robin" else "Episodes"
            total = settings.episodes * games
            last = run_with_progress("compare", run, engine, start, total, unit)
        always_failed = report_failures(run, last)
    if call.json:
        print_json(_build_document(run, settings, last))
    else:
        _print_results(settings, last)
        echo(f"The run lies in {run.folder}")
        if settings.replays:
            hint(f"Watch it: {command('view', run.folder)}")
    if always_failed:
        raise typer.Exit(1)


def _is_round_robin(call: JobCall, flag: bool) -> bool:
    """Return whether a round robin is to be run: as the flag says, or as the run to resume is one.

    Raises:
        UsageError: The flag was given to resume a comparison.
    """
    from kinfolk.store.run import open_run

    if call.resume is None:
        return flag
    is_round_robin = bool(open_run(call.resume).config["job"] == "round_robin")
    if flag and not is_round_robin:
        raise UsageError(f"{call.resume} is no round robin; resume it without --round-robin.")
    return is_round_robin


def _check_round_robin_flags(call: JobCall) -> None:
    """Check that no flag was given that a round robin does not use.

    Raises:
        UsageError: There is one.
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


def _check_candidates(settings: Any) -> None:
    """Check the candidates and their map, before a run folder is created.

    Raises:
        UsageError: A policy, a setting or the map is wrong.
    """
    from kinfolk.evaluation.comparison import parse_team
    from kinfolk.jobs.compare import candidate_settings, unmapped_groups
    from kinfolk.play.slots import parse_slot

    for policy in settings.policies:  # reports a mistyped policy before anything else
        for name, uri in parse_team(policy).items():
            parse_slot(name, uri).resolve_policy(trusted=False)
    _check_all_groups_mapped(settings, unmapped_groups(settings))
    candidates = candidate_settings(settings)
    check_sandbox(candidates)
    for candidate in candidates:
        check_policies(candidate)


def _digest_policies(settings: Any) -> dict[str, str]:
    """Return a digest of each policy of a comparison or a round robin."""
    from kinfolk.jobs.compare import candidate_settings

    is_round_robin = isinstance(settings, jobs.RoundRobin)
    return digest_policies(
        [_gather_players(settings)] if is_round_robin else candidate_settings(settings)
    )


def _gather_players(settings: Any) -> jobs.Evaluate:
    """Return an evaluation with a slot for every policy of a round robin."""
    from kinfolk.play.slots import parse_slot

    slots = tuple(parse_slot(f"policy {i}", uri) for i, uri in enumerate(settings.policies))
    common = {name: getattr(settings, name) for name in jobs.Evaluate.model_fields}
    return jobs.Evaluate(**{**common, "slots": slots})


def _check_pairs(settings: Any) -> None:
    """Check the policies of a round robin, before a run folder is created.

    Raises:
        UsageError: A policy or a setting is wrong.
    """
    players = _gather_players(settings)
    check_sandbox([players])
    build_policies(players)


def _build_document(run: Any, settings: Any, last: dict[str, Any]) -> dict[str, Any]:
    """Return a comparison or a round robin as one JSON document.

    Its schema is `COMPARISON_SCHEMA` in `kinfolk.evaluation.export`.

    Args:
        run: Run folder.
        settings: Settings of the job.
        last: Last event of the run.
    """
    from kinfolk.evaluation.export import COMPARISON_SCHEMA_NAME, COMPARISON_SCHEMA_VERSION

    return {
        "schema": COMPARISON_SCHEMA_NAME,
        "version": COMPARISON_SCHEMA_VERSION,
        "run": str(run.folder),
        "settings": settings.model_dump(),
        **last,
        "failure_records": list_failures(run),
        "sandbox": describe_sandbox(settings),
        "timings": read_timings(run),
    }


def _check_all_groups_mapped(settings: Any, groups: list[str]) -> None:
    """Refuse a comparison in which each candidate would play several groups, such as both species.

    Args:
        settings: Settings of the comparison.
        groups: Groups that no slot map assigns, from `unmapped_groups`.

    Raises:
        UsageError: There are such groups; the message suggests a map.
    """
    from kinfolk.evaluation.comparison import parse_team
    from kinfolk.jobs.compare import example_map, given_slots

    if not groups:
        return
    team = list(parse_team(settings.policies[0]))
    slots = given_slots(settings)
    other = next(iter(slots), "others")
    if settings.slot_map_for(settings.world) is not None:
        more = "" if slots else f"--slot {other}=kin://random "
        raise UsageError(
            f"World {settings.world} has the group {groups[0]} too, and no --map says who plays it. "
            f"Give --map {groups[0]}={team[0]}, or for somebody else {more}--map {groups[0]}={other}."
        )
    words = ["compare", *settings.policies, "--world", settings.world]
    words += ["--preset", settings.preset] if settings.preset else []
    if len(team) > 1:  # a team has a slot for each group already
        named = {group: team[i % len(team)] for i, group in enumerate(groups)}
    else:
        for name, uri in (slots or {other: "kin://random"}).items():
            words += ["--slot", f"{name}={uri}"]
        named = example_map(groups, team[0], other)
    for group, slot in named.items():
        words += ["--map", f"{group}={slot}"]
    raise UsageError(
        f"World {settings.world} has the groups {', '.join(groups)}, and without --map every policy "
        f"would play all of them. Say which it plays, and who plays the others: {command(*words)}"
    )


def _print_results(settings: Any, last: dict[str, Any]) -> None:
    """Print the table of a comparison or of a round robin."""
    if last["kind"] == "rated":
        _print_ratings(settings.world, last)
    else:
        _print_comparison(settings.world, settings.seed, last)


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
        echo(line)


def _print_ratings(world: str, last: dict[str, Any]) -> None:
    """Print the rating of each policy, the best first."""
    failed = [sum(slot["failures"] for slot in slots.values()) for slots in last["failed_slots"]]
    rated = zip(last["policies"], last["ratings"], failed, strict=True)
    ranked = sorted(rated, key=lambda row: (row[2] > 0, -row[1][2]))  # those that failed last
    rows = [
        (uri, f"{mu:.1f}", f"{sigma:.1f}", games, format_estimate(won), won[-1], failures)
        for uri, (mu, sigma, _, games, *won), failures in ranked
    ]
    headings = ("policy", "rating", "sigma", "games", "won (95 %)", "seeds", "failures")
    print_table(f"{world}: every policy against every other, from both sides", headings, rows)
