"""Rendering of CogsGuard: frames for replays and the viewer, and one world as text."""

from __future__ import annotations

import numpy as np

from kinfolk.core.arrays import AnyArray
from kinfolk.worlds.cogsguard.codes import (
    ACTION_SUCCEEDED,
    AGENT,
    BODY_COLUMNS,
    CELL,
    CLIPS,
    EMPTY,
    EXTRACTOR,
    GEARS,
    HUB,
    JUNCTION,
    JUNCTION_OWNER,
    JUNCTIONS_HELD,
    KIND_MASK,
    KINDS,
    OWN,
    OWNER_SHIFT,
    STORE_HEARTS,
    VIBES,
)
from kinfolk.worlds.cogsguard.map.layout import PAD_SYMBOLS
from kinfolk.worlds.cogsguard.map.text import get_symbol
from kinfolk.worlds.cogsguard.rules import CogsguardRules
from kinfolk.worlds.cogsguard.settings import Cogsguard
from kinfolk.worlds.cogsguard.state import CogsguardState
from kinfolk.worlds.render import AgentAttribute, CellLayer, RenderFrame, RenderSpec

STOCK_LEVELS = 15

_LIMITED_COLUMNS = ("hp", "energy", "cargo", "hearts", "influence")


def make_render_spec(settings: Cogsguard, groups: tuple[str, ...]) -> RenderSpec:
    """Return the description of the frames of a game with these settings and groups."""
    sides = (*groups, "clips")
    height, width = settings.map_shape
    return RenderSpec(
        height=height,
        width=width,
        layers=(
            CellLayer("kind", "code", KINDS),
            CellLayer("owner", "code", ("nobody", *sides)),
            CellLayer("area", "bits", sides),
            CellLayer("amount", "amount", max_value=STOCK_LEVELS),
        ),
        attributes=tuple(
            _make_attribute(settings, name) for name in BODY_COLUMNS[:ACTION_SUCCEEDED]
        ),
        view_radius=(settings.window_radius,) * len(groups),
        owners=sides,
        series=(
            *(f"junctions held/{side}" for side in sides),
            *(f"hearts in store/{side}" for side in groups),
            *(f"elements in store/{side}" for side in groups),
        ),
    )


def _make_attribute(settings: Cogsguard, name: str) -> AgentAttribute:
    """Return the attribute of a column of `body`, with its limit or its labels."""
    if name in ("gear", "vibe"):
        return AgentAttribute(name, labels=GEARS if name == "gear" else VIBES)
    limit = f"{name if name in _LIMITED_COLUMNS else 'cargo'}_limit"
    return AgentAttribute(name, max_value=float(getattr(settings, limit)))


def render_frame(state: CogsguardState, rules: CogsguardRules, world: int) -> RenderFrame:
    """Return the current frame of one world, without the padding around the map.

    Args:
        state: State of the batch, read.
        rules: Rules of the batch.
        world: Which world.
    """
    views = [
        _crop_padding(state.team_view[world, team], rules).astype(np.int64)
        for team in range(rules.teams)
    ]
    kind = views[0] & KIND_MASK
    is_object = kind != AGENT
    kind = np.where(is_object, kind, EMPTY)
    owner = np.zeros(len(kind), dtype=np.uint8)
    for team, view in enumerate(views):
        owner[is_object & (view >> OWNER_SHIFT & 3 == OWN)] = team + 1
    owner[is_object & (views[0] >> OWNER_SHIFT & 3 == CLIPS)] = rules.teams + 1
    area = np.zeros(len(kind), dtype=np.uint8)
    for side in range(rules.teams + 1):
        area |= (_crop_padding(state.area_cover[world, side], rules) > 0).astype(np.uint8) << side
    is_extractor = (kind >= EXTRACTOR) & (kind < HUB)
    stock = np.ceil(
        _crop_padding(state.cell_detail[world], rules) * (STOCK_LEVELS / rules.extractor_stock)
    )
    amount = np.where(is_extractor, stock, 0).astype(np.uint8)
    cells = np.stack([kind.astype(np.uint8), owner, area, amount])
    body = state.body[world]
    y, x = body[:, CELL] // rules.stride - rules.pad, body[:, CELL] % rules.stride - rules.pad
    store = state.store[world]
    series = [
        *state.teams[world, :, JUNCTIONS_HELD],
        *store[:, STORE_HEARTS],
        *store[:, :STORE_HEARTS].sum(1),
    ]
    attributes = np.ascontiguousarray(body[:, :ACTION_SUCCEEDED].T)
    return RenderFrame(cells, y * rules.width + x, attributes, np.array(series, dtype=np.float64))


def _crop_padding(cells: AnyArray, rules: CogsguardRules) -> AnyArray:
    """Return the cells of the map without padding, in reading order."""
    grid = cells.reshape(-1, rules.stride)
    cropped: AnyArray = grid[
        rules.pad : rules.pad + rules.height, rules.pad : rules.pad + rules.width
    ].reshape(-1)
    return cropped


def render_text(state: CogsguardState, rules: CogsguardRules, world: int) -> str:
    """Return the map as text; agents have the symbol of their team's spawn pads.

    Args:
        state: State of the batch, read.
        rules: Rules of the batch.
        world: Which world.
    """
    lines = []
    for y in range(rules.pad, rules.pad + rules.height):
        line = ""
        for x in range(rules.pad, rules.pad + rules.width):
            cell = y * rules.stride + x
            kind, detail = (
                int(state.team_view[world, 0, cell]) & KIND_MASK,
                int(state.cell_detail[world, cell]),
            )
            if kind == AGENT:
                line += PAD_SYMBOLS[detail // rules.rows_per_team]
            else:
                owner = (
                    int(state.junction[world, detail, JUNCTION_OWNER]) if kind == JUNCTION else -1
                )
                line += get_symbol(kind, owner, rules.teams)
        lines.append(line)
    return "\n".join(lines)
