"""Execute role programs: choose the behavior that each agent acts by in this tick.

It is independent of the world: it knows ids, programs, a table of functions and an opaque state.
The rule: an active behavior that has not terminated and may be interrupted yields to one of higher
priority that can start; then it acts. If it has terminated or cannot act, the program is scanned
from the top, and the first behavior that can start and acts is chosen. If none does, the agent does
nothing.

Behaviors may also be plain Python: the scan of a row is suspended at each of their hooks, Python
calls the hook, and the scan resumes with its return value.

The state is whatever the hooks take: a plain tuple, or a NamedTuple of an installed module, because
its type is stored in the kernel cache and loaded by other processes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from kinfolk.core.arrays import Bools, Ints
from kinfolk.core.jit import PYTHON_ADDRESS, call_address_2, inline, kernel
from kinfolk.roles.model import MAX_BEHAVIORS

CAN_START, ACT, SHOULD_TERMINATE = range(3)  # columns of `BehaviorTable.hooks`
YES = 1  # returned by `can_start`; anything else is no, a negative number being -reason
HOLD = 16  # added to an action: the behavior must not be interrupted in the next tick
_ACTION_MASK = HOLD - 1

# Codes of `ExecutionStep.trace`; the reason that a hook returned is `code % REASON_BASE`.
NOT_CONSIDERED, ACTED, ENDED = 0, 1, 2
REASON_BASE = 1000
COULD_NOT_START, COULD_NOT_ACT = REASON_BASE, 2 * REASON_BASE

# Stages of a scan.
_CHECK_ENDED, _CHECK_HIGHER, _RUN_ACTIVE, _CHECK_START, _RUN_STARTED, _DONE = range(6)
_STAGE, _POSITION, _FAILED, _PENDING = range(4)  # columns of `ExecutionStep.cursor`
CURSOR_COLUMNS = 4

PythonHook = Callable[[int, int, int], int]  # behavior, hook, row of the batch -> return value


class BehaviorTable(NamedTuple):
    """Hooks and flags of all behaviors, by id."""

    hooks: Ints  # [behaviors, 3], addresses of the hooks, or PYTHON_ADDRESS
    interruptible: Bools  # [behaviors]


class ExecutionState(NamedTuple):
    """What is remembered of every agent from tick to tick."""

    program: npt.NDArray[np.int16]  # [agents, 12], behavior ids by priority, -1 after the last
    active: npt.NDArray[np.int16]  # [agents], 1 + position in the program, 0 for none
    is_uninterruptible: npt.NDArray[np.int8]  # [agents], 1 while the active one holds


class ExecutionStep(NamedTuple):
    """One tick of a batch of agents."""

    agents: Ints  # [rows], index of each row's agent in `ExecutionState`
    cursor: Ints  # [rows, CURSOR_COLUMNS], where the scan of each row stands
    answer: Ints  # [rows], return value of the Python hook that a row is suspended at
    action: Ints  # [rows], the result
    trace: npt.NDArray[np.int16]  # [rows, 12], codes for explanations; [0, 12] without them


def new_step(agents: Ints, explain: bool) -> ExecutionStep:
    """Allocate the arrays of one tick.

    Args:
        agents: `[rows]`, indices into `ExecutionState`.
        explain: Whether to record a trace.
    """
    n = len(agents)
    cursor = np.zeros((n, CURSOR_COLUMNS), dtype=np.int64)
    answer, action = np.zeros((2, n), dtype=np.int64)
    trace = np.zeros((n if explain else 0, MAX_BEHAVIORS), dtype=np.int16)
    return ExecutionStep(agents, cursor, answer, action, trace)


@inline
def _hook_of_stage(stage: int) -> int:
    """Return which hook is called at a stage."""
    if stage == _CHECK_ENDED:
        return SHOULD_TERMINATE
    return CAN_START if stage in (_CHECK_HIGHER, _CHECK_START) else ACT


@inline
def _record_trace(step: ExecutionStep, i: int, position: int, code: int, answer: int) -> None:
    """Record what happened at a position of a row's program, if traces are on.

    Args:
        step: `trace` is written.
        i: Row of the batch.
        position: Position in the program.
        code: What happened, such as `COULD_NOT_START`.
        answer: Return value of the hook; a negative one is added as the reason.
    """
    if step.trace.shape[0] > 0:
        step.trace[i, position] = code + (-answer if -REASON_BASE < answer < 0 else 0)


@inline
def _begin_scan(execution: ExecutionState, step: ExecutionStep, i: int) -> None:
    """Set the cursor of a row to its active behavior, or to the top of its program.

    Args:
        execution: `active` is read.
        step: `cursor` is written.
        i: Row of the batch.
    """
    active = int(execution.active[step.agents[i]])
    step.cursor[i, _STAGE] = _CHECK_START if active == 0 else _CHECK_ENDED
    step.cursor[i, _POSITION] = max(active - 1, 0)
    step.cursor[i, _FAILED] = 0


@inline
def _restart_scan(execution: ExecutionState, step: ExecutionStep, i: int) -> None:
    """Deactivate the behavior of a row and set its cursor to the top of the program.

    Args:
        execution: `active` and `is_uninterruptible` are written.
        step: `cursor` is written.
        i: Row of the batch.
    """
    execution.active[step.agents[i]] = 0
    execution.is_uninterruptible[step.agents[i]] = 0
    step.cursor[i, _STAGE] = _CHECK_START
    step.cursor[i, _POSITION] = 0


@inline
def _accept_action(
    execution: ExecutionState, step: ExecutionStep, i: int, position: int, answer: int
) -> None:
    """Finish a row with the action of the behavior at `position`, which becomes active.

    Args:
        execution: `active` and `is_uninterruptible` are written.
        step: `action`, `cursor` and `trace` are written.
        i: Row of the batch.
        position: Position in the program.
        answer: Return value of `act`: an action, plus `HOLD` if it must not be interrupted.
    """
    agent = step.agents[i]
    execution.active[agent] = position + 1
    execution.is_uninterruptible[agent] = 1 if answer & HOLD != 0 else 0
    step.action[i] = answer & _ACTION_MASK
    step.cursor[i, _STAGE] = _DONE
    _record_trace(step, i, position, ACTED, 0)


@inline
def _advance(
    table: BehaviorTable, execution: ExecutionState, step: ExecutionStep, i: int, answer: int
) -> None:
    """Move the cursor of a row according to the return value of the hook it stands at.

    Args:
        table: `interruptible` is read.
        execution: All arrays are read, `active` and `is_uninterruptible` written.
        step: `cursor`, `action` and `trace` are written.
        i: Row of the batch.
        answer: Return value of the hook.
    """
    agent, cursor = step.agents[i], step.cursor
    stage, k = cursor[i, _STAGE], cursor[i, _POSITION]
    if stage == _CHECK_ENDED:
        if answer != 0:
            _record_trace(step, i, k, ENDED, 0)
            _restart_scan(execution, step, i)
            return
        may_yield = (
            table.interruptible[execution.program[agent, k]]
            and execution.is_uninterruptible[agent] == 0
        )
        cursor[i, _STAGE] = _CHECK_HIGHER if may_yield and k > 0 else _RUN_ACTIVE
        cursor[i, _POSITION] = 0 if may_yield and k > 0 else k
    elif stage == _CHECK_HIGHER:
        if answer == YES:
            cursor[i, _STAGE] = _RUN_ACTIVE
            return
        _record_trace(step, i, k, COULD_NOT_START, answer)
        cursor[i, _POSITION] = k + 1
        if k + 2 == execution.active[agent]:
            cursor[i, _STAGE] = _RUN_ACTIVE
    elif stage == _CHECK_START:
        if answer == YES:
            cursor[i, _STAGE] = _RUN_STARTED
            return
        _record_trace(step, i, k, COULD_NOT_START, answer)
        cursor[i, _POSITION] = k + 1
    elif answer >= 0:
        _accept_action(execution, step, i, k, answer)
    else:
        _record_trace(step, i, k, COULD_NOT_ACT, answer)
        cursor[i, _FAILED] |= 1 << k
        cursor[i, _STAGE], cursor[i, _POSITION] = _CHECK_START, k + 1
        if stage == _RUN_ACTIVE:
            _restart_scan(execution, step, i)


@inline
def _is_done(execution: ExecutionState, step: ExecutionStep, i: int) -> bool:
    """Return whether a row has its action; at the end of its program the action is 0.

    Behaviors that could not act in this tick are skipped.

    Args:
        execution: `program` is read.
        step: `cursor` and `action` are written.
        i: Row of the batch.
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
    """Scan the programs of all rows as far as compiled hooks allow.

    Args:
        table: Hooks of all behaviors.
        execution: Updated for rows that get their action.
        state: First argument of every hook; the second is the index of the agent.
        step: `cursor`, `action` and `trace` are written; `answer` is read when resuming.
        resume: Whether to resume rows that are suspended at a Python hook, with `step.answer`;
            otherwise all rows start a new scan.

    Returns:
        How many rows are suspended at a Python hook.
    """
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
    """Find the actions of a batch of agents, calling Python hooks as they come up.

    Args:
        table: Hooks of all behaviors.
        execution: State of all agents; updated.
        state: First argument of every compiled hook.
        step: The batch; `step.action` holds the result.
        call_python_hook: Calls a hook of a behavior in plain Python for a row of the batch.
    """
    waiting = run_compiled_hooks(table, execution, state, step, False)
    while waiting:
        for i in np.flatnonzero(step.cursor[:, _PENDING]).tolist():
            behavior = int(execution.program[step.agents[i], step.cursor[i, _POSITION]])
            hook = _hook_of_stage(int(step.cursor[i, _STAGE]))
            step.answer[i] = call_python_hook(behavior, hook, i)
        waiting = run_compiled_hooks(table, execution, state, step, True)
