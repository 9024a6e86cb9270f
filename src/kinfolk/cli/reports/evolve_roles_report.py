"""How a run of role evolution is shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kinfolk.cli.formatting import command, hint, print_table
from kinfolk.cli.plot import print_plot
from kinfolk.evaluation.formatting import (
    format_estimate,
    format_estimate_1dp,
    format_estimate_with,
    format_sample_size,
)

_SIDES = {
    "seeded": "seeded line-up",
    "baseline": "smart baseline",
    "champion": "evolved champion",
    "vibes": "  its vibes only",
}


def print_report(folder: Path, settings: Any, events: list[dict[str, Any]]) -> None:
    """The table, what the champion is made of, how it came about, where to look."""
    generations = [event for event in events if event["kind"] == "generation_scored"]
    judged = events[-1]
    _print_judgement(settings, judged)
    _print_champion(judged)
    _print_course(generations, judged)
    print(f"The run lies in {folder}")
    hints = {
        command("view", folder): "watch it in the browser",
        command("export", "phylogeny", folder): "the family tree of its roles",
        command("export", "role", folder): "the champion's roles, for --history",
    }
    width = max(map(len, hints))
    for words, about in hints.items():
        hint(f"  {words:<{width}}   {about}")


def _print_judgement(settings: Any, judged: dict[str, Any]) -> None:
    rows = []
    for side, name in _SIDES.items():
        ahead = judged["difference"].get(side)
        rows.append(
            (
                name,
                format_estimate(judged["held"][side]),
                format_estimate_with(judged["won"][side], lambda share: f"{100 * share:.0f}"),
                "" if ahead is None else format_estimate_with(ahead, lambda v: f"{v:+,.0f}"),
            )
        )
    title = (
        f"{settings.world}: {judged['games']} games that selection never saw "
        f"(episodes of seed {judged['seed']})"
    )
    headings = ("", f"{judged['measure']} (95 %)", "won, % (95 %)", "champion ahead by (95 %)")
    print_table(title, headings, rows)
    if judged["ratio"] is not None:
        print(f"The champion holds {judged['ratio']:.2f} times what the seeded line-up holds.")


def _print_champion(judged: dict[str, Any]) -> None:
    print("\nThe champion, and what its team loses without one agent of a role:")
    credit = judged["credit"]
    for name in sorted(judged["lineup"], key=lambda one: -credit[one][0]):
        lost = format_estimate_1dp(credit[name])
        games = f"n = {format_sample_size(credit[name])}"
        print(f"  {judged['lineup'][name]} x {name}: {lost} {judged['measure']}, {games}")
        print(f"      {judged['programs'][name]}")


def _print_course(generations: list[dict[str, Any]], judged: dict[str, Any]) -> None:
    advantage = [max(0.0, event["advantage"]) for event in generations]
    print()
    print_plot(
        f"{judged['measure']} above the seeded line-up, over {len(advantage)} generations",
        advantage,
    )
    last = generations[-1]
    print(
        f"{last['games']:,} games, {last['roles']} roles; in the last generation line-ups beat the "
        f"seeded one in {100 * last['beats_seeded']:.0f} % of games, "
        f"diversity {last['diversity']:.2f}."
    )
    first, end = generations[0]["behaviors"], last["behaviors"]
    moved = sorted(end, key=lambda name: end[name] - first[name])
    told = [
        f"{n} {100 * first[n]:.0f} to {100 * end[n]:.0f} %" for n in (*moved[:-4:-1], *moved[:3])
    ]
    if len(generations) > 1:
        print(
            "Of the roles in the pool, those that hold a behaviour, from first to last generation:"
        )
        print(f"  {'; '.join(told[:3])};\n  {'; '.join(told[3:])}.")
