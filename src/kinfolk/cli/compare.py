"""`kinfolk compare`: is A better than B, and how sure is that."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from kinfolk.cli.completion import complete_engine, complete_policy, complete_preset, complete_world
from kinfolk.cli.evaluate import try_out
from kinfolk.cli.evaluated import report_failures
from kinfolk.cli.folders import fresh_folder
from kinfolk.cli.show import JsonOption, print_json, print_table, progress, stdout_for_document
from kinfolk.cli.slots import MapOption, SetOption, SlotOption, pairs, slot_map
from kinfolk.core.errors import UsageError
from kinfolk.evaluation.formatting import describe_comparison, format_estimate, format_sample_size

SCHEMA, VERSION = "kinfolk.comparison", 2


def compare(
    policies: Annotated[
        list[str],
        typer.Argument(
            help="Two or more: a URI each, or a team of slots as 'a=URI;b=URI'.",
            autocompletion=complete_policy,
        ),
    ],
    world: Annotated[
        str, typer.Option(help="See `kinfolk worlds`.", autocompletion=complete_world)
    ] = "probe",
    preset: Annotated[
        str | None, typer.Option(help="See `kinfolk presets`.", autocompletion=complete_preset)
    ] = None,
    slot: SlotOption = [],  # noqa: B006, typer copies it
    mapping: MapOption = [],  # noqa: B006
    rule: SetOption = [],  # noqa: B006
    measure: Annotated[
        str | None,
        typer.Option(
            help="return, return_per_life, reward_per_tick, ticks or a counter of the world [return]."
        ),
    ] = None,
    round_robin: Annotated[
        bool, typer.Option("--round-robin", help="Let them meet in one game, and rate them.")
    ] = False,
    episodes: Annotated[int, typer.Option(help="Common episodes.")] = 100,
    seed: Annotated[int, typer.Option(help="Where all chance comes from.")] = 0,
    engine: Annotated[
        str, typer.Option(help="local, processes or ray.", autocompletion=complete_engine)
    ] = "local",
    jobs: Annotated[int, typer.Option(help="Tasks at once.")] = 2,
    isolate: Annotated[str, typer.Option(help="none, slot or agent.")] = "none",
    out: Annotated[Path | None, typer.Option(help="Folder for the run.")] = None,
    json: JsonOption = False,
) -> None:
    """Say whether one policy is better than another, and how sure that is.

    Each plays the same episodes in the same seats: those of --map GROUP=candidate, or all in a
    world with one group. Other seats are taken by --slot policies, the same for each.
    """
    from kinfolk.core.settings import parse_overrides, validate_settings
    from kinfolk.engines import make_engine
    from kinfolk.jobs.compare import (
        Compare,
        candidate_settings,
        compare_policies,
        parse_team,
        unmapped_groups,
    )
    from kinfolk.jobs.round_robin import RoundRobin
    from kinfolk.jobs.round_robin import round_robin as meet
    from kinfolk.play.slots import parse_slot

    workers = make_engine(engine, jobs)
    asked: dict[str, Any] = {
        "policies": policies, "world": world, "preset": preset, "episodes": episodes,
        "seed": seed, "isolate": isolate, "world_settings": parse_overrides(rule),
    }  # fmt: skip
    if round_robin:
        _refuse_in_round_robin({"--map": mapping, "--slot": slot, "--measure": measure})
        settings: Any = validate_settings(RoundRobin, asked)
        total = episodes * len(policies) * (len(policies) - 1) // 2
        job: Any = meet
        name = "round_robin"
    else:
        if slot:
            asked["slots"] = pairs("--slot", slot)
        if mapping:
            asked["agent_slot_map"] = slot_map(mapping)
        if measure is not None:
            asked["metric"] = measure
        settings = validate_settings(Compare, asked)
        for policy in policies:  # a mistyped policy is said before anything else
            for name, uri in parse_team(policy).items():
                parse_slot(name, uri).resolve_policy(trusted=False)
        _ask_for_map(settings, unmapped_groups(settings))
        with stdout_for_document(json):
            for one in candidate_settings(settings):
                try_out(one)
        total = episodes * len(policies)
        job, name = compare_policies, "compare"
    folder = out or fresh_folder(name)
    with stdout_for_document(json):
        last = _kept(job, settings, workers, folder, name, total)
    document = {"schema": SCHEMA, "version": VERSION, "run": str(folder), **last}
    in_vain = _report_failures(
        last, json, 2 * episodes * (len(policies) - 1) if round_robin else episodes
    )
    if json:
        print_json(document)
    elif round_robin:
        _print_ratings(world, last)
    else:
        _print_verdicts(world, seed, last)
    if in_vain:
        raise typer.Exit(1)


def _report_failures(last: dict[str, Any], json: bool, episodes: int) -> bool:
    """Name policies that failed, with their URI, above the table; whether one never acted."""
    in_vain = False
    for uri, failed in zip(last["policies"], last["failed_slots"], strict=True):
        if failed:
            print(f"{uri}:", file=sys.stderr if json else sys.stdout)
        in_vain |= report_failures(failed, episodes, to_stderr=json)
    return in_vain


def _refuse_in_round_robin(options: dict[str, Any]) -> None:
    """Refuse options that a round robin would not look at."""
    given = [name for name, value in options.items() if value]
    if given:
        raise UsageError(
            f"--round-robin takes no {' and no '.join(given)}: its policies play all seats in turn and "
            f"are rated by return per life. Leave out either."
        )


def _ask_for_map(settings: Any, groups: list[str]) -> None:
    """Refuse to let every policy play predators and prey alike."""
    from kinfolk.jobs.compare import example_map, parse_team

    if not groups:
        return
    if settings.slot_map_for(settings.world) is not None:
        first = next(iter(parse_team(settings.policies[0])))
        raise UsageError(
            f"World {settings.world} has the group {groups[0]} too, and no --map says who plays it. "
            f"Give --map {groups[0]}={first}, or for somebody else --slot others=kin://random "
            f"--map {groups[0]}=others."
        )
    teams = [list(parse_team(policy)) for policy in settings.policies]
    words = ["kinfolk", "compare", *settings.policies, "--world", settings.world]
    words += ["--preset", settings.preset] if settings.preset else []
    if len(teams[0]) > 1:  # a team has a slot for each group already
        named = {group: teams[0][i % len(teams[0])] for i, group in enumerate(groups)}
    else:
        words += ["--slot", "others=kin://random"]
        named = {
            g: who if who == "others" else teams[0][0] for g, who in example_map(groups).items()
        }
    for group, slot in named.items():
        words += ["--map", f"{group}={slot}"]
    raise UsageError(
        f"World {settings.world} has the groups {', '.join(groups)}, and without --map every policy "
        f"would play all of them. Say which it plays, and who plays the others: {shlex.join(words)}"
    )


def _kept(
    job: Any, settings: Any, workers: Any, folder: Path, name: str, total: int
) -> dict[str, Any]:
    """Run a job into a folder with progress; its last event."""
    from kinfolk.store.run import create_run
    from kinfolk.store.run_job import run_and_store

    run = create_run(folder, name, settings.model_dump())
    last: dict[str, Any] = {}
    failures = done = 0
    try:
        with progress("Episodes", total) as tell:
            for event in run_and_store(run, lambda snapshot: job(settings, workers, snapshot)):
                last = event.to_dict()
                if "failures" in last and isinstance(last["failures"], int):
                    done, failures = done + 1, failures + last["failures"]
                    note = f"failures of policies so far: {failures}" if failures else ""
                    tell(done, note)
    finally:
        workers.close()
    return last


def _print_verdicts(world: str, seed: int, last: dict[str, Any]) -> None:
    rows = [
        (uri, format_estimate(mean), format_sample_size(mean), failed)
        for uri, mean, failed in zip(last["policies"], last["means"], last["failures"], strict=True)
    ]
    title = f"{world}, seed {seed}: {last['metric']} per episode"
    print_table(title, ("policy", "mean (95 %)", "n", "failures"), rows)
    for sentence in (*describe_comparison(last), *last["notes"]):
        print(sentence)


def _print_ratings(world: str, last: dict[str, Any]) -> None:
    ranked = sorted(zip(last["policies"], last["ratings"], strict=True), key=lambda one: -one[1][2])
    rows = [
        (uri, f"{strength:.1f}", f"{doubt:.1f}", games, format_estimate(won))
        for uri, (strength, doubt, _, games, *won) in ranked
    ]
    headings = ("policy", "rating", "+-", "games", "won (95 %)")
    print_table(f"{world}: every policy against every other, from both sides", headings, rows)
