"""The settings of CogsGuard; the defaults are edition F on the arena."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from kinfolk.core.settings import Settings, setting
from kinfolk.worlds.cogsguard import codes, maps
from kinfolk.worlds.cogsguard.presets import add_defaults

MAX_TEAMS, MAX_AGENTS = 4, 24
N_SHIPS = 4  # on generated maps


def int_setting(description: str, default: int, minimum: int = 0, maximum: int = 1_000_000) -> Any:
    """Declare a setting that is an integer between two bounds.

    Args:
        description: What the setting means, in a line.
        default: Value if none is given.
        minimum: Smallest value allowed.
        maximum: Largest value allowed.
    """
    return Field(default=default, ge=minimum, le=maximum, description=description)


class CogsguardQuirks(Settings):
    """Likely bugs of the original, which its recordings show; docs/cogsguard.md describes them."""

    clips_lose_marks: bool = setting(
        False,
        "Edition F: clips do not find the junctions that they took; they spread from none, and seed again.",
    )
    clips_find_all: bool = setting(
        False,
        "Edition F: clips take every junction for theirs; they spread from any, and seed only once.",
    )
    both_marks: bool = setting(
        False, "Edition A: a junction of the clips that is aligned stays theirs too."
    )
    stale_chains: bool = setting(
        False, "Edition A: a junction that a ship once took stays in its chain after it was freed."
    )
    unlinked_stay: bool = setting(
        False,
        "Edition A: a junction that is in no network stays with its owner when it is scrambled.",
    )
    wasted_hearts: bool = setting(
        False, "Agents that carry all the hearts they can still pay for another, which is lost."
    )
    vibe_success: bool = setting(
        False, "An action counts as successful if the vibe changed, whatever the move did."
    )
    unreachable_objects: bool = setting(
        False, "Generated maps may have objects that cannot be reached."
    )


class Cogsguard(Settings):
    """Settings of a game; amounts are integers, periods are in ticks, reaches in cells.

    Defaults that depend on `map` and `edition` are in `presets`.
    """

    map: Literal["arena", "machina_1", "tutorial"] = setting("arena", "Map generator.")
    map_text: str | None = setting(
        None, "Map drawn as text, instead of a generated one; see docs/cogsguard.md."
    )
    edition: Literal["F", "A"] = setting("F", "Edition of the rules.")
    teams: int = int_setting("Number of teams.", 1, 1, MAX_TEAMS)
    agents: int = int_setting("Agents per team.", 8, 1, MAX_AGENTS)
    clips: Literal["off", "normal", "aggressive"] = setting(
        "normal", "Activity of clips; aggressive halves their periods."
    )
    max_steps: int = int_setting("Length of an episode in ticks.", 1000, 1, 1_000_000_000)
    free_moves: bool = setting(False, "Moves cost no energy.")
    window_radius: int = int_setting("Radius of the observation window in cells.", 6, 1, 15)

    height: int = int_setting("Height of the map in cells.", 50, 17, 500)
    width: int = int_setting("Width of the map in cells.", 50, 17, 500)
    terrain: bool = setting(True, "Whether generated maps have rocks, zones and a rim.")
    junctions: int = int_setting(
        "Junctions to draw on a map; those beside another object are dropped.", 84, 0, 2000
    )
    extractors: int = int_setting(
        "Extractors to draw on a map, all elements together; likewise.", 145, 0, 4000
    )
    junction_gap: int = int_setting(
        "Least distance between two junctions; 0 draws junctions and extractors alike.", 2, 0, 100
    )
    compound_radius: int = int_setting("Cells from a hub to the wall of its compound.", 10, 7, 50)
    clearing_radius: int = int_setting("Cells around a hub that are cleared.", 13, 0, 100)
    pads: int = int_setting("Spawn pads of a team on generated maps, at least.", 20, 1, 24)
    ships: bool = setting(True, "Edition A: whether generated maps have the clips' ships.")

    start_hp: int = int_setting("Hit points at the start.", 50)
    start_energy: int = int_setting(
        "Energy at the start; the first tick cuts it to the limit.", 100
    )
    hp_limit: int = int_setting("Most hit points without gear.", 100)
    hp_scout: int = int_setting("Additional hit points of a scout.", 400)
    hp_scrambler: int = int_setting("Additional hit points of a scrambler.", 200)
    energy_limit: int = int_setting("Most energy without gear.", 20)
    energy_scout: int = int_setting("Additional energy of a scout.", 100)
    cargo_limit: int = int_setting("Most cargo without gear.", 4)
    cargo_miner: int = int_setting("Additional cargo of a miner.", 40)
    hearts_limit: int = int_setting("Most hearts that an agent carries.", 10)
    influence_limit: int = int_setting("Most influence without gear.", 0)
    influence_aligner: int = int_setting("Additional influence of an aligner.", 20)

    hp_upkeep: int = int_setting("Hit points lost per tick.", 1)
    influence_upkeep: int = int_setting("Influence lost per tick.", 1)
    move_cost: int = int_setting("Energy of a move.", 4)
    day_period: int = int_setting("Length of a day and night in ticks.", 200, 1)
    day_length: int = int_setting("Ticks of daylight in a day and night.", 100)
    solar_day: int = int_setting("Energy gained per tick by day.", 3)
    solar_night: int = int_setting("Energy gained per tick by night.", 1)

    area_radius: int = int_setting("Radius of the area around hubs and junctions.", 10, 0, 60)
    hp_friendly_area: int = int_setting("Hit points gained per tick in a friendly area.", 100)
    energy_friendly_area: int = int_setting("Energy gained per tick in a friendly area.", 100)
    influence_friendly_area: int = int_setting("Influence gained per tick in a friendly area.", 10)
    hp_enemy_area: int = int_setting("Hit points lost per tick in an enemy area.", 1)
    influence_enemy_area: int = int_setting("Influence lost per tick in an enemy area.", 100)
    junction_strength: int = int_setting(
        "Edition A: strength of the territory of a junction or ship.", 10, 0, 60
    )
    hub_strength: int = int_setting("Edition A: strength of the territory of a hub.", 20, 0, 60)

    extractor_stock: int = int_setting("Stock of an extractor at the start.", 100, 1)
    mine_amount: int = int_setting("Elements mined per bump.", 1, 1)
    mine_amount_miner: int = int_setting("Elements mined per bump by a miner.", 10, 1)
    store_elements: int = int_setting("Stock of each element in a hub at the start.", 24)
    store_hearts: int = int_setting("Hearts in a hub at the start.", 5)
    chest_hearts: int = int_setting("Hearts for the chest at the start; drawn maps only.", 0)
    store_cap: int = int_setting("Most elements that a hub holds, all kinds together.", 10_000)
    deposit_most: int = int_setting("Most of each element deposited per bump.", 100, 1)
    heart_price: int = int_setting("Price of a heart in each element.", 10)
    gear_price_main: int = int_setting("Price of gear in its main element.", 3)
    gear_price_other: int = int_setting("Price of gear in each other element.", 1)
    align_hearts: int = int_setting("Hearts to align a junction.", 1)
    align_influence: int = int_setting("Influence to align a junction.", 1)
    scramble_hearts: int = int_setting("Hearts to scramble a junction.", 1)

    clips_seed_at: int = int_setting("Tick at which clips take a junction, any one.", 10)
    clips_reseed_from: int = int_setting(
        "Tick from which clips that hold no junction take one.", 10
    )
    clips_reseed_every: int = int_setting("Ticks between looks of the clips at that.", 200, 1)
    clips_align_from: int = int_setting("Tick from which clips align junctions.", 100)
    clips_align_every: int = int_setting("Ticks between junctions that clips align.", 100, 1)
    clips_scramble_from: int = int_setting("Tick from which clips scramble junctions.", 50)
    clips_scramble_every: int = int_setting("Ticks between junctions that clips scramble.", 100, 1)
    clips_reach: int = int_setting(
        "Edition F: rows and columns within which clips spread, a square.", 25
    )
    ships_reach: int = int_setting("Edition A: reach of ships and of their chains in cells.", 15)
    ships_search: int = int_setting(
        "Edition A: distance in cells beyond which ships take no junction.", 120
    )
    align_reach: int = int_setting(
        "Edition A: distance in cells from a team's junction within which it may align.", 15
    )
    align_hub_reach: int = int_setting(
        "Edition A: distance in cells from its hub within which a team may align.", 25
    )
    network_reach: int = int_setting("Edition A: reach of links between junctions in cells.", 25)

    quirks: CogsguardQuirks = setting(
        CogsguardQuirks(), "Likely bugs of the original; set by presets."
    )

    temple: bool = setting(False, "Whether agents are born in the temple.")
    temple_cap: int = int_setting("Most agents of a team with births.", 24, 1, MAX_AGENTS)
    temple_cooldown: int = int_setting("Ticks between two births.", 25)

    @property
    def rows_per_team(self) -> int:
        """Rows of a team: one per agent, and with the temple one per possible agent."""
        return self.temple_cap if self.temple else self.agents

    @property
    def n_pads(self) -> int:
        """Spawn pads of a team on generated maps."""
        return max(self.pads, self.agents)

    @property
    def has_ships(self) -> bool:
        """Whether generated maps have ships in the corners."""
        return self.edition == "A" and self.ships and self.clips != "off"

    @property
    def most_junctions(self) -> int:
        """Most junctions that a map can have."""
        if self.parsed_map is not None:
            return int((self.parsed_map.kind == codes.JUNCTION).sum())
        if self.junction_gap == 0:  # drawn together with extractors, each of them by chance
            return self.junctions + self.extractors + self.teams
        if self.edition == "F":
            return self.junctions + self.teams
        return self.junctions + (self.teams + N_SHIPS) * (self.map == "machina_1")

    @property
    def most_extractors(self) -> int:
        """Most extractors that a map can have."""
        if self.parsed_map is None:
            drawn = self.extractors + (self.junctions if self.junction_gap == 0 else 0)
            return drawn + len(codes.ELEMENTS) * self.teams
        kind = self.parsed_map.kind
        return int(((kind >= codes.EXTRACTOR) & (kind < codes.HUB)).sum())

    @property
    def map_shape(self) -> tuple[int, int]:
        """Height and width of the map in cells."""
        if self.parsed_map is None:
            return self.height, self.width
        height, width = self.parsed_map.kind.shape
        return height, width

    @property
    def parsed_map(self) -> maps.ParsedMap | None:
        """The parsed `map_text`, or None if maps are generated."""
        return None if self.map_text is None else maps.parse_map(self.map_text)

    @model_validator(mode="before")
    @classmethod
    def _add_defaults(cls, data: Any) -> Any:
        """Fill in the defaults of the edition and the map before fields are validated."""
        return add_defaults(data) if isinstance(data, dict) else data

    @model_validator(mode="after")
    def _check_fit(self) -> Cogsguard:
        """Raise ValueError unless agents, objects and teams have room on the map."""
        if self.temple and self.temple_cap < self.agents:
            raise ValueError(
                f"Cogsguard.temple_cap must be at least the {self.agents} agents of a team, "
                f"not {self.temple_cap}."
            )
        parsed_map, radius = self.parsed_map, self.compound_radius
        if parsed_map is not None:
            self._check_parsed_map(parsed_map)
        elif (room := maps.count_compounds_that_fit(self.height, self.width, radius)) < self.teams:
            size = f"{self.height} x {self.width}"
            raise ValueError(
                f"Cogsguard.teams: a map of {size} with compound_radius {radius} has room for "
                f"{room}, not {self.teams}."
            )
        return self

    def _check_parsed_map(self, parsed_map: maps.ParsedMap) -> None:
        """Raise ValueError unless a map as text has a hub and enough spawn pads for each team."""
        n_hubs, owner = parsed_map.n_hubs, int(parsed_map.owner.max())
        if n_hubs == 0:
            raise ValueError("Cogsguard.map_text has no hub (H); every team needs one.")
        if n_hubs != self.teams:
            raise ValueError(
                f"Cogsguard.map_text must have a hub (H) for each team, {self.teams}, not {n_hubs}."
            )
        if owner >= self.teams:
            raise ValueError(
                f"Cogsguard.map_text has a junction of team {owner}; teams is {self.teams}, and they "
                "are numbered from 0."
            )
        for team, symbol in enumerate(maps.PAD_SYMBOLS[: self.teams]):
            pads = len(parsed_map.spawn_pads[team])
            if pads < self.agents:
                raise ValueError(
                    f"Cogsguard.agents must be at most the {pads} spawn pads ({symbol}) of team "
                    f"{team} in map_text, not {self.agents}."
                )
