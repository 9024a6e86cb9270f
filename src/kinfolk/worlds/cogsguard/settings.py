"""The rules of CogsGuard as numbers. The defaults are edition F on the arena."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from kinfolk.core.settings import Settings
from kinfolk.worlds.cogsguard.editions import with_defaults
from kinfolk.worlds.cogsguard.legend import Drawing, read_map
from kinfolk.worlds.cogsguard.sites import PADS, room_for

MOST_TEAMS, MOST_AGENTS = 4, 24


def whole(default: int, least: int = 0, most: int = 1_000_000) -> Any:
    """A setting that is a whole number."""
    return Field(default=default, ge=least, le=most)


class Cogsguard(Settings):
    """Teams of cogs on one map. Amounts are whole; periods count ticks; reaches count cells.

    What is not given follows from `map` and `edition` where these differ: see `editions`.
    """

    map: Literal["arena", "machina_1", "tutorial"] = "arena"
    map_text: str | None = None  # a map drawn with the symbols of `legend`, instead of `map`
    edition: Literal["F", "A"] = "F"
    teams: int = whole(1, 1, MOST_TEAMS)
    agents: int = whole(8, 1, MOST_AGENTS)  # per team
    clips: Literal["off", "normal", "aggressive"] = "normal"  # aggressive: periods are halved
    max_steps: int = whole(1000, 1, 1_000_000_000)
    free_moves: bool = False
    window_radius: int = whole(6, 1, 15)

    height: int = whole(50, 19, 500)
    width: int = whole(50, 19, 500)
    junctions: tuple[int, int] = (27, 33)  # fewest and most
    extractors: tuple[int, int] = (16, 28)  # of each element
    junction_gap: int = whole(5, 2, 100)  # least distance between two
    extractor_gap: int = whole(4, 2, 100)  # between two of the same element
    wall_patches: int = whole(16, 0, 1000)  # per thousand cells

    start_hp: int = whole(50)
    hp_limit: int = whole(100)
    hp_scout: int = whole(400)
    hp_scrambler: int = whole(200)
    energy_limit: int = whole(20)
    energy_scout: int = whole(100)
    cargo_limit: int = whole(4)
    cargo_miner: int = whole(40)
    hearts_limit: int = whole(10)
    influence_limit: int = whole(0)
    influence_aligner: int = whole(20)

    hp_upkeep: int = whole(1)
    influence_upkeep: int = whole(1)
    move_cost: int = whole(4)
    day_period: int = whole(200, 1)
    day_length: int = whole(100)
    solar_day: int = whole(3)
    solar_night: int = whole(1)

    area_radius: int = whole(10, 0, 60)
    hp_friendly_area: int = whole(100)
    energy_friendly_area: int = whole(100)
    influence_friendly_area: int = whole(10)
    hp_enemy_area: int = whole(1)  # what is lost
    influence_enemy_area: int = whole(100)
    junction_strength: int = whole(10, 0, 60)  # edition A: territory of a junction or ship
    hub_strength: int = whole(20, 0, 60)

    extractor_stock: int = whole(100, 1)
    mine_amount: int = whole(1, 1)
    mine_amount_miner: int = whole(10, 1)
    store_elements: int = whole(10)  # of each, at the start
    store_hearts: int = whole(5)
    store_cap: int = whole(10_000)
    deposit_most: int = whole(100, 1)  # of each element per bump
    heart_price: int = whole(10)  # of each element
    gear_price_main: int = whole(3)
    gear_price_other: int = whole(1)
    align_hearts: int = whole(1)
    align_influence: int = whole(1)
    scramble_hearts: int = whole(1)

    clips_seed_at: int = whole(10)
    clips_seed_every: int = whole(200, 1)
    clips_align_from: int = whole(100)
    clips_align_every: int = whole(100, 1)
    clips_scramble_from: int = whole(50)
    clips_scramble_every: int = whole(100, 1)
    clips_reach: int = whole(25)
    ships_from: int = whole(100)  # edition A, and the settings below
    ships_every: int = whole(200, 1)
    ships_reach: int = whole(15)
    align_reach: int = whole(15)
    align_hub_reach: int = whole(25)
    network_reach: int = whole(25)

    temple: bool = False  # births
    temple_cap: int = whole(24, 1, MOST_AGENTS)
    temple_cooldown: int = whole(25)

    @property
    def rows_per_team(self) -> int:
        """Rows a team has: one per agent, and with the temple one per agent it may come to have."""
        return self.temple_cap if self.temple else self.agents

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width of the map."""
        drawing = self.drawing
        if drawing is None:
            return self.height, self.width
        return drawing.kind.shape[0], drawing.kind.shape[1]

    @property
    def drawing(self) -> Drawing | None:
        """The map drawn as text, read; None if maps are drawn by chance."""
        return None if self.map_text is None else read_map(self.map_text)

    @model_validator(mode="before")
    @classmethod
    def _laid_over_defaults(cls, data: Any) -> Any:
        return with_defaults(data) if isinstance(data, dict) else data

    @model_validator(mode="after")
    def _fits(self) -> Cogsguard:
        if self.temple and self.temple_cap < self.agents:
            raise ValueError(
                f"Cogsguard.temple_cap must be at least the {self.agents} agents of a team, "
                f"not {self.temple_cap}."
            )
        for name in ("junctions", "extractors"):
            least, most = getattr(self, name)
            if not 0 <= least <= most <= 1000:
                raise ValueError(
                    f"Cogsguard.{name} must be the fewest and the most, 0 to 1000, not {least}, {most}."
                )
        drawing = self.drawing
        if drawing is not None:
            self._fits_drawing(drawing)
        elif room_for(self.height, self.width) < self.teams:
            raise ValueError(
                f"Cogsguard.teams: a map of {self.height} x {self.width} has room for "
                f"{room_for(self.height, self.width)}, not {self.teams}."
            )
        return self

    def _fits_drawing(self, drawing: Drawing) -> None:
        if drawing.hubs == 0:
            raise ValueError("Cogsguard.map_text has no hub (H); every team needs one.")
        if drawing.hubs != self.teams:
            raise ValueError(
                f"Cogsguard.map_text must have a hub (H) for each team, {self.teams}, "
                f"not {drawing.hubs}."
            )
        if int(drawing.owner.max()) >= self.teams:
            raise ValueError(
                f"Cogsguard.map_text has a junction of team {int(drawing.owner.max())}; "
                f"teams is {self.teams}, and they are numbered from 0."
            )
        for team in range(self.teams):
            pads = len(drawing.pads[team])
            if pads < self.agents:
                raise ValueError(
                    f"Cogsguard.agents must be at most the {pads} spawn pads ({PADS[team]}) "
                    f"of team {team} in map_text, not {self.agents}."
                )
