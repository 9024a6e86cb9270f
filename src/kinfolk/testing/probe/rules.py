"""The rules of the probe world: one function per phase, in uid order within each."""

from __future__ import annotations

from typing import NamedTuple

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import inline, kernel
from kinfolk.core.random import fold_in, randint, uniform
from kinfolk.testing.probe.state import BIRTH, BITE, DEATH, GRAZER, HUNTER, MEAL, ProbeState


class ProbeParams(NamedTuple):
    """The settings that kernels read."""

    grazers: int
    hunters: int
    max_ticks: int
    start_energy: int
    meal: int
    bite: int
    birth_energy: int
    birth_cost: int
    max_age: int
    growth: float


@inline
def log_event(s: ProbeState, w: int, kind: int, uid: int, other: int, value: int) -> None:
    """Keep a happening."""
    at = s.logged[w]
    s.log[w, at, 0] = kind
    s.log[w, at, 1] = uid
    s.log[w, at, 2] = other
    s.log[w, at, 3] = value
    s.logged[w] = at + 1


@inline
def spawn(s: ProbeState, w: int, row: int, group: int, cell: int, energy: int) -> None:
    """Begin a life in `row`, without parents."""
    s.uid[w, row] = s.next_uid[w]
    s.next_uid[w] += 1
    s.alive[w, row] = True
    s.terminated[w, row] = False
    s.truncated[w, row] = False
    s.reward[w, row] = 0.0
    s.group[w, row] = group
    s.cell[w, row] = cell
    s.energy[w, row] = energy
    s.age[w, row] = 0
    s.calling[w, row] = False
    for side in range(2):
        s.parents[w, row, side] = -1
        s.parent_rows[w, row, side] = -1
    s.order[w, s.living[w]] = row
    s.living[w] += 1


@inline
def clear(s: ProbeState, w: int) -> None:
    """Empty world `w`: nobody lives, nothing grows, nothing is counted."""
    s.tick[w] = 0
    s.next_uid[w] = 0
    s.living[w] = 0
    s.births[w] = 0
    s.deaths[w] = 0
    s.blocked[w] = 0
    s.grown[w] = 0
    s.spent[w] = 0
    s.lost[w] = 0
    s.logged[w] = 0
    for cell in range(s.food.shape[1]):
        s.food[w, cell] = 0
    for row in range(s.uid.shape[1]):
        s.uid[w, row] = -1
        s.alive[w, row] = False
        s.terminated[w, row] = False
        s.truncated[w, row] = False
        s.reward[w, row] = 0.0


@kernel
def reset(s: ProbeState, rules: ProbeParams, worlds: Ints, keys: Ints) -> None:
    """Begin episodes: founders on cells drawn from the key."""
    for i in range(worlds.shape[0]):
        w = worlds[i]
        clear(s, w)
        s.key[w] = keys[i]
        s.done[w] = False
        for founder in range(rules.grazers + rules.hunters):
            group = GRAZER if founder < rules.grazers else HUNTER
            cell = randint(keys[i], founder, s.food.shape[1])
            spawn(s, w, founder, group, cell, rules.start_energy)


@inline
def free_dead_rows(s: ProbeState, w: int) -> None:
    """Give away the rows of those that died in the step before; pay starts at nothing."""
    for row in range(s.uid.shape[1]):
        s.reward[w, row] = 0.0
        if s.uid[w, row] >= 0 and not s.alive[w, row]:
            s.uid[w, row] = -1
            s.terminated[w, row] = False


@inline
def move(s: ProbeState, w: int, actions: Ints) -> None:
    """Left, stay or right on the ring; a step costs 1. Whoever calls is heard this tick."""
    rows, cells = s.uid.shape[1], s.food.shape[1]
    for i in range(s.living[w]):
        row = s.order[w, i]
        way = actions[w * rows + row, 0] - 1
        s.calling[w, row] = actions[w * rows + row, 1] == 1
        s.age[w, row] += 1
        if way != 0:
            s.cell[w, row] = (s.cell[w, row] + way + cells) % cells
            s.energy[w, row] -= 1
            s.spent[w] += 1


@inline
def eat(s: ProbeState, w: int, rules: ProbeParams, watching: bool) -> None:
    """A grazer takes the meal under it; a hunter taps the first grazer on its cell."""
    for i in range(s.living[w]):
        row = s.order[w, i]
        cell = s.cell[w, row]
        if s.group[w, row] == GRAZER:
            if s.food[w, cell] > 0:
                s.food[w, cell] -= 1
                s.energy[w, row] += rules.meal
                s.reward[w, row] += rules.meal
                if watching:
                    log_event(s, w, MEAL, s.uid[w, row], cell, rules.meal)
        else:
            for j in range(s.living[w]):
                prey = s.order[w, j]
                if s.group[w, prey] == GRAZER and s.cell[w, prey] == cell and s.energy[w, prey] > 0:
                    taken = min(rules.bite, s.energy[w, prey])
                    s.energy[w, prey] -= taken
                    s.energy[w, row] += taken
                    s.reward[w, row] += taken
                    if watching:
                        log_event(s, w, BITE, s.uid[w, row], s.uid[w, prey], taken)
                    break


@inline
def free_row(s: ProbeState, w: int) -> int:
    """The lowest empty row, -1 if all are taken."""
    for row in range(s.uid.shape[1]):
        if s.uid[w, row] < 0:
            return row
    return -1


@inline
def breed(s: ProbeState, w: int, rules: ProbeParams, watching: bool) -> None:
    """Two of a group that call on one cell and can pay have a child there; each pays half.

    Nobody breeds twice in a tick, and nobody in the tick of its birth.
    """
    adults = s.living[w]
    for i in range(adults):
        for j in range(i + 1, adults):
            a, b = s.order[w, i], s.order[w, j]
            if (
                s.calling[w, a]
                and s.calling[w, b]
                and s.group[w, a] == s.group[w, b]
                and s.cell[w, a] == s.cell[w, b]
                and s.energy[w, a] >= rules.birth_energy
                and s.energy[w, b] >= rules.birth_energy
            ):
                s.calling[w, a] = False
                s.calling[w, b] = False
                child = free_row(s, w)
                if child < 0:
                    s.blocked[w] += 1
                    continue
                s.energy[w, a] -= rules.birth_cost
                s.energy[w, b] -= rules.birth_cost
                spawn(s, w, child, s.group[w, a], s.cell[w, a], 2 * rules.birth_cost)
                s.parents[w, child, 0] = s.uid[w, a]
                s.parents[w, child, 1] = s.uid[w, b]
                s.parent_rows[w, child, 0] = a
                s.parent_rows[w, child, 1] = b
                s.reward[w, a] += 1.0
                s.reward[w, b] += 1.0
                s.births[w] += 1
                if watching:
                    log_event(s, w, BIRTH, s.uid[w, child], s.uid[w, a], s.uid[w, b])


@inline
def die(s: ProbeState, w: int, rules: ProbeParams, watching: bool) -> None:
    """Those out of energy, or too old, end. Their rows stay theirs until the next step."""
    kept = 0
    for i in range(s.living[w]):
        row = s.order[w, i]
        if s.energy[w, row] <= 0 or s.age[w, row] >= rules.max_age:
            s.alive[w, row] = False
            s.terminated[w, row] = True
            s.deaths[w] += 1
            s.lost[w] += s.energy[w, row]
            if watching:
                log_event(s, w, DEATH, s.uid[w, row], -1, s.age[w, row])
        else:
            s.order[w, kept] = row
            kept += 1
    s.living[w] = kept


@inline
def grow(s: ProbeState, w: int, rules: ProbeParams) -> None:
    """Each empty cell may grow a meal."""
    chance = fold_in(s.key[w], s.tick[w])
    for cell in range(s.food.shape[1]):
        if s.food[w, cell] == 0 and uniform(chance, cell) < rules.growth:
            s.food[w, cell] = 1
            s.grown[w] += 1


@inline
def finish(s: ProbeState, w: int, rules: ProbeParams) -> None:
    """The clock goes on; the episode ends when nobody is left or time is up."""
    s.tick[w] += 1
    if s.tick[w] >= rules.max_ticks:
        s.done[w] = True
        for i in range(s.living[w]):
            s.truncated[w, s.order[w, i]] = True
    if s.living[w] == 0:
        s.done[w] = True


@kernel
def step(s: ProbeState, rules: ProbeParams, actions: Ints, watching: bool) -> None:
    """Release, move, eat, breed, die, grow, finish: in that order, once each."""
    for w in range(s.uid.shape[0]):
        if s.done[w]:
            continue
        s.logged[w] = 0
        free_dead_rows(s, w)
        move(s, w, actions)
        eat(s, w, rules, watching)
        breed(s, w, rules, watching)
        die(s, w, rules, watching)
        grow(s, w, rules)
        finish(s, w, rules)
