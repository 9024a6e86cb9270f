"""What the pages of trainings show of a league, and the page of best responses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kinfolk.evaluation.formatting import (
    WIN_RATE_NOTE,
    describe_budget,
    describe_mixtures,
    has_separate_sides,
    mean_win_rates,
)
from kinfolk.viewer.reports.blocks import (
    Block,
    EventList,
    find_last,
    make_curves,
    make_estimates,
    make_line,
    make_matrix,
    make_row,
    make_table,
    make_text,
)


def list_league(events: EventList) -> list[Block]:
    """Return the payoffs of the members of a league, their mixtures, and win rates of learners."""
    last = find_last(events, "league_updated")
    if last is None:
        return []
    blocks: list[Block] = []
    for side, against, rows, columns, cells in last["payoffs"]:
        title = f"League: score of {side} against {against}" if side else "League: score of row"
        note = f"Mean return per life over {last['games']} games; names are LEARNER-UPDATE."
        blocks.append(make_matrix(title, (rows, columns), cells, note))
    for side, names, ranks, nash in last["mixtures"]:
        of = f" of {side}" if side else ""
        for title, weights in (("Nash mixture", nash), ("Alpha-rank", ranks)):
            # Alpha-rank is left out of large leagues.
            shares = [
                make_row(n, [w, None, None]) for n, w in zip(names, weights or [], strict=False)
            ]
            if shares:
                axis = f"probability, by payoffs of {last['games']} games each"
                blocks.append(make_estimates(f"{title} of the league{of}", axis, shares))
    blocks.append(make_text("", describe_mixtures(last)))
    blocks += _list_win_rates(events)
    met = [
        [learner, opponent, f"{rate:.2f}", str(episodes)]
        for learner, opponent, rate, episodes in last["win_rates"]
    ]
    headings = ["learner", "opponent", "win rate", "episodes"]
    title = "Win rates by which opponents are drawn"
    none = "There is no win rate yet: no episode against a member of the league has ended."
    blocks.append(make_table(title, headings, met) if met else make_text(title, [none]))
    joined = [
        [str(event["update"]), name, reason]
        for event in events
        if event["kind"] == "league_updated"
        for name, reason in event["joined"].items()
    ]
    blocks.append(make_table("Members that joined", ["update", "member", "reason"], joined))
    return blocks


def _list_win_rates(events: EventList) -> list[Block]:
    """Return the win rates of learners over steps, for leagues with sides that cannot be exchanged."""
    leagues = [event for event in events if event["kind"] == "league_updated"]
    if not has_separate_sides(leagues[-1]):
        return []  # "wins" of each learner are on the page
    rates = [(event["step"], mean_win_rates(event)) for event in leagues]
    lines = []
    for learner in dict.fromkeys(name for _, won in rates for name in won):
        mine = [(step, won[learner]) for step, won in rates if learner in won]
        lines.append(make_line(learner, [x for x, _ in mine], [y for _, y in mine]))
    chart = make_curves("win rate in the league", "steps", lines)
    return [chart, make_text("", [WIN_RATE_NOTE])] if lines else []


def report_exploit(settings: Mapping[str, Any], events: EventList) -> list[Block]:
    """Return the page of best responses: their leads with their budgets, and how they learnt.

    Args:
        settings: Settings of the run; `steps` is read.
        events: All events of the run.
    """
    last = find_last(events, "exploited")
    updates = [event for event in events if event["kind"] == "update_done"]
    blocks: list[Block] = []
    if last is None:
        step, budget = updates[-1]["step"] if updates else 0, settings.get("steps")
        text = f"{step} steps are trained; each best response has {budget}."
        blocks.append(make_text("", [text]))
    else:
        rows = [make_row(n or "teams", e) for n, e in last["exploitability"].items()]
        axis = f"lead of a best response, 95 % interval over {last['episodes']} episodes"
        blocks.append(make_estimates("Exploitability", axis, rows, True))
        budgets = [
            f"{rows:,} rows {f'as {n}' if n else ''}".strip() for n, rows in last["rows"].items()
        ]
        text = f"Budget of a best response: {', '.join(budgets)}. With more it may lead by more."
        steps = settings.get("steps")
        rest = describe_budget(steps, last["rows"]) if isinstance(steps, int) else []
        blocks.append(make_text("", [text, *rest]))
        for side, mixture in last["policies"].items():
            of = f" as {side}" if side else ""
            cells = [[name, f"{weight:.3f}"] for name, weight in mixture.items()]
            blocks.append(make_table(f"Fixed policies{of}", ["policy", "weight"], cells))
    slots = dict.fromkeys(slot for event in updates for slot in event["slots"])
    # Sides of their own have no common scale in which one could win.
    shown = ("return_per_life", *(("wins",) if "response" in slots else ()), "entropy")
    for name in shown:
        lines = []
        for slot in slots:
            mine = [event for event in updates if slot in event["slots"]]
            y = [event["slots"][slot].get(name) for event in mine]
            lines.append(make_line(slot, [event["step"] for event in mine], y))
        if lines:
            blocks.append(make_curves(name.replace("_", " "), "steps", lines))
    return blocks
