"""The pages of trainings and sweeps: curves per slot, losses, evaluations; intervals over seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kinfolk.evaluation.figures.curves import Curve, align_curves
from kinfolk.evaluation.formatting import has_separate_sides
from kinfolk.evaluation.statistics import t_intervals
from kinfolk.viewer.reports.blocks import (
    Block,
    EventList,
    find_last,
    join_notes,
    make_curves,
    make_estimates,
    make_line,
    make_row,
    make_table,
    make_text,
    show_estimate,
)
from kinfolk.viewer.reports.league import list_league

_FIRST_STATS = ("return_per_life", "return", "reward")  # of a slot; the others are about learning
# Statistics whose names are abbreviations.
_STAT_TITLES = {"approx_kl": "approximate KL divergence", "grad_norm": "gradient norm",
                "rows": "rows trained on", "life_ticks": "length of a life in ticks"}  # fmt: skip
_MAX_TABLE_ROWS = 500


def report_training(settings: Mapping[str, Any], events: EventList) -> list[Block]:
    """Return the page of a training: scores, evaluations, and every statistic of each slot.

    Args:
        settings: Settings of the run; `steps` is read.
        events: All events of the run.
    """
    updates = [event for event in events if event["kind"] == "update_done"]
    last = find_last(events, "training_done")
    blocks: list[Block] = []
    if last is None:
        step = updates[-1]["step"] if updates else 0
        blocks.append(make_text("", [f"{step} of {settings.get('steps')} steps are trained."]))
    else:
        rows = [make_row(name, value) for name, value in last["return_per_life"].items()]
        axis = "return per life in the last episodes, 95 % interval"
        blocks.append(make_estimates("Return of each slot at the end", axis, rows))
    if not updates:
        return blocks
    x = [event["step"] for event in updates]
    league = find_last(events, "league_updated")
    is_divided = league is not None and has_separate_sides(league)
    if not is_divided and any(event["score"] is not None for event in updates):
        line = make_line("score", x, [event["score"] for event in updates])
        blocks.append(make_curves("Score of recent episodes", "steps", [line]))
    blocks += list_league(events)
    blocks += _list_evaluations([e for e in events if e["kind"] == "evaluation_done"])
    names = dict.fromkeys(name for e in updates for stats in e["slots"].values() for name in stats)
    ordered = sorted(names, key=lambda name: name not in _FIRST_STATS)  # stable
    ordered = [name for name in ordered if not (is_divided and name == "wins")]
    for name in ordered:
        slots = dict.fromkeys(slot for event in updates for slot in event["slots"])
        lines = [
            make_line(slot, x, [event["slots"].get(slot, {}).get(name) for event in updates])
            for slot in slots
        ]
        blocks.append(make_curves(_STAT_TITLES.get(name, name.replace("_", " ")), "steps", lines))
    for field, title in (("alive", "Mean number alive"), ("births", "Births per episode")):
        groups = dict.fromkeys(group for event in updates for group in event[field])
        lines = [make_line(g, x, [event[field].get(g) for event in updates]) for g in groups]
        if lines:
            blocks.append(make_curves(title, "steps", lines))
    return blocks


def _list_evaluations(evaluations: EventList) -> list[Block]:
    """Return the evaluations on held-out seeds, with intervals, and the baselines beside them."""
    blocks = []
    for field, title in (("return_per_life", "Evaluations: return per life"),
                         ("metrics", "Evaluations")):  # fmt: skip
        names = dict.fromkeys(name for event in evaluations for name in event[field])
        for group in [list(names)] if field == "return_per_life" else [[name] for name in names]:
            lines = []
            for name in group:
                known = [e for e in evaluations if _is_estimate(e[field].get(name))]
                mean, low, high = ([e[field][name][i] for e in known] for i in range(3))
                lines.append(make_line(name, [e["step"] for e in known], mean, (low, high)))
            if any(line["x"] for line in lines):
                of = "" if field == "return_per_life" else f": {group[0].replace('_', ' ')}"
                note = "areas: 95 % interval over episodes"
                blocks.append(make_curves(f"{title}{of}", "steps", lines, note))
    return blocks


def _is_estimate(value: Any) -> bool:
    """Return whether a value of an event is a mean with its interval."""
    return isinstance(value, list) and len(value) >= 3 and value[0] is not None


def report_sweep(settings: Mapping[str, Any], events: EventList) -> list[Block]:  # noqa: ARG001, of all kinds
    """Return the page of a sweep: the metric over settings, learning curves over seeds, a table.

    Args:
        settings: Settings of the run.
        events: All events of the run.
    """
    last = find_last(events, "swept")
    if last is None:
        points = [event for event in events if event["kind"] == "point_done"]
        done = [[_describe(e["values"]), str(e["seed"])] for e in points[-_MAX_TABLE_ROWS:]]
        text = make_text("", [f"{len(points)} runs are done."])
        return [text, make_table("Runs so far", ["settings", "seed"], done)]
    metric, n_seeds = str(last["metric"]), len(last["seeds"])
    axis = f"{metric}; mean, 95 % interval over {n_seeds} {last.get('over', 'seeds')}"
    labels = [_describe(values) or "default" for values in last["settings"]]
    rows = [make_row(n, estimate) for n, estimate in zip(labels, last["estimates"], strict=True)]
    blocks: list[Block] = []
    if last.get("best"):
        blocks.append(make_text("Best", [_describe_best(last["best"])], "verdict"))
    figure = _draw_over_setting(last, axis)
    blocks += [figure] if figure else []
    blocks.append(make_estimates(f"{metric} at each setting", axis, rows))
    blocks += _list_curves(last)
    cells = [
        [label, show_estimate(estimate), str(estimate[3]) if estimate else "0"]
        for label, estimate in zip(labels, last["estimates"], strict=True)
    ]
    blocks.append(make_table("Settings", ["setting", f"{metric}, 95 % interval", "n"], cells))
    return [*blocks, *join_notes(last.get("notes", []))]


def _describe(values: Mapping[str, Any]) -> str:
    """Return varied settings as text."""
    return ", ".join(f"{name} = {value}" for name, value in values.items())


def _describe_best(best: Any) -> str:
    """Return the best settings of a search as text."""
    return _describe(best) if isinstance(best, Mapping) else str(best)


def _draw_over_setting(last: Mapping[str, Any], axis: str) -> Block | None:
    """Return the metric over one varied number, with its interval; None for other sweeps."""
    names = list(last["settings"][0]) if last["settings"] else []
    values = [setting.get(names[0]) for setting in last["settings"]] if len(names) == 1 else []
    numbers = [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
    known = [e for e in last["estimates"] if e is not None]
    if len(numbers) < 3 or len(numbers) != len(values) or len(known) != len(values):
        return None
    ordered = sorted(zip(numbers, known, strict=True), key=lambda pair: pair[0])
    mean, low, high = ([estimate[i] for _, estimate in ordered] for i in range(3))
    line = make_line(str(last["metric"]), [x for x, _ in ordered], mean, (low, high))
    return make_curves(f"{last['metric']} over {names[0]}", names[0], [line], axis)


def _list_curves(last: Mapping[str, Any]) -> list[Block]:
    """Return a learning curve for each metric, with a line for each setting and its interval."""
    table, varied = last["curves"], list(last["vary"]) if "vary" in last else []
    if not table:
        return []
    varied = varied or list(last["settings"][0])
    groups = table.get("group", [""] * len(table["step"]))
    others = (*varied, "seed", "step", "group", "update", "episodes")
    columns = sorted((n for n in table if n not in others), key=lambda n: n != last["metric"])
    blocks = []
    for name in columns:
        points: dict[tuple[str, Any], list[tuple[float, float]]] = {}
        for row, (x, y) in enumerate(zip(table["step"], table[name], strict=True)):
            parts = [f"{key} = {table[key][row]}" for key in varied if key in table]
            label = ", ".join([*parts, *([groups[row]] if len(set(groups)) > 1 else [])])
            if isinstance(y, int | float):
                points.setdefault((label, table["seed"][row]), []).append((x, y))
        lines: dict[str, list[Curve]] = {}
        for (label, _), course in points.items():
            lines.setdefault(label, []).append(Curve(*zip(*course, strict=True)))
        drawn = [_average(label, curves) for label, curves in lines.items()]
        if drawn:
            note = "areas: 95 % interval over seeds"
            blocks.append(make_curves(name.replace("_", " "), "step", drawn, note))
    return blocks


def _average(label: str, curves: Sequence[Curve]) -> dict[str, Any]:
    """Return the mean of the curves of one setting over its seeds, with its interval."""
    x, values = align_curves(curves)
    if len(curves) == 1:
        return make_line(label or "all", x.tolist(), values[0].tolist())
    mean, low, high = t_intervals(values.T)
    return make_line(label or "all", x.tolist(), mean.tolist(), (low.tolist(), high.tolist()))
