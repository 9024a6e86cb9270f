"""Settings of a study: the keys of its plan, the registered text, and how a plan is registered."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

from pydantic import Field, model_validator

from kinfolk.core.errors import UsageError, require
from kinfolk.core.settings import SettingField, Settings, fields_of, setting
from kinfolk.jobs.studies.conditions import count_runs
from kinfolk.jobs.studies.plan import (
    ContrastTerm,
    StudyHypothesis,
    StudyMetric,
    StudyPlan,
    StudyStage,
    hash_plan,
    list_plans,
    parse_plan,
    read_plan_text,
)

# What a table or list of a plan holds, and the path of its entries.
_ENTRIES: dict[str, tuple[type[Settings], tuple[str, ...]]] = {
    "stages": (StudyStage, ("stages", "NAME")),
    "metrics": (StudyMetric, ("metrics", "NAME")),
    "hypotheses": (StudyHypothesis, ("hypotheses",)),
    "hypotheses.contrast": (ContrastTerm, ("hypotheses", "contrast")),
}


class Study(Settings):
    """Settings of a study: the text of its plan, as it was registered, and which variant is run."""

    name: str = Field(description="Name of the plan.")
    text: str = Field(description="The plan, as its TOML file had it when the study began.")
    sha256: str = setting("", "SHA-256 of the text; computed if it is left out.")
    quick: bool = setting(False, "Run the variant of a minute, which decides nothing.")
    source: str = setting("", "How the plan was given: its name, or the path of its file.")
    date: str = setting("", "Day on which the plan was registered, for the report.")
    commit: str = setting("", "Revision of the code, for the report.")

    @model_validator(mode="before")
    @classmethod
    def _compute_hash(cls, value: Any) -> Any:
        """Compute the hash of the text where none is given."""
        if isinstance(value, Mapping) and not value.get("sha256") and "text" in value:
            return {**value, "sha256": hash_plan(str(value["text"]))}
        return value

    @model_validator(mode="after")
    def _check_hash(self) -> Study:
        """Check that the text is the one that was registered.

        Raises:
            SettingsError: It was changed.
        """
        require(
            hash_plan(self.text) == self.sha256,
            f"The plan {self.name} was changed after it was registered: its SHA-256 is "
            f"{hash_plan(self.text)}, and {self.sha256} was registered. Start a new study.",
        )
        return self

    @property
    def plan(self) -> StudyPlan:
        """The plan that the text holds."""
        return parse_plan(self.name, self.text)

    @property
    def n_runs(self) -> int:
        """Number of runs of all stages."""
        return sum(count_runs(self.plan, self.quick).values())

    @property
    def command(self) -> str:
        """The command that runs the study again."""
        return f"kinfolk study {self.source or self.name}{' --quick' if self.quick else ''}"


def register_study(source: str, quick: bool = False) -> Study:
    """Return the settings of a new study, with the plan as it is now, the day and the revision.

    Args:
        source: Name of a plan of this package, or path of a TOML file.
        quick: Whether the variant of a minute is run.

    Raises:
        UsageError: There is no such plan.
    """
    name, text = read_plan_text(source)
    today = date.today().isoformat()
    return Study(
        name=name, text=text, quick=quick, source=source, date=today, commit=_find_commit()
    )


def _find_commit() -> str:
    """Return the revision of the checkout that this package is part of; "" outside of one."""
    folder = Path(__file__).parent
    commands = (
        ["git", "ls-files", "--error-unmatch", Path(__file__).name],  # fails in others' checkouts
        ["git", "rev-parse", "--short=12", "HEAD"],
        ["git", "status", "--porcelain", "--untracked-files=no"],
    )
    try:
        results = [
            subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout
            for command in commands
        ]
    except (OSError, subprocess.CalledProcessError):
        return ""
    return results[1].strip() + (" with changes" if results[2].strip() else "")


def require_same_plan(study: Study, source: str) -> None:
    """Check that a plan is the one with which a study was registered.

    Args:
        study: Settings of the study.
        source: Name of a plan, or path of its file.

    Raises:
        UsageError: It is another plan, or it was changed since.
    """
    text = read_plan_text(source)[1]
    if hash_plan(text) != study.sha256:
        raise UsageError(
            f"The run was registered with the plan {study.name}, SHA-256 {study.sha256[:12]}..., and "
            f"{source} is now another one, {hash_plan(text)[:12]}.... Leave out the name to go on with the "
            f"registered plan, or start a new study."
        )


def describe_origin(study: Study) -> str:
    """Return whether a plan is one of this package, unchanged, as a sentence."""
    if study.name not in list_plans():
        return "The plan is not one of those that kinfolk ships."
    if hash_plan(read_plan_text(study.name)[1]) == study.sha256:
        return f"The plan is `{study.name}` as this version of kinfolk ships it."
    return f"The plan was changed: it is not `{study.name}` as this version of kinfolk ships it."


def iterate_plan_keys() -> Iterator[SettingField]:
    """Yield every key of a plan; a table or list of tables is followed by the keys of its entries."""
    return _iterate_keys(StudyPlan, ())


def _iterate_keys(model: type[Settings], path: tuple[str, ...]) -> Iterator[SettingField]:
    """Yield the keys of a part of a plan that lies at `path`."""
    for field in fields_of(model):
        key = replace(field, path=(*path, *field.path))
        yield key
        if key.name in _ENTRIES:
            yield from _iterate_keys(*_ENTRIES[key.name])
