"""`kinfolk crossplay`: every policy with every other, alpha-rank, Nash mixture, self-play."""

from __future__ import annotations

from typing import Any

import typer

from kinfolk import jobs
from kinfolk.cli.commands.tournament import (
    MeetingCommand,
    PoliciesArgument,
    check_meeting,
    print_matrices,
    print_place,
)
from kinfolk.cli.flags import job_call
from kinfolk.cli.output import note, print_table
from kinfolk.evaluation.formatting import format_estimate, format_sample_size


def crossplay(context: typer.Context, policies: PoliciesArgument = None) -> None:
    """Play every policy with every other, and find which of them matter.

    Policies are given as for `kinfolk tournament`: folders, files or URIs, for all sides or, in a
    folder or table named after it, for one side. The run holds payoffs.csv, mixtures.csv, games.csv,
    crossplay.json and tournament.html.
    """
    meeting = MeetingCommand("crossplay", jobs.CrossPlay, jobs.crossplay, _check)
    run, settings, last = meeting.run(job_call(context), policies)
    if last is None:
        return
    print_matrices(last["payoffs"])
    _print_analysis(last)
    print_place(run, settings)


def _check(settings: Any) -> None:
    """Check the policies of cross-play and compile kernels, before a run folder is created.

    Raises:
        UsageError: A policy or a setting is wrong.
    """
    from kinfolk.jobs.crossplay import check_crossplay

    check_meeting(settings, check_crossplay)


def _print_analysis(last: dict[str, Any]) -> None:
    """Print alpha-rank and Nash mixtures, self-play minus cross-play, and notes."""
    for side, names, ranks, nash in last["mixtures"]:
        rows = [
            (
                name,
                "" if ranks is None else f"{ranks[i]:.3f}",
                "" if nash is None else f"{nash[i]:.3f}",
            )
            for i, name in enumerate(names)
        ]
        title = f"Which policies matter{f' on side {side}' if side else ''}"
        print_table(title, ("policy", "alpha-rank", "Nash"), rows)
    compared = [
        (side or "all", *map(format_estimate, values), format_sample_size(values[-1]))
        for side, *values in last["self_play"]
    ]
    headings = ("side", "self-play (95 %)", "cross-play (95 %)", "difference (95 %)", "n")
    print_table("Self-play and cross-play, mean score over common games", headings, compared)
    for text in last["notes"]:
        note(text)
