"""The tasks of an evaluation in scenarios, checked before any of them is played."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from kinfolk.core.errors import KinfolkError, SettingsError, format_suggestion, require
from kinfolk.core.spaces import WorldSpec
from kinfolk.core.trust import untrusted
from kinfolk.evaluation.rollout import Isolation, SlotTimings, evaluation_task
from kinfolk.isolation.failures import IsolationSettings
from kinfolk.isolation.worker_pool import is_preloadable
from kinfolk.jobs.scenarios.settings import EvaluateScenarios
from kinfolk.play.task import RolloutTask
from kinfolk.policies.build import ResolvedPolicy, build_policy
from kinfolk.policies.resolve import resolve
from kinfolk.scenario_table.model import EVERYTHING, FOCAL, Scenario
from kinfolk.scenario_table.read import assign_scenario_rows, find_focal_policy


@dataclass(frozen=True)
class PlannedScenario:
    """A scenario with its policies.

    Attributes:
        name: Name of the scenario.
        scenario: The scenario.
        slot_map: Slot of each row.
        policies: Policy of each slot, that of the focal agents first.
    """

    name: str
    scenario: Scenario
    slot_map: list[str]
    policies: Mapping[str, ResolvedPolicy]


@dataclass(frozen=True)
class ScenarioPlan:
    """All scenarios of an evaluation.

    Attributes:
        planned: The scenarios to play.
        skipped: Why scenarios are left out, by name: no policy plays their focal agents, or it was made
            for another layout of observations and the scenario was not asked for by name.
        settings: Settings of the evaluation.
    """

    planned: list[PlannedScenario]
    skipped: dict[str, str]
    settings: EvaluateScenarios

    def tasks(self) -> Iterator[tuple[PlannedScenario, RolloutTask[SlotTimings]]]:
        """Yield the tasks of every scenario; only the focal policy is isolated."""
        settings = self.settings
        fields = {name: getattr(settings, name) for name in IsolationSettings.model_fields}
        limits, episodes = IsolationSettings(**fields), range(settings.episodes)
        for planned in self.planned:
            isolation = Isolation("none", limits, {FOCAL: settings.isolate})
            seed = planned.scenario.seed + settings.seed_offset
            for start in range(0, settings.episodes, settings.chunk_size):
                yield planned, evaluation_task(
                    planned.scenario.world_ref, planned.policies, seed,
                    episodes[start : start + settings.chunk_size], planned.slot_map, isolation,
                    inherit_slot=True,
                )  # fmt: skip


def plan_scenarios(settings: EvaluateScenarios) -> ScenarioPlan:
    """Read the scenarios and resolve their policies; trusted ones are built once, to check them.

    Raises:
        SettingsError: A scenario, a background or the focal policy is wrong; the message names it.
    """
    table = settings.read_table()
    chosen = table.select(settings.scenarios)
    keys = {name: find_focal_policy(scenario, [*settings.policies])
            for name, scenario in chosen.items()}  # fmt: skip
    _check_keys(settings, chosen, {key for key in keys.values() if key is not None})
    background = cache(table.resolve_background)
    is_trusted = settings.isolate == "none"
    focal = {
        key: resolve(settings.policies[key], trusted=is_trusted)
        for key in dict.fromkeys(keys.values())
        if key is not None
    }
    planned, skipped = list[PlannedScenario](), dict[str, str]()
    for name, scenario in chosen.items():
        key = keys[name]
        if key is None:
            skipped[name] = "no policy plays its focal agents"
            continue
        policies = {FOCAL: focal[key], **{n: background(n) for n in scenario.backgrounds}}
        with untrusted(table.path):  # the world is built here, so it is not asked again
            slot_map, spec = assign_scenario_rows(name, scenario), scenario.world_ref.spec
        for background_name in scenario.backgrounds:
            _build(policies[background_name], spec, f"Background '{background_name}'", name)
        if is_trusted or is_preloadable(focal[key]):  # others are not loaded into this process
            try:
                _build(focal[key], spec, f"Policy '{key}'", name)
            except SettingsError as error:
                if name in settings.scenarios:
                    raise
                skipped[name] = str(error)
                continue
        planned.append(PlannedScenario(name, scenario, slot_map, policies))
    require(bool(planned), next(iter(skipped.values()), ""))
    return ScenarioPlan(planned, skipped, settings)


def _build(resolved: ResolvedPolicy, spec: WorldSpec, who: str, scenario: str) -> None:
    """Build a policy once, to check that it can play a scenario.

    Args:
        resolved: The policy.
        spec: Spec of the scenario's world.
        who: The policy in words, for the message.
        scenario: Name of the scenario.

    Raises:
        SettingsError: It cannot.
    """
    try:
        build_policy(resolved, spec).close()
    except KinfolkError as error:
        raise SettingsError(f"{who} cannot play scenario '{scenario}': {error}") from error


def _check_keys(
    settings: EvaluateScenarios, chosen: Mapping[str, Scenario], used: set[str]
) -> None:
    """Check that every policy plays a scenario.

    Args:
        settings: Settings of the evaluation.
        chosen: The chosen scenarios.
        used: Keys of policies that play one.

    Raises:
        SettingsError: One plays none.
    """
    known = [EVERYTHING, *dict.fromkeys(s.world for s in chosen.values())]
    known += list(dict.fromkeys(group for s in chosen.values() for group in s.focal_groups))
    for key in settings.policies:
        is_known = any(key in name for name in known)
        hint = format_suggestion(key, known)
        require(
            key in used or is_known,
            f"Policy '{key}' plays no focal agent of the chosen scenarios.{hint}",
        )
    require(
        bool(used), f"No chosen scenario has focal agents for {' or '.join(settings.policies)}."
    )
