"""The conditions of a stage, and policies that one stage makes and another one plays."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import accumulate, product
from typing import Any, NamedTuple

from kinfolk.core.errors import SettingsError
from kinfolk.core.settings import merge_settings
from kinfolk.jobs.studies.plan import StudyPlan

LEVEL_SEPARATOR = " / "  # between the levels in the name of a condition
ONLY_CONDITION = "all"  # name of the condition of a stage without factors
FIRST, LATEST, BEST = "first", "latest", "best"
_RULES = ("preset", "world_settings")  # of a condition, which apply to what evaluates it too
_REFERENCE = re.compile(
    r"stage:(?P<stage>\w+)(?:\[(?P<condition>[^\]]+)\])?/(?P<slot>\w+)(?:@(?P<version>[\w%]+))?$"
)
_START_SECONDS = 10.0  # until the first run begins: imports, and kernels that are compiled already
_SHARE = re.compile(r"(?:\d{1,2}|100)%")


class Condition(NamedTuple):
    """One combination of levels of a stage, with the settings of its job."""

    name: str  # its levels, in the order of the factors
    levels: dict[str, str]  # by factor
    settings: dict[str, Any]


class PolicyReference(NamedTuple):
    """A policy that an earlier stage makes, with the same seed."""

    stage: str
    condition: str | None  # None: the condition with the same levels
    slot: str
    version: str  # first, latest, best, or N%: the stored version at this share of all

    @property
    def product(self) -> str:
        """Name of the policy among those that one run of its stage makes."""
        return f"{self.slot}@{self.version}"


def collect_factors(plan: StudyPlan, name: str) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the factors of a stage, those of `conditions_of` first; settings of levels by name."""
    stage = plan.stages[name]
    if stage.conditions_of is None:
        return dict(stage.factors)
    earlier = collect_factors(plan, stage.conditions_of)
    rules = {
        factor: {
            level: {key: value for key, value in settings.items() if key in _RULES}
            for level, settings in levels.items()
        }
        for factor, levels in earlier.items()
    }
    return {**rules, **stage.factors}


def list_conditions(plan: StudyPlan, name: str, quick: bool = False) -> list[Condition]:
    """Return the conditions of a stage, in order.

    Args:
        plan: The plan.
        name: Name of the stage.
        quick: Whether the settings of the quick variant apply.
    """
    shared = plan.stages[name].settings
    if quick:
        shared = merge_settings(shared, plan.quick.settings.get(name, {}))
    factors = collect_factors(plan, name)
    conditions = []
    for levels in product(*factors.values()):
        settings = dict(shared)
        for factor, level in zip(factors, levels, strict=True):
            settings = merge_settings(settings, factors[factor][level])
        title = LEVEL_SEPARATOR.join(levels) or ONLY_CONDITION
        conditions.append(Condition(title, dict(zip(factors, levels, strict=True)), settings))
    return conditions


def count_runs(plan: StudyPlan, quick: bool) -> dict[str, int]:
    """Return the number of runs of each stage."""
    n_seeds = plan.quick.seeds if quick else plan.seeds
    return {name: n_seeds * len(list_conditions(plan, name)) for name in plan.stages}


def estimate_seconds(plan: StudyPlan, quick: bool, jobs: int = 1) -> float:
    """Return the seconds that a study is expected to take, from measured runs of each stage.

    Args:
        plan: The plan.
        quick: Whether the quick variant is run.
        jobs: Runs at once, on as many cores.
    """
    seconds = _find_seconds(plan, quick)
    runs = count_runs(plan, quick).items()
    return _START_SECONDS + sum(seconds[name] * -(-n_runs // jobs) for name, n_runs in runs)


def add_up_seconds(plan: StudyPlan, quick: bool) -> list[float]:
    """Return the planned processor seconds of the first run, of the first two, and so on, from 0.

    Stages take times that differ by a hundred times, so that this says better than the number of runs how
    much is done.
    """
    seconds = _find_seconds(plan, quick)
    runs = count_runs(plan, quick).items()
    each = [seconds[name] for name, n_runs in runs for _ in range(n_runs)]
    return list(accumulate(each, initial=0.0))


def _find_seconds(plan: StudyPlan, quick: bool) -> dict[str, float]:
    """Return the planned processor seconds of one run of each stage."""
    if quick:
        return {name: plan.quick.seconds.get(name, 0.0) for name in plan.stages}
    return {name: stage.seconds for name, stage in plan.stages.items()}


def parse_reference(text: str) -> PolicyReference | None:
    """Return the policy that a `stage:` URI names; None for other texts.

    Raises:
        SettingsError: It begins with `stage:` and is not written as it should be.

    >>> parse_reference("stage:train[sparse]/prey@50%")
    PolicyReference(stage='train', condition='sparse', slot='prey', version='50%')
    """
    if not text.startswith("stage:"):
        return None
    match = _REFERENCE.match(text)
    version = (match["version"] or LATEST) if match else ""
    if match is None or not (version in (FIRST, LATEST, BEST) or _SHARE.fullmatch(version)):
        raise SettingsError(
            f"A policy of an earlier stage is written stage:STAGE/SLOT or stage:STAGE[CONDITION]/SLOT, "
            f"followed by @{FIRST}, @{LATEST}, @{BEST} or a share from @0% to @100%; not '{text}'."
        )
    return PolicyReference(match["stage"], match["condition"], match["slot"], version)


def iterate_texts(settings: Any) -> Iterator[str]:
    """Yield all texts in nested settings, in order."""
    if isinstance(settings, str):
        yield settings
    elif isinstance(settings, Mapping):
        for value in settings.values():
            yield from iterate_texts(value)
    elif isinstance(settings, list | tuple):
        for value in settings:
            yield from iterate_texts(value)


def find_references(settings: Any) -> dict[str, PolicyReference]:
    """Return the policies of earlier stages that settings name, by the text that names them."""
    references = {text: parse_reference(text) for text in iterate_texts(settings)}
    return {text: reference for text, reference in references.items() if reference is not None}


def replace_texts(settings: Any, replaced: Mapping[str, str]) -> Any:
    """Return nested settings in which some texts are replaced by others."""
    if isinstance(settings, str):
        return replaced.get(settings, settings)
    if isinstance(settings, Mapping):
        return {name: replace_texts(value, replaced) for name, value in settings.items()}
    if isinstance(settings, list | tuple):
        return [replace_texts(value, replaced) for value in settings]
    return settings


def find_source_condition(
    plan: StudyPlan, reference: PolicyReference, levels: Mapping[str, str]
) -> str:
    """Return the condition of the earlier stage that makes a policy.

    Args:
        plan: The plan.
        reference: The policy.
        levels: Levels of the condition that plays it, by factor.

    Raises:
        SettingsError: The reference leaves the condition open, and the levels do not say which.
    """
    if reference.condition is not None:
        return reference.condition
    factors = collect_factors(plan, reference.stage)
    missing = [factor for factor in factors if factor not in levels]
    if missing:
        raise SettingsError(
            f"'stage:{reference.stage}/{reference.slot}' leaves open of which {missing[0]} the policy is. "
            f"Write stage:{reference.stage}[CONDITION]/{reference.slot}, or conditions_of = "
            f"'{reference.stage}'."
        )
    return LEVEL_SEPARATOR.join(levels[factor] for factor in factors) or ONLY_CONDITION
