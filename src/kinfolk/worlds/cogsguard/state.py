"""The arrays of CogsGuard; the first axis is the world."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from kinfolk.core.arrays import Bools, Floats, Ints
from kinfolk.worlds.cogsguard.codes import BODY, EXTRACTOR, JUNCTION, SHIP, STATISTICS
from kinfolk.worlds.cogsguard.codes import TEAM_STATISTICS as BY_TEAM
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
    next_uid: Ints
    count: Ints  # [W, T] agents of a team: they hold its first rows
    fertile: Ints  # [W, T] the first tick at which a birth can follow
    held: Ints  # [W, T + 1] junctions of each team and of the clips
    shown: Words  # [W, T, cells] what each team sees: see `layout`
    index: Numbers  # [W, cells] number of the agent's row, junction, extractor; else the team
    cover: Numbers  # [W, T + 1, cells] how much of an area each team and the clips have there
    junctions: Ints  # [W] how many there are
    junction_cell: Ints  # [W, J]
    junction_owner: Ints  # -1: nobody's
    extractor_stock: Ints  # [W, E]
    hub_cell: Ints  # [W, T]
    ships: Ints
    ship_cell: Ints  # [W, SHIPS]
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
    team_stats: Ints  # [W, T + 1, TEAM_STATISTICS]


class Sizes(NamedTuple):
    """How much room a map needs."""

    cells: int
    junctions: int
    extractors: int
    ships: int


def sizes_of(given: Cogsguard, rules: Rules) -> Sizes:
    """Room for the drawn map, or for the fullest that chance can draw."""
    cells = rules.stride * (rules.height + 2 * rules.pad)
    drawing = given.drawing
    if drawing is None:
        extractors = 4 * max(given.extractors[1], given.teams)
        return Sizes(cells, given.junctions[1], extractors, SHIPS)
    mines = (drawing.kind >= EXTRACTOR) & (drawing.kind < EXTRACTOR + 4)
    found = (int((drawing.kind == kind).sum()) for kind in (JUNCTION, SHIP))
    junctions, ships = found
    return Sizes(cells, junctions, int(mines.sum()), ships)


def empty_state(given: Cogsguard, rules: Rules, worlds: int) -> State:
    """All arrays, for `worlds` worlds that wait for a reset."""
    w, t, n = worlds, rules.teams, rules.teams * rules.rows_per_team
    sizes = sizes_of(given, rules)

    def ints(*shape: int, fill: int = 0) -> Ints:
        return np.full(shape, fill, dtype=np.int64)

    def numbers(*shape: int) -> Numbers:
        return np.zeros(shape, dtype=np.int32)

    arrays: dict[str, Any] = {
        name: ints(w) for name in ("key", "tick", "next_uid", "junctions", "ships")
    }
    arrays |= {name: ints(w, t) for name in ("count", "fertile", "hub_cell")}
    arrays |= {name: np.zeros((w, n), dtype=np.bool_) for name in ("alive", "terminated")}
    return State(
        **arrays,
        done=np.ones(w, dtype=np.bool_),
        held=ints(w, t + 1),
        shown=np.zeros((w, t, sizes.cells), dtype=np.uint16),
        index=numbers(w, sizes.cells),
        cover=numbers(w, t + 1, sizes.cells),
        junction_cell=ints(w, sizes.junctions),
        junction_owner=ints(w, sizes.junctions, fill=-1),
        extractor_stock=ints(w, sizes.extractors),
        ship_cell=ints(w, sizes.ships),
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
        team_stats=ints(w, t + 1, len(BY_TEAM)),
    )
