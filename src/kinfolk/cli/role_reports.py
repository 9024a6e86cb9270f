"""What `kinfolk evolve roles` prints of co-evolution and of an archive."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kinfolk.cli.output import command, echo, hint, print_table
from kinfolk.evaluation.formatting import format_estimate_with

_MAX_COLUMNS = 9  # champions whose payoffs are printed, the last ones
_MAX_CYCLES = 3
_THOUSAND = 1_000
_TARGETS = {"mixture": "Nash mixture of all champions", "latest": "last champions alone"}


def last_of_kind(events: Sequence[Mapping[str, Any]], kind: str) -> Mapping[str, Any] | None:
    """Return the last event of a kind; None if there is none."""
    return next((event for event in reversed(events) if event["kind"] == kind), None)


def print_coevolution(events: Sequence[Mapping[str, Any]]) -> None:
    """Print the payoffs of champions, cycles among them, and how exploitable the outcome is."""
    hall, outcome = (last_of_kind(events, k) for k in ("hall_updated", "coevolution_evaluated"))
    if hall is None or outcome is None:
        return
    names = hall["champions"]
    shown = range(max(0, len(names) - _MAX_COLUMNS), len(names))
    in_thousands = max(abs(lead) for row in hall["payoffs"] for lead in row) >= _THOUSAND
    scale, digits = (_THOUSAND, 1) if in_thousands else (1, 0)
    rows = [
        (
            names[i],
            f"{100 * hall['nash'][i]:.0f} %",
            f"{100 * hall['alpha_rank'][i]:.0f} %",
            *("" if i == j else f"{hall['payoffs'][i][j] / scale:+,.{digits}f}" for j in shown),
        )
        for i in shown
    ]
    unit = ", in thousands" if in_thousands else ""
    title = f"Mean lead of champions (population-generation) over each other{unit}, {hall['games']} games each"
    echo()
    print_table(title, ("champion", "Nash", "alpha", *(names[j] for j in shown)), rows)
    _print_cycles(hall)
    games = f"{outcome['best_response_games']:,} games"
    echo(f"\nLead of a fresh best response, evolved from the seeded roles with {games}:")
    for target, lead in outcome["exploitability"].items():
        echo(f"  {_TARGETS[target]:<30} {format_estimate_with(lead, lambda v: f'{v:+,.0f}')}")


def _print_cycles(hall: Mapping[str, Any]) -> None:
    """Print how many champions beat each other in a circle, and the clearest such circles."""
    cyclic, clear = hall["cyclic_triples"], hall["clear_cycles"]
    echo(f"{cyclic} of {hall['triples']} triples of champions are cycles, {clear} of them clear.")
    for names, leads, is_clear in hall["cycles"][:_MAX_CYCLES]:
        steps = [
            f"{name} beats the next by {lead:,.0f}" for name, lead in zip(names, leads, strict=True)
        ]
        echo(f"  {'; '.join(steps)}{'' if is_clear else ' (within the noise)'}")
    share = hall["share_later_wins"]
    if share is not None:
        echo(f"The later champion leads in {100 * share:.0f} % of pairs of generations.")


def print_archive(folder: Path, events: Sequence[Mapping[str, Any]]) -> None:
    """Print what the archive of a run holds, and the elites with the best scores."""
    from kinfolk.jobs.evolve_roles.archive.file import load_archive

    event = last_of_kind(events, "archive_evaluated")
    if event is None:
        return
    archive = load_archive(folder)
    axes = " x ".join(f"{axis['name']} ({axis['cells']})" for axis in archive.axes)
    echo(f"\nArchive over {axes}: {event['filled']} of {event['cells']} cells have a team.")
    percent = format_estimate_with(event["believed"], lambda share: f"{100 * share:.0f}")
    echo(
        f"In {event['games']} fresh games {percent} % of them fell into their own cell again; "
        f"they scored {format_estimate_with(event['optimism'], lambda v: f'{v:,.0f}')} less than before."
    )
    if event["believed_roles"]:
        roles = format_estimate_with(event["believed_roles"], lambda share: f"{100 * share:.0f}")
        echo(f"{event['filled_by_roles']} cells have a role; {roles} % fell into theirs again.")
    best = sorted(archive.elites["teams"], key=lambda elite: -elite["fresh_score"])[:5]
    rows = []
    for elite in best:
        measures = zip(archive.axes, elite["fresh_measures"], strict=True)
        described = ", ".join(f"{axis['name']} {value:.2f}" for axis, value in measures)
        score = f"{elite['fresh_score']:,.0f}"
        rows.append((elite["cell"], score, described, "yes" if elite["believed"] else "no"))
    print_table("Best elites", ("cell", archive.metric, "descriptors", "own cell"), rows)
    if best:
        uri = f"run:{folder}@archive/{best[0]['cell']}"
        hint(f"  {command('eval', '--slot', f'cogs={uri}')}   play an elite")
        hint(f"  {command('plot', folder, '--kind', 'archive')}   draw the archive")


def print_archive_course(events: Sequence[Mapping[str, Any]]) -> None:
    """Print how the archive filled over the generations."""
    first, last = events[0], events[-1]
    echo(
        f"{last['games']:,} games, {last['n_roles']} roles; from {first['num_elites']} elites to "
        f"{last['num_elites']} over {len(events)} generations."
    )
