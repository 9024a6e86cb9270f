"""The face of a savanna: what its groups see and do.

float32: the published planes `[4 or 5, R, R]`: walls, predator energy, prey energy, grass energy
and, if asked for, visibility.

compact: one word of 32 bits per cell, `[R, R]`:

| bits  | meaning |
|-------|---------|
| 0     | the cell is in sight (always 0 without `include_visibility_channel`) |
| 1     | wall |
| 2-11  | predator energy in steps of 1/32, rounded up, at most 1023 |
| 12-21 | prey energy, likewise |
| 22-31 | grass energy in steps of a 1023rd of the most a patch can hold, rounded up |

Rounding up means that a code of 0 is an empty cell. Energies of 32 and more look alike.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kinfolk.core.arrays import AnyArray, Ints
from kinfolk.core.spaces import Field, Group, Head, WorldSpec
from kinfolk.worlds.savanna.rules import TYPES, Rules
from kinfolk.worlds.savanna.settings import Savanna
from kinfolk.worlds.savanna.sight import sight_of

ENERGY_STEPS = 32.0  # codes per unit of energy
MOST_CODE = 1023
IN_SIGHT, WALL_BIT = 1, 2
PREDATOR_SHIFT, PREY_SHIFT, GRASS_SHIFT = 2, 12, 22


class Windows(NamedTuple):
    """What the observation kernels read; lists are by species."""

    size: int
    types: int
    zero_terminal: bool
    reach: Ints  # [2] cells to each side
    walls: npt.NDArray[np.float32]  # [cells]
    place: Ints  # [cells] where a cell lies in `base` and `work`
    border: int  # cells around the grid in `base` and `work`
    pattern_of: Ints  # [2, cells]
    seen: npt.NDArray[np.float32]  # [2, patterns, R * R] 1 where in sight
    keep: npt.NDArray[np.uint32]  # [2, patterns, R * R] bits that stay
    base: npt.NDArray[np.uint32]  # [(size + 2 border)**2] words of an empty world
    work: npt.NDArray[np.uint32]  # [threads, (size + 2 border)**2]
    mask: bool
    channel: bool
    draw_border: bool
    grass_steps: float
    dense: bool  # the published grid may show what nobody stands for


def kinds_of(given: Savanna) -> tuple[str, ...]:
    """The names of the groups, in order: types that are switched off have none."""
    return TYPES if given.type_2_action_range else (TYPES[0], TYPES[2])


def spec_of(given: Savanna) -> WorldSpec:
    """What the groups see and do."""
    groups = []
    for name in kinds_of(given):
        window = given.predator_obs_range if "predator" in name else given.prey_obs_range
        reach = given.type_1_action_range if "type_1" in name else given.type_2_action_range
        planes = 5 if given.include_visibility_channel else 4
        if given.observation == "float32":
            field = Field("window", (planes, window, window), "float32")
        else:
            field = Field("window", (window, window), "uint32")
        half = (reach - 1) // 2
        steps = range(-half, half + 1)
        choices = tuple(f"{dx:+d}{dy:+d}" if dx or dy else "stay" for dx in steps for dy in steps)
        groups.append(Group(name, (field,), (Head("move", choices),)))
    return WorldSpec("savanna", given.rows, tuple(groups), given.max_steps)


def windows_of(given: Savanna, rules: Rules, threads: int) -> Windows:
    """Tables for observing, worked out from the wall map."""
    ranges = (given.predator_obs_range, given.prey_obs_range)
    sights = [sight_of(given, rules.wall, window) for window in ranges]
    most = max(len(sight.patterns) for sight in sights)
    widest = max(ranges)
    seen = np.ones((2, most, widest * widest), dtype=np.float32)
    keep = np.full((2, most, widest * widest), 0xFFFFFFFF, dtype=np.uint32)
    hidden = WALL_BIT if given.mask_observation_with_visibility else 0xFFFFFFFF - IN_SIGHT
    for k, (sight, window) in enumerate(zip(sights, ranges, strict=True)):
        shape = (slice(len(sight.patterns)), slice(window * window))
        seen[k][shape] = sight.patterns
        keep[k][shape] = np.where(sight.patterns, 0xFFFFFFFF, hidden)
    border = (widest - 1) // 2
    base = _empty_words(given, rules, border)
    holds = max(given.max_energy_grass, given.initial_energy_grass)
    size = given.grid_size
    across = np.arange(size) + border
    return Windows(
        size=size,
        types=rules.types,
        zero_terminal=rules.zero_terminal,
        walls=rules.wall.astype(np.float32),
        place=(across[:, None] * (size + 2 * border) + across).reshape(-1),
        reach=np.array([(window - 1) // 2 for window in ranges], dtype=np.int64),
        border=border,
        pattern_of=np.stack([sight.pattern_of for sight in sights]),
        seen=seen,
        keep=keep,
        base=base,
        work=np.tile(base, (threads, 1)),
        mask=given.mask_observation_with_visibility,
        channel=given.include_visibility_channel,
        draw_border=given.draw_border,
        grass_steps=MOST_CODE / holds if holds > 0.0 else 0.0,
        dense=given.quirks.dead_prey_bitten or given.quirks.cell_erasure,
    )


def _empty_words(given: Savanna, rules: Rules, border: int) -> npt.NDArray[np.uint32]:
    size = given.grid_size
    sight = IN_SIGHT if given.include_visibility_channel else 0
    outside = sight | (WALL_BIT if given.draw_border else 0)
    words = np.full((size + 2 * border, size + 2 * border), outside, dtype=np.uint32)
    walls = rules.wall.reshape(size, size)
    words[border : border + size, border : border + size] = np.where(walls, sight | WALL_BIT, sight)
    return np.ascontiguousarray(words.reshape(-1))


def expand(words: npt.NDArray[np.uint32], given: Savanna) -> AnyArray:
    """Compact words `[..., R, R]` as planes `[..., 4 or 5, R, R]`, to their quantisation."""
    holds = max(given.max_energy_grass, given.initial_energy_grass)
    planes = [
        (words >> 1) & 1,
        ((words >> PREDATOR_SHIFT) & MOST_CODE) / ENERGY_STEPS,
        ((words >> PREY_SHIFT) & MOST_CODE) / ENERGY_STEPS,
        ((words >> GRASS_SHIFT) & MOST_CODE) * (holds / MOST_CODE),
    ]
    if given.include_visibility_channel:
        planes.append(words & 1)
    return np.stack(planes, axis=-3).astype(np.float32)
