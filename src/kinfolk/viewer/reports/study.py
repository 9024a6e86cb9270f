"""The page of a study: its question, verdicts, and every metric in every condition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kinfolk.viewer.reports.blocks import (
    Block,
    EventList,
    find_last,
    join_notes,
    make_estimates,
    make_row,
    make_table,
    make_text,
    show_estimate,
)

_QUICK = "This is a quick run: it shows that the plan works, and decides nothing."


def report_study(settings: Mapping[str, Any], events: EventList) -> list[Block]:
    """Return the page of a study; of one that is not done, how far it is.

    Args:
        settings: Settings of the run.
        events: All events of the run.
    """
    last = find_last(events, "study_done")
    if last is None:
        first = find_last(events, "study_registered")
        done = [event for event in events if event["kind"] == "study_point_done"]
        total = "" if first is None else f" of {first['n_runs']}"
        rows = [[e["stage"], e["condition"], str(e["seed"])] for e in done[-100:]]
        text = make_text("", [f"{len(done)}{total} runs are done; verdicts come at the end."])
        return [text, make_table("Runs so far", ["stage", "condition", "seed"], rows)]
    lines = [
        f"{finding[:1].upper()}{finding[1:]}. Claim: {claim} {reason}"
        for _, claim, _, _, _, _, _, _, reason, finding, *_ in last["verdicts"]
    ]
    about = [str(last["question"]), *([_QUICK] if last["quick"] else [])]
    blocks = [make_text(str(last["title"]), about), make_text("Verdicts", lines, "verdict")]
    cells = [
        [name, comparison, show_estimate(effect), f"{p:.3g}", f"{adjusted:.3g}", verdict]
        for name, _, _, comparison, effect, p, adjusted, verdict, *_ in last["verdicts"]
    ]
    headings = ["hypothesis", "effect", "95 % interval", "p", "adjusted p", "verdict"]
    blocks.append(make_table("Hypotheses", headings, cells))
    n_seeds = len(last["seeds"])
    for metric in dict.fromkeys(row[0] for row in last["estimates"]):
        rows_of_metric = [
            make_row(_describe_levels(levels) or condition, estimate, values)
            for name, _, condition, levels, estimate, values in last["estimates"]
            if name == metric
        ]
        axis = f"mean, 95 % interval over {n_seeds} seeds; points are seeds"
        blocks.append(make_estimates(metric.replace("_", " "), axis, rows_of_metric))
    plan = f"Plan {settings.get('name')}, SHA-256 {last['sha256']}."
    return [*blocks, *join_notes([*last["notes"], plan])]


def _describe_levels(levels: Mapping[str, str]) -> str:
    """Return the levels of a condition as text, each with its factor."""
    return ", ".join(f"{factor} = {level}" for factor, level in levels.items())
