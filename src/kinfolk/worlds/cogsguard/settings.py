"""The rules of CogsGuard as numbers. The defaults are edition F on the arena."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from kinfolk.core.settings import Settings
from kinfolk.worlds.cogsguard.map.layout import PAD_SYMBOLS, count_compounds_that_fit
from kinfolk.worlds.cogsguard.map.text import ParsedMap, parse_map
from kinfolk.worlds.cogsguard.presets import add_defaults

MAX_TEAMS, MAX_AGENTS = 4, 24


def int_setting(default: int, minimum: int = 0, maximum: int = 1_000_000) -> Any:
    """A setting that is a whole number."""
    return Field(default=default, ge=minimum, le=maximum)


class Cogsguard(Settings):
    """Teams of cogs on one map. Amounts are whole; periods count ticks; reaches count cells.

    What is not given follows from `map` and `edition` where these differ: see `editions`.
    """

    map: Literal["arena", "machina_1", "tutorial"] = "arena"
    map_text: str | None = None  # a map drawn with the symbols of `legend`, instead of `map`
    edition: Literal["F", "A"] = "F"
    teams: int = int_setting(1, 1, MAX_TEAMS)
    agents: int = int_setting(8, 1, MAX_AGENTS)  # per team
    clips: Literal["off", "normal", "aggressive"] = "normal"  # aggressive: periods are halved
    max_steps: int = int_setting(1000, 1, 1_000_000_000)
    free_moves: bool = False
    window_radius: int = int_setting(6, 1, 15)

    height: int = int_setting(50, 19, 500)
    width: int = int_setting(50, 19, 500)
    junctions: tuple[int, int] = (27, 33)  # fewest and most
    extractors: tuple[int, int] = (16, 28)  # of each element
    junction_gap: int = int_setting(5, 2, 100)  # least distance between two
    extractor_gap: int = int_setting(4, 2, 100)  # between two of the same element
    wall_patches: int = int_setting(16, 0, 1000)  # per thousand cells

    start_hp: int = int_setting(50)
    hp_limit: int = int_setting(100)
    hp_scout: int = int_setting(400)
    hp_scrambler: int = int_setting(200)
    energy_limit: int = int_setting(20)
    energy_scout: int = int_setting(100)
    cargo_limit: int = int_setting(4)
    cargo_miner: int = int_setting(40)
    hearts_limit: int = int_setting(10)
    influence_limit: int = int_setting(0)
    influence_aligner: int = int_setting(20)

    hp_upkeep: int = int_setting(1)
    influence_upkeep: int = int_setting(1)
    move_cost: int = int_setting(4)
    day_period: int = int_setting(200, 1)
    day_length: int = int_setting(100)
    solar_day: int = int_setting(3)
    solar_night: int = int_setting(1)

    area_radius: int = int_setting(10, 0, 60)
    hp_friendly_area: int = int_setting(100)
    energy_friendly_area: int = int_setting(100)
    influence_friendly_area: int = int_setting(10)
    hp_enemy_area: int = int_setting(1)  # what is lost
    influence_enemy_area: int = int_setting(100)
    junction_strength: int = int_setting(10, 0, 60)  # edition A: territory of a junction or ship
    hub_strength: int = int_setting(20, 0, 60)

    extractor_stock: int = int_setting(100, 1)
    mine_amount: int = int_setting(1, 1)
    mine_amount_miner: int = int_setting(10, 1)
    store_elements: int = int_setting(10)  # of each, at the start
    store_hearts: int = int_setting(5)
    store_cap: int = int_setting(10_000)
    deposit_most: int = int_setting(100, 1)  # of each element per bump
    heart_price: int = int_setting(10)  # of each element
    gear_price_main: int = int_setting(3)
    gear_price_other: int = int_setting(1)
    align_hearts: int = int_setting(1)
    align_influence: int = int_setting(1)
    scramble_hearts: int = int_setting(1)

    clips_seed_at: int = int_setting(10)
    clips_seed_every: int = int_setting(200, 1)
    clips_align_from: int = int_setting(100)
    clips_align_every: int = int_setting(100, 1)
    clips_scramble_from: int = int_setting(50)
    clips_scramble_every: int = int_setting(100, 1)
    clips_reach: int = int_setting(25)
    ships_from: int = int_setting(100)  # edition A, and the settings below
    ships_every: int = int_setting(200, 1)
    ships_reach: int = int_setting(15)
    align_reach: int = int_setting(15)
    align_hub_reach: int = int_setting(25)
    network_reach: int = int_setting(25)

    temple: bool = False  # births
    temple_cap: int = int_setting(24, 1, MAX_AGENTS)
    temple_cooldown: int = int_setting(25)

    @property
    def rows_per_team(self) -> int:
        """Rows a team has: one per agent, and with the temple one per agent it may come to have."""
        return self.temple_cap if self.temple else self.agents

    @property
    def map_shape(self) -> tuple[int, int]:
        """Height and width of the map."""
        drawing = self.parsed_map
        if drawing is None:
            return self.height, self.width
        return drawing.kind.shape[0], drawing.kind.shape[1]

    @property
    def parsed_map(self) -> ParsedMap | None:
        """The map drawn as text, read; None if maps are drawn by chance."""
        return None if self.map_text is None else parse_map(self.map_text)

    @model_validator(mode="before")
    @classmethod
    def _add_defaults(cls, data: Any) -> Any:
        return add_defaults(data) if isinstance(data, dict) else data

    @model_validator(mode="after")
    def _check_fit(self) -> Cogsguard:
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
        drawing = self.parsed_map
        if drawing is not None:
            self._check_parsed_map(drawing)
        elif count_compounds_that_fit(self.height, self.width) < self.teams:
            raise ValueError(
                f"Cogsguard.teams: a map of {self.height} x {self.width} has room for "
                f"{count_compounds_that_fit(self.height, self.width)}, not {self.teams}."
            )
        return self

    def _check_parsed_map(self, parsed_map: ParsedMap) -> None:
        if parsed_map.n_hubs == 0:
            raise ValueError("Cogsguard.map_text has no hub (H); every team needs one.")
        if parsed_map.n_hubs != self.teams:
            raise ValueError(
                f"Cogsguard.map_text must have a hub (H) for each team, {self.teams}, "
                f"not {parsed_map.n_hubs}."
            )
        if int(parsed_map.owner.max()) >= self.teams:
            raise ValueError(
                f"Cogsguard.map_text has a junction of team {int(parsed_map.owner.max())}; "
                f"teams is {self.teams}, and they are numbered from 0."
            )
        for team in range(self.teams):
            pads = len(parsed_map.spawn_pads[team])
            if pads < self.agents:
                raise ValueError(
                    f"Cogsguard.agents must be at most the {pads} spawn pads ({PAD_SYMBOLS[team]}) "
                    f"of team {team} in map_text, not {self.agents}."
                )
