"""The report of a study as sections: question, method, results, verdicts, limits, how to repeat it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kinfolk.evaluation.formatting import (
    format_estimate,
    format_estimate_with,
    format_interval,
    format_number,
    format_sample_size,
)
from kinfolk.evaluation.weakness import MIN_VALUES
from kinfolk.jobs.capsules import describe_machine
from kinfolk.jobs.studies.conditions import (
    Condition,
    collect_factors,
    count_runs,
    list_conditions,
)
from kinfolk.jobs.studies.effects import describe_comparison, list_averaged_factors
from kinfolk.jobs.studies.plan import StudyHypothesis, StudyPlan
from kinfolk.jobs.studies.rendering import (
    CodePart,
    FigurePart,
    ListPart,
    ReportPart,
    ReportSection,
    TablePart,
    TextPart,
)
from kinfolk.jobs.studies.results import ConditionEstimate, StudyDone, has_weak_interval
from kinfolk.jobs.studies.settings import Study, describe_origin
from kinfolk.jobs.studies.verdicts import NOT_DECIDED, REFUTED, SUPPORTED

CAPSULE_FILE = "capsule.zip"  # beside the report
# What introduces the settings of the levels, in a report that ends with the plan.
LEVELS_TEXT = "What each level adds to the settings of its stage, which the plan below has."
_QUICK = (
    "**This is a quick run.** It shows that the plan works, with fewer seeds and shorter runs. Its "
    "numbers decide nothing, and no verdict follows from them."
)


def build_report(
    settings: Study, plan: StudyPlan, done: StudyDone, figures: Mapping[str, str]
) -> list[ReportSection]:
    """Return the sections of the report of a finished study.

    Args:
        settings: Settings of the study.
        plan: Its plan.
        done: What it found.
        figures: Names of the files with figures, by metric.
    """
    return [
        ReportSection("", [TextPart(_QUICK, is_notice=True)] if settings.quick else []),
        ReportSection("In short", _sum_up(plan, done)),
        ReportSection(
            "Question", _split_paragraphs(plan.question, f"**Known before.** {plan.known}")
        ),
        ReportSection("Hypotheses", _list_hypotheses(plan)),
        ReportSection("Method", _describe_method(plan, settings.quick)),
        ReportSection("Verdicts", _list_verdicts(done)),
        ReportSection("Results", _describe_intervals(done)),
        *_list_results(plan, done, figures),
        ReportSection("Limits", [ListPart([*plan.limits, *done.notes])]),
        ReportSection("How to repeat it", _describe_provenance(settings)),
        ReportSection("Settings of the levels", _list_settings(plan)),
        ReportSection("The plan as registered", [CodePart(settings.text, "toml")]),
    ]


def _split_paragraphs(*texts: str) -> list[ReportPart]:
    """Return texts as paragraphs, which empty lines separate."""
    parts = [" ".join(part.split()) for text in texts for part in text.split("\n\n")]
    return [TextPart(part) for part in parts if part]


def _sum_up(plan: StudyPlan, done: StudyDone) -> list[ReportPart]:
    """Return how many hypotheses had which verdict, and what was found about each."""
    counts = Counter(verdict.verdict for verdict in done.verdicts)
    texts = [
        f"{counts[v]} {'is' if counts[v] == 1 else 'are'} {v}"
        for v in (SUPPORTED, REFUTED, NOT_DECIDED)
    ]
    n = len(done.verdicts)
    noun = "hypothesis" if n == 1 else "hypotheses"
    first = (
        f"Of {n} {noun}, {texts[0]}, {texts[1]} and {texts[2]}. Claims are as they were written before; behind "
        f"each stands what was measured, with its 95 % interval over {len(done.seeds)} seeds."
    )
    lines = []
    for v in done.verdicts:
        unit = plan.metrics[v.metric].about.rstrip(".")
        within = "; ".join(f"{name}: {_show_effect(effect)}" for name, effect in v.parts)
        lines.append(
            f"**{_capitalize(v.finding)}** Claim: {v.claim} Measured ({v.comparison}): "
            f"{_show_effect(v.effect)}{f' ({within})' if within else ''}. Unit: {unit}."
        )
    return [TextPart(first), ListPart(lines)]


def _show_effect(effect: Any) -> str:
    """Return an effect with its interval, as text."""
    return "without a value" if effect is None else format_estimate(effect)


def _list_hypotheses(plan: StudyPlan) -> list[ReportPart]:
    """Return the hypotheses as they were written before the study."""
    rows = [
        [
            h.name, h.claim, describe_comparison(h, list_averaged_factors(h, _find_conditions(plan, h))),
            _describe_prediction(h), h.refuted_by,
        ]
        for h in plan.hypotheses
    ]  # fmt: skip
    intro = TextPart(
        "Written before anything was run. The effect is one number per seed; the prediction is about its mean."
    )
    headings = ["name", "claim", "effect", "predicted", "refuted by"]
    return [intro, TablePart(headings, rows)]


def _find_conditions(plan: StudyPlan, hypothesis: StudyHypothesis) -> list[Condition]:
    """Return the conditions in which the metric of a hypothesis is measured."""
    return list_conditions(plan, plan.metrics[hypothesis.metric].stage)


def _describe_prediction(hypothesis: StudyHypothesis) -> str:
    """Return which effect a hypothesis predicts."""
    smallest = format_number(hypothesis.smallest)
    if hypothesis.predict == "equal":
        return f"within +-{smallest}"
    if hypothesis.predict == "higher":
        return f"at least {smallest}" if hypothesis.smallest else "above 0, however little"
    return f"at most -{smallest}" if hypothesis.smallest else "below 0, however little"


def _describe_method(plan: StudyPlan, quick: bool) -> list[ReportPart]:
    """Return what was run: stages, conditions, metrics, when it ended, and the statistics."""
    runs = count_runs(plan, quick)
    stages = [
        [name, f"`{stage.job}`", stage.about, str(runs[name])]
        for name, stage in plan.stages.items()
    ]
    factors = [
        [stage, factor, ", ".join(levels)]
        for stage in plan.stages
        for factor, levels in collect_factors(plan, stage).items()
    ]
    metrics = [
        [name, metric.stage, _describe_columns(metric), metric.about]
        for name, metric in plan.metrics.items()
    ]
    n_seeds = plan.quick.seeds if quick else plan.seeds
    parts = _split_paragraphs(plan.method)
    parts.append(TablePart(["stage", "job", "what is done", "runs"], stages))
    if factors:
        text = "The conditions of a stage are all combinations of these levels, each run with all seeds:"
        parts.append(TextPart(text))
        parts.append(TablePart(["stage", "factor", "levels"], factors))
    parts.append(TablePart(["metric", "stage", "computed from", "meaning"], metrics))
    stopping = " ".join(plan.stopping_rule.split())
    parts.append(TextPart(f"**Seeds and stopping rule.** {n_seeds} seeds. {stopping}"))
    parts.append(TextPart(_describe_statistics(len(plan.hypotheses))))
    return parts


def _list_settings(plan: StudyPlan) -> list[ReportPart]:
    """Return the settings by which the levels of factors differ."""
    rows = [
        [stage, factor, level, f"`{json.dumps(settings)}`" if settings else "none"]
        for stage in plan.stages
        for factor, levels in plan.stages[stage].factors.items()
        for level, settings in levels.items()
    ]
    return (
        [TextPart(LEVELS_TEXT), TablePart(["stage", "factor", "level", "settings"], rows)]
        if rows
        else []
    )


def _describe_columns(metric: Any) -> str:
    """Return from which columns a metric is computed."""
    text = f"`{metric.column}`"
    text += f" - `{metric.minus}`" if metric.minus else ""
    if metric.divided_by:
        text = (
            f"({text}) / `{metric.divided_by}`"
            if metric.minus
            else f"{text} / `{metric.divided_by}`"
        )
    return text + (
        f"; {metric.missing:g} where there is none" if metric.missing is not None else ""
    )


def _describe_statistics(n_hypotheses: int) -> str:
    """Return how verdicts follow from numbers."""
    several = f" for {n_hypotheses} hypotheses" if n_hypotheses > 1 else ""
    return (
        "**Statistics.** Every condition is run with the same seeds, and a value is the mean of one run. An "
        "effect is one number per seed. Intervals are Student's t over seeds (95 %); *simultaneous* ones are "
        f"wider (Bonferroni), so that all of them hold at once with 95 %. p-values are of a two-sided test{several} "
        "that flips the signs of whole seeds, adjusted by Holm's method; they test for no effect at all. With few "
        "seeds many effects reach the smallest p that the test can give, so that equal p-values do not mean "
        "equally clear effects. A claim about a direction is **supported** if the adjusted p is below 0.05, "
        "and the effect has the predicted sign and is not below the smallest that matters, if one was set. It is "
        "**refuted** if the adjusted p is below 0.05 with the other sign, or if the simultaneous interval excludes "
        "the smallest effect that matters. A claim of equality is supported if the simultaneous interval lies within "
        "what counts as equal, whatever p is; it is refuted if the adjusted p is below 0.05 and the effect itself "
        "is larger. Everything else is **not decided**: that is not the same as no effect."
    )


def _list_verdicts(done: StudyDone) -> list[ReportPart]:
    """Return the verdict on every hypothesis with its numbers and its reason, and effects within levels."""
    rows = [
        [
            v.name, f"**{v.verdict}**", _show_effect(v.effect), format_sample_size(v.effect),
            format_interval(v.simultaneous) if v.simultaneous else "", f"{v.adjusted_p_value:.3g}", v.reason,
        ]
        for v in done.verdicts
    ]  # fmt: skip
    headings = [
        "hypothesis", "verdict", "effect (95 %)", "seeds", "simultaneous interval", "adjusted p", "why",
    ]  # fmt: skip
    parts: list[ReportPart] = [TablePart(headings, rows)]
    within = [
        [v.name, name, _show_effect(effect)] for v in done.verdicts for name, effect in v.parts
    ]
    if within:
        text = "Effects that are averaged over a factor, at each of its levels; no verdict was planned on these:"
        parts += [TextPart(text), TablePart(["hypothesis", "where", "effect (95 %)"], within)]
    return parts


def _describe_intervals(done: StudyDone) -> list[ReportPart]:
    """Return what the numbers of the results are."""
    text = (
        f"Means over {len(done.seeds)} seeds with 95 % intervals; `n` is given where fewer seeds had a value. "
        "`table.csv` has the value of every run."
    )
    parts: list[ReportPart] = [TextPart(text)]
    if not done.notes and any(map(_is_marked, done.estimates)):  # else the limits say it
        parts.append(
            TextPart(
                f"\\* An interval of skewed values, or of fewer than {MIN_VALUES}: it may cover the true mean in less "
                "than 90 % of cases."
            )
        )
    return parts


def _is_marked(row: ConditionEstimate) -> bool:
    """Return whether an interval is marked: of skewed values, or of few ones, which may all be equal."""
    n = sum(value is not None for value in row.values)
    return has_weak_interval(row) or 1 < n < MIN_VALUES


def _list_results(
    plan: StudyPlan, done: StudyDone, figures: Mapping[str, str]
) -> list[ReportSection]:
    """Return a section for each metric: its figure, and a table of all conditions.

    Args:
        plan: The plan.
        done: What the study found.
        figures: Names of the files with figures, by metric.
    """
    sections = []
    for name, metric in plan.metrics.items():
        rows = [row for row in done.estimates if row.metric == name]
        parts: list[ReportPart] = [TextPart(_capitalize(metric.about))]
        if name in figures:
            number = list(figures).index(name) + 1
            caption = f"Figure {number}: {metric.about.rstrip('.')}. Means over seeds with 95 % intervals."
            parts.append(FigurePart(figures[name], caption))
        parts.append(tabulate_estimates(rows, len(done.seeds)))
        sections.append(ReportSection(name.replace("_", " "), parts, 3))
    return sections


def tabulate_estimates(rows: Sequence[ConditionEstimate], n_seeds: int) -> TablePart:
    """Return a metric in all conditions; the levels of the last of several factors are columns.

    Args:
        rows: The metric in each condition.
        n_seeds: Number of seeds.
    """
    factors = list(rows[0].levels)
    show = _choose_decimals(rows)

    def fill(row: ConditionEstimate) -> str:
        """Return a mean with its interval, marked if weak, and the number of values if some are missing."""
        n = sum(value is not None for value in row.values)
        text = format_estimate_with(row.estimate, show) + "\\*" * _is_marked(row)
        return f"{text}, n = {n}" if n < n_seeds else text

    if len(factors) < 2:
        lines = [[*row.levels.values(), fill(row)] for row in rows]
        return TablePart([*factors, "mean (95 %)"], lines)
    *first, last = factors
    table: dict[tuple[str, ...], dict[str, str]] = {}
    for row in rows:
        table.setdefault(tuple(row.levels[f] for f in first), {})[row.levels[last]] = fill(row)
    columns = list(dict.fromkeys(row.levels[last] for row in rows))
    return TablePart(
        [*first, *(f"{last} = {level}" for level in columns)],
        [[*levels, *(cells[c] for c in columns)] for levels, cells in table.items()],
    )


def _choose_decimals(rows: Sequence[ConditionEstimate]) -> Callable[[float], str]:
    """Return the format of all numbers of a table: three digits for the largest mean, one decimal at least below 1,000."""
    largest = max((abs(row.estimate.mean) for row in rows if row.estimate), default=0.0)
    decimals = 0 if largest >= 1000 else 1 if largest >= 10 else 2 if largest >= 1 else 3
    return lambda value: f"{value:,.{decimals}f}"


def _capitalize(text: str) -> str:
    """Return a text as a sentence: a capital at its beginning, a full stop at its end."""
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def _describe_provenance(settings: Study) -> list[ReportPart]:
    """Return command, versions, revision, registration and capsule."""
    release = describe_machine().versions["kinfolk"]
    registered = f" on {settings.date}" if settings.date else ""
    facts = [
        f"The plan was registered{registered}, before the first run. Its SHA-256 is `{settings.sha256}`.",
        describe_origin(settings),
        f"kinfolk {release}." + (f" Commit {settings.commit}." if settings.commit else ""),
        f"`{CAPSULE_FILE}` beside this report holds the plan, all results, their hashes and versions; "
        f"`kinfolk verify {CAPSULE_FILE}` runs the study again and compares.",
    ]
    command = CodePart(f"{settings.command} --engine processes --jobs 2", "sh")
    return [command, ListPart(facts)]
