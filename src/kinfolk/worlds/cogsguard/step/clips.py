"""The clips of edition F, an automatic opponent that acts at fixed periods."""

from __future__ import annotations

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import inline
from kinfolk.core.random import fold_in, randint
from kinfolk.worlds.cogsguard import codes
from kinfolk.worlds.cogsguard.rules import ANY_REACH, CogsguardRules
from kinfolk.worlds.cogsguard.state import GameArrays
from kinfolk.worlds.cogsguard.step.networks import (
    ALIGN_TIMER,
    RESEED_TIMER,
    SCRAMBLE_TIMER,
    SEED_TIMER,
    is_due,
    take_junction,
)

_CLIPS_KEY = 1  # folded into a tick's key


@inline
def is_found_by_clips(junction: Ints, rules: CogsguardRules, w: int, index: int) -> bool:
    """Return whether the clips find a junction as theirs, to spread from it.

    With the quirk `clips_lose_marks` they find only junctions that were theirs from the start, with
    `clips_find_all` all junctions, whoever holds them.

    Args:
        junction: `[W, J, JUNCTION_COLUMNS]`.
        rules: Rules of the batch.
        w: World.
        index: Which junction.
    """
    if junction[w, index, codes.JUNCTION_CELL] == 0:
        return False
    if rules.clips_reach == ANY_REACH:
        return True
    if junction[w, index, codes.JUNCTION_OWNER] != rules.teams:
        return False
    marks = junction[w, index, codes.JUNCTION_CLIPS_MARKS]
    return bool(marks & codes.CLIPS_FOUND != 0 or not rules.clips_lose_marks)


@inline
def is_near_clips(junction: Ints, rules: CogsguardRules, w: int, cell: int) -> bool:
    """Return whether a cell is in the square of reach around a junction that the clips find.

    Args:
        junction: `[W, J, JUNCTION_COLUMNS]`.
        rules: Rules of the batch.
        w: World.
        cell: Cell in question.
    """
    stride, reach = rules.stride, rules.clips_reach
    if reach == ANY_REACH:  # it is at least near itself
        return True
    for j in range(junction.shape[1]):
        if is_found_by_clips(junction, rules, w, j):
            other = junction[w, j, codes.JUNCTION_CELL]
            rows, columns = cell // stride - other // stride, cell % stride - other % stride
            if max(abs(rows), abs(columns)) <= reach:
                return True
    return False


@inline
def is_target(junction: Ints, rules: CogsguardRules, w: int, index: int, timer: int) -> bool:
    """Return whether a junction can be seeded, or aligned or scrambled from a junction of the clips.

    Args:
        junction: `[W, J, JUNCTION_COLUMNS]`.
        rules: Rules of the batch.
        w: World.
        index: Which junction.
        timer: Any of the timers; a junction of any owner can be seeded.
    """
    cell, owner = junction[w, index, codes.JUNCTION_CELL], junction[w, index, codes.JUNCTION_OWNER]
    if cell == 0:
        return False
    if timer in (SEED_TIMER, RESEED_TIMER):
        return True
    if timer == ALIGN_TIMER and owner >= 0:
        return False
    if timer == SCRAMBLE_TIMER and (owner < 0 or owner == rules.teams):
        return False
    return is_near_clips(junction, rules, w, cell)


@inline
def choose_target(junction: Ints, rules: CogsguardRules, w: int, timer: int, key: int) -> int:
    """Draw one of the junctions that are targets of an action; -1 if there is none.

    Args:
        junction: `[W, J, JUNCTION_COLUMNS]`.
        rules: Rules of the batch.
        w: World.
        timer: Row of `rules.timers`.
        key: Random key.
    """
    n_targets = 0
    for j in range(junction.shape[1]):
        if is_target(junction, rules, w, j, timer):
            n_targets += 1
    if n_targets == 0:
        return -1
    chosen = randint(key, timer, n_targets)
    for j in range(junction.shape[1]):
        if is_target(junction, rules, w, j, timer):
            if chosen == 0:
                return j
            chosen -= 1
    return -1


@inline
def find_any_junction(junction: Ints, rules: CogsguardRules, w: int) -> bool:
    """Return whether the clips find a junction of theirs.

    Args:
        junction: `[W, J, JUNCTION_COLUMNS]`.
        rules: Rules of the batch.
        w: World.
    """
    n_found = 0
    for j in range(junction.shape[1]):
        n_found += is_found_by_clips(junction, rules, w, j)
    return n_found > 0


@inline
def run_clips_events(
    game: GameArrays, rules: CogsguardRules, events: Ints, w: int, tick: int, key: int
) -> None:
    """Run the clips' actions of edition F that are due, each on one junction.

    They seed one at first, and again when they find none of theirs.

    Args:
        game: Written.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
        tick: Current tick.
        key: Random key of the tick.
    """
    junction = game.junction
    for timer in range(4):
        if not is_due(rules.timers, timer, tick):
            continue
        if timer == RESEED_TIMER and find_any_junction(junction, rules, w):
            continue
        target = choose_target(junction, rules, w, timer, fold_in(key, _CLIPS_KEY))
        if target >= 0:
            take_junction(game, rules, events, w, target, timer != SCRAMBLE_TIMER)
