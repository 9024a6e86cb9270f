"""The arrays of CogsGuard; the first axis is the world."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from kinfolk.core.arrays import Bools, Floats, Ints
from kinfolk.worlds.cogsguard.codes import (
    BODY,
    JUNCTION,
    JUNCTION_COLUMNS,
    SHIP,
    STATISTICS,
    TEAM_COLUMNS,
)
from kinfolk.worlds.cogsguard.rules import Rules
from kinfolk.worlds.cogsguard.settings import Cogsguard

Words = npt.NDArray[np.uint16]
Numbers = npt.NDArray[np.int32]
Bits = npt.NDArray[np.uint32]
SHIPS = 4


class State(NamedTuple):
    """Everything a game is. Kernels get these arrays; nobody else does."""

    key: Ints
    tick: Ints
    done: Bools
    shown: Words  # [W, T, cells] what each team sees: see `layout`
    detail: Numbers  # [W, cells] an agent's row, a junction's number, stock, or whose it is
    cover: Numbers  # [W, T + 1, cells] how much of an area each team and the clips have there
    junction: Ints  # [W, J, JUNCTION_COLUMNS] see `codes`
    home: Ints  # [W, T + ships] cells of the hubs, then of the ships; 0: there is none
    teams: Ints  # [W, T + 1, TEAM_COLUMNS]
    store: Ints  # [W, T, elements and hearts]
    uid: Ints
    alive: Bools
    reward: Floats
    terminated: Bools
    truncated: Bools
    group: Ints
    parents: Ints
    parent_rows: Ints
    body: Ints  # [W, N, BODY]
    seen: Bits  # [W, N, height, words] a bit per cell that was ever in an agent's window
    stats: Ints  # [W, N, STATISTICS]


class Sizes(NamedTuple):
    """How much room a map needs."""

    cells: int
    junctions: int
    ships: int


def sizes_of(given: Cogsguard, rules: Rules) -> Sizes:
    """Room for the drawn map, or for the fullest that chance can draw."""
    cells = rules.stride * (rules.height + 2 * rules.pad)
    drawing = given.drawing
    if drawing is None:
        return Sizes(cells, given.junctions[1], SHIPS if given.edition == "A" else 0)
    junctions, ships = (int((drawing.kind == kind).sum()) for kind in (JUNCTION, SHIP))
    return Sizes(cells, junctions, ships)


def empty_state(given: Cogsguard, rules: Rules, worlds: int) -> State:
    """All arrays, for `worlds` worlds that wait for a reset."""
    w, t, n = worlds, rules.teams, rules.teams * rules.rows_per_team
    sizes = sizes_of(given, rules)

    def ints(*shape: int, fill: int = 0) -> Ints:
        return np.full(shape, fill, dtype=np.int64)

    def numbers(*shape: int) -> Numbers:
        return np.zeros(shape, dtype=np.int32)

    arrays: dict[str, Any] = {name: ints(w) for name in ("key", "tick")}
    arrays |= {name: np.zeros((w, n), dtype=np.bool_) for name in ("alive", "terminated")}
    return State(
        **arrays,
        done=np.ones(w, dtype=np.bool_),
        shown=np.zeros((w, t, sizes.cells), dtype=np.uint16),
        detail=numbers(w, sizes.cells),
        cover=numbers(w, t + 1, sizes.cells),
        junction=ints(w, sizes.junctions, JUNCTION_COLUMNS),
        home=ints(w, t + sizes.ships),
        teams=ints(w, t + 1, TEAM_COLUMNS),
        store=ints(w, t, 5),
        uid=ints(w, n, fill=-1),
        reward=np.zeros((w, n)),
        truncated=np.zeros((w, n), dtype=np.bool_),
        group=np.tile(np.repeat(np.arange(t), rules.rows_per_team), (w, 1)),
        parents=ints(w, n, 2, fill=-1),
        parent_rows=ints(w, n, 2, fill=-1),
        body=ints(w, n, len(BODY)),
        seen=np.zeros((w, n, rules.height, -(-rules.width // 32)), dtype=np.uint32),
        stats=ints(w, n, len(STATISTICS)),
    )
