"""`kinfolk bench roles` and `kinfolk bench ranks`: tables of role evolution."""

from __future__ import annotations

from typing import Any

from kinfolk.cli.formatting import print_table


def measure_ranks() -> dict[str, Any]:
    """Play teams of a generation on the episodes that rank them, and on fresh ones."""
    from kinfolk.bench.roles import bench_team_ranks

    return bench_team_ranks()


def show_ranks(report: dict[str, Any]) -> None:
    """Print how well ranks by few games agree with ranks by fresh games."""
    print_table(
        f"{report['n_teams']} teams, ranked again on {report['fresh_games']} fresh games each",
        ("ranked by", "rank correlation", "the winner is better than", "selection bias"),
        [
            (
                f"{games} games",
                f"{row['spearman']:.2f}",
                f"{100 * row['winner']:.0f} % of them",
                f"{row['selection_bias']:,.0f}",
            )
            for games, row in report["correlation"].items()
        ],
    )


def show_role_job(report: dict[str, Any]) -> None:
    """Print games and generations per second, by engine."""
    print_table(
        "Role evolution on the arena: whole generations, breeding and reports included",
        ("engine", "workers", "games per generation", "games/s", "generations/min"),
        [
            (
                row["engine"],
                row["jobs"],
                row["games_per_generation"],
                f"{row['games_per_s']:.1f}",
                f"{row['generations_per_minute']:.1f}",
            )
            for row in (*report["engines"], report["small"])
        ],
    )
    print(f"Two processes play {report['scaling']:.2f} times the games of one.")
