"""`kinfolk evolve roles`: the main job."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from kinfolk.cli.begin import ConfigOption, OutOption, ResumeOption, begin, given, going
from kinfolk.cli.compile import compile_kernels
from kinfolk.cli.completion import complete_engine, complete_preset, complete_world
from kinfolk.cli.role_report import print_report
from kinfolk.cli.show import JsonOption, print_json, progress
from kinfolk.cli.slots import SetOption


def roles(
    world: Annotated[
        str | None,
        typer.Option(help="A world with roles [cogsguard].", autocompletion=complete_world),
    ] = None,
    preset: Annotated[
        str | None, typer.Option(help="See `kinfolk presets`.", autocompletion=complete_preset)
    ] = None,
    rule: SetOption = [],  # noqa: B006, typer copies it
    generations: Annotated[int | None, typer.Option(help="How many [30].")] = None,
    games_per_generation: Annotated[
        int | None, typer.Option(help="Of all line-ups together [100].")
    ] = None,
    population: Annotated[int | None, typer.Option(help="Roles in the pool [16].")] = None,
    lineups: Annotated[int | None, typer.Option(help="Line-ups that compete [24].")] = None,
    trigger: Annotated[str | None, typer.Option(help="cadence or temple [cadence].")] = None,
    mix: Annotated[
        str | None,
        typer.Option(
            help="fixed: as many agents per role type as seeded; free: that evolves too [fixed]."
        ),
    ] = None,
    control: Annotated[
        str | None,
        typer.Option(help="none; shuffled: results of others, so nothing is gained [none]."),
    ] = None,
    seed: Annotated[str | None, typer.Option(help="Where all chance comes from [0].")] = None,
    history: Annotated[
        Path | None, typer.Option(help="Start from the role_history.json of another run.")
    ] = None,
    catalog: Annotated[
        str | None, typer.Option(help="package.function that makes a catalogue of your own.")
    ] = None,
    judge_games: Annotated[
        int | None, typer.Option(help="Unseen games that compare the champion [100].")
    ] = None,
    showcase_every: Annotated[
        int | None, typer.Option(help="Generations between two recorded games; 0: none [10].")
    ] = None,
    config: ConfigOption = None,
    engine: Annotated[
        str, typer.Option(help="local, processes or ray.", autocompletion=complete_engine)
    ] = "processes",
    jobs: Annotated[int, typer.Option(help="Tasks at once.")] = 2,
    out: OutOption = None,
    resume: ResumeOption = None,
    json: JsonOption = False,
) -> None:
    """Evolve roles and line-ups, and say what the champion is worth on unseen seeds."""
    from kinfolk.core.settings import parse_overrides
    from kinfolk.engines import make_engine
    from kinfolk.jobs.evolve_roles.settings import EvolveRoles

    workers = make_engine(engine, jobs)
    flags = {
        "world": world,
        "preset": preset,
        "world_settings": parse_overrides(rule) or None,
        "generations": generations,
        "games_per_generation": games_per_generation,
        "population": population,
        "n_teams": lineups,
        "role_counts": mix,
        "trigger": trigger,
        "control": control,
        "seed": seed,
        "history": _read_history(history),
        "catalog": catalog,
        "eval_games": judge_games,
        "replay_every": showcase_every,
    }
    asked = given(flags)
    run, settings = begin("evolve_roles", EvolveRoles, asked, config, out, resume, _try_out)
    _drain(run, settings, workers)
    events = list(run.events())
    if json:
        print_json(_document(run, settings, events))
    else:
        print_report(run.folder, settings, events)


def _read_history(path: Path | None) -> str | None:
    """The text of a history, refused here if it is damaged: with its own name."""
    from kinfolk.roles.history_text import parse_history
    from kinfolk.store.json_files import read_text

    if path is None:
        return None
    text = read_text(path)
    parse_history(text, str(path))
    return text


def _try_out(settings: Any) -> None:
    """Find what is wrong before a folder is made, and compile before workers wait for it."""
    from kinfolk.jobs.evolve_roles.job import prepare

    prepare(settings, None)
    ground = settings.environment
    policies = {"roles": f"class:{ground.policy_path}"}
    compile_kernels(ground.world, ground.world_settings, ground.preset, policies)


def _drain(run: Any, settings: Any, workers: Any) -> None:
    from kinfolk.jobs.evolve_roles.job import evolve_roles
    from kinfolk.store.run_job import run_and_store

    if run.status == "done":
        workers.close()
        return
    done = sum(1 for event in run.events() if event["kind"] == "generation_scored")
    bar = progress("Generations", settings.generations, done)
    with going("evolve roles", run, workers), bar as tell:
        for event in run_and_store(run, lambda snapshot: evolve_roles(settings, workers, snapshot)):
            tell(min(event.step + 1, settings.generations))


def _document(run: Any, settings: Any, events: list[dict[str, Any]]) -> dict[str, Any]:
    generations = [event for event in events if event["kind"] == "generation_scored"]
    return {
        "run": str(run.folder),
        "settings": settings.model_dump(exclude={"history"}),
        "generations": generations,
        "champion": events[-1],
    }
