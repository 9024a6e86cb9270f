"""CogsGuard as it is looked at: objects, whose they are, areas, and agents with what they hold."""

from __future__ import annotations

import numpy as np

from kinfolk.core.arrays import AnyArray
from kinfolk.worlds.cogsguard.codes import (
    AGENT,
    BODY,
    CELL,
    CLIPS,
    EMPTY,
    EXTRACTOR,
    GEARS,
    HELD,
    HUB,
    KIND_MASK,
    KINDS,
    OWN,
    OWNER_SHIFT,
    STORE_HEARTS,
    SUCCEEDED,
    VIBES,
)
from kinfolk.worlds.cogsguard.rules import Rules
from kinfolk.worlds.cogsguard.settings import Cogsguard
from kinfolk.worlds.cogsguard.state import State
from kinfolk.worlds.scene import Layer, Scene, Shown, Trait

STOCK_LEVELS = 15
_LIMITS = ("hp", "energy", "cargo", "hearts", "influence")


def scene_of(given: Cogsguard, groups: tuple[str, ...]) -> Scene:
    """What is shown of a game with these rules."""
    sides = (*groups, "clips")
    height, width = given.shape
    return Scene(
        height=height,
        width=width,
        layers=(
            Layer("kind", "code", KINDS),
            Layer("owner", "code", ("nobody", *sides)),
            Layer("area", "bits", sides),
            Layer("amount", "amount", most=STOCK_LEVELS),
        ),
        traits=tuple(_trait(given, name) for name in BODY[:SUCCEEDED]),
        sight=(given.window_radius,) * len(groups),
        owners=sides,
        series=(
            *(f"junctions held/{side}" for side in sides),
            *(f"hearts in store/{side}" for side in groups),
            *(f"elements in store/{side}" for side in groups),
        ),
    )


def _trait(given: Cogsguard, name: str) -> Trait:
    if name in ("gear", "vibe"):
        return Trait(name, names=GEARS if name == "gear" else VIBES)
    limit = f"{name if name in _LIMITS else 'cargo'}_limit"
    return Trait(name, most=float(getattr(given, limit)))


def show(s: State, r: Rules, world: int) -> Shown:
    """One world as it is now, without the wall around it."""
    seen = [_inside(s.shown[world, team], r).astype(np.int64) for team in range(r.teams)]
    kind = seen[0] & KIND_MASK
    is_thing = kind != AGENT
    kind = np.where(is_thing, kind, EMPTY)
    owner = np.zeros(len(kind), dtype=np.uint8)
    for team, view in enumerate(seen):
        owner[is_thing & (view >> OWNER_SHIFT & 3 == OWN)] = team + 1
    owner[is_thing & (seen[0] >> OWNER_SHIFT & 3 == CLIPS)] = r.teams + 1
    area = np.zeros(len(kind), dtype=np.uint8)
    for side in range(r.teams + 1):
        area |= (_inside(s.cover[world, side], r) > 0).astype(np.uint8) << side
    holds = (kind >= EXTRACTOR) & (kind < HUB)
    stock = np.ceil(_inside(s.detail[world], r) * (STOCK_LEVELS / r.extractor_stock))
    amount = np.where(holds, stock, 0).astype(np.uint8)
    cells = np.stack([kind.astype(np.uint8), owner, area, amount])
    body = s.body[world]
    y, x = body[:, CELL] // r.stride - r.pad, body[:, CELL] % r.stride - r.pad
    store = s.store[world]
    series = [*s.teams[world, :, HELD], *store[:, STORE_HEARTS], *store[:, :STORE_HEARTS].sum(1)]
    traits = np.ascontiguousarray(body[:, :SUCCEEDED].T)
    return Shown(cells, y * r.width + x, traits, np.array(series, dtype=np.float64))


def _inside(cells: AnyArray, r: Rules) -> AnyArray:
    """The cells of the map, in reading order."""
    grid = cells.reshape(-1, r.stride)
    inner: AnyArray = grid[r.pad : r.pad + r.height, r.pad : r.pad + r.width].reshape(-1)
    return inner
