"""Report of a run of role evolution."""

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
    "seeded": "seeded team",
    "baseline": "smart baseline",
    "champion": "evolved champion",
    "vibes": "  its vibes only",
}


def print_report(folder: Path, settings: Any, events: list[dict[str, Any]]) -> None:
    """Print the comparison of the champion, its roles, the course of evolution and what to do next.

    Args:
        folder: Folder of the run.
        settings: Its settings.
        events: All its events.
    """
    generations = [event for event in events if event["kind"] == "generation_scored"]
    champion = events[-1]
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
    """Print the champion beside the other teams."""
    rows = []
    for side, name in _SIDES.items():
        ahead = champion["difference"].get(side)
        rows.append(
            (
                name,
                format_estimate(champion["scores"][side]),
                format_estimate_with(
                    champion["win_rate"][side], lambda share: f"{100 * share:.0f}"
                ),
                "" if ahead is None else format_estimate_with(ahead, lambda v: f"{v:+,.0f}"),
            )
        )
    title = (
        f"{settings.world}: {champion['games']} held-out games "
        f"(episodes of seed {champion['seed']})"
    )
    headings = ("", f"{champion['metric']} (95 %)", "won, % (95 %)", "champion ahead by (95 %)")
    print_table(title, headings, rows)
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
    """Plot the advantage over generations, and print how behaviors spread."""
    advantage = [max(0.0, event["advantage"]) for event in generations]
    print()
    print_plot(
        f"{champion['metric']} above the seeded team, over {len(advantage)} generations",
        advantage,
    )
    last = generations[-1]
    print(
        f"{last['games']:,} games, {last['n_roles']} roles; in the last generation teams beat the "
        f"seeded one in {100 * last['win_rate_vs_seeded']:.0f} % of games, "
        f"diversity {last['diversity']:.2f}."
    )
    first, end = generations[0]["behavior_shares"], last["behavior_shares"]
    by_change = sorted(end, key=lambda name: end[name] - first[name])
    changes = [
        f"{n} {100 * first[n]:.0f} to {100 * end[n]:.0f} %"
        for n in (*by_change[:-4:-1], *by_change[:3])
    ]
    if len(generations) > 1:
        print("Share of roles in the pool that have a behavior, from first to last generation:")
        print(f"  {'; '.join(changes[:3])};\n  {'; '.join(changes[3:])}.")
