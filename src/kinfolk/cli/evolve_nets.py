"""`kinfolk evolve nets`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from kinfolk.cli.begin import ConfigOption, OutOption, ResumeOption, as_uris, begin, given, going
from kinfolk.cli.compile import compile_kernels
from kinfolk.cli.completion import complete_engine, complete_preset, complete_world
from kinfolk.cli.evolve_nets_show import print_map, print_progress, print_result
from kinfolk.cli.show import JsonOption, print_json, progress
from kinfolk.cli.slots import SetOption, pairs
from kinfolk.core.errors import SettingsError


def nets(
    task: Annotated[
        str | None,
        typer.Option(
            help="A world, gym:ID or gym:MODULE:ID [gym:CartPole-v1].",
            autocompletion=complete_world,
        ),
    ] = None,
    preset: Annotated[
        str | None, typer.Option(help="See `kinfolk presets`.", autocompletion=complete_preset)
    ] = None,
    rule: SetOption = [],  # noqa: B006, typer copies it
    net: Annotated[str | None, typer.Option(help="feedforward, recurrent or dynamic.")] = None,
    hidden: Annotated[
        str | None, typer.Option(help="Sizes of hidden layers: 16, or 32,32, or none.")
    ] = None,
    head: Annotated[
        str | None, typer.Option(help="argmax, softmax_sample, tanh or raw [argmax].")
    ] = None,
    zero_init: Annotated[bool, typer.Option("--zero-init", help="Begin with all zero.")] = False,
    algorithm: Annotated[
        str | None, typer.Option(help="ga, cma, sep-cma, openai-es or lm-ma [ga].")
    ] = None,
    population: Annotated[int | None, typer.Option(help="Members [64].")] = None,
    generations: Annotated[int | None, typer.Option(help="At most so many [100].")] = None,
    evaluations: Annotated[int | None, typer.Option(help="Stop after so many members.")] = None,
    sigma: Annotated[float | None, typer.Option(help="Step of a mutation [0.01 for ga].")] = None,
    self_adaptive: Annotated[
        bool, typer.Option("--self-adaptive", help="A sigma per weight.")
    ] = False,
    learning_rate: Annotated[float | None, typer.Option(help="Of openai-es [0.5].")] = None,
    selection: Annotated[str | None, typer.Option(help="truncation or tournament.")] = None,
    tournament: Annotated[int | None, typer.Option(help="Contestants [3].")] = None,
    elites: Annotated[int | None, typer.Option(help="The best live on unchanged [0].")] = None,
    inherit: Annotated[
        str | None, typer.Option(help="Of env, mem, fit, with commas between.")
    ] = None,
    matches: Annotated[int | None, typer.Option(help="Episodes of a member [1].")] = None,
    steps: Annotated[int | None, typer.Option(help="Ticks of a match [whole episodes].")] = None,
    fitness: Annotated[
        list[str],
        typer.Option(help="POPULATION=return, per_life, life or counter:NAME [return]."),
    ] = [],  # noqa: B006
    fixed: Annotated[list[str], typer.Option(help="GROUP=URI: who does not evolve.")] = [],  # noqa: B006
    rival: Annotated[
        list[str], typer.Option(help="GROUP=URI: against whom the others are held out.")
    ] = [],  # noqa: B006
    roles: Annotated[int | None, typer.Option(help="Populations dealt among a team.")] = None,
    imitate: Annotated[
        str | None, typer.Option(help="URI, or a file of x and actions, to be like.")
    ] = None,
    adversarial: Annotated[
        str | None, typer.Option(help="URI to pass for; members judge each other.")
    ] = None,
    archive: Annotated[
        str | None,
        typer.Option(help="Map of behaviours: NAME=LOW..HIGH[xCELLS], one or two with a comma."),
    ] = None,
    held_out: Annotated[int | None, typer.Option(help="Unseen episodes [100].")] = None,
    held_out_every: Annotated[int | None, typer.Option(help="Generations between.")] = None,
    goal: Annotated[float | None, typer.Option(help="Stop when reached; exit 1 if not.")] = None,
    goal_of: Annotated[str | None, typer.Option(help="elite, center or mean [elite].")] = None,
    drop_calibration: Annotated[
        bool, typer.Option("--drop-calibration", help="Dynamic nets forget; for comparison.")
    ] = False,
    seed: Annotated[int | None, typer.Option(help="Where all chance comes from [0].")] = None,
    engine: Annotated[
        str, typer.Option(help="local or processes.", autocompletion=complete_engine)
    ] = "local",
    jobs: Annotated[int, typer.Option(help="Tasks at once.")] = 2,
    chunk: Annotated[int | None, typer.Option(help="Members of a task [32].")] = None,
    config: ConfigOption = None,
    out: OutOption = None,
    resume: ResumeOption = None,
    json: JsonOption = False,
) -> None:
    """Evolve nets in a world, on a Gymnasium task, or to be like another policy."""
    from kinfolk.core.settings import parse_overrides
    from kinfolk.engines import make_engine
    from kinfolk.jobs.evolve_nets.settings import EvolveNets

    flags = {
        "task": task, "preset": preset, "world_settings": parse_overrides(rule) or None, "net": net,
        "hidden": _sizes(hidden), "head": head, "zero_init": zero_init or None,
        "algorithm": algorithm, "population": population, "generations": generations,
        "max_evaluations": evaluations, "sigma": sigma, "self_adaptive": self_adaptive or None,
        "learning_rate": learning_rate, "selection": selection, "tournament_size": tournament, "elites": elites,
        "inherit": inherit.split(",") if inherit else None, "matches": matches, "steps": steps,
        "fitness": pairs("--fitness", fitness) or None, "fixed": pairs("--fixed", fixed) or None,
        "held_out_opponents": pairs("--rival", rival) or None, "populations_per_group": roles, "imitate": imitate,
        "adversarial": adversarial, "archive": _axes(archive), "held_out_episodes": held_out,
        "held_out_every": held_out_every, "goal": goal, "goal_of": goal_of,
        "keep_running_stats": False if drop_calibration else None, "seed": seed, "chunk_size": chunk,
    }  # fmt: skip
    asked = given(flags)
    run, settings = begin("evolve_nets", EvolveNets, asked, config, out, resume, _try_out)
    if run.status != "done":
        _evolve(run, settings, make_engine(engine, jobs))
    events = list(run.events())
    if json:
        kept = settings.model_dump()
        print_json({"run": str(run.folder), "settings": kept, "summary": events[-1]})
    else:
        print_result(settings, events)
        if settings.archive:
            print_map(run, settings)
        scored = [event for event in events if event["kind"] == "generation_scored"]
        names = list(dict.fromkeys(event["population"] for event in scored))
        print(f"The run lies in {run.folder}; its nets play as {as_uris(run, names)}")
    if events[-1]["goal_reached"] is False:
        raise typer.Exit(1)


def _try_out(settings: Any) -> None:
    """Find what is wrong before a folder is made, and compile before workers wait for it."""
    from kinfolk.jobs.evolve_nets.state import initial_state

    initial_state(settings)
    compile_kernels(settings.task, settings.world_settings, settings.preset, settings.fixed)


def _evolve(run: Any, settings: Any, workers: Any) -> None:
    from kinfolk.jobs.evolve_nets.job import evolve_nets
    from kinfolk.store.run_job import run_and_store

    bar = progress("Generations", settings.generations)
    with going("evolve nets", run, workers), bar as tell:
        for event in run_and_store(run, lambda snapshot: evolve_nets(settings, workers, snapshot)):
            print_progress(event.to_dict(), tell)


def _sizes(text: str | None) -> list[int] | None:
    if text is None:
        return None
    words = [] if text == "none" else text.split(",")
    if not all(word.strip().isdecimal() for word in words):
        raise SettingsError(f"--hidden is written 16, or 32,32, or none, not '{text}'.")
    return [int(word) for word in words]


def _axes(text: str | None) -> list[dict[str, Any]] | None:
    """`NAME=LOW..HIGH[xCELLS]`, with a comma between two."""
    if text is None:
        return None
    found = []
    for part in text.split(","):
        name, _, rest = part.partition("=")
        ends, _, cells = rest.partition("x")
        low, dots, high = ends.partition("..")
        try:
            axis: dict[str, Any] = {"name": name, "low": float(low), "high": float(high)}
            found.append(axis | ({"cells": int(cells)} if cells else {}))
        except ValueError:
            dots = ""
        if not dots:
            raise SettingsError(f"--archive is written NAME=LOW..HIGH[xCELLS], not '{part}'.")
    return found
