"""The savanna as it is looked at: walls, grass, and bodies with their energy."""

from __future__ import annotations

import numpy as np

from kinfolk.worlds.savanna.rules import Rules
from kinfolk.worlds.savanna.settings import Savanna
from kinfolk.worlds.savanna.state import State
from kinfolk.worlds.scene import Layer, Scene, Shown, Trait

GRASS_LEVELS = 15
_ENERGY_SCALE = 100.0
_WALL, _GRASS = 1, 2


def scene_of(given: Savanna, groups: tuple[str, ...]) -> Scene:
    """What is shown of a savanna with these rules."""
    sights = [given.predator_obs_range if "predator" in g else given.prey_obs_range for g in groups]
    return Scene(
        height=given.grid_size,
        width=given.grid_size,
        layers=(
            Layer("kind", "code", ("ground", "wall", "grass")),
            Layer("amount", "amount", most=GRASS_LEVELS),
        ),
        traits=(
            Trait("energy", _ENERGY_SCALE, most=given.predator_creation_energy_threshold),
            Trait("number"),
            Trait("body", names=("living", "carcass")),
        ),
        sight=tuple((window - 1) // 2 for window in sights),
        series=("grass energy/grass",),
    )


def show(s: State, r: Rules, world: int) -> Shown:
    """One world as it is now. Grass is shown in steps, so that little changes per tick."""
    kind = np.where(r.wall, np.uint8(_WALL), np.uint8(0))
    amount = np.zeros(len(kind), dtype=np.uint8)
    grass, at = s.grass[world], s.patch_cell[world]
    holds = max(r.grass_most, r.grass_start)
    kind[at] = _GRASS
    amount[at] = np.ceil(grass * (GRASS_LEVELS / holds)) if holds > 0.0 else 0
    traits = np.stack(
        [np.rint(s.energy[world] * _ENERGY_SCALE).astype(np.int64), s.number[world],
         s.carcass[world].astype(np.int64)]
    )  # fmt: skip
    cell = s.x[world] * r.size + s.y[world]
    return Shown(np.stack([kind, amount]), cell, traits, np.array([grass.sum()]))
