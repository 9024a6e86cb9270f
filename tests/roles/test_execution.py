"""Execution of programs: preemption, fall-through and termination, on artificial behaviors.

The state is two arrays: for every agent, behavior and hook its return value, and how often it was
called. It is a plain tuple: a kernel compiled for a class of this file would store the class in the
kernel cache, where other processes could not load it.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinfolk.core.jit import COMPILED, PYTHON_ADDRESS, get_function_address
from kinfolk.roles.execution import (
    ACT,
    ACTED,
    CAN_START,
    COULD_NOT_ACT,
    COULD_NOT_START,
    ENDED,
    HOLD,
    NOT_CONSIDERED,
    SHOULD_TERMINATE,
    YES,
    BehaviorTable,
    ExecutionState,
    new_step,
    run_step,
)
from kinfolk.roles.model import MAX_BEHAVIORS

BEHAVIORS = 4
CANNOT = -7


def _hook(behavior, hook):
    source = (
        f"def hook(state, agent):\n"
        f"    state[1][agent, {behavior}, {hook}] += 1\n"
        f"    return state[0][agent, {behavior}, {hook}]\n"
    )
    namespace = {"__name__": __name__}
    exec(source, namespace)
    return namespace["hook"]


HOOKS = [[_hook(b, h) for h in range(3)] for b in range(BEHAVIORS)]


class Runner:
    """Agents with one program; the hooks of `python` behaviors are called by Python."""

    def __init__(self, agents=1, program=(0, 1, 2, 3), interruptible=(True,) * 4, python=()):
        shape = (agents, BEHAVIORS, 3)
        self.answers, self.calls = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        self.state = (self.answers, self.calls)
        self.answers[:, :, ACT] = CANNOT
        self.execution = ExecutionState(
            np.full((agents, MAX_BEHAVIORS), -1, np.int16),
            np.zeros(agents, np.int16),
            np.zeros(agents, np.int8),
        )
        self.execution.program[:, : len(program)] = program
        hooks = [
            [
                PYTHON_ADDRESS if b in python else get_function_address(HOOKS[b][h], self.state, 0)
                for h in range(3)
            ]
            for b in range(BEHAVIORS)
        ]
        self.table = BehaviorTable(np.array(hooks), np.array(interruptible))
        self.agents = np.arange(agents)

    def set(self, behavior, start=None, act=None, ends=None, agent=0):
        for hook, value in ((CAN_START, start), (ACT, act), (SHOULD_TERMINATE, ends)):
            if value is not None:
                self.answers[agent, behavior, hook] = value
        return self

    def tick(self):
        """Run one step with a trace; return the first agent's action and trace."""
        self.step = new_step(self.agents, True)

        def call_python_hook(behavior, hook, i):
            return int(HOOKS[behavior][hook](self.state, int(self.agents[i])))

        run_step(self.table, self.execution, self.state, self.step, call_python_hook)
        return int(self.step.action[0]), self.step.trace[0, :4].tolist()

    @property
    def active(self):
        return int(self.execution.active[0]) - 1


@pytest.fixture(params=[(), (0, 1, 2, 3), (1, 2)], ids=["compiled", "python", "mixed"])
def python(request):
    return request.param


def test_the_first_behavior_that_can_start_and_act_is_chosen(python):
    r = Runner(python=python).set(1, start=YES, act=3).set(2, start=YES, act=4)
    assert r.tick() == (3, [COULD_NOT_START, ACTED, NOT_CONSIDERED, NOT_CONSIDERED])
    assert r.active == 1


def test_a_behavior_that_can_start_but_not_act_is_skipped(python):
    r = Runner(python=python).set(0, start=YES).set(2, start=YES, act=4)
    assert r.tick() == (4, [COULD_NOT_ACT + 7, COULD_NOT_START, ACTED, NOT_CONSIDERED])


def test_an_agent_does_nothing_if_no_behavior_acts(python):
    r = Runner(python=python).set(0, start=-5).set(3, start=YES)
    assert r.tick() == (
        0,
        [COULD_NOT_START + 5, COULD_NOT_START, COULD_NOT_START, COULD_NOT_ACT + 7],
    )
    assert r.active == -1


def test_an_active_behavior_continues_though_it_could_not_start_again(python):
    r = Runner(python=python).set(2, start=YES, act=4)
    r.tick()
    r.set(2, start=0, act=2)
    assert r.tick() == (2, [COULD_NOT_START, COULD_NOT_START, ACTED, NOT_CONSIDERED])


def test_an_active_behavior_yields_to_one_of_higher_priority_that_can_start(python):
    r = Runner(python=python).set(2, start=YES, act=4)
    r.tick()
    r.set(1, start=YES, act=1).set(3, start=YES, act=2)
    assert r.tick() == (1, [COULD_NOT_START, ACTED, NOT_CONSIDERED, NOT_CONSIDERED])
    r.set(1, act=CANNOT)  # the list is scanned again, and the one that yielded acts
    assert r.tick() == (4, [COULD_NOT_START, COULD_NOT_ACT + 7, ACTED, NOT_CONSIDERED])
    assert r.active == 2


def test_an_uninterruptible_behavior_does_not_yield(python):
    r = Runner(python=python, interruptible=(True, True, False, True)).set(2, start=YES, act=4)
    r.tick()
    r.set(0, start=YES, act=1)
    assert r.tick() == (4, [NOT_CONSIDERED, NOT_CONSIDERED, ACTED, NOT_CONSIDERED])
    r.set(2, ends=1)
    assert r.tick() == (1, [ACTED, NOT_CONSIDERED, ENDED, NOT_CONSIDERED])


def test_a_behavior_does_not_yield_while_it_holds(python):
    r = Runner(python=python).set(2, start=YES, act=4 + HOLD)
    assert r.tick()[0] == 4
    r.set(0, start=YES, act=1)
    assert r.tick()[0] == 4
    r.set(2, act=3)  # lets go
    assert r.tick()[0] == 3
    assert r.tick()[0] == 1


def test_a_behavior_that_has_terminated_may_start_again_in_its_turn(python):
    r = Runner(python=python).set(2, start=YES, act=4)
    r.tick()
    r.set(2, ends=1)
    assert r.tick()[0] == 4
    r.set(1, start=YES, act=3)
    assert r.tick()[0] == 3


def test_a_behavior_that_cannot_act_is_not_called_twice_in_a_tick():
    r = Runner().set(1, start=YES, act=4)
    r.tick()
    r.set(1, act=CANNOT)
    r.calls[:] = 0
    assert r.tick() == (0, [COULD_NOT_START, COULD_NOT_ACT + 7, COULD_NOT_START, COULD_NOT_START])
    assert r.calls[0, 1].tolist() == [0, 1, 1]


def test_no_trace_is_allocated_without_explanations():
    r = Runner().set(0, start=YES, act=2)
    step = new_step(r.agents, False)
    run_step(r.table, r.execution, r.state, step, lambda b, h, i: 0)
    assert step.trace.shape == (0, MAX_BEHAVIORS)
    assert step.action.tolist() == [2]


def oracle(table, program, interruptible, active, held):
    """Apply the rule in plain Python; return the action, the active position or -1, and HOLD."""
    failed = set()

    def act(k):
        answer = table[program[k]][ACT]
        if answer < 0:
            failed.add(k)
            return None
        return answer % HOLD, k, answer >= HOLD

    if active >= 0 and table[program[active]][SHOULD_TERMINATE] == 0:
        chosen = active
        if interruptible[program[active]] and not held:
            higher = [k for k in range(active) if table[program[k]][CAN_START] == YES]
            chosen = higher[0] if higher else active
        result = act(chosen)
        if result:
            return result
    for k in range(len(program)):
        if k not in failed and table[program[k]][CAN_START] == YES:
            result = act(k)
            if result:
                return result
    return 0, -1, False


answers = st.tuples(
    st.sampled_from([YES, 0, -3]),
    st.sampled_from([1, 2, 3, 4, 3 + HOLD, -1]),
    st.sampled_from([0, 0, 1]),
)


@pytest.mark.skipif(not COMPILED, reason="many steps")
@settings(max_examples=150, deadline=None)
@given(
    st.permutations(range(BEHAVIORS)),
    st.lists(st.booleans(), min_size=4, max_size=4),
    st.lists(st.lists(answers, min_size=4, max_size=4), min_size=1, max_size=6),
    st.sets(st.integers(0, 3)),
)
def test_steps_follow_the_rule(program, interruptible, ticks, python):
    r = Runner(program=program, interruptible=interruptible, python=python)
    active, held = -1, False
    for table in ticks:
        r.answers[0] = table
        action, _ = r.tick()
        expected, active, held = oracle(table, program, interruptible, active, held)
        assert (action, r.active, bool(r.execution.is_uninterruptible[0])) == (
            expected,
            active,
            held,
        )


def test_rows_are_independent_of_each_other():
    rng = np.random.default_rng(0)
    r = Runner(agents=50, python=(2,))
    r.answers[:, :, CAN_START] = rng.integers(0, 2, (50, 4))
    r.answers[:, :, ACT] = rng.integers(-1, 5, (50, 4))
    r.tick()
    for agent in range(50):
        alone = Runner()
        alone.answers[0] = r.answers[agent]
        assert alone.tick()[0] == r.step.action[agent]
