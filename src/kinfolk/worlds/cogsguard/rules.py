"""The settings that kernels read, as numbers and small tables."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kinfolk.core.arrays import Ints
from kinfolk.worlds.cogsguard.codes import ALIGNER, ELEMENTS, GEARS, MINER, SCOUT, SCRAMBLER
from kinfolk.worlds.cogsguard.settings import Cogsguard

# Cover of a hub in edition F: more than any number of junctions, so that both can be told apart.
HUB_COVER = 1 << 20
FINE = 1024  # edition A: steps of strength per cell of distance, so that sums are whole
_MOST_HELD = 65_535  # of anything
FROM_JUNCTION, FROM_HUB = 0, 1  # sources of area
HEART = 0  # row of the prices, where gear would be none


class Rules(NamedTuple):
    """Cells are numbered over the map and `pad` cells of wall around it, `stride` to a line."""

    height: int
    width: int
    pad: int
    stride: int
    teams: int  # also the owner that stands for the clips
    rows_per_team: int
    agents: int
    max_steps: int
    territory: bool  # edition A: territory, network and hearts from the hub
    limits: Ints  # [5 limits, 5 gears]
    start_hp: int
    hp_upkeep: int
    influence_upkeep: int
    move_cost: int
    day_period: int
    day_length: int
    solar_day: int
    solar_night: int
    hp_friendly_area: int
    energy_friendly_area: int
    influence_friendly_area: int
    hp_enemy_area: int
    influence_enemy_area: int
    junction_area: int  # cells an area goes to each side
    hub_area: int
    strength: Ints  # [2 sources, squared distance]
    extractor_stock: int
    mine_amount: int
    mine_amount_miner: int
    store_elements: int
    store_hearts: int
    store_cap: int
    deposit_most: int
    prices: Ints  # [hearts and 4 gears, 4 elements]
    align_hearts: int
    align_influence: int
    scramble_hearts: int
    clips: bool
    timers: Ints  # [seed, align, scramble, ships; first tick, period]
    clips_reach: int  # reaches are squared
    ships_reach: int
    align_reach: int
    align_hub_reach: int
    network_reach: int
    temple: bool
    temple_cooldown: int


def limit(base: int, *modifiers: int) -> int:
    """An inventory limit: gear replaces the base, it does not add to it."""
    return min(_MOST_HELD, max(base, sum(modifiers)))


def rules_of(given: Cogsguard) -> Rules:
    """Lay out settings for the kernels."""
    height, width = given.shape
    pad = given.window_radius
    reach, strength = _areas(given)
    reaches = ("clips_reach", "ships_reach", "align_reach", "align_hub_reach", "network_reach")
    worked_out = {
        **{name: getattr(given, name) ** 2 for name in reaches},
        "height": height,
        "width": width,
        "pad": pad,
        "stride": width + 2 * pad,
        "territory": given.edition == "A",
        "limits": _limits(given),
        "move_cost": 0 if given.free_moves else given.move_cost,
        "junction_area": reach[FROM_JUNCTION],
        "hub_area": reach[FROM_HUB],
        "strength": strength,
        "prices": _prices(given),
        "clips": given.clips != "off",
        "timers": _timers(given),
    }
    same = {name: getattr(given, name) for name in Rules._fields if name not in worked_out}
    return Rules(**worked_out, **same)


def _timers(given: Cogsguard) -> Ints:
    timers = [
        (given.clips_seed_at, given.clips_seed_every),
        (given.clips_align_from, given.clips_align_every),
        (given.clips_scramble_from, given.clips_scramble_every),
        (given.ships_from, given.ships_every),
    ]
    table = np.array(timers, dtype=np.int64)
    if given.clips == "aggressive":
        table[:, 1] = np.maximum(1, table[:, 1] // 2)
    return table


def _limits(given: Cogsguard) -> Ints:
    """By what is limited and by gear, in the order of `codes`."""
    modifiers: tuple[tuple[int, dict[int, int]], ...] = (
        (given.hp_limit, {SCOUT: given.hp_scout, SCRAMBLER: given.hp_scrambler}),
        (given.energy_limit, {SCOUT: given.energy_scout}),
        (given.cargo_limit, {MINER: given.cargo_miner}),
        (given.hearts_limit, {}),
        (given.influence_limit, {ALIGNER: given.influence_aligner}),
    )
    table = [
        [limit(base, by_gear.get(gear, 0)) for gear in range(len(GEARS))]
        for base, by_gear in modifiers
    ]
    return np.array(table, dtype=np.int64)


def _prices(given: Cogsguard) -> Ints:
    """Aligners cost most carbon, scramblers oxygen, miners germanium, scouts silicon."""
    table = np.full((len(GEARS), len(ELEMENTS)), given.gear_price_other, dtype=np.int64)
    for element in range(len(ELEMENTS)):
        table[element + 1, element] = given.gear_price_main
    table[HEART] = given.heart_price
    return table


def _areas(given: Cogsguard) -> tuple[tuple[int, int], Ints]:
    """How far areas reach and how strong they are, for junctions and hubs."""
    if given.edition == "A":
        reach = (given.junction_strength, given.hub_strength)
    else:
        reach = (given.area_radius, given.area_radius)
    table = np.zeros((2, 2 * max(reach) ** 2 + 1), dtype=np.int64)
    for source in (FROM_JUNCTION, FROM_HUB):
        for squared in range(reach[source] ** 2 + 1):
            if given.edition == "A":
                far = int(np.floor(np.sqrt(squared) * FINE + 0.5))
                table[source, squared] = max(0, reach[source] * FINE - far)
            else:
                table[source, squared] = HUB_COVER if source == FROM_HUB else 1
    return reach, table
