"""Running programs: which behaviour of its list each agent acts by, this tick.

It knows no world: only ids, programs, a table of functions and an opaque state. The rule: an
active behaviour that has not ended and may be interrupted yields to a higher one that can start;
then it acts. If it has ended or cannot act, the list is scanned from the top, and the first that
can start and acts wins. If none does, the agent does nothing.

Behaviours in plain Python take part: the scan of a row stops where one is asked, Python answers,
and the scan goes on from there.

The state is whatever the hooks take: a plain tuple, or a NamedTuple of an installed module, for its
type is written into the cache of kernels and read again by every process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from kinfolk.core.arrays import Bools, Ints
from kinfolk.core.hooks import PLAIN, call2
from kinfolk.core.jit import inline, kernel
from kinfolk.roles.model import MOST_BEHAVIORS

CAN_START, ACT, SHOULD_TERMINATE = range(3)  # columns of the table of hooks
YES = 1  # the answer of `can_start`; anything else is no, below zero with a reason
HOLD = 16  # added to an action: the behaviour must not be interrupted now
_ACTION = HOLD - 1

# What an explanation says of each place of a program; a reason is `code % REASON`, as in -reason.
NOT_ASKED, ACTED, ENDED = 0, 1, 2
REASON = 1000
COULD_NOT_START, COULD_NOT_ACT = REASON, 2 * REASON

_HAS_ENDED, _HIGHER, _ACTIVE, _START, _TRY, _OVER = range(6)  # stages of a scan
_STAGE, _AT, _FAILED, _PENDING = range(4)  # columns of a cursor
CURSOR_COLUMNS = 4

PlainHook = Callable[[int, int, int], int]  # behaviour, hook, row of the batch -> answer


class Table(NamedTuple):
    """The behaviours by id: addresses of their three hooks, and whether they may be interrupted."""

    hooks: Ints  # [behaviours, 3]
    interruptible: Bools


class Seats(NamedTuple):
    """What the runner remembers of every place."""

    program: npt.NDArray[np.int16]  # [capacity, 12]
    active: npt.NDArray[np.int16]  # place in the program + 1, 0 for none
    held: npt.NDArray[np.int8]  # 1 while the active one must not be interrupted


class Round(NamedTuple):
    """One question to all rows; `trace` has a row per row, or none at all when nobody asks why."""

    place: Ints
    cursor: Ints  # [n, CURSOR_COLUMNS]
    answer: Ints  # what Python said to the hook a row stopped at
    action: Ints
    trace: npt.NDArray[np.int16]  # [n or 0, 12]


def new_round(place: Ints, explain: bool) -> Round:
    """A fresh round over the rows at `place`."""
    n = len(place)
    return Round(
        place,
        np.zeros((n, CURSOR_COLUMNS), dtype=np.int64),
        np.zeros(n, dtype=np.int64),
        np.zeros(n, dtype=np.int64),
        np.zeros((n if explain else 0, MOST_BEHAVIORS), dtype=np.int16),
    )


@inline
def _hook_of(stage: int) -> int:
    """Which function a stage asks."""
    if stage == _HAS_ENDED:
        return SHOULD_TERMINATE
    return CAN_START if stage in (_HIGHER, _START) else ACT


@inline
def _explain(r: Round, i: int, k: int, code: int, answer: int) -> None:
    """Note why a place of the program was passed over."""
    if r.trace.shape[0] > 0:
        r.trace[i, k] = code + (-answer if -REASON < answer < 0 else 0)


@inline
def _begin(seats: Seats, r: Round, i: int) -> None:
    """Where the scan of a row starts: with the active behaviour, or at the top."""
    active = int(seats.active[r.place[i]])
    r.cursor[i, _STAGE] = _START if active == 0 else _HAS_ENDED
    r.cursor[i, _AT] = max(active - 1, 0)
    r.cursor[i, _FAILED] = 0


@inline
def _rescan(seats: Seats, r: Round, i: int) -> None:
    """Scan the list from the top."""
    seats.active[r.place[i]] = 0
    seats.held[r.place[i]] = 0
    r.cursor[i, _STAGE] = _START
    r.cursor[i, _AT] = 0


@inline
def _act_on(seats: Seats, r: Round, i: int, k: int, answer: int) -> None:
    """The behaviour at `k` acts."""
    place = r.place[i]
    seats.active[place] = k + 1
    seats.held[place] = 1 if answer & HOLD != 0 else 0
    r.action[i] = answer & _ACTION
    r.cursor[i, _STAGE] = _OVER
    _explain(r, i, k, ACTED, 0)


@inline
def _go_on(table: Table, seats: Seats, r: Round, i: int, answer: int) -> None:
    """What follows from the answer to the hook that a row stands at."""
    place, cursor = r.place[i], r.cursor
    stage, k = cursor[i, _STAGE], cursor[i, _AT]
    if stage == _HAS_ENDED:
        if answer != 0:
            _explain(r, i, k, ENDED, 0)
            _rescan(seats, r, i)
            return
        may = table.interruptible[seats.program[place, k]] and seats.held[place] == 0
        cursor[i, _STAGE] = _HIGHER if may and k > 0 else _ACTIVE
        cursor[i, _AT] = 0 if may and k > 0 else k
    elif stage == _HIGHER:
        if answer == YES:
            cursor[i, _STAGE] = _ACTIVE
            return
        _explain(r, i, k, COULD_NOT_START, answer)
        cursor[i, _AT] = k + 1
        if k + 2 == seats.active[place]:
            cursor[i, _STAGE] = _ACTIVE
    elif stage == _START:
        if answer == YES:
            cursor[i, _STAGE] = _TRY
            return
        _explain(r, i, k, COULD_NOT_START, answer)
        cursor[i, _AT] = k + 1
    elif answer >= 0:
        _act_on(seats, r, i, k, answer)
    else:
        _explain(r, i, k, COULD_NOT_ACT, answer)
        cursor[i, _FAILED] |= 1 << k
        cursor[i, _STAGE], cursor[i, _AT] = _START, k + 1
        if stage == _ACTIVE:
            _rescan(seats, r, i)


@inline
def _is_over(seats: Seats, r: Round, i: int) -> bool:
    """Whether a row has its action; one that came to the end of its list does nothing.

    What could not act in this tick already is passed over.
    """
    cursor, program = r.cursor, seats.program
    if cursor[i, _STAGE] == _OVER:
        return True
    k = cursor[i, _AT]
    while cursor[i, _STAGE] == _START and k < MOST_BEHAVIORS and cursor[i, _FAILED] >> k & 1 == 1:
        k += 1
    cursor[i, _AT] = k
    if k < MOST_BEHAVIORS and program[r.place[i], k] >= 0:
        return False
    r.action[i] = 0
    return True


@kernel
def run_options(table: Table, seats: Seats, state: Any, r: Round, resume: bool) -> int:
    """Find the action of every row; returns how many wait for an answer from Python."""
    waiting = 0
    for i in range(r.place.shape[0]):
        answered = resume and r.cursor[i, _PENDING] == 1
        if resume and not answered:
            continue
        if not resume:
            _begin(seats, r, i)
        r.cursor[i, _PENDING] = 0
        while not _is_over(seats, r, i):
            behavior = seats.program[r.place[i], r.cursor[i, _AT]]
            address = table.hooks[behavior, _hook_of(r.cursor[i, _STAGE])]
            if answered:
                answer, answered = r.answer[i], False
            elif address == PLAIN:
                r.cursor[i, _PENDING] = 1
                waiting += 1
                break
            else:
                answer = call2(address, state, r.place[i])
            _go_on(table, seats, r, i, answer)
    return waiting


def run(table: Table, seats: Seats, state: Any, r: Round, plain: PlainHook) -> None:
    """Run a round to its end, answering for behaviours in plain Python as they come up."""
    waiting = run_options(table, seats, state, r, False)
    while waiting:
        for i in np.flatnonzero(r.cursor[:, _PENDING]).tolist():
            behavior = int(seats.program[r.place[i], r.cursor[i, _AT]])
            r.answer[i] = plain(behavior, _hook_of(int(r.cursor[i, _STAGE])), i)
        waiting = run_options(table, seats, state, r, True)
