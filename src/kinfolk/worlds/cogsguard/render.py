"""Rendering of CogsGuard: frames for replays and the viewer, and one world as text."""

from __future__ import annotations

import numpy as np

from kinfolk.core.arrays import AnyArray
from kinfolk.worlds.cogsguard import codes
from kinfolk.worlds.cogsguard.maps import PAD_SYMBOLS, get_symbol
from kinfolk.worlds.cogsguard.rules import CogsguardRules
from kinfolk.worlds.cogsguard.settings import Cogsguard
from kinfolk.worlds.cogsguard.state import CogsguardState
from kinfolk.worlds.render import AgentAttribute, CellLayer, RenderFrame, RenderSpec, Symbol

STOCK_LEVELS = 15

_ELEMENT_COLOURS = {"carbon": "grey", "oxygen": "sky", "germanium": "green", "silicon": "orange"}
_GEAR_LETTERS = {"aligner": "A", "scrambler": "R", "miner": "M", "scout": "T"}
_SYMBOLS = (
    Symbol("clips", "vermillion", "diamond"),
    Symbol("empty", shape="ground"),
    Symbol("agent", shape="ground"),
    Symbol("wall", "grey", "wall"),
    *(Symbol(f"{e}_extractor", c, "stock", e[0].upper(), e)
      for e, c in _ELEMENT_COLOURS.items()),
    Symbol("hub", "", "tile", "⌂", size=1.5),
    Symbol("chest", "", "tile", "♥", "chest"),
    *(Symbol(f"{gear}_station", "", "tile", letter.lower()) for gear, letter in _GEAR_LETTERS.items()),
    Symbol("junction", "", "diamond", label="junction"),
    Symbol("ship", "", "tile", "▾", "ship"),
    *(Symbol(gear, "", "", letter, gear)
      for gear, letter in _GEAR_LETTERS.items()),
)  # fmt: skip
_MAIN_EVENTS = ("birth", "death", "align", "scramble", "clips_align", "heart_made", "exhausted")
_LIMITED_COLUMNS = ("hp", "energy", "cargo", "hearts", "influence")


def make_render_spec(settings: Cogsguard, groups: tuple[str, ...]) -> RenderSpec:
    """Return the description of the frames of a game with these settings and groups."""
    sides = (*groups, "clips")
    height, width = settings.map_shape
    return RenderSpec(
        height=height,
        width=width,
        layers=(
            CellLayer("kind", "code", codes.KINDS),
            CellLayer("owner", "code", ("nobody", *sides)),
            CellLayer("area", "bits", sides),
            CellLayer("amount", "amount", max_value=STOCK_LEVELS),
        ),
        attributes=tuple(_make_attribute(settings, name) for name in codes.OBSERVED_COLUMNS),
        view_radius=(settings.window_radius,) * len(groups),
        owners=sides,
        series=(
            *(f"junctions held/{side}" for side in sides),
            *(f"hearts in store/{side}" for side in groups),
            *(f"elements in store/{side}" for side in groups),
        ),
        symbols=(*_make_group_symbols(groups), *_SYMBOLS),
        main_events=_MAIN_EVENTS,
        pair_events=("birth",),
    )


def _make_group_symbols(groups: tuple[str, ...]) -> list[Symbol]:
    """Return how the cogs of each team are drawn."""
    styles = (
        ("blue", "circle"),
        ("purple", "square"),
        ("green", "diamond"),
        ("orange", "triangle"),
    )
    return [Symbol(group, *styles[i % len(styles)]) for i, group in enumerate(groups)]


def _make_attribute(settings: Cogsguard, name: str) -> AgentAttribute:
    """Return the attribute of a column of `body`, with its limit or its labels."""
    if name in ("gear", "vibe"):
        is_gear = name == "gear"
        labels = codes.GEARS if is_gear else codes.VIBES
        return AgentAttribute(name, labels=labels, drawn_as="letter" if is_gear else "")
    limit = float(getattr(settings, f"{name if name in _LIMITED_COLUMNS else 'cargo'}_limit"))
    return AgentAttribute(name, max_value=limit, drawn_as="size" if name == "energy" else "")


def render_frame(state: CogsguardState, rules: CogsguardRules, world: int) -> RenderFrame:
    """Return the current frame of one world, without the padding around the map.

    Args:
        state: State of the batch, read.
        rules: Rules of the batch.
        world: Index of the world in the batch.
    """
    views = _crop_padding(state.team_view[world], rules).astype(np.int64)
    kind, view_owner = views[0] & codes.KIND_MASK, views >> codes.OWNER_SHIFT & 3
    is_object = kind != codes.AGENT
    kind = np.where(is_object, kind, codes.EMPTY)
    owner = np.zeros(len(kind), dtype=np.uint8)
    for team in range(rules.teams):
        owner[is_object & (view_owner[team] == codes.OWN)] = team + 1
    owner[is_object & (view_owner[0] == codes.CLIPS)] = rules.teams + 1
    is_covered = _crop_padding(state.area_cover[world], rules) > 0
    area = np.packbits(is_covered, axis=0, bitorder="little")[0]
    is_extractor = (kind >= codes.EXTRACTOR) & (kind < codes.HUB)
    stock = _crop_padding(state.cell_detail[world], rules) * (STOCK_LEVELS / rules.extractor_stock)
    amount = np.where(is_extractor, np.ceil(stock), 0).astype(np.uint8)
    cells = np.stack([kind.astype(np.uint8), owner, area, amount])
    body, store = state.body[world], state.store[world]
    y, x = np.divmod(body[:, codes.CELL], rules.stride)
    agent_cell = (y - rules.pad) * rules.width + x - rules.pad
    hearts, elements = store[:, codes.STORE_HEARTS], store[:, : codes.STORE_HEARTS].sum(1)
    series = np.concatenate([state.teams[world, :, codes.JUNCTIONS_HELD], hearts, elements])
    attributes = np.ascontiguousarray(body[:, : codes.ACTION_SUCCEEDED].T)
    return RenderFrame(cells, agent_cell, attributes, series.astype(np.float64))


def _crop_padding(cells: AnyArray, rules: CogsguardRules) -> AnyArray:
    """Return the cells of the map `[..., height * width]` out of all cells `[..., cells]`."""
    grid, pad = cells.reshape(*cells.shape[:-1], -1, rules.stride), rules.pad
    cropped = grid[..., pad : pad + rules.height, pad : pad + rules.width]
    return cropped.reshape(*cells.shape[:-1], -1)


def render_text(state: CogsguardState, rules: CogsguardRules, world: int) -> str:
    """Return the map as text; agents have the symbol of their team's spawn pads.

    Args:
        state: State of the batch, read.
        rules: Rules of the batch.
        world: Index of the world in the batch.
    """
    kinds = _crop_padding(state.team_view[world, 0], rules) & codes.KIND_MASK
    details = _crop_padding(state.cell_detail[world], rules)
    text = ""
    for kind, detail in zip(kinds.tolist(), details.tolist(), strict=True):
        if kind == codes.AGENT:
            text += PAD_SYMBOLS[detail // rules.rows_per_team]
        else:
            is_junction = kind == codes.JUNCTION
            owner = int(state.junction[world, detail, codes.JUNCTION_OWNER]) if is_junction else -1
            text += get_symbol(kind, owner, rules.teams)
    return "\n".join(text[i : i + rules.width] for i in range(0, len(text), rules.width))
