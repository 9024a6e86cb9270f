"""Settings of the jobs in which policies meet each other: tournaments and cross-play."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from kinfolk.core.errors import require
from kinfolk.core.settings import Flag, setting, validate_settings
from kinfolk.isolation.failures import IsolationSettings
from kinfolk.play.settings import WorldSelection
from kinfolk.play.sides import WorldSides, find_sides
from kinfolk.play.slots import IsolationMode


class MeetingSettings(IsolationSettings, WorldSelection):
    """Settings of a job in which policies of several sides meet in one episode."""

    policies: dict[str, Any] = Field(
        description="Policy URIs by name; a table of names below a side's name for that side only."
    )
    refused: dict[str, str] = setting(
        {},
        "Why a submission was not admitted, by its name; results list it. Folders add theirs.",
    )
    sides: Annotated[dict[str, Any], Flag("--side", "NAME=GROUP,GROUP", repeats=True)] = setting(
        {},
        "Groups that one policy plays together, by the name of their side; by default each alone.",
    )
    exchange_sides: bool | None = setting(
        None,
        "Every policy plays every side in turn; by default teams that differ in a number only.",
    )
    metric: Literal["return_per_life", "return", "reward_per_tick"] = setting(
        "return_per_life", "Score of a policy in a game."
    )
    games: int = setting(
        10, "Games of each pairing, each on a seed of its own and played from every side.", ge=1
    )
    chunk_size: int = setting(10, "Games per task; changes no result.", ge=1)
    replays: Annotated[int, Flag("--replay")] = setting(
        1, "Number of first games of each pairing that are recorded for the viewer.", ge=0
    )
    record_every: int = setting(1, "Ticks between two recorded frames of a replay.", ge=1)
    isolate: IsolationMode = setting(
        "slot", "Processes for policies: none, one per side, or one per agent."
    )

    @field_validator("sides", mode="before")
    @classmethod
    def _split_sides(cls, value: Any) -> Any:
        """Accept the groups of a side as text with commas, as on the command line."""
        if not isinstance(value, Mapping):
            return value
        return {
            str(name): groups.split(",") if isinstance(groups, str) else [*groups]
            for name, groups in value.items()
        }

    @field_validator("policies")
    @classmethod
    def _check_policies(cls, value: dict[str, Any]) -> dict[str, Any]:
        """Check that every policy is a URI, at most one table deep."""
        for name, policy in value.items():
            table = policy if isinstance(policy, Mapping) else {name: policy}
            for each, uri in table.items():
                require(isinstance(uri, str), f"Policy '{each}' must be a URI, not {uri!r}.")
        return value

    @model_validator(mode="after")
    def _check_sandbox(self) -> MeetingSettings:
        """Check that no policy runs outside of the sandbox that was asked for."""
        require(
            not self.sandbox or self.isolate != "none",
            "The sandbox restricts worker processes, and with isolate = 'none' there are none. Leave out "
            "--isolate none, or add --no-sandbox if you trust every policy.",
        )
        return self

    @property
    def isolation_settings(self) -> IsolationSettings:
        """Limits of the worker processes in which isolated policies run."""
        fields = {name: getattr(self, name) for name in IsolationSettings.model_fields}
        return validate_settings(IsolationSettings, fields)

    @property
    def slot_ids(self) -> list[str]:
        """Slots of a game, which the players of a pairing fill."""
        return [*self.find_sides().slots]

    def find_sides(self) -> WorldSides:
        """Return the sides of the world that is played."""
        return find_sides(self.world_ref.spec, None, self.sides or None, self.exchange_sides)


class Tournament(MeetingSettings):
    """Settings of a tournament, which determine its results completely."""

    format: Literal["round-robin", "swiss"] = setting(
        "round-robin", "Everybody meets everybody, or rounds among those with equal points."
    )
    rounds: int | None = setting(
        None, "Rounds of a Swiss tournament; by default log2 of the policies, and one more.", ge=1
    )
    max_failure_rate: float = setting(
        0.0,
        "Share of its episodes in which a policy may fail; one that fails in more is disqualified.",
        ge=0,
        le=1,
    )
    sandbox: bool = setting(True, "Run policies in bubblewrap: no network, no files but their own.")

    @model_validator(mode="after")
    def _check_rounds(self) -> Tournament:
        """Refuse a number of rounds where it would have no effect."""
        require(
            self.rounds is None or self.format == "swiss",
            "A round robin has no rounds to choose: leave out --rounds, or set --format swiss.",
        )
        return self
