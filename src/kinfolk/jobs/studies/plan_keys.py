"""All keys of a plan with type, default and meaning, for the reference and `kinfolk settings study`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kinfolk.core.settings import SettingField, Settings, fields_of
from kinfolk.jobs.studies.plan import (
    ContrastTerm,
    StudyHypothesis,
    StudyMetric,
    StudyPlan,
    StudyStage,
)

# What a table or list of a plan holds, and the path of its entries.
_ENTRIES: dict[str, tuple[type[Settings], tuple[str, ...]]] = {
    "stages": (StudyStage, ("stages", "NAME")),
    "metrics": (StudyMetric, ("metrics", "NAME")),
    "hypotheses": (StudyHypothesis, ("hypotheses",)),
    "hypotheses.contrast": (ContrastTerm, ("hypotheses", "contrast")),
}


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
