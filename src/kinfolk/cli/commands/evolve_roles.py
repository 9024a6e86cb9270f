"""`kinfolk evolve roles`: the command, its checks and its report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from kinfolk import jobs
from kinfolk.cli.compile import compile_kernels
from kinfolk.cli.flags import job_call
from kinfolk.cli.output import command, echo, hint, print_json, print_plot, print_table, progress
from kinfolk.cli.role_reports import (
    last_of_kind,
    print_archive,
    print_archive_course,
    print_coevolution,
)
from kinfolk.cli.run_lifecycle import interruptible
from kinfolk.evaluation.formatting import (
    format_estimate,
    format_estimate_1dp,
    format_estimate_with,
    format_sample_size,
)

_TEAM_NAMES = {
    "seeded": "seeded team",
    "baseline": "smart baseline",
    "champion": "evolved champion",
    "vibes": "  its vibes only",
}
_PARTS = {
    "mix": "mix (agents per role type)",
    "order": "order (behaviors and their tiers)",
    "parameters": "parameters",
    "guards": "guards",
}
# Events beside generations and champion that --json prints, the last of each kind.
_FURTHER = {
    "hall": "hall_updated",
    "coevolution": "coevolution_evaluated",
    "archive": "archive_evaluated",
}
_MAX_SHARES = 6  # behaviors of a role whose share of ticks is printed


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
        from kinfolk.roles.history_file import read_history_text

        call.flags["history"] = read_history_text(history)
    run, settings = call.open_run("evolve_roles", jobs.EvolveRoles, _check_roles)
    _evolve_roles(run, settings, engine)
    events = list(run.events())
    generations = [event for event in events if event["kind"] == _step_kind(settings)]
    if call.json:
        start = {"run": str(run.folder), "settings": settings.model_dump(exclude={"history"})}
        last = {name: last_of_kind(events, kind) for name, kind in _FURTHER.items()}
        further = {name: event for name, event in last.items() if event is not None}
        print_json({**start, "generations": generations, **further, "champion": events[-1]})
    else:
        print_coevolution(events)
        print_archive(run.folder, events)
        _print_report(run.folder, settings, generations, events[-1])


def _step_kind(settings: Any) -> str:
    """Return the kind of the events that tell how an evolution goes on."""
    if settings.archive:
        return "archive_updated"
    return "live_game_played" if settings.live else "generation_scored"


def _check_roles(settings: Any) -> None:
    """Check the settings and compile their kernels, before a run folder is created.

    Raises:
        UsageError: Something in the settings is unknown or does not fit.
    """
    from kinfolk.jobs.evolve_roles.archive.job import start_archive
    from kinfolk.jobs.evolve_roles.coevolution.state import check_coevolution
    from kinfolk.jobs.evolve_roles.start import prepare

    state, _ = prepare(settings, None)
    if settings.coevolve:
        check_coevolution(settings)
    elif settings.archive:
        start_archive(state, None)
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
    from kinfolk.jobs.evolve_roles.coevolution.state import RESPONSE_TARGETS
    from kinfolk.store.run_job import run_and_store

    if run.status == "done":
        engine.close()
        return
    kind, each = _step_kind(settings), 1
    total = settings.generations * (settings.live_games if settings.live else 1)
    if settings.coevolve:  # every population has an event, and so have best responses
        each = settings.coevolve
        total += len(RESPONSE_TARGETS) * settings.coevolution.best_response_generations
    played = sum(event["kind"] == kind for event in run.events())
    done = _count_steps(settings, played, each)
    bar = progress("Games" if settings.live else "Generations", total, done)
    with interruptible("evolve roles", run, engine), bar as tell:
        for event in run_and_store(run, lambda state: jobs.evolve_roles(settings, engine, state)):
            played += event.kind == kind
            tell(min(_count_steps(settings, played, each), total))


def _count_steps(settings: Any, n_events: int, each: int) -> int:
    """Return how many generations or games have been played, best responses included.

    Args:
        settings: Settings of the evolution.
        n_events: Number of events that tell of one.
        each: Events of each generation, before the best responses.
    """
    in_generations = min(n_events, settings.generations * each) if each > 1 else n_events
    return in_generations // each + (n_events - in_generations)


def _print_report(
    folder: Path, settings: Any, generations: list[dict[str, Any]], champion: dict[str, Any]
) -> None:
    """Print how the champion compares, its roles, the course of evolution and commands to try next.

    Args:
        folder: Run folder of the evolution.
        settings: Settings of the evolution.
        generations: `generation_scored` events of the run, or its `live_game_played` events.
        champion: `champion_evaluated` event of the run.
    """
    _print_comparison(settings, champion)
    _print_champion(champion)
    _print_explanation(champion)
    _print_held_out(champion)
    if settings.live:
        _print_live_course(generations, champion)
    elif settings.archive:
        print_archive_course(generations)
    else:
        _print_course(generations, champion)
    echo(f"The run lies in {folder}")
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
        echo(f"The champion scores {champion['ratio']:.2f} times the score of the seeded team.")


def _print_champion(champion: dict[str, Any]) -> None:
    """Print the roles of the champion with their credit and their behaviors."""
    echo("\nThe champion, and what its team loses without one agent of a role:")
    credit = champion["credit"]
    for name in sorted(champion["team"], key=lambda role: -credit[role][0]):
        lost = format_estimate_1dp(credit[name])
        games = f"n = {format_sample_size(credit[name])}"
        echo(f"  {champion['team'][name]} x {name}: {lost} {champion['metric']}, {games}")
        echo(f"      {champion['programs'][name]}")
        shares = champion["behavior_shares"].get(name, {})
        acted = [f"{behavior} {100 * share:.0f} %" for behavior, share in shares.items()]
        if acted:
            echo(f"      acts: {', '.join(acted[:_MAX_SHARES])}")


def _print_explanation(champion: dict[str, Any]) -> None:
    """Print how the champion differs from the seeded team, and what each part of it gives."""
    echo("\nThe champion against the seeded team:")
    for line in champion["changes"]:
        echo(f"  {line}")
    if champion["parts"]:
        echo(f"\nWhat it loses, in {champion['metric']}, if a part is put back as seeded:")
    for part, lost in champion["parts"].items():
        echo(f"  {_PARTS[part]:<34} {format_estimate_with(lost, lambda v: f'{v:+,.0f}')}")


def _print_held_out(champion: dict[str, Any]) -> None:
    """Print the champion's lead on settings that no generation was played on."""
    rows = []
    for name, scores in champion["held_out"].items():
        lead = format_estimate_with(scores["difference"], lambda v: f"{v:+,.0f}")
        rows.append(
            (name, *(format_estimate(scores[side]) for side in ("seeded", "champion")), lead,
             format_sample_size(scores["difference"]))
        )  # fmt: skip
    if rows:
        headings = ("", "seeded team (95 %)", "champion (95 %)", "champion ahead by (95 %)", "n")
        echo()
        print_table("Held-out settings", headings, rows)


def _print_live_course(games: list[dict[str, Any]], champion: dict[str, Any]) -> None:
    """Plot the mean score of each generation of a live evolution."""
    scores: dict[int, list[float]] = {}
    for game in games:
        scores.setdefault(game["generation"], []).append(game["team_score"])
    means = [max(0.0, sum(group) / len(group)) for group in scores.values()]
    echo()
    print_plot(f"{champion['metric']} per game, over {len(means)} generations", means)
    echo(f"{len(games):,} games, {games[-1]['n_roles']} roles.")


def _print_course(generations: list[dict[str, Any]], champion: dict[str, Any]) -> None:
    """Plot the teams' advantage over generations, and print how the shares of behaviors changed."""
    advantage = [max(0.0, event["advantage"]) for event in generations]
    over = f"over {len(advantage)} generations"
    echo()
    print_plot(f"{champion['metric']} above the seeded team, {over}", advantage)
    last = generations[-1]
    echo(
        f"{last['games']:,} games, {last['n_roles']} roles; in the last generation teams beat the "
        f"seeded one in {100 * last['win_rate_vs_seeded']:.0f} % of games on the same episodes, "
        f"diversity {last['diversity']:.2f}."
    )
    first, end = generations[0]["behavior_shares"], last["behavior_shares"]
    by_change = sorted(end, key=lambda name: end[name] - first[name])
    extremes = (*by_change[:-4:-1], *by_change[:3])
    changes = [f"{n} {100 * first[n]:.0f} to {100 * end[n]:.0f} %" for n in extremes]
    if len(generations) > 1:
        echo("Share of roles in the pool that have a behavior, from first to last generation:")
        echo(f"  {'; '.join(changes[:3])};\n  {'; '.join(changes[3:])}.")
