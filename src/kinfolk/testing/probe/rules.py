"""Rules of the probe world: one function per phase of a step; each visits agents in uid order.

Every function reads and writes the arrays of `ProbeState` for one world `w`, as its docstring says.
"""

from __future__ import annotations

from typing import NamedTuple

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import inline, kernel
from kinfolk.core.random import fold_in, randint, uniform
from kinfolk.testing.probe.state import BIRTH, BITE, DEATH, GRAZER, HUNTER, MEAL, ProbeState


class ProbeParams(NamedTuple):
    """Settings of `Probe` that the kernels read, under the same names."""

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
    """Append an event to `log` and count it in `logged`.

    Args:
        s: State; `log` and `logged` are written.
        w: World.
        kind: Index into `EVENT_KINDS`.
        uid: Agent it happened to.
        other: Other agent or cell, -1 if there is none.
        value: Amount, such as energy.
    """
    entry = s.logged[w]
    s.log[w, entry] = (kind, uid, other, value)
    s.logged[w] = entry + 1


@inline
def spawn(s: ProbeState, w: int, row: int, group: int, cell: int, energy: int) -> None:
    """Place a new agent without parents in an empty row, and count it as living.

    Args:
        s: State; all columns of the row, `order`, `living` and `next_uid` are written.
        w: World.
        row: An empty row.
        group: GRAZER or HUNTER.
        cell: Where the agent stands.
        energy: Its energy.
    """
    s.uid[w, row] = s.next_uid[w]
    s.next_uid[w] += 1
    s.alive[w, row] = True
    s.terminated[w, row] = s.truncated[w, row] = s.calling[w, row] = False
    s.reward[w, row] = 0.0
    s.group[w, row] = group
    s.cell[w, row] = cell
    s.energy[w, row] = energy
    s.age[w, row] = 0
    s.parents[w, row] = -1
    s.parent_rows[w, row] = -1
    s.order[w, s.living[w]] = row
    s.living[w] += 1


@inline
def clear(s: ProbeState, w: int) -> None:
    """Remove all agents and food of a world, and set its counters to 0."""
    s.tick[w] = s.next_uid[w] = s.living[w] = s.logged[w] = 0
    s.births[w] = s.deaths[w] = s.blocked[w] = 0
    s.grown[w] = s.spent[w] = s.lost[w] = 0
    s.food[w] = 0
    s.uid[w] = -1
    s.alive[w] = False
    s.terminated[w] = False
    s.truncated[w] = False
    s.reward[w] = 0.0


@kernel
def reset(s: ProbeState, rules: ProbeParams, worlds: Ints, keys: Ints) -> None:
    """Start episodes: place the founders on cells drawn from each world's random key.

    Args:
        s: State; all arrays of `worlds` are written.
        rules: Settings.
        worlds: Indices of the worlds to reset.
        keys: Random key of each of them.
    """
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
    """Free the rows of agents that died in the step before, and set all rewards to 0."""
    for row in range(s.uid.shape[1]):
        s.reward[w, row] = 0.0
        if s.uid[w, row] >= 0 and not s.alive[w, row]:
            s.uid[w, row] = -1
            s.terminated[w, row] = False


@inline
def move(s: ProbeState, w: int, actions: Ints) -> None:
    """Move agents along the ring for 1 energy a step, and note which of them call.

    Args:
        s: State; `cell`, `calling`, `age`, `energy` and `spent` are written.
        w: World.
        actions: `[worlds * rows, 2]`, movement (left, stay, right) and voice (quiet, call).
    """
    rows, cells = s.uid.shape[1], s.food.shape[1]
    for i in range(s.living[w]):
        row = s.order[w, i]
        direction = actions[w * rows + row, 0] - 1
        s.calling[w, row] = actions[w * rows + row, 1] == 1
        s.age[w, row] += 1
        if direction != 0:
            s.cell[w, row] = (s.cell[w, row] + direction + cells) % cells
            s.energy[w, row] -= 1
            s.spent[w] += 1


@inline
def eat(s: ProbeState, w: int, rules: ProbeParams, record: bool) -> None:
    """Let grazers eat the meal in their cell, and hunters bite the first grazer in theirs.

    Args:
        s: State; `food`, `energy` and `reward` are written, and events if they are recorded.
        w: World.
        rules: Settings; `meal` and `bite` are read.
        record: Whether to log events.
    """
    for i in range(s.living[w]):
        row = s.order[w, i]
        cell = s.cell[w, row]
        if s.group[w, row] == GRAZER:
            if s.food[w, cell] > 0:
                s.food[w, cell] -= 1
                s.energy[w, row] += rules.meal
                s.reward[w, row] += rules.meal
                if record:
                    log_event(s, w, MEAL, s.uid[w, row], cell, rules.meal)
        else:
            for j in range(s.living[w]):
                prey = s.order[w, j]
                if s.group[w, prey] == GRAZER and s.cell[w, prey] == cell and s.energy[w, prey] > 0:
                    taken = min(rules.bite, s.energy[w, prey])
                    s.energy[w, prey] -= taken
                    s.energy[w, row] += taken
                    s.reward[w, row] += taken
                    if record:
                        log_event(s, w, BITE, s.uid[w, row], s.uid[w, prey], taken)
                    break


@inline
def free_row(s: ProbeState, w: int) -> int:
    """Return the lowest empty row, -1 if there is none."""
    for row in range(s.uid.shape[1]):
        if s.uid[w, row] < 0:
            return row
    return -1


@inline
def is_ready(s: ProbeState, w: int, row: int, rules: ProbeParams) -> bool:
    """Return whether an agent calls and has enough energy for a child."""
    return bool(s.calling[w, row] and s.energy[w, row] >= rules.birth_energy)


@inline
def breed(s: ProbeState, w: int, rules: ProbeParams, record: bool) -> None:
    """Let pairs of a group that call in one cell and have enough energy have a child there.

    Each parent gives the child `birth_cost` energy and gets reward 1. An agent has at most one
    child per tick, and none in the tick of its birth.

    Args:
        s: State; the child's row, the parents' `energy`, `reward` and `calling`, `births` and
            `blocked` are written, and events if they are recorded.
        w: World.
        rules: Settings; `birth_energy` and `birth_cost` are read.
        record: Whether to log events.
    """
    adults = s.living[w]
    for i in range(adults):
        for j in range(i + 1, adults):
            a, b = s.order[w, i], s.order[w, j]
            meet = s.group[w, a] == s.group[w, b] and s.cell[w, a] == s.cell[w, b]
            if meet and is_ready(s, w, a, rules) and is_ready(s, w, b, rules):
                s.calling[w, a] = s.calling[w, b] = False
                child = free_row(s, w)
                if child < 0:
                    s.blocked[w] += 1
                    continue
                spawn(s, w, child, s.group[w, a], s.cell[w, a], 2 * rules.birth_cost)
                for side, parent in enumerate((a, b)):
                    s.energy[w, parent] -= rules.birth_cost
                    s.reward[w, parent] += 1.0
                    s.parents[w, child, side] = s.uid[w, parent]
                    s.parent_rows[w, child, side] = parent
                s.births[w] += 1
                if record:
                    log_event(s, w, BIRTH, s.uid[w, child], s.uid[w, a], s.uid[w, b])


@inline
def die(s: ProbeState, w: int, rules: ProbeParams, record: bool) -> None:
    """End agents without energy or above the maximum age; their rows are freed in the next step.

    Args:
        s: State; `alive`, `terminated`, `order`, `living`, `deaths` and `lost` are written, and
            events if they are recorded.
        w: World.
        rules: Settings; `max_age` is read.
        record: Whether to log events.
    """
    survivors = 0
    for i in range(s.living[w]):
        row = s.order[w, i]
        if s.energy[w, row] <= 0 or s.age[w, row] >= rules.max_age:
            s.alive[w, row] = False
            s.terminated[w, row] = True
            s.deaths[w] += 1
            s.lost[w] += s.energy[w, row]
            if record:
                log_event(s, w, DEATH, s.uid[w, row], -1, s.age[w, row])
        else:
            s.order[w, survivors] = row
            survivors += 1
    s.living[w] = survivors


@inline
def grow(s: ProbeState, w: int, rules: ProbeParams) -> None:
    """Grow a meal in each empty cell with probability `growth`.

    Args:
        s: State; `food` and `grown` are written.
        w: World.
        rules: Settings; `growth` is read.
    """
    key = fold_in(s.key[w], s.tick[w])
    for cell in range(s.food.shape[1]):
        if s.food[w, cell] == 0 and uniform(key, cell) < rules.growth:
            s.food[w, cell] = 1
            s.grown[w] += 1


@inline
def finish(s: ProbeState, w: int, rules: ProbeParams) -> None:
    """Count the tick, and end the episode when no agent is left or time is up.

    Args:
        s: State; `tick`, `done` and `truncated` are written.
        w: World.
        rules: Settings; `max_ticks` is read.
    """
    s.tick[w] += 1
    is_over = s.tick[w] >= rules.max_ticks
    s.done[w] = is_over or s.living[w] == 0
    for i in range(s.living[w] if is_over else 0):
        s.truncated[w, s.order[w, i]] = True


@kernel
def step(s: ProbeState, rules: ProbeParams, actions: Ints, record: bool) -> None:
    """Advance every world that is not done by one tick: the phases in their order, once each.

    Args:
        s: State of all worlds.
        rules: Settings.
        actions: `[worlds * rows, 2]`, movement and voice.
        record: Whether to log events.
    """
    for w in range(s.uid.shape[0]):
        if s.done[w]:
            continue
        s.logged[w] = 0
        free_dead_rows(s, w)
        move(s, w, actions)
        eat(s, w, rules, record)
        breed(s, w, rules, record)
        die(s, w, rules, record)
        grow(s, w, rules)
        finish(s, w, rules)
