"""Check a plan against the jobs, worlds and metrics of this package, before anything is run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from kinfolk.core.errors import KinfolkError, SettingsError, format_suggestion, require
from kinfolk.core.imports import import_object
from kinfolk.jobs.studies.conditions import (
    Condition,
    PolicyReference,
    find_references,
    find_source_condition,
    iterate_texts,
    list_conditions,
)
from kinfolk.jobs.studies.effects import weigh_conditions
from kinfolk.jobs.studies.job_starts import check_job_start, fill_references
from kinfolk.jobs.studies.plan import (
    StudyMetric,
    StudyPlan,
    StudyStage,
    name_hypothesis,
    parse_plan,
)
from kinfolk.jobs.studies.verdicts import count_needed_seeds
from kinfolk.jobs.sweeps.points import check_job_metric

_ON_THIS_MACHINE = re.compile(r"(?:file|run):")  # policies that nobody else has
_OF_SLOT = "return."  # columns of an evaluation with the return of one slot


def check_plan(name: str, text: str) -> StudyPlan:
    """Return a plan whose settings, metrics and hypotheses are all valid.

    Args:
        name: Name of the plan.
        text: Its TOML text.

    Raises:
        SettingsError: The message names the file, the key, what was wrong and what would be right.
    """
    plan, file = parse_plan(name, text), f"{name}.toml"
    for variant in (False, True):
        for stage in plan.stages:
            _check_stage(file, plan, stage, variant)
    for metric, entry in plan.metrics.items():
        _run_check(f"{file}, metrics.{metric}", lambda entry=entry: _check_metric(plan, entry))
    names = [hypothesis.name for hypothesis in plan.hypotheses]
    for number, hypothesis in enumerate(plan.hypotheses):
        key = f"{file}, {name_hypothesis(number, hypothesis)}"
        require(names.count(hypothesis.name) == 1, f"{key}: the name is given twice.")
        require(
            hypothesis.metric in plan.metrics,
            f"{key}: metric = '{hypothesis.metric}' is not in [metrics]."
            f"{format_suggestion(hypothesis.metric, plan.metrics)}",
        )
        conditions = list_conditions(plan, plan.metrics[hypothesis.metric].stage)
        _run_check(key, lambda h=hypothesis, c=conditions: weigh_conditions(h, c))
    _check_seeds(file, plan.seeds, len(names))
    _check_quick(file, plan)
    return plan


def _check_seeds(file: str, seeds: int, n_hypotheses: int) -> None:
    """Check that the seeds can decide about all hypotheses.

    Args:
        file: Name of the file, for messages.
        seeds: Number of seeds.
        n_hypotheses: Number of hypotheses.

    Raises:
        SettingsError: They are too few.
    """
    needed = count_needed_seeds(n_hypotheses)
    noun = "hypothesis" if n_hypotheses == 1 else "hypotheses"
    require(
        seeds >= needed,
        f"{file}: seeds = {seeds} can decide nothing about {n_hypotheses} {noun}: the smallest p-value of n "
        f"seeds is 2 / 2^n, and {n_hypotheses} times that (Holm) must be below 0.05. It takes {needed} seeds"
        f"{', or fewer hypotheses' if n_hypotheses > 1 else ''}.",
    )


def _run_check(key: str, check: Any) -> None:
    """Run a check, and name the key of the plan in its error."""
    try:
        check()
    except KinfolkError as error:
        raise SettingsError(f"{key}: {error}") from None


def _check_quick(file: str, plan: StudyPlan) -> None:
    """Check that the quick variant names stages of the plan, and has the time of each.

    Raises:
        SettingsError: It does not.
    """
    quick: Mapping[str, Mapping[str, Any]] = {
        "settings": plan.quick.settings, "seconds": plan.quick.seconds,
    }  # fmt: skip
    for key, table in quick.items():
        for stage in table:
            hint = format_suggestion(stage, plan.stages)
            require(
                stage in plan.stages, f"{file}, quick.{key}: there is no stage '{stage}'.{hint}"
            )
    missing = [stage for stage in plan.stages if stage not in plan.quick.seconds]
    require(
        not missing,
        f"{file}, quick.seconds: the time of {' and '.join(missing)} is missing. Write the processor "
        "seconds of one quick run.",
    )


def _check_stage(file: str, plan: StudyPlan, name: str, quick: bool) -> None:
    """Check the settings of all conditions of a stage, and the policies they take over.

    Args:
        file: Name of the file, for messages.
        plan: The plan.
        name: Name of the stage.
        quick: Whether the quick variant is checked.

    Raises:
        SettingsError: A setting or a policy is wrong.
    """
    key, stage = f"{file}, stages.{name}", plan.stages[name]
    earlier = list(plan.stages)[: list(plan.stages).index(name)]
    source = stage.conditions_of
    require(
        source is None or source in earlier,
        f"{key}: conditions_of = '{source}' is no earlier stage.{format_suggestion(str(source), earlier)}",
    )
    if source is not None:
        _check_world(key, stage, source, plan.stages[source])
    require("seed" not in stage.settings, f"{key}.settings: leave out seed; the study has seeds.")
    for condition in list_conditions(plan, name, quick):
        where = f"{key}, condition '{condition.name}'"
        if quick:
            where += " of the quick variant"
        _run_check(where, lambda c=condition: _check_condition(plan, name, c, earlier))
    for log in stage.logs:
        _run_check(f"{key}.logs", lambda log=log: import_object(log))


def _check_world(key: str, stage: StudyStage, source: str, earlier: StudyStage) -> None:
    """Check that a stage with the conditions of another one names its world too.

    Args:
        key: File and key of the stage, for messages.
        stage: The stage.
        source: Name of the stage whose conditions it has.
        earlier: That stage.

    Raises:
        SettingsError: It does not, and would play the default world.
    """
    world = earlier.settings.get("world", "")
    require(
        not world or "world" in stage.settings,
        f"{key}.settings has no world. conditions_of = '{source}' takes over the factors of {source} with their "
        f"preset and world_settings, not its settings: write world = '{world}'.",
    )


def _check_condition(plan: StudyPlan, name: str, condition: Condition, earlier: list[str]) -> None:
    """Check the settings of one condition.

    Args:
        plan: The plan.
        name: Name of the stage.
        condition: The condition.
        earlier: Stages before this one.

    Raises:
        UsageError: A setting or a policy is wrong.
    """
    for text in iterate_texts(condition.settings):
        require(
            _ON_THIS_MACHINE.match(text) is None,
            f"'{text}' lies on this machine only. Name a policy that others have too (kin://..., "
            "class:...), or let an earlier stage make it (stage:...).",
        )
    for text, reference in find_references(condition.settings).items():
        _check_reference(plan, text, reference, condition, earlier)
    check_job_start(plan.stages[name].job, condition.settings)


def _check_reference(
    plan: StudyPlan, text: str, reference: PolicyReference, condition: Condition, earlier: list[str]
) -> None:
    """Check that an earlier stage makes the policy that a condition plays.

    Args:
        plan: The plan.
        text: The `stage:` text.
        reference: What it names.
        condition: The condition that plays it.
        earlier: Stages before the one of the condition.

    Raises:
        SettingsError: No earlier stage makes it.
    """
    makers = [stage for stage in earlier if plan.stages[stage].job != "eval"]
    require(
        reference.stage in makers,
        f"'{text}': no earlier stage that makes policies is named '{reference.stage}'."
        f"{format_suggestion(reference.stage, makers)}",
    )
    source = find_source_condition(plan, reference, condition.levels)
    conditions = {other.name: other for other in list_conditions(plan, reference.stage)}
    require(
        source in conditions,
        f"'{text}': stage {reference.stage} has no condition '{source}'."
        f"{format_suggestion(source, conditions)}",
    )
    slots = _list_made_slots(plan.stages[reference.stage].job, conditions[source].settings)
    require(
        slots is None or reference.slot in slots,
        f"'{text}': stage {reference.stage} makes no policy '{reference.slot}'."
        f"{format_suggestion(reference.slot, slots or ())}",
    )


def _list_made_slots(job: str, settings: Mapping[str, Any]) -> list[str] | None:
    """Return the names of the policies that a run makes; None where the world decides."""
    if job == "evolve-roles":
        return ["champion"]
    return list(settings["slots"]) if job == "train" and "slots" in settings else None


def _check_metric(plan: StudyPlan, metric: StudyMetric) -> None:
    """Check that the runs of a stage have the columns of a metric; those of logs are not known before.

    Raises:
        UsageError: There is no such stage or column.
    """
    hint = format_suggestion(metric.stage, plan.stages)
    require(metric.stage in plan.stages, f"stage = '{metric.stage}' is not in [stages].{hint}")
    stage = plan.stages[metric.stage]
    if stage.logs:
        return
    settings = fill_references(stage.job, list_conditions(plan, metric.stage)[0].settings)
    for column in filter(None, (metric.column, metric.minus, metric.divided_by)):
        slots = settings.get("slots", {})
        if stage.job == "eval" and column.startswith(_OF_SLOT):
            slot = column.removeprefix(_OF_SLOT)
            hint = format_suggestion(slot, slots)
            require(slot in slots, f"'{column}': there is no slot '{slot}'.{hint}")
        else:
            check_job_metric(stage.job, column, settings)
