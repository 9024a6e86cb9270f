"""The report of a study as sections: question, method, results, verdicts, limits, how to repeat it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

from kinfolk.evaluation.formatting import format_estimate, format_number, format_sample_size
from kinfolk.jobs.capsules import describe_machine
from kinfolk.jobs.studies.conditions import collect_factors, count_runs
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
from kinfolk.jobs.studies.results import StudyDone
from kinfolk.jobs.studies.settings import Study, describe_origin
from kinfolk.jobs.studies.verdicts import NOT_DECIDED, REFUTED, SUPPORTED, describe_comparison

CAPSULE_FILE = "capsule.zip"  # beside the report
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
        ReportSection("In short", _sum_up(done)),
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
        ReportSection("The plan as registered", [CodePart(settings.text, "toml")]),
    ]


def _split_paragraphs(*texts: str) -> list[ReportPart]:
    """Return texts as paragraphs, which empty lines separate."""
    parts = [" ".join(part.split()) for text in texts for part in text.split("\n\n")]
    return [TextPart(part) for part in parts if part]


def _sum_up(done: StudyDone) -> list[ReportPart]:
    """Return how many hypotheses had which verdict, and a line about each."""
    counts = Counter(verdict.verdict for verdict in done.verdicts)
    texts = [
        f"{counts[v]} {'is' if counts[v] == 1 else 'are'} {v}"
        for v in (SUPPORTED, REFUTED, NOT_DECIDED)
    ]
    n = len(done.verdicts)
    lines = [
        f"**{verdict.verdict}**: {verdict.claim} "
        f"Effect ({verdict.comparison}): {_show_effect(verdict.effect)}."
        for verdict in done.verdicts
    ]
    noun = "hypothesis" if n == 1 else "hypotheses"
    first = f"Of {n} {noun}, {texts[0]}, {texts[1]} and {texts[2]}."
    return [TextPart(first), ListPart(lines)]


def _show_effect(effect: Any) -> str:
    """Return an effect with its interval, as text."""
    return "without a value" if effect is None else format_estimate(effect)


def _list_hypotheses(plan: StudyPlan) -> list[ReportPart]:
    """Return the hypotheses as they were written before the study."""
    rows = [
        [h.name, h.claim, describe_comparison(h), _describe_prediction(h), h.refuted_by]
        for h in plan.hypotheses
    ]
    intro = TextPart(
        "Written before anything was run. The effect is one number per seed; the prediction is about its mean."
    )
    headings = ["name", "claim", "effect", "predicted", "refuted by"]
    return [intro, TablePart(headings, rows)]


def _describe_prediction(hypothesis: StudyHypothesis) -> str:
    """Return which effect a hypothesis predicts."""
    smallest = format_number(hypothesis.smallest)
    if hypothesis.predict == "equal":
        return f"within +-{smallest}"
    if hypothesis.predict == "higher":
        return f"at least {smallest}" if hypothesis.smallest else "above 0"
    return f"at most -{smallest}" if hypothesis.smallest else "below 0"


def _describe_method(plan: StudyPlan, quick: bool) -> list[ReportPart]:
    """Return what was run: stages, conditions, metrics, when it ended, and the statistics."""
    runs = count_runs(plan, quick)
    stages = [
        [name, f"`{stage.job}`", stage.about, str(runs[name])]
        for name, stage in plan.stages.items()
    ]
    levels = [
        [
            stage,
            factor,
            level,
            f"`{json.dumps(settings)}`" if settings else "as the other settings say",
        ]
        for stage in plan.stages
        for factor, table in plan.stages[stage].factors.items()
        for level, settings in table.items()
    ]
    metrics = [
        [name, metric.stage, _describe_columns(metric), metric.about]
        for name, metric in plan.metrics.items()
    ]
    n_seeds = plan.quick.seeds if quick else plan.seeds
    parts = _split_paragraphs(plan.method)
    parts.append(TablePart(["stage", "job", "what is done", "runs"], stages))
    if levels:
        parts.append(TextPart("Conditions are all combinations of these levels of a stage:"))
        parts.append(TablePart(["stage", "factor", "level", "settings that differ"], levels))
    parts.append(TablePart(["metric", "stage", "computed from", "meaning"], metrics))
    stopping = " ".join(plan.stopping_rule.split())
    parts.append(TextPart(f"**Seeds and stopping rule.** {n_seeds} seeds. {stopping}"))
    parts.append(TextPart(_describe_statistics(len(plan.hypotheses))))
    return parts


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
        "**Statistics.** Every condition is run with the same seeds, and a value is the mean of one run. "
        "Intervals are Student's t over seeds (95 %). p-values are of a two-sided paired permutation test "
        f"over seeds, adjusted by Holm's method{several}. A claim about a direction is **supported** if the "
        "adjusted p is below 0.05, the effect has the predicted sign and is not below the smallest that "
        "matters; it is **refuted** if the adjusted p is below 0.05 with the other sign, or if the "
        "simultaneous interval (Student's t, Bonferroni) excludes the smallest effect that matters. A claim "
        "of equality is supported if that interval lies within the smallest effect that matters, and refuted "
        "by a clear effect beyond it. Everything else is **not decided**."
    )


def _list_verdicts(done: StudyDone) -> list[ReportPart]:
    """Return the verdict on every hypothesis with its numbers and its reason."""
    rows = [
        [
            v.name, f"**{v.verdict}**", _show_effect(v.effect), format_sample_size(v.effect),
            f"{v.p_value:.3g}", f"{v.adjusted_p_value:.3g}", v.reason,
        ]
        for v in done.verdicts
    ]  # fmt: skip
    headings = ["hypothesis", "verdict", "effect (95 %)", "seeds", "p", "adjusted p", "why"]
    return [TablePart(headings, rows)]


def _describe_intervals(done: StudyDone) -> list[ReportPart]:
    """Return what the numbers of the results are."""
    text = f"Means over {len(done.seeds)} seeds with 95 % intervals; `table.csv` has the value of every run."
    return [TextPart(text)]


def _list_results(
    plan: StudyPlan, done: StudyDone, figures: Mapping[str, str]
) -> list[ReportSection]:
    """Return a section for each metric: its figure, and a table with a row per condition.

    Args:
        plan: The plan.
        done: What the study found.
        figures: Names of the files with figures, by metric.
    """
    sections = []
    for name, metric in plan.metrics.items():
        factors = list(collect_factors(plan, metric.stage))
        rows = [
            [*(row.levels[f] for f in factors), format_estimate(row.estimate), format_sample_size(row.estimate)]
            for row in done.estimates
            if row.metric == name
        ]  # fmt: skip
        headings = [*factors, "mean (95 %)", "seeds"]
        parts: list[ReportPart] = [TextPart(_capitalize(metric.about))]
        if name in figures:
            parts.append(FigurePart(figures[name], f"{name.replace('_', ' ')} in each condition"))
        parts.append(TablePart(headings, rows if factors else [[*rows[0]]]))
        sections.append(ReportSection(name.replace("_", " "), parts, 3))
    return sections


def _capitalize(text: str) -> str:
    """Return a text as a sentence: a capital at its beginning, a full stop at its end."""
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def _describe_provenance(settings: Study) -> list[ReportPart]:
    """Return command, versions, revision, registration and capsule."""
    release = describe_machine()["versions"]["kinfolk"]
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
