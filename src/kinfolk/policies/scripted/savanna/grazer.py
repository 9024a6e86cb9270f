"""A scripted prey that goes to the best grass nearby and flees from predators.

The flee distances are tuned on 20 seeds against hunters: more timid grazers starve the hunters, bolder
ones are exterminated. Where a predator must reach the prey's own cell to bite,
`flee_distance_weak=0, flee_distance_strong=1` fits better: on lineage_published, against hunters with
`desperate_energy=100`, episodes then last twice as long.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import inline, kernel
from kinfolk.core.spaces import WorldSpec
from kinfolk.policies.scripted.savanna import navigation
from kinfolk.policies.scripted.savanna.scripted_policy import (
    GRASS,
    PREDATOR,
    PREY,
    WALL,
    ScriptBatch,
    ScriptedPolicy,
    WindowDecoder,
    check_params,
    decode_window,
)

# Extra steps that full grass is worth, compared with bare ground.
_GRASS_WEIGHT = navigation.MAX_GOAL_COST


class GrazerParams(NamedTuple):
    """Distances, in cells, at which a grazer flees."""

    flee_distance_weak: int  # from predators whose joint energy is below its own
    flee_distance_strong: int  # from predators that could capture it together


class Grazer(ScriptedPolicy):
    """Plays prey: goes to good grass nearby, flees predators, explores when no grass is in view.

    Predators that are assigned to a grazer only explore.

    Args:
        spec: Spec of a savanna, in either observation format.
        flee_distance_weak: Distance in cells at which it flees from any predator.
        flee_distance_strong: Distance at which it flees from predators that together have the
            energy to capture it.

    Raises:
        SettingsError: The world is not a savanna, or a parameter is negative or no number.
    """

    def __init__(
        self, spec: WorldSpec, flee_distance_weak: int = 1, flee_distance_strong: int = 2
    ) -> None:
        params = GrazerParams(flee_distance_weak, flee_distance_strong)
        check_params("Grazer", params._asdict())
        super().__init__(spec, GrazerParams(*map(int, params)))

    @classmethod
    def kernels(cls) -> tuple[Callable[..., None]]:
        """Return the kernel of the grazer."""
        return (_graze,)


@inline
def _is_threatened(window: Ints, side: int, params: GrazerParams) -> bool:
    """Return whether predators are within the flee distance.

    Args:
        window: `[4, side, side]`, the decoded window.
        side: Cells across.
        params: Flee distances.
    """
    half, nearest, together = side // 2, side, 0
    for x in range(side):
        for y in range(side):
            if window[PREDATOR, x, y] > 0:
                away = max(abs(x - half), abs(y - half))
                nearest = min(nearest, away)
                if away <= params.flee_distance_strong + 1:
                    together += window[PREDATOR, x, y]
    is_strong = together >= window[PREY, half, half]
    return nearest <= (params.flee_distance_strong if is_strong else params.flee_distance_weak)


@inline
def _score_safety(window: Ints, side: int, x: int, y: int) -> int:
    """Return how safe a cell is to flee to; higher is safer.

    The distance from the nearest predator counts most, then the sum of the distances from all
    predators in view, then free neighbour cells and grass.

    Args:
        window: `[4, side, side]`, the decoded window.
        side: Cells across.
        x: x of the cell in the window; it may lie outside.
        y: y of the cell in the window.
    """
    nearest, total, free_neighbours = side, 0, 0
    for i in range(side):
        for j in range(side):
            away = max(abs(x - i), abs(y - j))
            if window[PREDATOR, i, j] > 0:
                nearest = min(nearest, away)
                total += min(away, side)
            if away == 1 and window[WALL, i, j] == 0:
                free_neighbours += 1
    grass = 4 if 0 <= x < side and 0 <= y < side and window[GRASS, x, y] > 0 else 0
    return 10_000 * nearest + 20 * total + free_neighbours + grass


@inline
def _flee(decoder: WindowDecoder, group: int, window: Ints) -> int:
    """Return the action that leads to the safest cell, the first of equals.

    Args:
        decoder: Moves of the groups.
        group: Group of the agent.
        window: `[4, side, side]`, the decoded window.
    """
    side, species = decoder.side[group], decoder.species[group]
    best, best_safety = -1, -1
    for action in range(decoder.n_actions[group]):
        dx, dy = decoder.moves[group, action, 0], decoder.moves[group, action, 1]
        if navigation.can_move(window, side, species, dx, dy):
            safety = _score_safety(window, side, side // 2 + dx, side // 2 + dy)
            if safety > best_safety:
                best, best_safety = action, safety
    return best


@inline
def _mark_grass(window: Ints, side: int, distances: Ints, params: GrazerParams) -> None:
    """Mark grass that no other prey occupies as goals; poor grass counts as farther away.

    Args:
        window: `[4, side, side]`, the decoded window.
        side: Cells across.
        distances: `[side, side]`, set to the cost of each goal.
        params: Grass within `flee_distance_weak` of a predator is left out.
    """
    half, best = side // 2, 0
    for x in range(side):
        for y in range(side):
            best = max(best, window[GRASS, x, y])
    for x in range(side):
        for y in range(side):
            grass = window[GRASS, x, y]
            taken = window[PREY, x, y] > 0 and (x != half or y != half)
            if grass > 0 and not taken and _is_safe(window, side, x, y, params.flee_distance_weak):
                distances[x, y] = (_GRASS_WEIGHT * (best - grass)) // best


@inline
def _is_safe(window: Ints, side: int, x: int, y: int, near: int) -> bool:
    """Return whether no predator is within `near` cells of a cell.

    Args:
        window: `[4, side, side]`, the decoded window.
        side: Cells across.
        x: x of the cell in the window.
        y: y of the cell in the window.
        near: Distance in cells.
    """
    for i in range(max(x - near, 0), min(x + near + 1, side)):
        for j in range(max(y - near, 0), min(y + near + 1, side)):
            if window[PREDATOR, i, j] > 0:
                return False
    return True


@kernel
def _graze(batch: ScriptBatch, params: GrazerParams) -> None:
    """Choose the actions of a batch of grazers."""
    decoder, window, distances = batch.decoder, batch.window, batch.distances
    for i in range(batch.group.shape[0]):
        group, walk = batch.group[i], batch.walk[batch.memory_index[i]]
        decode_window(decoder, group, batch.words, batch.floats, i, window)
        side, action = decoder.side[group], -1
        if decoder.species[group] == PREY:
            if _is_threatened(window, side, params):
                action = _flee(decoder, group, window)
            else:
                navigation.reset_field(distances, side)
                _mark_grass(window, side, distances, params)
                navigation.compute_distances(window, side, distances)
                action = navigation.choose_descent(decoder, group, window, distances)
        if action >= 0:
            navigation.forget_view(walk)
        else:
            action = navigation.explore(decoder, group, window, walk, batch.keys[i])
        batch.out[i, 0] = action
