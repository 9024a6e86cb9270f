"""Estimates and profiles of runs, by slot, policy, team or setting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kinfolk.core.errors import UsageError, format_suggestion
from kinfolk.evaluation.figures.curves import draw_profiles
from kinfolk.evaluation.figures.estimates import draw_estimates, draw_named_estimates
from kinfolk.evaluation.figures.search import draw_search
from kinfolk.evaluation.formatting import name_policies
from kinfolk.evaluation.statistics import Estimate, estimate_mean
from kinfolk.jobs.figures.curves import CURVES
from kinfolk.jobs.figures.payoffs import list_meeting_estimates
from kinfolk.jobs.figures.sources import (
    FigureSource,
    label_lines,
    read_estimate,
    require_one,
)
from kinfolk.jobs.sweeps.job import estimate_settings
from kinfolk.store.run_job import flatten_metrics

# Jobs whose estimates are of one thing, and what that is.
# What the intervals of a job are over, if not games.
_UNITS = {
    "evaluate": "episodes",
    "compare": "episodes",
    "round_robin": "seeds",
    "tournament": "seeds",
    "crossplay": "seeds",
}
_FIXED_METRIC = {
    "compare": "its metric '{metric}'",
    "round_robin": "the share of games won",
    "evolve_roles": "its score '{metric}'",
    "exploit": "the lead of a best response",
}


def draw_run_estimates(sources: Sequence[FigureSource], metric: str | None) -> Any:
    """Draw the estimates at the end of each run."""
    if sources[0].job == "sweep":
        done = require_one(sources).last()
        over = f"{len(done['seeds'])} seeds" if done["over"] == "seeds" else done["over"]
        if metric not in (None, done["metric"]):
            estimates = estimate_settings(_group_column(done, str(metric)))
            return draw_estimates(done["settings"], estimates, str(metric), over)
        estimates = [read_estimate(e) for e in done["estimates"]]
        if done["best"] is not None:
            return draw_search(
                done["settings"], estimates, done["metric"], done["search"], done["best"]
            )
        return draw_estimates(done["settings"], estimates, done["metric"], over)
    if sources[0].job == "study":
        return _draw_study(require_one(sources), metric)
    groups: dict[str, dict[str, Estimate | None]] = {}
    if sources[0].job == "scenarios" and len(sources) == 1:
        return _draw_scenarios(sources[0], metric)
    runs_by_label: dict[str, list[dict[str, Estimate | None]]] = {}
    name = ""
    for source, label in zip(sources, label_lines(sources), strict=True):
        name, estimates_by_name = _list_named(source, metric)
        runs_by_label.setdefault(label, []).append(estimates_by_name)
    for label, runs in runs_by_label.items():
        groups[label] = _pool_seeds(runs)
    counts = {e.n for group in groups.values() for e in group.values() if e is not None}
    n = f"{min(counts)} " if len(counts) == 1 else ""
    unit = _UNITS.get(sources[0].job, "games")
    n_seeds = sorted({len(runs) for runs in runs_by_label.values()})
    if n_seeds[0] > 1:
        unit = "seeds"
    elif n_seeds[-1] > 1:
        unit = f"seeds, of a single run over {unit}"
    return draw_named_estimates(groups, name, f"{n}{unit}")


def _pool_seeds(runs: Sequence[Mapping[str, Estimate | None]]) -> dict[str, Estimate | None]:
    """Return the mean of runs that differ in their seed, with its interval over seeds.

    A single run keeps the interval that it has.
    """
    if len(runs) == 1:
        return dict(runs[0])
    pooled: dict[str, Estimate | None] = {}
    for name in dict.fromkeys(name for run in runs for name in run):
        estimates = [run.get(name) for run in runs]
        means = [estimate.mean for estimate in estimates if estimate is not None]
        pooled[name] = estimate_mean(np.array(means)) if means else None
    return pooled


def _group_column(done: Mapping[str, Any], column: str) -> list[list[list[float]]]:
    """Return the values of a column of a sweep's table, by setting and seed.

    Raises:
        UsageError: The table has no such column of numbers.
    """
    table, varied = done["table"], list(done["settings"][0])
    index = {*varied, "seed", "episode"}
    known = [
        name for name, values in table.items()
        if name not in index and not any(isinstance(v, str) for v in values)
    ]  # fmt: skip
    if column not in known:
        raise UsageError(f"The sweep has no metric '{column}'.{format_suggestion(column, known)}")
    rows = list(zip(*(table[name] for name in [*varied, "seed", column]), strict=True))
    return [
        [
            [
                row[-1]
                for row in rows
                if row[:-1] == (*values.values(), seed) and row[-1] is not None
            ]
            for seed in done["seeds"]
        ]
        for values in done["settings"]
    ]


def _draw_study(source: FigureSource, metric: str | None) -> Any:
    """Draw a metric of a study in all its conditions; by default that of the first hypothesis.

    Raises:
        UsageError: The study has no such metric, or is not done.
    """
    from kinfolk.jobs.studies.outputs import draw_metric
    from kinfolk.jobs.studies.results import ConditionEstimate

    [done] = source.of_kind("study_done")
    known = list(dict.fromkeys(row[0] for row in done["estimates"]))
    name = metric or str(done["verdicts"][0][2])
    if name not in known:
        raise UsageError(f"The study has no metric '{name}'.{format_suggestion(name, known)}")
    rows = [ConditionEstimate(*row) for row in done["estimates"] if row[0] == name]
    rows = [row._replace(estimate=read_estimate(row.estimate)) for row in rows]
    return draw_metric(rows, len(done["seeds"]))


def _draw_scenarios(source: FigureSource, metric: str | None) -> Any:
    """Draw the score of each scenario; held-out ones have a colour of their own."""
    name, scores = _list_named(source, metric)
    held_out = {row[0] for row in source.last()["scenarios"] if row[3]}
    groups = {
        "development": {n: e for n, e in scores.items() if n not in held_out},
        "held out": {n: e for n, e in scores.items() if n in held_out},
    }
    n = next((e.n for e in scores.values() if e is not None), 0)
    shown = {label: group for label, group in groups.items() if group}
    return draw_named_estimates(shown, name, f"{n} episodes", overlapping=True)


def _list_named(source: FigureSource, metric: str | None) -> tuple[str, dict[str, Estimate | None]]:
    """Return what the estimates of a run are of, and the estimates by slot, policy or team.

    Raises:
        UsageError: The run has no such metric.
    """
    last = source.last()
    if metric is not None and source.job in _FIXED_METRIC and metric != last.get("metric"):
        shown = _FIXED_METRIC[source.job].format(metric=last.get("metric"))
        raise UsageError(f"Estimates of {source.job} are of {shown}, not of '{metric}'.")
    if source.job == "compare":
        labels = name_policies(last["policies"])
        return last["metric"], dict(zip(labels, map(read_estimate, last["means"]), strict=True))
    if source.job == "scenarios":
        column = 4 if metric == "focal_return" else 5
        text = "return per focal agent" if column == 4 else "score: 0 is the floor, 1 the ceiling"
        return text, {row[0]: read_estimate(row[column]) for row in last["scenarios"]}
    if source.job == "round_robin":
        labels = name_policies(last["policies"])
        shares = [Estimate(r[4], r[5], r[6], r[-1]) for r in last["ratings"]]
        return "share of games won", dict(zip(labels, shares, strict=True))
    if source.job == "evolve_roles":
        scores = {name: read_estimate(e) for name, e in last["scores"].items()}
        return str(last["metric"]).replace("_", " "), scores
    if source.job == "exploit":
        leads = {n or "teams": read_estimate(e) for n, e in last["exploitability"].items()}
        return f"lead of a best response of {last['step']:,} rows", leads
    if source.job in ("tournament", "crossplay"):
        return list_meeting_estimates(source.job, last, metric)
    metrics = {name: {name: value} for name, value in last["metrics"].items()}
    tables = {
        "return": last["returns"],
        **{n: last[n] for n in ("return_per_life", "reward_per_tick", "lives", "win_rate")},
        "ticks": {"all": last["ticks"]},
        **metrics,
    }
    name = metric or "return"
    if name not in tables:
        hint = format_suggestion(name, tables)
        raise UsageError(f"An evaluation has no estimate of '{name}'.{hint}")
    return name.replace("_", " "), {n: read_estimate(e) for n, e in tables[name].items()}


def draw_run_profiles(sources: Sequence[FigureSource], metric: str | None) -> Any:
    """Draw the share of episodes, or of runs, above each value of a metric."""
    job = sources[0].job
    if job in CURVES:
        kind, name, *_ = CURVES[job]
        finals: dict[str, list[float]] = {}
        for source, label in zip(sources, label_lines(sources), strict=True):
            numbers = dict(flatten_metrics(source.of_kind(kind)[-1], ""))
            finals.setdefault(label, []).append(numbers[f"/{metric or name}"])
        return draw_profiles(finals, metric or name, "seeds")
    source = require_one(sources)
    if job == "sweep":
        done = source.last()
        column = metric or done["metric"]
        labels = [", ".join(f"{k} = {v}" for k, v in values.items()) for values in done["settings"]]
        by_setting = dict(zip(labels, _group_column(done, column), strict=True))
        if len(done["seeds"]) == 1:
            episodes = {label: by_seed[0] for label, by_seed in by_setting.items()}
            return draw_profiles(episodes, column, "episodes")
        # One value per seed, which are what was drawn independently.
        means = {
            label: [float(np.mean(v)) for v in by_seed if v]
            for label, by_seed in by_setting.items()
        }
        return draw_profiles(means, column, "seeds")
    shown = source.last()["metric"] if job == "compare" else "return"
    if metric not in (None, shown):
        raise UsageError(f"A profile of {job} is of the metric '{shown}', not of '{metric}'.")
    if job == "compare":
        labels = name_policies(source.last()["policies"])
        values: dict[str, list[float]] = {}
        for event in source.of_kind("candidate_played"):
            if event["value"] is not None:
                values.setdefault(labels[event["policy"]], []).append(event["value"])
        return draw_profiles(values, shown, "episodes")
    played = source.of_kind("episode_played")
    by_slot = {slot: [e["returns"][slot] for e in played] for slot in played[0]["returns"]}
    return draw_profiles(by_slot, shown, "episodes")
