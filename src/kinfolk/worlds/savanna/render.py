"""Frames of the savanna for replays and the viewer: walls, grass and agents with their energy."""

from __future__ import annotations

import numpy as np

from kinfolk.worlds.render import AgentAttribute, CellLayer, RenderFrame, RenderSpec, Symbol
from kinfolk.worlds.savanna.rules import SavannaRules
from kinfolk.worlds.savanna.settings import Savanna
from kinfolk.worlds.savanna.state import SavannaState

GRASS_LEVELS = 15  # few, so that little changes between frames
_ENERGY_SCALE = 100.0
_WALL, _GRASS = 1, 2
_PAIR_EVENTS = (
    "birth", "capture", "failed_capture", "bite", "carcass_bite", "carcass", "carcass_only_block",
    "kick_back", "reproduction_reward", "scavenge", "donation",
)  # fmt: skip
_CELL_SYMBOLS = (
    Symbol("ground", shape="ground"),
    Symbol("wall", "grey", "wall"),
    Symbol("grass", "grass", "amount"),
)


def make_render_spec(settings: Savanna, groups: tuple[str, ...]) -> RenderSpec:
    """Return the description of the frames of a savanna with these settings and groups."""
    windows = [
        settings.predator_obs_range if "predator" in g else settings.prey_obs_range for g in groups
    ]
    return RenderSpec(
        height=settings.grid_size,
        width=settings.grid_size,
        layers=(
            CellLayer("kind", "code", ("ground", "wall", "grass")),
            CellLayer("amount", "amount", max_value=GRASS_LEVELS),
        ),
        attributes=(
            AgentAttribute(
                "energy", _ENERGY_SCALE, max_value=settings.predator_creation_energy_threshold,
                drawn_as="size",
            ),
            AgentAttribute("number", drawn_as="hidden"),
            AgentAttribute("body", labels=("living", "carcass"), drawn_as="cross"),
        ),
        view_radius=tuple((window - 1) // 2 for window in windows),
        series=("grass energy/grass",),
        symbols=(*(_make_symbol(group) for group in groups), *_CELL_SYMBOLS),
        main_events=("birth", "death", "capture"),
        pair_events=_PAIR_EVENTS,
    )  # fmt: skip


def _make_symbol(group: str) -> Symbol:
    """Return how the agents of a group are drawn: predators as triangles, prey as circles."""
    is_second = "type_2" in group
    if "predator" in group:
        return Symbol(group, "orange" if is_second else "vermillion", "triangle")
    return Symbol(group, "sky" if is_second else "blue", "circle")


def render_frame(state: SavannaState, rules: SavannaRules, world: int) -> RenderFrame:
    """Return the current frame of one world.

    Args:
        state: State of the batch, read.
        rules: Rules of the batch.
        world: Index of the world in the batch.
    """
    kind = np.where(rules.wall, np.uint8(_WALL), np.uint8(0))
    amount = np.zeros(len(kind), dtype=np.uint8)
    grass, cells = state.grass_energy[world], state.patch_cell[world]
    max_grass = max(rules.max_grass, rules.initial_grass)
    kind[cells] = _GRASS
    amount[cells] = np.ceil(grass * (GRASS_LEVELS / max_grass)) if max_grass > 0.0 else 0
    attributes = np.stack(
        [np.rint(state.energy[world] * _ENERGY_SCALE).astype(np.int64), state.number[world],
         state.carcass[world].astype(np.int64)]
    )  # fmt: skip
    cell = state.x[world] * rules.size + state.y[world]
    return RenderFrame(np.stack([kind, amount]), cell, attributes, np.array([grass.sum()]))
