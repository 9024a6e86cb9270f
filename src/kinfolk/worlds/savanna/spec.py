"""The groups of a savanna with their observations and actions.

float32: the planes of PredPreyGrass, `[4 to 6, R, R]`: walls, predator energy, prey energy (with
`separate_prey_channels` that of type 1, then that of type 2), grass energy and, with
`include_visibility_channel`, visibility.

compact: one word of 32 bits per cell, `[R, R]`:

| bits  | meaning |
|-------|---------|
| 0     | the cell is visible (always 0 without `include_visibility_channel`) |
| 1     | wall |
| 2-11  | predator energy in steps of 1/32, rounded up, at most 1023 |
| 12-21 | prey energy, likewise |
| 22-31 | grass energy in steps of 1/1023 of a full patch, rounded up |

Rounding up means that a code of 0 is an empty cell. Energies of 32 and more have the same code.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kinfolk.core.arrays import AnyArray, Bools, Ints
from kinfolk.core.spaces import ActionHead, AgentGroup, ObservationField, WorldSpec
from kinfolk.worlds.savanna.rules import AGENT_TYPES, SavannaRules
from kinfolk.worlds.savanna.settings import Savanna
from kinfolk.worlds.savanna.sight.visibility import compute_visibility

CODES_PER_ENERGY = 32.0  # codes per unit of energy
MAX_CODE = 1023
VISIBLE_BIT, WALL_BIT = 1, 2
PREDATOR_SHIFT, PREY_SHIFT, GRASS_SHIFT = 2, 12, 22
# A vector instruction writes about as many cells as one takes that is found by its index.
_CELLS_PER_SHOWN = 10


class ObservationTables(NamedTuple):
    """Tables that the observation kernels read; axes of length 2 are species."""

    size: int  # side of the grid
    exceeds_cache: bool  # see `SavannaRules`
    n_types: int
    zero_view: bool  # quirk: the last observation of a life is zeros
    view_at_death: bool  # quirk
    forward_view: bool  # predators' windows lie `radius` cells ahead of them
    radius: Ints  # [2] cells that a window reaches to each side
    plane_order: Ints  # [planes] plane of `visible_energy` in each plane of energies
    walls: npt.NDArray[np.float32]  # [cells]
    padded_index: Ints  # [cells] index of a cell in `empty_words` and `work_words`
    border: int  # cells around the grid in `empty_words` and `work_words`
    mask_of: Ints  # [2] index of a species' window in the next three: equal windows share one
    pattern_of: Ints  # [windows, cells] visibility pattern of the window around a cell
    is_open: Bools  # [windows, patterns] whether a pattern hides nothing
    all_open: bool  # whether all patterns are
    visible: npt.NDArray[np.float32]  # [windows, patterns, R * R] 1 where visible; float32 only
    visible_bits: npt.NDArray[np.uint32]  # the same as masks of a cell's word; compact only
    empty_words: npt.NDArray[np.uint32]  # [(size + 2 border)**2] words of an empty world
    work_words: npt.NDArray[np.uint32]  # [threads, (size + 2 border)**2] scratch
    work_locations: npt.NDArray[np.int32]  # [rows or 0] scratch, see `on_demand.prepare_windows`
    masks_hidden_cells: bool
    has_visibility_channel: bool
    draw_border: bool  # cells outside the grid are walls
    grass_codes_per_energy: float
    dense: bool  # write the words of all cells, not only of those with grass or agents


def get_group_names(settings: Savanna) -> tuple[str, ...]:
    """Return the names of the groups in order; types that are switched off have none."""
    return AGENT_TYPES if settings.type_2_action_range else (AGENT_TYPES[0], AGENT_TYPES[2])


def make_spec(settings: Savanna) -> WorldSpec:
    """Return the groups with their windows and moves."""
    groups = []
    for name in get_group_names(settings):
        window = settings.predator_obs_range if "predator" in name else settings.prey_obs_range
        reach = settings.type_1_action_range if "type_1" in name else settings.type_2_action_range
        planes = _name_planes(settings)
        if settings.observation == "float32":
            window_name = "window_by_type" if settings.separate_prey_channels else "window"
            shape = (len(planes), window, window)
            field = ObservationField(window_name, shape, "float32", planes)
        else:
            field = ObservationField("window", (window, window), "uint32")
        half = (reach - 1) // 2
        steps = range(-half, half + 1)
        choices = tuple(f"{dx:+d}{dy:+d}" if dx or dy else "stay" for dx in steps for dy in steps)
        heads: tuple[ActionHead, ...] = (ActionHead("move", choices),)
        if settings.join_choice:  # prey have no choice, but all groups have as many heads
            joins = ("stay_out", "join") if "predator" in name else ("none",)
            heads = (*heads, ActionHead("join_hunt", joins))
        groups.append(AgentGroup(name, (field,), heads))
    return WorldSpec("savanna", settings.rows, tuple(groups), settings.max_steps)


def _name_planes(settings: Savanna) -> tuple[str, ...]:
    """Return what the planes of a float32 window show, in order."""
    prey: tuple[str, ...] = ("prey_energy",)
    if settings.separate_prey_channels:
        prey = ("type_1_prey_energy", "type_2_prey_energy")
    seen = ("visible",) if settings.include_visibility_channel else ()
    return ("walls", "predator_energy", *prey, "grass_energy", *seen)


def make_observation_tables(
    settings: Savanna, rules: SavannaRules, threads: int
) -> ObservationTables:
    """Build the tables for the observation kernels from the wall map.

    Args:
        settings: Settings of the world.
        rules: Rules made from them.
        threads: Number of threads, each of which has scratch of its own.
    """
    windows = (settings.predator_obs_range, settings.prey_obs_range)
    distinct = sorted(set(windows))
    masks = [compute_visibility(settings, rules.wall, window) for window in distinct]
    widest = max(windows)
    shape = (len(masks), max(len(mask.patterns) for mask in masks), widest * widest)
    is_compact = settings.observation == "compact"
    visible = np.ones((1, 1, 1) if is_compact else shape, dtype=np.float32)
    bits_shape = shape if is_compact else (1, 1, 1)
    visible_bits = np.full(bits_shape, 0xFFFFFFFF, dtype=np.uint32)
    is_open = np.ones(shape[:2], dtype=np.bool_)
    hidden = WALL_BIT if settings.mask_observation_with_visibility else 0xFFFFFFFF - VISIBLE_BIT
    for k, (mask, window) in enumerate(zip(masks, distinct, strict=True)):
        part = (k, slice(len(mask.patterns)), slice(window * window))
        is_open[k, : len(mask.patterns)] = mask.patterns.all(axis=1)
        if is_compact:
            visible_bits[part] = np.where(mask.patterns, np.uint32(0xFFFFFFFF), np.uint32(hidden))
        else:
            visible[part] = mask.patterns
    border = (widest - 1) // 2
    if settings.forward_view:
        border += (settings.predator_obs_range - 1) // 2
    empty_words = _make_empty_words(settings, rules, border)
    full_patch = max(settings.max_energy_grass, settings.initial_energy_grass)
    size = settings.grid_size
    padded = np.arange(size) + border
    return ObservationTables(
        size=size,
        exceeds_cache=rules.exceeds_cache,
        n_types=rules.n_types,
        zero_view=rules.zero_terminal or settings.quirks.zero_terminal_observation,
        view_at_death=rules.view_at_death,
        forward_view=rules.forward_view,
        plane_order=np.array([0, 1, 3, 2] if rules.separate_prey else [0, 1, 2], dtype=np.int64),
        walls=rules.wall.astype(np.float32),
        padded_index=(padded[:, None] * (size + 2 * border) + padded).reshape(-1),
        radius=np.array([(window - 1) // 2 for window in windows], dtype=np.int64),
        border=border,
        mask_of=np.array([distinct.index(window) for window in windows], dtype=np.int64),
        pattern_of=np.stack([mask.pattern_of for mask in masks]),
        is_open=is_open,
        all_open=bool(is_open.all()),
        visible=visible,
        visible_bits=visible_bits,
        empty_words=empty_words,
        work_words=np.tile(empty_words, (threads, 1)),
        work_locations=np.zeros(settings.rows if is_compact else 0, dtype=np.int32),
        masks_hidden_cells=settings.mask_observation_with_visibility,
        has_visibility_channel=settings.include_visibility_channel,
        draw_border=settings.draw_border,
        grass_codes_per_energy=MAX_CODE / full_patch if full_patch > 0.0 else 0.0,
        dense=_is_dense(settings),
    )


def _is_dense(settings: Savanna) -> bool:
    """Return whether writing the words of all cells is faster than of those with grass or agents.

    With two quirks it is also necessary: cells may show energy where no agent stands.
    """
    shown = settings.initial_num_grass + sum(settings.founder_counts)
    is_crowded = settings.grid_size**2 <= _CELLS_PER_SHOWN * shown
    return is_crowded or settings.quirks.dead_prey_bitten or settings.quirks.cell_erasure


def _make_empty_words(
    settings: Savanna, rules: SavannaRules, border: int
) -> npt.NDArray[np.uint32]:
    """Return the words of a world without agents and grass, with `border` cells around it.

    Args:
        settings: Settings of the world.
        rules: Rules made from them.
        border: Cells around the grid.
    """
    size = settings.grid_size
    visible = VISIBLE_BIT if settings.include_visibility_channel else 0
    outside = visible | (WALL_BIT if settings.draw_border else 0)
    words = np.full((size + 2 * border, size + 2 * border), outside, dtype=np.uint32)
    walls = rules.wall.reshape(size, size)
    words[border : border + size, border : border + size] = np.where(
        walls, visible | WALL_BIT, visible
    )
    return np.ascontiguousarray(words.reshape(-1))


def expand_words(words: npt.NDArray[np.uint32], settings: Savanna) -> AnyArray:
    """Convert compact words `[..., R, R]` into planes `[..., 4 or 5, R, R]`, energies quantised."""
    full_patch = max(settings.max_energy_grass, settings.initial_energy_grass)
    planes = [
        (words >> 1) & 1,
        ((words >> PREDATOR_SHIFT) & MAX_CODE) / CODES_PER_ENERGY,
        ((words >> PREY_SHIFT) & MAX_CODE) / CODES_PER_ENERGY,
        ((words >> GRASS_SHIFT) & MAX_CODE) * (full_patch / MAX_CODE),
    ]
    if settings.include_visibility_channel:
        planes.append(words & 1)
    return np.stack(planes, axis=-3).astype(np.float32)
