"""`kinfolk compare`: is A better than B, and how sure is that."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from kinfolk.cli.evaluate import try_out
from kinfolk.cli.evaluated import report_failures
from kinfolk.cli.folders import fresh_folder
from kinfolk.cli.show import JsonOption, figures, print_json, print_table, progress
from kinfolk.cli.slots import MapOption, SetOption, SlotOption, pairs, slot_map

SCHEMA, VERSION = "kinfolk.comparison", 1


def compare(
    policies: Annotated[
        list[str],
        typer.Argument(help="Two or more: a URI each, or a team of slots as 'a=URI;b=URI'."),
    ],
    world: Annotated[str, typer.Option(help="See `kinfolk worlds`.")] = "probe",
    preset: Annotated[str | None, typer.Option(help="See `kinfolk presets`.")] = None,
    slot: SlotOption = [],  # noqa: B006, typer copies it
    mapping: MapOption = [],  # noqa: B006
    rule: SetOption = [],  # noqa: B006
    measure: Annotated[
        str,
        typer.Option(
            help="return, return_per_life, reward_per_tick, ticks or a counter of the world."
        ),
    ] = "return",
    round_robin: Annotated[
        bool, typer.Option("--round-robin", help="Let them meet in one game, and rate them.")
    ] = False,
    episodes: Annotated[int, typer.Option(help="Common episodes.")] = 100,
    seed: Annotated[int, typer.Option(help="Where all chance comes from.")] = 0,
    engine: Annotated[str, typer.Option(help="local, processes or ray.")] = "local",
    jobs: Annotated[int, typer.Option(help="Tasks at once.")] = 2,
    isolate: Annotated[str, typer.Option(help="none, slot or agent.")] = "none",
    out: Annotated[Path | None, typer.Option(help="Folder for the run.")] = None,
    json: JsonOption = False,
) -> None:
    """Say whether one policy is better than another, and how sure that is.

    Each plays the same episodes in the same seats: those of --map GROUP=candidate, or all. Other
    seats are taken by --slot policies, the same for each.
    """
    from kinfolk.core.settings import from_flags, read
    from kinfolk.engines import make_engine
    from kinfolk.jobs.compare import Compare, candidates, compare_policies
    from kinfolk.jobs.round_robin import RoundRobin
    from kinfolk.jobs.round_robin import round_robin as meet

    workers = make_engine(engine, jobs)
    asked: dict[str, Any] = {
        "policies": policies, "world": world, "preset": preset, "episodes": episodes,
        "seed": seed, "isolate": isolate, "world_settings": from_flags(rule),
    }  # fmt: skip
    if round_robin:
        settings: Any = read(RoundRobin, asked)
        total = episodes * len(policies) * (len(policies) - 1) // 2
        job: Any = meet
        name = "round_robin"
    else:
        if slot:
            asked["slots"] = pairs("--slot", slot)
        if mapping:
            asked["agent_slot_map"] = slot_map(mapping)
        asked["measure"] = measure
        settings = read(Compare, asked)
        for one in candidates(settings):
            try_out(one)
        total = episodes * len(policies)
        job, name = compare_policies, "compare"
    folder = out or fresh_folder(name)
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


def _kept(
    job: Any, settings: Any, workers: Any, folder: Path, name: str, total: int
) -> dict[str, Any]:
    """Run a job into a folder with progress; its last event."""
    from kinfolk.store.keep import keep
    from kinfolk.store.run import create

    run = create(folder, name, settings.model_dump())
    last: dict[str, Any] = {}
    failures = done = 0
    try:
        with progress("Episodes", total) as tell:
            for event in keep(run, lambda snapshot: job(settings, workers, snapshot)):
                last = event.to_dict()
                if "failures" in last and isinstance(last["failures"], int):
                    done, failures = done + 1, failures + last["failures"]
                    note = f"failures of policies so far: {failures}" if failures else ""
                    tell(done, note)
    finally:
        workers.close()
    return last


def sentences(last: dict[str, Any]) -> Iterator[str]:
    """What was found of every pair."""
    for pair, verdict in last["pairs"].items():
        a, b = (last["policies"][int(i)] for i in pair.split())
        difference, p_value, better, episodes = verdict
        sure = f"p = {p_value:.4f}, {episodes} common episodes"
        if better == "neither":
            yield f"No difference is shown between {a} and {b}: {figures(difference)}, {sure}."
        else:
            winner, loser = (a, b) if better == "first" else (b, a)
            size = (
                difference
                if better == "first"
                else [-difference[0], -difference[2], -difference[1]]
            )
            yield f"{winner} is better than {loser}: by {figures(size)}, {sure}."


def _print_verdicts(world: str, seed: int, last: dict[str, Any]) -> None:
    rows = [
        (uri, figures(mean), failed)
        for uri, mean, failed in zip(last["policies"], last["means"], last["failures"], strict=True)
    ]
    title = f"{world}, seed {seed}: {last['measure']} per episode"
    print_table(title, ("policy", "mean (95 %)", "failures"), rows)
    for sentence in sentences(last):
        print(sentence)


def _print_ratings(world: str, last: dict[str, Any]) -> None:
    ranked = sorted(zip(last["policies"], last["ratings"], strict=True), key=lambda one: -one[1][2])
    rows = [
        (uri, f"{strength:.1f}", f"{doubt:.1f}", games, f"{won:.2f}")
        for uri, (strength, doubt, _, games, won) in ranked
    ]
    headings = ("policy", "rating", "+-", "games", "won")
    print_table(f"{world}: every policy against every other, from both sides", headings, rows)
