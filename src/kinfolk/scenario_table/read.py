"""Read tables of scenarios, check them against their worlds, and say which slot plays which row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from kinfolk.core.errors import (
    KinfolkError,
    SettingsError,
    UnknownNameError,
    format_suggestion,
    require,
)
from kinfolk.core.random import seed_key
from kinfolk.core.settings import Settings, setting, validate_settings
from kinfolk.core.spaces import WorldSpec
from kinfolk.core.trust import untrusted
from kinfolk.policies.build import ResolvedPolicy
from kinfolk.policies.resolve import resolve
from kinfolk.scenario_table.model import EVERYTHING, FOCAL, Background, Scenario
from kinfolk.store.files import read_settings_file

TABLE_FILE = Path(__file__).with_name("table.toml")
BOUNDS_FILE = Path(__file__).with_name("bounds.json")
SELECTIONS = (EVERYTHING, "development", "held-out")  # names of several scenarios
_FOLDER = "{folder}"


class _TableFile(Settings):
    """The content of a table as it is written."""

    backgrounds: dict[str, dict[str, Any]] = setting({}, "Background policies by name.")
    scenarios: dict[str, dict[str, Any]] = setting({}, "Scenarios by name.")


@dataclass(frozen=True)
class ScenarioTable:
    """Scenarios and their backgrounds by name.

    Attributes:
        scenarios: The scenarios.
        backgrounds: The backgrounds, their URIs without placeholders.
        path: The file of the table; None for the scenarios of this package.
    """

    scenarios: Mapping[str, Scenario]
    backgrounds: Mapping[str, Background]
    path: Path | None = None

    def select(self, names: Sequence[str]) -> dict[str, Scenario]:
        """Return scenarios by name, in the order of the table.

        Args:
            names: Names of scenarios, or `all`, `development` or `held-out`.

        Raises:
            UnknownNameError: There is no such scenario.
        """
        chosen: set[str] = set()
        for name in names:
            if name == EVERYTHING:
                chosen |= set(self.scenarios)
            elif name in SELECTIONS:
                is_held_out = name == "held-out"
                chosen |= {n for n, s in self.scenarios.items() if s.held_out == is_held_out}
            elif name in self.scenarios:
                chosen.add(name)
            else:
                hint = format_suggestion(name, [*SELECTIONS, *self.scenarios])
                raise UnknownNameError(f"There is no scenario '{name}'.{hint}")
        return {name: s for name, s in self.scenarios.items() if name in chosen}

    def resolve_background(self, name: str) -> ResolvedPolicy:
        """Read the policy of a background.

        Raises:
            SettingsError: Its digest is not that of the table.
            UsageError: Its file is missing or damaged.
        """
        background = self.backgrounds[name]
        with untrusted(self.path):
            resolved = resolve(background.policy)
        if self.path is not None and not resolved.is_from_file:  # it is built later
            resolved = replace(resolved, source_file=str(self.path))
        require(
            background.sha256 in ("", resolved.sha256),
            f"Background '{name}' is not the policy that its table names: its digest is "
            f"{resolved.sha256}, not {background.sha256}.",
        )
        return resolved


def read_scenarios(path: Path | None = None) -> ScenarioTable:
    """Read a table of scenarios, which may use the backgrounds of this package too.

    Args:
        path: A TOML file with tables `scenarios.NAME` and `backgrounds.NAME`; None: the scenarios of
            this package.

    Raises:
        SettingsError: A scenario or background is wrong; the message names it.
        UsageError: There is no such file.
    """
    shipped = _read_shipped()
    if path is None:
        return shipped
    return replace(_read_table(path, {}, shipped.backgrounds), path=path)


@cache
def _read_shipped() -> ScenarioTable:
    """Read the scenarios of this package, with their measured floors and ceilings."""
    bounds = read_settings_file(BOUNDS_FILE)
    limits = {
        name: {"floor": entry["floor"], "ceiling": entry["ceiling"]}
        for name, entry in bounds.items()
    }
    return _read_table(TABLE_FILE, limits, {})


def _read_table(
    path: Path, bounds: Mapping[str, Mapping[str, float]], known: Mapping[str, Background]
) -> ScenarioTable:
    """Read a table and check that its entries fit together.

    Args:
        path: The file.
        bounds: Floor and ceiling of each scenario, if they lie elsewhere.
        known: Further backgrounds.

    Raises:
        SettingsError: A scenario or background is wrong; the message names it.
    """
    content = validate_settings(_TableFile, read_settings_file(path))
    require(bool(content.scenarios), f"{path} has no scenario. Write a table [scenarios.NAME].")
    folder = quote(str(path.resolve().parent), safe="/")
    backgrounds = dict(known)
    for name, fields in content.backgrounds.items():
        background = _validate("Background", name, Background, fields)
        uri = background.policy.replace(_FOLDER, folder)
        backgrounds[name] = background.model_copy(update={"policy": uri})
    scenarios = {
        name: _validate("Scenario", name, Scenario, {**bounds.get(name, {}), **fields})
        for name, fields in content.scenarios.items()
    }
    for name, scenario in scenarios.items():
        for background_name in scenario.backgrounds:
            if background_name not in backgrounds:
                hint = format_suggestion(background_name, backgrounds)
                raise SettingsError(
                    f"Scenario '{name}' names no known background '{background_name}'.{hint}"
                )
            require(
                scenario.held_out or not backgrounds[background_name].held_out,
                f"Scenario '{name}' is for development, but its background '{background_name}' is held "
                f"out. Set held_out = true.",
            )
    return ScenarioTable(scenarios, backgrounds)


def _validate(what: str, name: str, model: type[Any], fields: Mapping[str, Any]) -> Any:
    """Return an entry of a table as settings; an error message names the entry.

    Args:
        what: `Scenario` or `Background`, for the message.
        name: Name of the entry.
        model: Class of the settings.
        fields: Content of the entry.
    """
    require(
        name not in (FOCAL, *SELECTIONS), f"{what} '{name}' has a reserved name. Choose another."
    )
    try:
        return validate_settings(model, fields)
    except SettingsError as error:
        raise SettingsError(f"{what} '{name}': {error}") from None


def assign_scenario_rows(name: str, scenario: Scenario) -> list[str]:
    """Return the slot of each row of a scenario's world; newborns take that of their parent.

    Args:
        name: Name of the scenario, for messages.
        scenario: The scenario.

    Raises:
        SettingsError: The world, a group or the number of its agents is wrong.
    """
    try:
        world = scenario.world_ref.build()
    except KinfolkError as error:
        raise SettingsError(f"Scenario '{name}': {error}") from None
    world.reset(np.array([seed_key(scenario.seed)]))
    spec, columns = world.spec, world.columns
    slots = [FOCAL] * spec.rows
    for index, group in enumerate(spec.groups):
        rows = np.flatnonzero(columns.alive & (columns.group == index)).tolist()
        if group.name not in scenario.players:
            require(
                not rows,
                f"Scenario '{name}' does not say who plays the {len(rows)} agents of group "
                f"{group.name}. Name 'focal' or a background for each.",
            )
            continue
        wanted = list(scenario.iterate_slots(group.name))
        require(
            len(wanted) == len(rows),
            f"Scenario '{name}' has {len(wanted)} players in group {group.name}; its world has room "
            f"for {len(rows)} at the start.",
        )
        for row, slot in zip(rows, wanted, strict=True):
            slots[row] = slot
    _check_group_names(name, scenario, spec)
    return slots


def _check_group_names(name: str, scenario: Scenario, spec: WorldSpec) -> None:
    """Check that a world has the groups that a scenario names.

    Args:
        name: Name of the scenario, for messages.
        scenario: The scenario.
        spec: Spec of its world.

    Raises:
        SettingsError: It has no such group.
    """
    known = [group.name for group in spec.groups]
    for group in scenario.players:
        if group not in known:
            hint = format_suggestion(group, known)
            raise SettingsError(f"Scenario '{name}': its world has no group '{group}'.{hint}")


def find_focal_policy(scenario: Scenario, keys: Sequence[str]) -> str | None:
    """Return the key of the policy that plays the focal agents of a scenario.

    Args:
        scenario: The scenario.
        keys: What each policy plays: a group, a part of its name such as `prey`, a world, or `all`. The
            first that is most exact counts.

    Returns:
        The key, or None if no policy plays this scenario.
    """
    groups = scenario.focal_groups
    tests = (
        lambda key: all(key == group for group in groups),
        lambda key: all(key in group for group in groups),
        lambda key: key == scenario.world,
        lambda key: key == EVERYTHING,
    )
    return next((key for test in tests for key in keys if test(key)), None)
