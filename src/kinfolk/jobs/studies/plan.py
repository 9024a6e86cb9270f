"""The plan of a study as it is written: one TOML file, which is hashed before anything is run."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from kinfolk.core.errors import SettingsError, UnknownNameError, format_suggestion, require
from kinfolk.core.settings import Settings, setting, validate_settings
from kinfolk.jobs.sweeps.settings import SWEPT_JOBS
from kinfolk.store.files import list_folder, parse_settings, read_text

PLAN_FOLDER = Path(__file__).with_name("plans")
MIN_SEEDS = 5  # of a full plan
_SUFFIX = ".toml"
Prediction = Literal["higher", "lower", "equal"]


class StudyStage(Settings):
    """One step of a study: a job that is run with every condition and every seed.

    Conditions are all combinations of the levels of the `factors`; a level is a table of settings.
    A policy may be `stage:STAGE/SLOT@VERSION`, made by an earlier stage with the same seed: of the same
    condition (`conditions_of`), or of the one in brackets, `stage:STAGE[CONDITION]/SLOT@VERSION`.
    """

    job: str = Field(description=f"Job that is run: {', '.join(SWEPT_JOBS)}.")
    about: str = Field(description="What is done in this stage, in a sentence.")
    seconds: float = Field(description="Processor seconds of one run, as measured.", gt=0)
    settings: dict[str, Any] = setting({}, "Settings of the job that all conditions share.")
    factors: dict[str, dict[str, dict[str, Any]]] = setting(
        {}, "Settings of every level of every factor that is varied."
    )
    conditions_of: str | None = setting(
        None, "Earlier stage whose factors, and rules of the world, this stage has too."
    )
    seed_offset: int = setting(0, "Added to the seed of the study, for unseen episodes.", ge=0)
    logs: tuple[str, ...] = setting(
        (), "Classes that log episodes of an evaluation and compute further metrics."
    )

    @field_validator("job")
    @classmethod
    def _check_job(cls, job: str) -> str:
        """Check that the stage names a job that can be run over conditions."""
        hint = format_suggestion(job, list(SWEPT_JOBS))
        require(job in SWEPT_JOBS, f"job is '{job}', which no stage can run.{hint}")
        return job

    @model_validator(mode="after")
    def _check_parts(self) -> StudyStage:
        """Check that factors have levels, and that logs are of an evaluation.

        Raises:
            SettingsError: They are not so.
        """
        for name, levels in self.factors.items():
            require(len(levels) > 1, f"factors.{name} needs two levels or more.")
        require(
            self.job == "eval" or not self.logs,
            f"logs are of evaluations (job = 'eval'); the job is '{self.job}'.",
        )
        return self


class StudyMetric(Settings):
    """A number that every run of a stage has: the mean of a column, or a difference or ratio of two."""

    stage: str = Field(description="Stage whose runs have it.")
    column: str = Field(description="Column of its results; see `kinfolk metrics`.")
    minus: str | None = setting(None, "Column that is subtracted.")
    divided_by: str | None = setting(None, "Column by which the difference is divided.")
    missing: float | None = setting(
        None, "Value of a run that lacks the column; none: it has no value."
    )
    about: str = Field(description="What the number means, in words.")


class ContrastTerm(Settings):
    """A part of a contrast: the mean over some conditions, with a weight."""

    weight: float = Field(description="Weight of the mean over these conditions.")
    when: dict[str, str] = Field(description="Levels by factor; factors left out are averaged.")


class StudyHypothesis(Settings):
    """A claim about a metric, and by which numbers it would be refuted.

    A claim is about two `levels` of a `factor`, the `trend` over the numeric levels of a factor, a
    `contrast`, or, without these, the mean of the metric minus `against`. `when` picks the conditions.
    """

    name: str = Field(description="Short name of the hypothesis.")
    claim: str = Field(description="What is claimed, in a sentence.")
    metric: str = Field(description="Metric that decides.")
    predict: Prediction = Field(description="Which result the claim predicts.")
    refuted_by: str = Field(description="Which result would refute the claim, in words.")
    effect: str | None = setting(
        None, "What the effect is, in words, where the comparison does not say it well."
    )
    factor: str | None = setting(None, "Factor of which two levels, or the trend, are compared.")
    levels: tuple[str, ...] = setting((), "Two levels: the first minus the second.")
    trend: bool = setting(False, "Compare the fitted line at the highest and the lowest level.")
    contrast: tuple[ContrastTerm, ...] = setting((), "Weighted means of conditions, added up.")
    when: dict[str, str] = setting({}, "Levels of other factors; those left out are averaged.")
    against: float = setting(0.0, "Number with which the result is compared.")
    smallest: float = setting(0.0, "Smallest difference that matters, in the metric's unit.", ge=0)

    @model_validator(mode="after")
    def _check_comparison(self) -> StudyHypothesis:
        """Check that exactly one comparison is written, and written completely.

        Raises:
            SettingsError: It is not.
        """
        ways = [bool(self.levels), self.trend, bool(self.contrast)]
        require(
            sum(ways) <= 1, "a hypothesis has levels, or trend, or contrast; this one has several."
        )
        require(
            len(self.levels) in (0, 2),
            f"levels must be two, of which the second is subtracted, not {len(self.levels)}.",
        )
        need = "levels = ['A', 'B'] or trend = true"
        is_of_factor = bool(self.levels) or self.trend
        require(not is_of_factor or self.factor is not None, f"{need} needs factor = 'NAME'.")
        require(is_of_factor or self.factor is None, f"factor = '{self.factor}' needs {need}.")
        require(
            self.predict != "equal" or self.smallest > 0,
            "predict = 'equal' needs smallest: the difference up to which two means count as equal.",
        )
        return self


class QuickVariant(Settings):
    """How the plan is cut so that it runs in about a minute; it decides nothing."""

    seeds: int = setting(2, "Number of seeds.", ge=1)
    settings: dict[str, dict[str, Any]] = setting({}, "Settings by stage that differ.")
    seconds: dict[str, float] = Field(description="Processor seconds of one run, by stage.")


class StudyPlan(Settings):
    """A pre-registered plan: the question, what is run, and what would answer it."""

    title: str = Field(description="Title of the report.")
    question: str = Field(description="What is asked.")
    known: str = Field(description="What was known or published before.")
    method: str = Field(description="What is done, in words.")
    stopping_rule: str = Field(description="When the study ends, whatever the results.")
    seeds: int = Field(description=f"Number of seeds, at least {MIN_SEEDS}.")
    limits: tuple[str, ...] = Field(description="What the study cannot show.", min_length=1)
    stages: dict[str, StudyStage] = Field(description="Stages by name, in order.", min_length=1)
    metrics: dict[str, StudyMetric] = Field(description="Metrics by name.", min_length=1)
    hypotheses: tuple[StudyHypothesis, ...] = Field(description="The claims.", min_length=1)
    quick: QuickVariant = Field(description="The variant of a minute.")

    @field_validator("seeds")
    @classmethod
    def _check_seeds(cls, seeds: int) -> int:
        """Check that a full plan has enough seeds for intervals over seeds."""
        require(seeds >= MIN_SEEDS, f"seeds must be at least {MIN_SEEDS}, not {seeds}.")
        return seeds


def list_plans() -> list[str]:
    """Return the names of the plans of this package."""
    return [path.stem for path in list_folder(PLAN_FOLDER, f"*{_SUFFIX}")]


def read_plan_text(source: str) -> tuple[str, str]:
    """Return the name and the text of a plan.

    Args:
        source: Name of a plan of this package, or path of a TOML file.

    Raises:
        UnknownNameError: There is no such plan.
        UsageError: There is no such file.
    """
    known = list_plans()
    if source in known:
        return source, read_text(PLAN_FOLDER / f"{source}{_SUFFIX}")
    if not source.endswith(_SUFFIX):
        hint = format_suggestion(source, known)
        raise UnknownNameError(
            f"There is no study '{source}'.{hint} A plan of your own is given by the path of its .toml file."
        )
    return Path(source).stem, read_text(Path(source))


def parse_plan(name: str, text: str) -> StudyPlan:
    """Return the plan that a TOML text holds.

    Args:
        name: Name of the plan, for messages.
        text: The text.

    Raises:
        SettingsError: The message names the plan, the key, what was wrong and what would be right.
    """
    file = f"{name}{_SUFFIX}"
    table = parse_settings(text, "toml", file)
    parts: dict[str, Any] = dict(table)
    for key, model in (("stages", StudyStage), ("metrics", StudyMetric)):
        entries = _require_table(file, key, table)
        parts[key] = {
            entry: _validate(model, fields, file, f"{key}.{entry}")
            for entry, fields in entries.items()
        }
    listed = table.get("hypotheses", [])
    require(isinstance(listed, list), f"{file}: hypotheses must be a list, [[hypotheses]].")
    parts["hypotheses"] = [
        _validate(StudyHypothesis, fields, file, f"hypotheses[{number}]")
        for number, fields in enumerate(listed)
    ]
    if "quick" in table:
        parts["quick"] = _validate(QuickVariant, table["quick"], file, "quick")
    plan: StudyPlan = _validate(StudyPlan, parts, file, "")
    return plan


def _require_table(file: str, key: str, table: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a table of tables of a plan.

    Args:
        file: Name of the file, for messages.
        key: Key of the table.
        table: The whole plan.

    Raises:
        SettingsError: It is not a table of tables.
    """
    entries = table.get(key, {})
    is_nested = isinstance(entries, Mapping) and all(
        isinstance(v, Mapping) for v in entries.values()
    )
    require(is_nested, f"{file}: {key} must be a table of tables, [{key}.NAME], not {entries!r}.")
    nested: Mapping[str, Any] = entries
    return nested


def _validate(model: type[Any], fields: Any, file: str, key: str) -> Any:
    """Return a part of a plan as settings; an error names the file and the key.

    Args:
        model: Class of the settings.
        fields: What the plan has there.
        file: Name of the file.
        key: Key of the part in the file; "" for the whole.

    Raises:
        SettingsError: A field is wrong.
    """
    where = f"{file}, {key}" if key else file
    require(isinstance(fields, Mapping), f"{where}: it must be a table, not {fields!r}.")
    try:
        return validate_settings(model, fields)
    except SettingsError as error:
        raise SettingsError(f"{where}: {error}") from None


def hash_plan(text: str) -> str:
    """Return the SHA-256 of a plan's text, which identifies what was registered."""
    return hashlib.sha256(text.encode()).hexdigest()
