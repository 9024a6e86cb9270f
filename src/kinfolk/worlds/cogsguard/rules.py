"""The settings as numbers and small tables that kernels read."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kinfolk.core.arrays import Ints
from kinfolk.worlds.cogsguard.codes import ALIGNER, ELEMENTS, GEARS, MINER, SCOUT, SCRAMBLER
from kinfolk.worlds.cogsguard.settings import Cogsguard

STRENGTH_PER_CELL = (
    1 << 16
)  # edition A: units of strength per cell of distance, so sums are integers
_MAX_HELD = 65_535  # largest inventory limit
JUNCTION_SOURCE, HUB_SOURCE = 0, 1  # sources of area
ANY_REACH = -1  # `clips_reach` if the clips take every junction for theirs
HEART_PRICE_ROW = 0  # row of `prices` for hearts; the other rows are gears


class CogsguardRules(NamedTuple):
    """Settings of CogsGuard for kernels; those without a comment are settings of the same name.

    Cells are numbered over the map and `pad` cells of wall around it, `stride` to a line.
    """

    height: int
    width: int
    pad: int  # radius of the window
    stride: int
    teams: int  # number of teams; as an owner, the clips
    rows_per_team: int
    agents: int  # per team
    max_steps: int
    territory: bool  # edition A: territory, network and hearts from the hub
    limits: Ints  # [5 limits, 5 gears]
    start_hp: int
    start_energy: int
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
    junction_area: int  # cells that the area of a junction reaches to each side
    hub_area: int
    strength: Ints  # [2 sources, squared distance] cover of a cell
    extractor_stock: int
    mine_amount: int
    mine_amount_miner: int
    store_elements: int
    store_hearts: int
    chest_hearts: int
    store_cap: int
    deposit_most: int
    prices: Ints  # [hearts and 4 gears, 4 elements]
    align_hearts: int
    align_influence: int
    scramble_hearts: int
    clips: bool
    timers: Ints  # [seed, reseed, align, scramble; first tick, period, last tick]
    clips_reach: int  # rows and columns; ANY_REACH with the quirk `clips_find_all`
    ships_search: int
    ships_reach: int  # squared, as are the reaches below
    align_reach: int
    align_hub_reach: int
    network_reach: int
    clips_lose_marks: bool  # quirks, up to `vibe_success`
    both_marks: bool
    stale_chains: bool
    unlinked_stay: bool
    wasted_hearts: bool
    vibe_success: bool
    temple: bool
    temple_cooldown: int


def combine_limits(base: int, *modifiers: int) -> int:
    """Return an inventory limit: gear replaces the base limit instead of adding to it."""
    return min(_MAX_HELD, max(base, sum(modifiers)))


def make_rules(settings: Cogsguard) -> CogsguardRules:
    """Convert settings into the tables that kernels read."""
    height, width = settings.map_shape
    pad = settings.window_radius
    reach, strength = _make_areas(settings)
    reaches = ("ships_reach", "align_reach", "align_hub_reach", "network_reach")
    # Not flags of kernels: one is a matter of maps, the other a reach.
    quirks = settings.quirks.model_dump(exclude={"unreachable_objects", "clips_find_all"})
    derived = {
        **quirks,
        **{name: getattr(settings, name) ** 2 for name in reaches},
        "height": height,
        "width": width,
        "pad": pad,
        "stride": width + 2 * pad,
        "territory": settings.edition == "A",
        "limits": _make_limits(settings),
        "move_cost": 0 if settings.free_moves else settings.move_cost,
        "junction_area": reach[JUNCTION_SOURCE],
        "hub_area": reach[HUB_SOURCE],
        "strength": strength,
        "prices": _make_prices(settings),
        "clips": settings.clips != "off",
        "timers": _make_timers(settings),
        "clips_reach": ANY_REACH if settings.quirks.clips_find_all else settings.clips_reach,
    }
    copied = {
        name: getattr(settings, name) for name in CogsguardRules._fields if name not in derived
    }
    return CogsguardRules(**derived, **copied)


def _make_timers(settings: Cogsguard) -> Ints:
    """Return the timers of the clips, `[4, 3]`: first tick, period and last tick of their actions."""
    s, last = settings, settings.max_steps
    timers = [
        (s.clips_seed_at, 1, s.clips_seed_at),
        (s.clips_reseed_from, s.clips_reseed_every, last),
        (s.clips_align_from, s.clips_align_every, last),
        (s.clips_scramble_from, s.clips_scramble_every, last),
    ]
    table = np.array(timers, dtype=np.int64)
    if settings.clips == "aggressive":
        table[:, 1] = np.maximum(1, table[:, 1] // 2)
    return table


def _make_limits(settings: Cogsguard) -> Ints:
    """Return the inventory limits by gear, `[5 limits, 5 gears]`, in the order of `codes`."""
    modifiers: tuple[tuple[int, dict[int, int]], ...] = (
        (settings.hp_limit, {SCOUT: settings.hp_scout, SCRAMBLER: settings.hp_scrambler}),
        (settings.energy_limit, {SCOUT: settings.energy_scout}),
        (settings.cargo_limit, {MINER: settings.cargo_miner}),
        (settings.hearts_limit, {}),
        (settings.influence_limit, {ALIGNER: settings.influence_aligner}),
    )
    table = [
        [combine_limits(base, by_gear.get(gear, 0)) for gear in range(len(GEARS))]
        for base, by_gear in modifiers
    ]
    return np.array(table, dtype=np.int64)


def _make_prices(settings: Cogsguard) -> Ints:
    """Return the prices of hearts and gears, `[hearts and 4 gears, 4 elements]`.

    Aligners cost most carbon, scramblers oxygen, miners germanium, scouts silicon.
    """
    table = np.full((len(GEARS), len(ELEMENTS)), settings.gear_price_other, dtype=np.int64)
    for element in range(len(ELEMENTS)):
        table[element + 1, element] = settings.gear_price_main
    table[HEART_PRICE_ROW] = settings.heart_price
    return table


def _make_areas(settings: Cogsguard) -> tuple[tuple[int, int], Ints]:
    """Return the reach and the strength of the areas of junctions and of hubs.

    Returns:
        The reach of both in cells, and `[2 sources, squared distances]`: the strength of an area by
        the squared distance of a cell from its junction or hub, 0 out of reach. In edition F
        it is 1 in reach, so that the cover of a cell counts sources.
    """
    if settings.edition == "A":
        reach = (settings.junction_strength, settings.hub_strength)
    else:
        reach = (settings.area_radius, settings.area_radius)
    table = np.zeros((2, 2 * max(reach) ** 2 + 1), dtype=np.int64)
    for source in (JUNCTION_SOURCE, HUB_SOURCE):
        for squared in range(reach[source] ** 2 + 1):
            if settings.edition == "A":
                distance = int(np.floor(np.sqrt(squared) * STRENGTH_PER_CELL + 0.5))
                table[source, squared] = max(0, reach[source] * STRENGTH_PER_CELL - distance)
            else:
                table[source, squared] = 1
    return reach, table
