"""A line about each stored run: date, job, world, seed, headline figure and state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from kinfolk.core.errors import KinfolkError, UsageError, format_suggestion
from kinfolk.evaluation.formatting import describe_comparison, format_estimate, format_number
from kinfolk.store.run import Run
from kinfolk.store.run_list import DamagedRun, creation_time

STATES = ("done", "running", "stopped", "damaged")


class RunSummary(NamedTuple):
    """What a table of runs shows of one run."""

    name: str
    date: str  # when it was created, local time
    job: str
    world: str
    seed: int | None
    headline: str  # the figure one would quote; "" unless it is done
    state: str  # done, running, stopped or damaged


def summarize_run(run: Run | DamagedRun) -> RunSummary:
    """Return what a table of runs shows of one run; events are read only of runs that are done."""
    date = datetime.fromtimestamp(creation_time(run.folder) / 1e9).strftime("%Y-%m-%d %H:%M:%S")
    if isinstance(run, DamagedRun):
        return RunSummary(run.name, date, "", "", None, "", "damaged")
    settings, job, state = run.config["settings"], str(run.config["job"]), run.status
    shared = settings.get("settings") if job == "sweep" else settings
    shared = shared if isinstance(shared, Mapping) else {}
    world = str(shared.get("world") or shared.get("task") or "")
    seed = settings.get("seed")
    seed = seed if isinstance(seed, int) else None
    headline = ""
    if state == "done":
        try:
            headline = describe_headline(run.last_event(), shared)
        except (KinfolkError, LookupError, TypeError, ValueError, AttributeError):
            state = "damaged"
    return RunSummary(run.name, date, job, world, seed, headline, state)


def describe_headline(last: Mapping[str, Any] | None, settings: Mapping[str, Any]) -> str:
    """Return the figure one would quote of a run, from its last event; "" if it has none.

    Args:
        last: Last event of the run; None if there is none.
        settings: Settings of the run.
    """
    describe = None if last is None else _HEADLINES.get(str(last["kind"]))
    if last is None or describe is None:
        return ""
    if settings.get("league") and len(settings.get("slots", ())) > 1:
        last = {**last, "score": None}  # of sides without a common scale
    return describe(last)


def select_runs(
    runs: Iterable[RunSummary], filters: Mapping[str, str | None], sort: str = "date"
) -> list[RunSummary]:
    """Return the runs that match all filters, sorted.

    Args:
        runs: Summaries of runs, newest first.
        filters: Required value by field: job, world or state; None takes every value.
        sort: Field to sort by; `date` has the newest first.

    Raises:
        UsageError: There is no such field or state.
    """
    if sort not in RunSummary._fields:
        hint = format_suggestion(sort, RunSummary._fields)
        raise UsageError(f"Runs cannot be sorted by '{sort}'.{hint}")
    state = filters.get("state")
    if state is not None and state not in STATES:
        raise UsageError(f"A run's state is {', '.join(STATES)}, not '{state}'.")
    wanted = {name: value for name, value in filters.items() if value is not None}
    chosen = [run for run in runs if all(getattr(run, n) == v for n, v in wanted.items())]
    if sort == "date":
        return chosen
    return sorted(chosen, key=lambda run: (getattr(run, sort) is None, getattr(run, sort)))


def _describe_evaluation(last: Mapping[str, Any]) -> str:
    parts = [f"{slot} {format_estimate(value)}" for slot, value in last["returns"].items()]
    return f"return {', '.join(parts)}, n = {last['episodes']}"


def _describe_ratings(last: Mapping[str, Any]) -> str:
    best = max(range(len(last["ratings"])), key=lambda i: last["ratings"][i][2])
    return f"{last['policies'][best]} is rated highest, {format_number(last['ratings'][best][0])}"


def _describe_tournament(last: Mapping[str, Any]) -> str:
    best = [
        f"{row[1]}{f' of {row[2]}' if row[2] else ''}, rating {format_number(row[3][0])}"
        for row in last["standings"]
        if row[0] == 1
    ]
    return f"first of {len(last['policies'])}: {', '.join(best)}"


def _describe_crossplay(last: Mapping[str, Any]) -> str:
    gaps = [
        f"{side} {format_estimate(gap)}".strip() for side, _, _, gap in last["self_play"] if gap
    ]
    return f"self-play minus cross-play {', '.join(gaps)}" if gaps else ""


def _describe_scenarios(last: Mapping[str, Any]) -> str:
    means = [f"{name} {format_estimate(mean)}" for name, mean in last["means"].items()]
    n = len(last["scenarios"])
    counted = f"{n} scenario{'s' * (n != 1)}"
    return f"{counted}; mean score {', '.join(means)}" if means else ""


def _describe_training(last: Mapping[str, Any]) -> str:
    lives = [f"{n} {format_estimate(e)}" for n, e in last.get("return_per_life", {}).items() if e]
    parts = [] if last["score"] is None else [f"score {format_number(last['score'])}"]
    parts += [f"return per life {', '.join(lives)}"] if lives else []
    return ", ".join(parts) or "no episode has ended"


def _describe_exploited(last: Mapping[str, Any]) -> str:
    leads = [
        f"{f'as {side}, ' if side else ''}it leads by {format_estimate(lead)} after "
        f"{last['rows'][side]:,} rows"
        for side, lead in last["exploitability"].items()
    ]
    return f"best response: {'; '.join(leads)}"


def _describe_champion(last: Mapping[str, Any]) -> str:
    return f"champion {format_estimate(last['scores']['champion'])}, n = {last['games']}"


def _describe_nets(last: Mapping[str, Any]) -> str:
    scores = [f"{n} {format_estimate(value)}" for n, value in last.get("best", {}).items()]
    return f"held-out score of @best {', '.join(scores)}" if scores else ""


def _describe_sweep(last: Mapping[str, Any]) -> str:
    means = [estimate[0] for estimate in last["estimates"] if estimate is not None]
    n_settings, n_seeds = len(last["settings"]), len(last["seeds"])
    counts = f"{n_settings} setting{'s' * (n_settings != 1)}, {n_seeds} seed{'s' * (n_seeds != 1)}"
    if not means:
        return f"{last['metric']} none, {counts}"
    low, high = format_number(min(means)), format_number(max(means))
    return f"{last['metric']} {low if low == high else f'{low} to {high}'}, {counts}"


def _describe_study(last: Mapping[str, Any]) -> str:
    verdicts = [row[7] for row in last["verdicts"]]
    counts = [f"{verdicts.count(name)} {name}" for name in dict.fromkeys(verdicts)]
    quick = ", a quick run" if last["quick"] else ""
    return f"{last['name']}: {', '.join(counts)}{quick}"


_HEADLINES: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "evaluated": _describe_evaluation,
    "compared": lambda last: next(describe_comparison(last), ""),
    "rated": _describe_ratings,
    "tournament_done": _describe_tournament,
    "crossplay_done": _describe_crossplay,
    "scenarios_evaluated": _describe_scenarios,
    "training_done": _describe_training,
    "exploited": _describe_exploited,
    "champion_evaluated": _describe_champion,
    "nets_evolved": _describe_nets,
    "swept": _describe_sweep,
    "study_done": _describe_study,
}
