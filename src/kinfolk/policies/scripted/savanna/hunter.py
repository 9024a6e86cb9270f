"""A scripted predator that hunts the nearest prey it and its neighbours are strong enough for.

It rests when full, since hunters that never rest exterminate their prey (tuned on 20 seeds against
grazers). It cannot observe whether the rules require strength for a capture; where they do not, as in
the lineage presets, `desperate_energy=100` makes it hunt any prey in view.

Where predators choose whether to join a hunt, it is a joiner by default, with `join=never` a free rider,
and with `join=with_others` a conditional co-operator.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kinfolk.core.arrays import Ints
from kinfolk.core.errors import require
from kinfolk.core.jit import inline, kernel
from kinfolk.core.spaces import WorldSpec
from kinfolk.policies.scripted.savanna import navigation
from kinfolk.policies.scripted.savanna.scripted_policy import (
    PREDATOR,
    PREY,
    ScriptBatch,
    ScriptedPolicy,
    check_params,
    decode_window,
)
from kinfolk.worlds.savanna.spec import CODES_PER_ENERGY

_TEAM_RADIUS = 2  # cells from the hunter or the prey within which team-mates hunt with it
_DETOUR = 2  # extra steps that it walks to a team-mate near prey rather than to another


# When it joins a hunt, where that is a choice.
JOIN_RULES = ("never", "always", "with_others")
_ALWAYS, _WITH_OTHERS = 1, 2


class HunterParams(NamedTuple):
    """Parameters of a hunter; energies in units of 1/32, as observed."""

    rest_energy: int  # at or above this it rests
    desperate_energy: int  # below this it hunts prey that may be too strong
    hunt_cost: int  # energy that each predator spends until the capture
    join: int  # index into JOIN_RULES


class Hunter(ScriptedPolicy):
    """Plays predators: hunts, joins a team-mate when too weak alone, explores when no prey is in view.

    Prey that is assigned to a hunter only explores.

    Args:
        spec: Spec of a savanna, in either observation format.
        rest_energy: Energy at or above which it rests.
        desperate_energy: Energy below which it also hunts prey that may be too strong for it.
        hunt_cost: Energy that it expects itself and each helper to lose until the capture.
        join: When it joins a hunt, where that is a choice: "always", "never" (a free rider), or
            "with_others" (if another predator is within two cells of it).

    Raises:
        SettingsError: The world is not a savanna, or a parameter is invalid.
    """

    def __init__(
        self,
        spec: WorldSpec,
        rest_energy: float = 9.0,
        desperate_energy: float = 1.0,
        hunt_cost: float = 0.25,
        join: str = "always",
    ) -> None:
        values = (rest_energy, desperate_energy, hunt_cost)
        check_params("Hunter", dict(zip(HunterParams._fields, values, strict=False)))
        rules = ", ".join(JOIN_RULES)
        require(join in JOIN_RULES, f"Hunter.join must be one of {rules}, not {join!r}.")
        rest, desperate, cost = (round(e * CODES_PER_ENERGY) for e in values)
        super().__init__(spec, HunterParams(rest, desperate, cost, JOIN_RULES.index(join)))

    @classmethod
    def kernels(cls) -> tuple[Callable[..., None]]:
        """Return the kernel of the hunter."""
        return (_hunt,)


@inline
def _chebyshev_distance(x: int, y: int, to_x: int, to_y: int) -> int:
    """Return the Chebyshev distance of two cells.

    Args:
        x: x of the first cell.
        y: y of the first cell.
        to_x: x of the second cell.
        to_y: y of the second cell.
    """
    return max(abs(x - to_x), abs(y - to_y))


@inline
def _sum_strength(window: Ints, side: int, x: int, y: int, hunt_cost: int) -> int:
    """Return the joint energy of the hunter and its team-mates near it or near the prey at x, y.

    Args:
        window: `[4, side, side]`, the decoded window.
        side: Cells across.
        x: x of the prey in the window.
        y: y of the prey in the window.
        hunt_cost: Energy that each of them spends until the capture.
    """
    half, total = side // 2, 0
    for i in range(side):
        for j in range(side):
            energy = window[PREDATOR, i, j]
            if energy > hunt_cost:
                near = min(_chebyshev_distance(i, j, x, y), _chebyshev_distance(i, j, half, half))
                if near <= _TEAM_RADIUS:
                    total += energy - hunt_cost
    return total


@inline
def _mark_prey(window: Ints, side: int, distances: Ints, params: HunterParams) -> int:
    """Mark catchable prey as goals of the distance field.

    Args:
        window: `[4, side, side]`, the decoded window.
        side: Cells across.
        distances: `[side, side]`, set to 0 at the goals.
        params: Parameters of the hunter.

    Returns:
        Number of prey in view that are too strong.
    """
    half, too_strong = side // 2, 0
    desperate = window[PREDATOR, half, half] < params.desperate_energy
    for x in range(side):
        for y in range(side):
            energy = window[PREY, x, y]
            if energy == 0:
                continue
            if desperate or _sum_strength(window, side, x, y, params.hunt_cost) > energy:
                distances[x, y] = 0
            else:
                too_strong += 1
    return too_strong


@inline
def _mark_teammates(window: Ints, side: int, distances: Ints) -> None:
    """Mark team-mates as goals of the distance field, those near prey as closer.

    Args:
        window: `[4, side, side]`, the decoded window.
        side: Cells across.
        distances: `[side, side]`, set at the cells of team-mates.
    """
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


@inline
def _has_teammate(window: Ints, side: int) -> bool:
    """Return whether another predator is within `_TEAM_RADIUS` of the hunter."""
    half = side // 2
    for x in range(max(half - _TEAM_RADIUS, 0), min(half + _TEAM_RADIUS + 1, side)):
        for y in range(max(half - _TEAM_RADIUS, 0), min(half + _TEAM_RADIUS + 1, side)):
            if window[PREDATOR, x, y] > 0 and not (x == half and y == half):
                return True
    return False


@kernel
def _hunt(batch: ScriptBatch, params: HunterParams) -> None:
    """Choose the actions of a batch of hunters."""
    decoder, window, distances = batch.decoder, batch.window, batch.distances
    for i in range(batch.group.shape[0]):
        group, walk = batch.group[i], batch.walk[batch.memory_index[i]]
        decode_window(decoder, group, batch.words, batch.floats, i, window)
        side, action = decoder.side[group], -1
        if decoder.species[group] == PREDATOR:
            if window[PREDATOR, side // 2, side // 2] >= params.rest_energy:
                action = navigation.stay_action(decoder, group)
            else:
                navigation.reset_field(distances, side)
                too_strong = _mark_prey(window, side, distances, params)
                navigation.compute_distances(window, side, distances)
                action = navigation.choose_descent(decoder, group, window, distances)
                if action < 0 and too_strong > 0:
                    _mark_teammates(window, side, distances)
                    navigation.compute_distances(window, side, distances)
                    action = navigation.choose_descent(decoder, group, window, distances)
        if action >= 0:
            navigation.forget_view(walk)
        else:
            action = navigation.explore(decoder, group, window, walk, batch.keys[i])
        batch.out[i, 0] = action
        if batch.out.shape[1] > 1 and decoder.species[group] == PREDATOR:
            joins = params.join == _ALWAYS or (
                params.join == _WITH_OTHERS and _has_teammate(window, side)
            )
            batch.out[i, 1] = 1 if joins else 0
