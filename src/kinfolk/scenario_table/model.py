"""What a scenario is, and what a background policy is; `table.toml` holds those of this package."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from pydantic import Field, model_validator

from kinfolk.core.errors import require
from kinfolk.core.settings import Settings, setting
from kinfolk.play.settings import WorldSelection

FOCAL = "focal"  # slot of the policy that is evaluated
EVERYTHING = "all"  # key of a policy that plays every scenario

Mode = Literal["resident", "visitor"]
Source = Literal["script", "evolved roles", "evolved net", "trained net"]


class Background(Settings):
    """A policy that plays beside or against the focal agents."""

    about: str = Field(description="What it does, in a line.")
    policy: str = Field(
        description="Its URI; {folder} stands for the folder of the table that names it."
    )
    source: Source = setting("script", "How the policy was made.")
    made_by: str = setting("", "Command of the run that made it; empty for scripts.")
    sha256: str = setting(
        "", "Digest of the resolved policy: class, settings and weights; empty: not checked."
    )
    held_out: bool = setting(False, "Whether it is for final figures only.")


class Scenario(WorldSelection):
    """A test of a policy among others, which it did not choose.

    Its score is the return of the focal agents and their offspring, divided by the number of focal agents
    at the start, on a scale on which `floor` is 0 and `ceiling` is 1.
    """

    about: str = Field(description="What it tests, in a line.")
    mode: Mode = Field(
        description="resident: focal agents are the majority of their groups; visitor: they are not."
    )
    players: dict[str, dict[str, int]] = Field(
        description="Agents at the start by group, and by 'focal' or the name of a background."
    )
    floor: float | None = setting(None, "Return per focal agent that scores 0; none: no score.")
    ceiling: float | None = setting(None, "Return per focal agent that scores 1.")
    held_out: bool = setting(False, "Whether it is for final figures only.")
    kept_for: str = setting(
        "", "Why it is kept although it ranks the baselines as the others do; empty: it does not."
    )

    @model_validator(mode="after")
    def _check_players(self) -> Scenario:
        """Check who plays, and that the mode says how many of them are focal."""
        for group, counts in self.players.items():
            require(bool(counts), f"Group {group} has no players. Name 'focal' or a background.")
            for name, count in counts.items():
                require(
                    count >= 1, f"Group {group} has {count} agents of '{name}'; give 1 or more."
                )
        require(
            self.n_focal > 0,
            "No group has focal agents. Write players = { GROUP = { focal = NUMBER } }.",
        )
        n_agents = sum(sum(self.players[group].values()) for group in self.focal_groups)
        is_majority = 2 * self.n_focal > n_agents
        require(
            is_majority == (self.mode == "resident"),
            f"{self.n_focal} of {n_agents} agents in the focal groups are focal, which is "
            f"mode = '{'resident' if is_majority else 'visitor'}', not '{self.mode}'.",
        )
        bounds = (self.floor, self.ceiling)
        require(
            (None in bounds and bounds == (None, None)) or None not in bounds,
            f"Give both floor and ceiling, or neither; they are {self.floor} and {self.ceiling}.",
        )
        if self.floor is not None and self.ceiling is not None:
            require(
                self.floor < self.ceiling,
                f"floor must be below ceiling; they are {self.floor} and {self.ceiling}.",
            )
        return self

    @property
    def focal_groups(self) -> list[str]:
        """Groups that have focal agents."""
        return [group for group, counts in self.players.items() if FOCAL in counts]

    @property
    def n_focal(self) -> int:
        """Number of focal agents at the start."""
        return sum(counts.get(FOCAL, 0) for counts in self.players.values())

    @property
    def backgrounds(self) -> list[str]:
        """Names of the backgrounds, in the order of the groups."""
        names = (name for counts in self.players.values() for name in counts if name != FOCAL)
        return list(dict.fromkeys(names))

    def iterate_slots(self, group: str) -> Iterator[str]:
        """Yield the slot of each agent of a group at the start."""
        for name, count in self.players[group].items():
            yield from [name] * count

    def normalize(self, focal_return: Any) -> Any:
        """Return returns per focal agent, a number or an array, on the scale of floor and ceiling."""
        if self.floor is None or self.ceiling is None:
            return focal_return
        return (focal_return - self.floor) / (self.ceiling - self.floor)
