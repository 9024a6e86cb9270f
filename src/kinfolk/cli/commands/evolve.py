"""`kinfolk evolve roles` and `kinfolk evolve nets`: commands, checks and reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from kinfolk import jobs
from kinfolk.cli.compile import compile_kernels
from kinfolk.cli.flags import job_call, settings_command
from kinfolk.cli.output import command, hint, note, print_json, print_plot, print_table, progress
from kinfolk.cli.run_lifecycle import format_policy_uris, interruptible
from kinfolk.evaluation.formatting import (
    format_estimate,
    format_estimate_1dp,
    format_estimate_with,
    format_sample_size,
)

_SHADES = " .:-=+*#%@"  # of cells of an archive, from the lowest fitness to the highest
_TEAM_NAMES = {
    "seeded": "seeded team",
    "baseline": "smart baseline",
    "champion": "evolved champion",
    "vibes": "  its vibes only",
}

evolve = typer.Typer(help="Evolve roles or networks.", rich_markup_mode=None)


@evolve.command(cls=settings_command("evolve-roles", engine="processes"))
def roles(
    context: typer.Context,
    history: Annotated[
        Path | None, typer.Option(help="Start from the role_history.json of another run.")
    ] = None,
) -> None:
    """Evolve roles and teams, and evaluate the champion on unseen seeds."""
    call = job_call(context)
    engine = call.make_engine()
    if history is not None:
        call.flags["history"] = _read_history(history)
    run, settings = call.open_run("evolve_roles", jobs.EvolveRoles, _check_roles)
    _evolve_roles(run, settings, engine)
    events = list(run.events())
    generations = [event for event in events if event["kind"] == "generation_scored"]
    if call.json:
        start = {"run": str(run.folder), "settings": settings.model_dump(exclude={"history"})}
        print_json({**start, "generations": generations, "champion": events[-1]})
    else:
        _print_report(run.folder, settings, generations, events[-1])


def _read_history(path: Path) -> str:
    """Return the text of a role history file, after checking that it can be parsed.

    Raises:
        UsageError: There is no such file.
        DamagedRunError: It is not a role history; the message names the file.
    """
    from kinfolk.roles.history import parse_history
    from kinfolk.store.files import read_text

    text = read_text(path)
    parse_history(text, str(path))
    return text


def _check_roles(settings: Any) -> None:
    """Check the settings and compile their kernels, before a run folder is created.

    Raises:
        UsageError: Something in the settings is unknown or does not fit.
    """
    from kinfolk.jobs.evolve_roles.job import prepare

    prepare(settings, None)
    world = settings.environment.world
    policies = {"roles": f"class:{settings.environment.policy_path}"}
    compile_kernels(world.name, world.settings, world.preset, policies)


def _evolve_roles(run: Any, settings: Any, engine: Any) -> None:
    """Run the evolution, store it and show progress; do nothing if the run is already done.

    Args:
        run: Run folder to write or to resume.
        settings: Settings of the evolution.
        engine: Engine that runs the tasks; it is closed at the end.
    """
    from kinfolk.store.run_job import run_and_store

    if run.status == "done":
        engine.close()
        return
    done = sum(1 for event in run.events() if event["kind"] == "generation_scored")
    bar = progress("Generations", settings.generations, done)
    with interruptible("evolve roles", run, engine), bar as tell:
        for event in run_and_store(run, lambda state: jobs.evolve_roles(settings, engine, state)):
            tell(min(event.step + 1, settings.generations))


def _print_report(
    folder: Path, settings: Any, generations: list[dict[str, Any]], champion: dict[str, Any]
) -> None:
    """Print how the champion compares, its roles, the course of evolution and commands to try next.

    Args:
        folder: Run folder of the evolution.
        settings: Settings of the evolution.
        generations: `generation_scored` events of the run.
        champion: `champion_evaluated` event of the run.
    """
    _print_comparison(settings, champion)
    _print_champion(champion)
    _print_course(generations, champion)
    print(f"The run lies in {folder}")
    hints = {
        command("view", folder): "watch it in the browser",
        command("export", "phylogeny", folder): "the family tree of its roles",
        command("export", "role", folder): "the champion's roles, for --history",
    }
    width = max(map(len, hints))
    for words, about in hints.items():
        hint(f"  {words:<{width}}   {about}")


def _print_comparison(settings: Any, champion: dict[str, Any]) -> None:
    """Print the scores of the champion and of the teams it is compared with."""
    rows = []
    for side, name in _TEAM_NAMES.items():
        score, ahead = champion["scores"][side], champion["difference"].get(side)
        won = format_estimate_with(champion["win_rate"][side], lambda share: f"{100 * share:.0f}")
        lead = "" if ahead is None else format_estimate_with(ahead, lambda v: f"{v:+,.0f}")
        rows.append((name, format_estimate(score), won, lead))
    games = f"{champion['games']} held-out games (episodes of seed {champion['seed']})"
    headings = ("", f"{champion['metric']} (95 %)", "won, % (95 %)", "champion ahead by (95 %)")
    print_table(f"{settings.world}: {games}", headings, rows)
    if champion["ratio"] is not None:
        print(f"The champion scores {champion['ratio']:.2f} times the score of the seeded team.")


def _print_champion(champion: dict[str, Any]) -> None:
    """Print the roles of the champion with their credit and their behaviors."""
    print("\nThe champion, and what its team loses without one agent of a role:")
    credit = champion["credit"]
    for name in sorted(champion["team"], key=lambda role: -credit[role][0]):
        lost = format_estimate_1dp(credit[name])
        games = f"n = {format_sample_size(credit[name])}"
        print(f"  {champion['team'][name]} x {name}: {lost} {champion['metric']}, {games}")
        print(f"      {champion['programs'][name]}")


def _print_course(generations: list[dict[str, Any]], champion: dict[str, Any]) -> None:
    """Plot the teams' advantage over generations, and print how the shares of behaviors changed."""
    advantage = [max(0.0, event["advantage"]) for event in generations]
    over = f"over {len(advantage)} generations"
    print()
    print_plot(f"{champion['metric']} above the seeded team, {over}", advantage)
    last = generations[-1]
    print(
        f"{last['games']:,} games, {last['n_roles']} roles; in the last generation teams beat the "
        f"seeded one in {100 * last['win_rate_vs_seeded']:.0f} % of games, "
        f"diversity {last['diversity']:.2f}."
    )
    first, end = generations[0]["behavior_shares"], last["behavior_shares"]
    by_change = sorted(end, key=lambda name: end[name] - first[name])
    extremes = (*by_change[:-4:-1], *by_change[:3])
    changes = [f"{n} {100 * first[n]:.0f} to {100 * end[n]:.0f} %" for n in extremes]
    if len(generations) > 1:
        print("Share of roles in the pool that have a behavior, from first to last generation:")
        print(f"  {'; '.join(changes[:3])};\n  {'; '.join(changes[3:])}.")


@evolve.command(cls=settings_command("evolve-nets"))
def nets(context: typer.Context) -> None:
    """Evolve nets in a world, on a Gymnasium task, or to imitate another policy."""
    call = job_call(context)
    run, settings = call.open_run("evolve_nets", jobs.EvolveNets, _check_nets)
    if run.status != "done":
        _evolve_nets(run, settings, call.make_engine())
    events = list(run.events())
    if call.json:
        folder, chosen = str(run.folder), settings.model_dump()
        print_json({"run": folder, "settings": chosen, "summary": events[-1]})
    else:
        names = _print_result(settings, events)
        if settings.archive:
            _print_archive(run, settings)
        print(f"The run lies in {run.folder}; its nets play as {format_policy_uris(run, names)}")
    if events[-1]["goal_reached"] is False:
        raise typer.Exit(1)


def _check_nets(settings: Any) -> None:
    """Check the settings and compile their kernels, before a run folder is created.

    Raises:
        UsageError: Something in the settings is unknown or does not fit.
    """
    from kinfolk.jobs.evolve_nets.state import initial_state

    initial_state(settings)
    compile_kernels(settings.task, settings.world_settings, settings.preset, settings.fixed)


def _evolve_nets(run: Any, settings: Any, engine: Any) -> None:
    """Run the evolution, store it in its run folder and show progress.

    Args:
        run: Run folder to write or to resume.
        settings: Settings of the evolution.
        engine: Engine that runs the tasks; it is closed at the end.
    """
    from kinfolk.store.run_job import run_and_store

    bar = progress("Generations", settings.generations)
    with interruptible("evolve nets", run, engine), bar as tell:
        for event in run_and_store(run, lambda state: jobs.evolve_nets(settings, engine, state)):
            if event.kind == "generation_scored":
                tell(event.step + 1)
            elif event.kind == "held_out":
                note(_describe_score(event))


def _describe_score(event: Any) -> str:
    """Return one line about a net's score on held-out episodes."""
    scored = f"generation {event.step}: {event.population} {event.individual}"
    return f"{scored} scores {format_estimate(event.score)} on {event.episodes} held-out episodes"


def _print_result(settings: Any, events: Sequence[Mapping[str, Any]]) -> list[str]:
    """Print a table of populations and the fitness curve of each; return the populations' names."""
    last = events[-1]
    scored = [event for event in events if event["kind"] == "generation_scored"]
    names = list(dict.fromkeys(event["population"] for event in scored))
    rows = []
    for name in names:
        generations = [event for event in scored if event["population"] == name]
        # The best of them, of elite or centre, is the one that `run:` plays.
        held = [e["score"] for e in events if e["kind"] == "held_out" and e["population"] == name]
        best_held = format_estimate(max(held, key=lambda score: score[0])) if held else ""
        means, end = [event["mean"] for event in generations], generations[-1]
        figures = [f"{value:.3g}" for value in (means[0], means[-1], end["best"])]
        rows.append((name, *figures, best_held, end["n_lineages"]))
        lowest = min(0.0, *means)  # plots begin at zero
        title = f"{name}: mean fitness of {len(generations)} generations"
        print_plot(title, [mean - lowest for mean in means])
    print_table(
        f"{settings.task}: {settings.net} nets by {settings.algorithm}, "
        f"{last['generations']} generations of {settings.population}, {last['steps']:,} ticks",
        ("population", "first mean", "last mean", "best", "best held-out (95 %)", "lineages"),
        rows,
    )
    if settings.goal is not None:
        reached = f"reached in generation {last['generations'] - 1}"
        outcome = reached if last["goal_reached"] else "not reached"
        print(f"The goal, {settings.goal_of} of {settings.goal:g}, was {outcome}.")
    return names


def _print_archive(run: Any, settings: Any) -> None:
    """Print the MAP-Elites archive of a run as text, a character per cell."""
    from kinfolk.jobs.evolve_nets.outputs import load_fitness_grid

    grid, axes = load_fitness_grid(run, settings)
    filled = grid[grid == grid]
    low, high = float(filled.min()), float(filled.max())
    scale = f"fitness from {low:.3g} (.) to {high:.3g} (@)"
    print(f"MAP-Elites archive, {scale}; empty cells are blank")
    print(f"  down: {axes[0]}" + (f"; across: {axes[1]}" if len(axes) > 1 else ""))
    for line in grid.reshape(grid.shape[0], -1):
        cells = (" " if value != value else _shade(value, low, high) for value in line)
        print("  |" + "".join(cells) + "|")


def _shade(value: float, low: float, high: float) -> str:
    """Return the character that shows a fitness value; higher values have darker characters.

    Args:
        value: Fitness between `low` and `high`.
        low: Lowest fitness in the archive.
        high: Highest fitness in the archive.
    """
    share = 1.0 if high == low else (value - low) / (high - low)
    return _SHADES[1 + min(len(_SHADES) - 2, int(share * (len(_SHADES) - 1)))]
