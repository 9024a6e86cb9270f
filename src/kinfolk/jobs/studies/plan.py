"""The plan of a study as it is written: one TOML file, which is hashed before anything is run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from kinfolk.core.errors import SettingsError, UnknownNameError, format_suggestion, require
from kinfolk.core.settings import Settings, setting, validate_settings
from kinfolk.jobs.sweeps.settings import SWEPT_JOBS
from kinfolk.store.files import list_folder, parse_settings, read_text

PLAN_FOLDER = Path(__file__).with_name("plans")
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
    seconds: float = Field(
        description="Processor seconds of one run, as measured.", gt=0, strict=True
    )
    settings: dict[str, Any] = setting(
        {}, "Settings of the job that all conditions share; `kinfolk settings JOB` lists them."
    )
    factors: dict[str, dict[str, dict[str, Any]]] = setting(
        {}, "Settings that each level of each factor adds: factors.FACTOR.LEVEL."
    )
    conditions_of: str | None = setting(
        None, "Earlier stage whose factors this one has too, with their preset and world_settings."
    )
    seed_offset: int = setting(
        0, "Added to the seed of the study, for episodes not trained on.", ge=0, strict=True
    )
    logs: tuple[str, ...] = setting(
        (), "Of eval: import paths, MODULE:CLASS, of classes that follow episodes and add columns."
    )

    @field_validator("factors", mode="before")
    @classmethod
    def _check_quotes(cls, factors: Any) -> Any:
        """Check that levels with a dot are in quotes: TOML reads 0.04 as the key 04 in a table 0."""
        for factor, levels in factors.items() if isinstance(factors, Mapping) else ():
            for level, parts in levels.items() if isinstance(levels, Mapping) else ():
                inner = [part for part in parts if part.isdecimal()] if level.isdecimal() else []
                require(
                    not isinstance(parts, Mapping) or not inner,
                    f'factors.{factor}: write the level in quotes, "{level}.{(inner or [""])[0]}" = ...; '
                    f"without them TOML reads it as a table '{level}' with a key '{(inner or [''])[0]}'.",
                )
        return factors

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
    column: str = Field(description="Column of its results; `kinfolk metrics WORLD` lists them.")
    minus: str | None = setting(None, "Column that is subtracted.")
    divided_by: str | None = setting(
        None, "Column by which the column, or the difference, is divided."
    )
    missing: float | None = setting(
        None,
        "Value of a run without the columns, or with the divisor 0; none: it has none.",
        strict=True,
    )
    about: str = Field(description="What the number means, in words.")


class ContrastTerm(Settings):
    """A part of a contrast: the mean over some conditions, with a weight."""

    weight: float = Field(
        description="Number by which the mean over these conditions is multiplied, such as -0.5.",
        strict=True,
    )
    when: dict[str, str] = Field(description="Level of each factor; those left out are averaged.")


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
    levels: tuple[str, ...] = setting((), "Two levels of the factor: the first minus the second.")
    trend: bool = setting(
        False, "Compare a line through all levels, which are numbers, at its two ends.", strict=True
    )
    contrast: tuple[ContrastTerm, ...] = setting(
        (), "Weighted means of conditions, added up: a list of tables with weight and when."
    )
    when: dict[str, str] = setting({}, "Level of other factors; those left out are averaged.")
    against: float = setting(0.0, "Number that is subtracted from the effect.", strict=True)
    smallest: float = setting(
        0.0,
        "Smallest effect that matters, in the metric's unit; needed by equal.",
        ge=0,
        strict=True,
    )

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

    seeds: int = setting(2, "Number of seeds, 0 to this minus 1.", ge=2, strict=True)
    settings: dict[str, dict[str, Any]] = setting({}, "Settings by stage that differ.")
    seconds: dict[str, float] = Field(description="Processor seconds of one run, by stage.")


class StudyPlan(Settings):
    """A pre-registered plan: the question, what is run, and what would answer it."""

    title: str = Field(description="Title of the report.")
    question: str = Field(description="What is asked.")
    known: str = Field(description="What was known or published before.")
    method: str = Field(description="What is done, in words.")
    stopping_rule: str = Field(description="When the study ends, whatever the results.")
    seeds: int = Field(
        description="Number of seeds, 0 to this minus 1: 6 for one hypothesis, 7 for 2 or 3, 8 for 4 to 6.",
        strict=True,
    )
    limits: tuple[str, ...] = Field(description="What the study cannot show.", min_length=1)
    stages: dict[str, StudyStage] = Field(description="Stages by name, in order.", min_length=1)
    metrics: dict[str, StudyMetric] = Field(description="Metrics by name.", min_length=1)
    hypotheses: tuple[StudyHypothesis, ...] = Field(description="The claims.", min_length=1)
    quick: QuickVariant = Field(description="The variant of a minute.")


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
    keys = [name_hypothesis(number, fields) for number, fields in enumerate(listed)]
    for key, fields in zip(keys, listed, strict=True):
        _require_quoted_levels(f"{file}, {key}", fields, parts["stages"].values())
    parts["hypotheses"] = [
        _validate(StudyHypothesis, fields, file, key)
        for key, fields in zip(keys, listed, strict=True)
    ]
    if "quick" in table:
        parts["quick"] = _validate(QuickVariant, table["quick"], file, "quick")
    plan: StudyPlan = _validate(StudyPlan, parts, file, "")
    return plan


def name_hypothesis(number: int, fields: Any) -> str:
    """Return the key of a hypothesis for messages, with its name if it has one.

    Args:
        number: Its number, from 0.
        fields: What the plan has there, or the hypothesis.

    >>> name_hypothesis(0, {"name": "growth"})
    'hypotheses[0] (growth)'
    """
    plain = fields if isinstance(fields, Mapping) else getattr(fields, "__dict__", {})
    name = plain.get("name")
    return f"hypotheses[{number}]" + (f" ({name})" if isinstance(name, str) else "")


def _require_quoted_levels(where: str, fields: Any, stages: Iterable[StudyStage]) -> None:
    """Check that a hypothesis names levels by texts, as they are among the factors of a stage.

    Args:
        where: File and key, for messages.
        fields: What the plan has there.
        stages: All stages.

    Raises:
        SettingsError: It names them by numbers.
    """
    given = fields.get("levels") if isinstance(fields, Mapping) else None
    if isinstance(given, list) and not all(isinstance(level, str) for level in given):
        factor = str(fields.get("factor"))
        known = dict.fromkeys(level for stage in stages for level in stage.factors.get(factor, ()))
        raise SettingsError(
            f"{where}: levels are written in quotes, not as {given}. The levels of {factor} are: "
            f"{', '.join(json.dumps(level) for level in known) or 'none'}."
        )


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
    for name in fields:
        hint = format_suggestion(
            name, model.model_fields, "`kinfolk settings study` lists all keys"
        )
        require(name in model.model_fields, f"{where}: a plan has no key '{name}' here.{hint}")
    try:
        return validate_settings(model, fields)
    except SettingsError as error:
        message = str(error).removeprefix(f"{model.__name__}.")
        raise SettingsError(f"{where}: {message}") from None


def hash_plan(text: str) -> str:
    """Return the SHA-256 of a plan's text, which identifies what was registered."""
    return hashlib.sha256(text.encode()).hexdigest()
