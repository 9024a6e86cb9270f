"""A hunter: the nearest prey that it, with those beside it, is strong enough for.

It rests when full, for hunters that never rest eat up their prey (tuned on 20 seeds against
grazers). It does not know whether capture takes strength; where it does not, as in the lineage
presets, `desperate_energy=100` makes it hunt whatever it sees.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import inline, kernel
from kinfolk.core.spaces import WorldSpec
from kinfolk.policies.scripted.savanna.navigation import (
    choose_descent,
    compute_distances,
    explore,
    forget_view,
    reset_field,
    stay_action,
)
from kinfolk.policies.scripted.savanna.scripted_policy import ScriptedPolicy, check_params
from kinfolk.policies.scripted.savanna.window_decoder import (
    PREDATOR,
    PREY,
    Planes,
    WindowDecoder,
    Words,
    decode_window,
)
from kinfolk.worlds.savanna.spec import CODES_PER_ENERGY

_TEAM_RADIUS = 2  # team-mates so near to the hunter, or to the prey, hunt with it
_DETOUR = 2  # steps more that a team-mate beside prey is worth


class HunterParams(NamedTuple):
    """Energies, in the steps in which they are seen."""

    rest_energy: int  # does not hunt from here on
    desperate_energy: int  # below this it hunts anything
    hunt_cost: int  # what each predator spends until the capture


class Hunter(ScriptedPolicy):
    """Plays predators: hunts, joins a team-mate when too weak alone, explores when nothing is seen.

    Prey played by a hunter only wanders.

    Args:
        spec: The face of a savanna, in either form of observation.
        full: The energy from which on it rests.
        desperate: The energy below which it hunts what may be too strong for it.
        effort: The energy that it expects itself and each helper to lose until the capture.
    """

    def __init__(
        self,
        spec: WorldSpec,
        rest_energy: float = 9.0,
        desperate_energy: float = 1.0,
        hunt_cost: float = 0.25,
    ) -> None:
        check_params(
            "Hunter",
            rest_energy=rest_energy,
            desperate_energy=desperate_energy,
            hunt_cost=hunt_cost,
        )
        super().__init__(
            spec,
            HunterParams(
                *(round(e * CODES_PER_ENERGY) for e in (rest_energy, desperate_energy, hunt_cost))
            ),
        )

    @classmethod
    def kernels(cls) -> tuple[Callable[..., None]]:
        """The one that hunts."""
        return (_hunt,)


@inline
def _distance(x: int, y: int, to_x: int, to_y: int) -> int:
    return max(abs(x - to_x), abs(y - to_y))


@inline
def _strength(window: Ints, side: int, x: int, y: int, hunt_cost: int) -> int:
    """What the hunter and the team-mates near it or near the prey at x, y bring together."""
    half, total = side // 2, 0
    for i in range(side):
        for j in range(side):
            energy = window[PREDATOR, i, j]
            if energy > hunt_cost:
                near = min(_distance(i, j, x, y), _distance(i, j, half, half))
                if near <= _TEAM_RADIUS:
                    total += energy - hunt_cost
    return total


@inline
def _mark_prey(window: Ints, side: int, distances: Ints, params: HunterParams) -> int:
    """Make goals of the prey that can be taken; returns how many are too strong."""
    half, too_strong = side // 2, 0
    desperate = window[PREDATOR, half, half] < params.desperate_energy
    for x in range(side):
        for y in range(side):
            energy = window[PREY, x, y]
            if energy == 0:
                continue
            if desperate or _strength(window, side, x, y, params.hunt_cost) > energy:
                distances[x, y] = 0
            else:
                too_strong += 1
    return too_strong


@inline
def _mark_teammates(window: Ints, side: int, distances: Ints) -> None:
    """Make goals of team-mates; those near prey are worth a detour."""
    half = side // 2
    for x in range(side):
        for y in range(side):
            if window[PREDATOR, x, y] == 0 or (x == half and y == half):
                continue
            distances[x, y] = _DETOUR
            for i in range(max(x - _TEAM_RADIUS, 0), min(x + _TEAM_RADIUS + 1, side)):
                for j in range(max(y - _TEAM_RADIUS, 0), min(y + _TEAM_RADIUS + 1, side)):
                    if window[PREY, i, j] > 0:
                        distances[x, y] = 0


@kernel
def _hunt(
    words: Words, floats: Planes, memory_index: Ints, group: Ints, keys: Ints, walk: Ints, decoder: WindowDecoder,
    window: Ints, distances: Ints, params: HunterParams, out: Ints,
) -> None:  # fmt: skip
    for i in range(memory_index.shape[0]):
        kind = group[i]
        decode_window(decoder, kind, words, floats, i, window)
        side = decoder.side[kind]
        action = -1
        if decoder.species[kind] == PREDATOR:
            if window[PREDATOR, side // 2, side // 2] >= params.rest_energy:
                action = stay_action(decoder, kind)
            else:
                reset_field(distances, side)
                too_strong = _mark_prey(window, side, distances, params)
                compute_distances(window, side, distances)
                action = choose_descent(decoder, kind, window, distances)
                if action < 0 and too_strong > 0:
                    _mark_teammates(window, side, distances)
                    compute_distances(window, side, distances)
                    action = choose_descent(decoder, kind, window, distances)
        if action >= 0:
            forget_view(walk, memory_index[i])
        else:
            action = explore(decoder, kind, window, walk, memory_index[i], keys[i])
        out[i, 0] = action
