"""Settings of an evaluation in scenarios."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, model_validator

from kinfolk.core.errors import require
from kinfolk.core.settings import setting
from kinfolk.isolation.failures import IsolationSettings
from kinfolk.play.slots import IsolationMode
from kinfolk.scenario_table.model import EVERYTHING
from kinfolk.scenario_table.read import ScenarioTable, read_scenarios


class EvaluateScenarios(IsolationSettings):
    """Settings of an evaluation in scenarios, which determine its results completely."""

    policies: dict[str, str] = Field(
        description="Policy URIs by what they play: a group, a part of its name, a world, or all."
    )
    scenarios: tuple[str, ...] = setting(
        (EVERYTHING,), "Names of scenarios, or all, development or held-out.", min_length=1
    )
    scenario_file: str | None = setting(
        None, "TOML file with scenarios of your own, instead of those of the package."
    )
    episodes: int = setting(10, "Episodes of each scenario.", ge=2)
    chunk_size: int = setting(10, "Episodes per task; changes no result.", ge=1)
    seed_offset: int = setting(
        0, "Added to the seed of each scenario; 0 for figures that are to be compared.", ge=0
    )
    isolate: IsolationMode = setting(
        "none", "Processes for the evaluated policy: none, one per slot, or one per agent."
    )

    @model_validator(mode="after")
    def _check_policies(self) -> EvaluateScenarios:
        """Check that there is a policy, and that none runs outside of a sandbox that was asked for."""
        require(
            bool(self.policies),
            "There is no policy to evaluate. Give one, as all = 'kin://random'.",
        )
        require(
            not self.sandbox or self.isolate != "none",
            "The sandbox restricts worker processes, and there are none: isolate must be 'slot' or "
            "'agent'.",
        )
        return self

    @property
    def n_scenarios(self) -> int:
        """Number of chosen scenarios, those that no policy plays included."""
        return len(self.read_table().select(self.scenarios))

    def read_table(self) -> ScenarioTable:
        """Read the table of scenarios."""
        return read_scenarios(None if self.scenario_file is None else Path(self.scenario_file))
