"""A grazer: the best grass nearby, away from predators.

Its nerves are tuned on 20 seeds against hunters: more timid grazers starve the hunters, bolder
ones are eaten up. Where a bite needs the prey's own cell, `flee_distance_weak=0, flee_distance_strong=1` fits better: on
lineage_documented, against hunters with `desperate_energy=100`, episodes then last twice as long.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import inline, kernel
from kinfolk.core.spaces import WorldSpec
from kinfolk.policies.scripted.savanna.navigation import (
    MAX_GOAL_COST,
    can_move,
    choose_descent,
    compute_distances,
    explore,
    forget_view,
    reset_field,
)
from kinfolk.policies.scripted.savanna.scripted_policy import ScriptedPolicy, check_params
from kinfolk.policies.scripted.savanna.window_decoder import (
    GRASS,
    PREDATOR,
    PREY,
    WALL,
    Planes,
    WindowDecoder,
    Words,
    decode_window,
)

_GRASS_WEIGHT = MAX_GOAL_COST  # steps farther that ripe grass is worth, compared with bare ground


class GrazerParams(NamedTuple):
    """How near predators may come."""

    flee_distance_weak: int  # those that together could not take it
    flee_distance_strong: int  # those that could


class Grazer(ScriptedPolicy):
    """Plays prey: goes to good grass nearby, flees predators, explores when nothing is seen.

    Predators played by a grazer only wander.

    Args:
        spec: The face of a savanna, in either form of observation.
        weak: It flees predators that come so near, however weak.
        strong: It flees from so far predators that together have the energy to take it.
    """

    def __init__(
        self, spec: WorldSpec, flee_distance_weak: int = 1, flee_distance_strong: int = 2
    ) -> None:
        check_params(
            "Grazer",
            flee_distance_weak=flee_distance_weak,
            flee_distance_strong=flee_distance_strong,
        )
        super().__init__(spec, GrazerParams(int(flee_distance_weak), int(flee_distance_strong)))

    @classmethod
    def kernels(cls) -> tuple[Callable[..., None]]:
        """The one that grazes."""
        return (_graze,)


@inline
def _is_threatened(window: Ints, side: int, params: GrazerParams) -> bool:
    """Whether predators are too near, which is farther for those that are strong together."""
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
def _safety(window: Ints, side: int, x: int, y: int) -> int:
    """How good a cell is to flee to: far from the nearest predator, then from all, then open."""
    nearest, total, room = side, 0, 0
    for i in range(side):
        for j in range(side):
            away = max(abs(x - i), abs(y - j))
            if window[PREDATOR, i, j] > 0:
                nearest = min(nearest, away)
                total += min(away, side)
            if away == 1 and window[WALL, i, j] == 0:
                room += 1
    grass = 4 if 0 <= x < side and 0 <= y < side and window[GRASS, x, y] > 0 else 0
    return 10_000 * nearest + 20 * total + room + grass


@inline
def _flee(decoder: WindowDecoder, group: int, window: Ints) -> int:
    """The move to the safest cell; the first of equals."""
    side, own = decoder.side[group], decoder.species[group]
    best, most = -1, -1
    for action in range(decoder.n_actions[group]):
        dx, dy = decoder.moves[group, action, 0], decoder.moves[group, action, 1]
        if can_move(window, side, own, dx, dy):
            safety = _safety(window, side, side // 2 + dx, side // 2 + dy)
            if safety > most:
                best, most = action, safety
    return best


@inline
def _mark_grass(window: Ints, side: int, distances: Ints, params: GrazerParams) -> None:
    """Make goals of grass that no other prey stands on; poor grass counts as farther away."""
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
    """Whether no predator stands so near to a cell."""
    for i in range(max(x - near, 0), min(x + near + 1, side)):
        for j in range(max(y - near, 0), min(y + near + 1, side)):
            if window[PREDATOR, i, j] > 0:
                return False
    return True


@kernel
def _graze(
    words: Words, floats: Planes, memory_index: Ints, group: Ints, keys: Ints, walk: Ints, decoder: WindowDecoder,
    window: Ints, distances: Ints, params: GrazerParams, out: Ints,
) -> None:  # fmt: skip
    for i in range(memory_index.shape[0]):
        kind = group[i]
        decode_window(decoder, kind, words, floats, i, window)
        side = decoder.side[kind]
        action = -1
        if decoder.species[kind] == PREY:
            if _is_threatened(window, side, params):
                action = _flee(decoder, kind, window)
            else:
                reset_field(distances, side)
                _mark_grass(window, side, distances, params)
                compute_distances(window, side, distances)
                action = choose_descent(decoder, kind, window, distances)
        if action >= 0:
            forget_view(walk, memory_index[i])
        else:
            action = explore(decoder, kind, window, walk, memory_index[i], keys[i])
        out[i, 0] = action
