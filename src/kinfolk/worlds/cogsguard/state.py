"""The arrays of CogsGuard; the first axis is the world."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from kinfolk.core.arrays import Bools, Floats, Ints
from kinfolk.worlds.cogsguard.codes import (
    BODY_COLUMNS,
    JUNCTION,
    JUNCTION_COLUMNS,
    SHIP,
    STATISTICS,
    TEAM_COLUMNS,
)
from kinfolk.worlds.cogsguard.rules import CogsguardRules
from kinfolk.worlds.cogsguard.settings import Cogsguard

CellWords = npt.NDArray[np.uint16]  # cells as teams see them, see `spec`
Int32Array = npt.NDArray[np.int32]
SeenBits = npt.NDArray[np.uint32]
N_SHIPS = 4


class CogsguardState(NamedTuple):
    """The complete state of a batch of games; `[W]` or `[W, N]` unless stated."""

    key: Ints  # random key of the episode
    tick: Ints  # steps since the reset
    done: Bools
    team_view: CellWords  # [W, T, cells] what each team sees: see `spec`
    cell_detail: Int32Array  # [W, cells] an agent's row, a junction's index, stock, or owner
    area_cover: Int32Array  # [W, T + 1, cells] strength of each team's and the clips' areas
    junction: Ints  # [W, J, JUNCTION_COLUMNS] see `codes`
    home_cell: Ints  # [W, T + ships] cells of the hubs, then of the ships; 0: there is none
    teams: Ints  # [W, T + 1, TEAM_COLUMNS]
    store: Ints  # [W, T, elements and hearts]
    uid: Ints  # to `parent_rows`: see `AgentColumns`
    alive: Bools
    reward: Floats
    terminated: Bools
    truncated: Bools
    group: Ints
    parents: Ints
    parent_rows: Ints
    body: Ints  # [W, N, BODY_COLUMNS]
    seen: SeenBits  # [W, N, height, words] a bit per cell that was ever in an agent's window
    stats: Ints  # [W, N, STATISTICS]


class MapSizes(NamedTuple):
    """Sizes of the arrays that a map needs."""

    n_cells: int
    n_junctions: int
    n_ships: int


def compute_map_sizes(settings: Cogsguard, rules: CogsguardRules) -> MapSizes:
    """Return the sizes of the map given as text, or of the largest that can be generated."""
    cells = rules.stride * (rules.height + 2 * rules.pad)
    parsed_map = settings.parsed_map
    if parsed_map is None:
        return MapSizes(cells, settings.junctions[1], N_SHIPS if settings.edition == "A" else 0)
    junctions, ships = (int((parsed_map.kind == kind).sum()) for kind in (JUNCTION, SHIP))
    return MapSizes(cells, junctions, ships)


def allocate_state(settings: Cogsguard, rules: CogsguardRules, n_worlds: int) -> CogsguardState:
    """Allocate the state of `n_worlds` worlds, which are done until their first reset.

    Args:
        settings: Settings of the world.
        rules: Rules made from them.
        n_worlds: Number of worlds in the batch.
    """
    w, t, n = n_worlds, rules.teams, rules.teams * rules.rows_per_team
    sizes = compute_map_sizes(settings, rules)

    def ints(*shape: int, fill: int = 0) -> Ints:
        return np.full(shape, fill, dtype=np.int64)

    def numbers(*shape: int) -> Int32Array:
        return np.zeros(shape, dtype=np.int32)

    arrays: dict[str, Any] = {name: ints(w) for name in ("key", "tick")}
    arrays |= {name: np.zeros((w, n), dtype=np.bool_) for name in ("alive", "terminated")}
    return CogsguardState(
        **arrays,
        done=np.ones(w, dtype=np.bool_),
        team_view=np.zeros((w, t, sizes.n_cells), dtype=np.uint16),
        cell_detail=numbers(w, sizes.n_cells),
        area_cover=numbers(w, t + 1, sizes.n_cells),
        junction=ints(w, sizes.n_junctions, JUNCTION_COLUMNS),
        home_cell=ints(w, t + sizes.n_ships),
        teams=ints(w, t + 1, TEAM_COLUMNS),
        store=ints(w, t, 5),
        uid=ints(w, n, fill=-1),
        reward=np.zeros((w, n)),
        truncated=np.zeros((w, n), dtype=np.bool_),
        group=np.tile(np.repeat(np.arange(t), rules.rows_per_team), (w, 1)),
        parents=ints(w, n, 2, fill=-1),
        parent_rows=ints(w, n, 2, fill=-1),
        body=ints(w, n, len(BODY_COLUMNS)),
        seen=np.zeros((w, n, rules.height, -(-rules.width // 32)), dtype=np.uint32),
        stats=ints(w, n, len(STATISTICS)),
    )
