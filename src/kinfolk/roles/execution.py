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
from kinfolk.core.function_table import PYTHON_ADDRESS, call_address_2
from kinfolk.core.jit import inline, kernel
from kinfolk.roles.model import MAX_BEHAVIORS

CAN_START, ACT, SHOULD_TERMINATE = range(3)  # columns of the table of hooks
YES = 1  # the answer of `can_start`; anything else is no, below zero with a reason
HOLD = 16  # added to an action: the behaviour must not be interrupted now
_ACTION_MASK = HOLD - 1

# What an explanation says of each place of a program; a reason is `code % REASON`, as in -reason.
NOT_CONSIDERED, ACTED, ENDED = 0, 1, 2
REASON_BASE = 1000
COULD_NOT_START, COULD_NOT_ACT = REASON_BASE, 2 * REASON_BASE

_CHECK_ENDED, _CHECK_HIGHER, _RUN_ACTIVE, _CHECK_START, _RUN_STARTED, _DONE = range(
    6
)  # stages of a scan
_STAGE, _POSITION, _FAILED, _PENDING = range(4)  # columns of a cursor
CURSOR_COLUMNS = 4

PythonHook = Callable[[int, int, int], int]  # behaviour, hook, row of the batch -> answer


class BehaviorTable(NamedTuple):
    """The behaviours by id: addresses of their three hooks, and whether they may be interrupted."""

    hooks: Ints  # [behaviours, 3]
    interruptible: Bools


class ExecutionState(NamedTuple):
    """What the runner remembers of every place."""

    program: npt.NDArray[np.int16]  # [capacity, 12]
    active: npt.NDArray[np.int16]  # place in the program + 1, 0 for none
    is_uninterruptible: npt.NDArray[np.int8]  # 1 while the active one must not be interrupted


class ExecutionStep(NamedTuple):
    """One question to all rows; `trace` has a row per row, or none at all when nobody asks why."""

    agents: Ints
    cursor: Ints  # [n, CURSOR_COLUMNS]
    answer: Ints  # what Python said to the hook a row stopped at
    action: Ints
    trace: npt.NDArray[np.int16]  # [n or 0, 12]


def new_step(agents: Ints, explain: bool) -> ExecutionStep:
    """A fresh round over the rows at `agents`."""
    n = len(agents)
    return ExecutionStep(
        agents,
        np.zeros((n, CURSOR_COLUMNS), dtype=np.int64),
        np.zeros(n, dtype=np.int64),
        np.zeros(n, dtype=np.int64),
        np.zeros((n if explain else 0, MAX_BEHAVIORS), dtype=np.int16),
    )


@inline
def _hook_of_stage(stage: int) -> int:
    """Which function a stage asks."""
    if stage == _CHECK_ENDED:
        return SHOULD_TERMINATE
    return CAN_START if stage in (_CHECK_HIGHER, _CHECK_START) else ACT


@inline
def _trace(step: ExecutionStep, i: int, position: int, code: int, answer: int) -> None:
    """Note why a place of the program was passed over."""
    if step.trace.shape[0] > 0:
        step.trace[i, position] = code + (-answer if -REASON_BASE < answer < 0 else 0)


@inline
def _begin_scan(execution: ExecutionState, step: ExecutionStep, i: int) -> None:
    """Where the scan of a row starts: with the active behaviour, or at the top."""
    active = int(execution.active[step.agents[i]])
    step.cursor[i, _STAGE] = _CHECK_START if active == 0 else _CHECK_ENDED
    step.cursor[i, _POSITION] = max(active - 1, 0)
    step.cursor[i, _FAILED] = 0


@inline
def _restart_scan(execution: ExecutionState, step: ExecutionStep, i: int) -> None:
    """Scan the list from the top."""
    execution.active[step.agents[i]] = 0
    execution.is_uninterruptible[step.agents[i]] = 0
    step.cursor[i, _STAGE] = _CHECK_START
    step.cursor[i, _POSITION] = 0


@inline
def _accept_action(
    execution: ExecutionState, step: ExecutionStep, i: int, position: int, answer: int
) -> None:
    """The behaviour at `position` acts."""
    place = step.agents[i]
    execution.active[place] = position + 1
    execution.is_uninterruptible[place] = 1 if answer & HOLD != 0 else 0
    step.action[i] = answer & _ACTION_MASK
    step.cursor[i, _STAGE] = _DONE
    _trace(step, i, position, ACTED, 0)


@inline
def _advance(
    table: BehaviorTable, execution: ExecutionState, step: ExecutionStep, i: int, answer: int
) -> None:
    """What follows from the answer to the hook that a row stands at."""
    place, cursor = step.agents[i], step.cursor
    stage, k = cursor[i, _STAGE], cursor[i, _POSITION]
    if stage == _CHECK_ENDED:
        if answer != 0:
            _trace(step, i, k, ENDED, 0)
            _restart_scan(execution, step, i)
            return
        may = (
            table.interruptible[execution.program[place, k]]
            and execution.is_uninterruptible[place] == 0
        )
        cursor[i, _STAGE] = _CHECK_HIGHER if may and k > 0 else _RUN_ACTIVE
        cursor[i, _POSITION] = 0 if may and k > 0 else k
    elif stage == _CHECK_HIGHER:
        if answer == YES:
            cursor[i, _STAGE] = _RUN_ACTIVE
            return
        _trace(step, i, k, COULD_NOT_START, answer)
        cursor[i, _POSITION] = k + 1
        if k + 2 == execution.active[place]:
            cursor[i, _STAGE] = _RUN_ACTIVE
    elif stage == _CHECK_START:
        if answer == YES:
            cursor[i, _STAGE] = _RUN_STARTED
            return
        _trace(step, i, k, COULD_NOT_START, answer)
        cursor[i, _POSITION] = k + 1
    elif answer >= 0:
        _accept_action(execution, step, i, k, answer)
    else:
        _trace(step, i, k, COULD_NOT_ACT, answer)
        cursor[i, _FAILED] |= 1 << k
        cursor[i, _STAGE], cursor[i, _POSITION] = _CHECK_START, k + 1
        if stage == _RUN_ACTIVE:
            _restart_scan(execution, step, i)


@inline
def _is_done(execution: ExecutionState, step: ExecutionStep, i: int) -> bool:
    """Whether a row has its action; one that came to the end of its list does nothing.

    What could not act in this tick already is passed over.
    """
    cursor, program = step.cursor, execution.program
    if cursor[i, _STAGE] == _DONE:
        return True
    k = cursor[i, _POSITION]
    while (
        cursor[i, _STAGE] == _CHECK_START and k < MAX_BEHAVIORS and cursor[i, _FAILED] >> k & 1 == 1
    ):
        k += 1
    cursor[i, _POSITION] = k
    if k < MAX_BEHAVIORS and program[step.agents[i], k] >= 0:
        return False
    step.action[i] = 0
    return True


@kernel
def run_compiled_hooks(
    table: BehaviorTable, execution: ExecutionState, state: Any, step: ExecutionStep, resume: bool
) -> int:
    """Find the action of every row; returns how many wait for an answer from Python."""
    waiting = 0
    for i in range(step.agents.shape[0]):
        answered = resume and step.cursor[i, _PENDING] == 1
        if resume and not answered:
            continue
        if not resume:
            _begin_scan(execution, step, i)
        step.cursor[i, _PENDING] = 0
        while not _is_done(execution, step, i):
            behavior = execution.program[step.agents[i], step.cursor[i, _POSITION]]
            address = table.hooks[behavior, _hook_of_stage(step.cursor[i, _STAGE])]
            if answered:
                answer, answered = step.answer[i], False
            elif address == PYTHON_ADDRESS:
                step.cursor[i, _PENDING] = 1
                waiting += 1
                break
            else:
                answer = call_address_2(address, state, step.agents[i])
            _advance(table, execution, step, i, answer)
    return waiting


def run_step(
    table: BehaviorTable,
    execution: ExecutionState,
    state: Any,
    step: ExecutionStep,
    call_python_hook: PythonHook,
) -> None:
    """Run a round to its end, answering for behaviours in plain Python as they come up."""
    waiting = run_compiled_hooks(table, execution, state, step, False)
    while waiting:
        for i in np.flatnonzero(step.cursor[:, _PENDING]).tolist():
            behavior = int(execution.program[step.agents[i], step.cursor[i, _POSITION]])
            step.answer[i] = call_python_hook(
                behavior, _hook_of_stage(int(step.cursor[i, _STAGE])), i
            )
        waiting = run_compiled_hooks(table, execution, state, step, True)
