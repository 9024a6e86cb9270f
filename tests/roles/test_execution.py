"""Programs at work: preemption, fall-through and endings, on made-up behaviours without a world.

The state is two tables: for every place, behaviour and hook the number that it gives, and how
often it was asked. It is a plain tuple: a kernel compiled for a class of this file would leave the
class in the cache, where other processes could not read it.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinfolk.core.function_table import PYTHON_ADDRESS, get_function_address
from kinfolk.core.jit import COMPILED
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
        f"def hook(state, at):\n"
        f"    state[1][at, {behavior}, {hook}] += 1\n"
        f"    return state[0][at, {behavior}, {hook}]\n"
    )
    made = {"__name__": __name__}
    exec(source, made)
    return made["hook"]


HOOKS = [[_hook(b, h) for h in range(3)] for b in range(BEHAVIORS)]


class Runner:
    """Places with one program; `plain` behaviours are answered by Python."""

    def __init__(self, places=1, program=(0, 1, 2, 3), interruptible=(True,) * 4, plain=()):
        shape = (places, BEHAVIORS, 3)
        self.answers, self.asked = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        self.state = (self.answers, self.asked)
        self.answers[:, :, ACT] = CANNOT
        self.seats = ExecutionState(
            np.full((places, MAX_BEHAVIORS), -1, np.int16),
            np.zeros(places, np.int16),
            np.zeros(places, np.int8),
        )
        self.seats.program[:, : len(program)] = program
        hooks = [
            [
                PYTHON_ADDRESS if b in plain else get_function_address(HOOKS[b][h], self.state, 0)
                for h in range(3)
            ]
            for b in range(BEHAVIORS)
        ]
        self.table = BehaviorTable(np.array(hooks), np.array(interruptible))
        self.place = np.arange(places)

    def set(self, behavior, start=None, act=None, ends=None, place=0):
        for hook, value in ((CAN_START, start), (ACT, act), (SHOULD_TERMINATE, ends)):
            if value is not None:
                self.answers[place, behavior, hook] = value
        return self

    def tick(self):
        """One round with explanations; returns the first place's action and what was said."""
        self.round = new_step(self.place, True)

        def plain(behavior, hook, i):
            return int(HOOKS[behavior][hook](self.state, int(self.place[i])))

        run_step(self.table, self.seats, self.state, self.round, plain)
        return int(self.round.action[0]), self.round.trace[0, :4].tolist()

    @property
    def active(self):
        return int(self.seats.active[0]) - 1


@pytest.fixture(params=[(), (0, 1, 2, 3), (1, 2)], ids=["compiled", "plain", "mixed"])
def plain(request):
    return request.param


def test_the_first_that_can_start_and_acts_wins(plain):
    r = Runner(plain=plain).set(1, start=YES, act=3).set(2, start=YES, act=4)
    assert r.tick() == (3, [COULD_NOT_START, ACTED, NOT_CONSIDERED, NOT_CONSIDERED])
    assert r.active == 1


def test_one_that_can_start_but_not_act_is_passed_over(plain):
    r = Runner(plain=plain).set(0, start=YES).set(2, start=YES, act=4)
    assert r.tick() == (4, [COULD_NOT_ACT + 7, COULD_NOT_START, ACTED, NOT_CONSIDERED])


def test_with_none_nothing_is_done(plain):
    r = Runner(plain=plain).set(0, start=-5).set(3, start=YES)
    assert r.tick() == (
        0,
        [COULD_NOT_START + 5, COULD_NOT_START, COULD_NOT_START, COULD_NOT_ACT + 7],
    )
    assert r.active == -1


def test_an_active_one_goes_on_though_it_could_not_start_again(plain):
    r = Runner(plain=plain).set(2, start=YES, act=4)
    r.tick()
    r.set(2, start=0, act=2)
    assert r.tick() == (2, [COULD_NOT_START, COULD_NOT_START, ACTED, NOT_CONSIDERED])


def test_it_yields_to_a_higher_one_that_can_start(plain):
    r = Runner(plain=plain).set(2, start=YES, act=4)
    r.tick()
    r.set(1, start=YES, act=1).set(3, start=YES, act=2)
    assert r.tick() == (1, [COULD_NOT_START, ACTED, NOT_CONSIDERED, NOT_CONSIDERED])
    r.set(1, act=CANNOT)  # the list is scanned again, and the one that yielded acts
    assert r.tick() == (4, [COULD_NOT_START, COULD_NOT_ACT + 7, ACTED, NOT_CONSIDERED])
    assert r.active == 2


def test_it_does_not_yield_while_it_may_not_be_interrupted(plain):
    r = Runner(plain=plain, interruptible=(True, True, False, True)).set(2, start=YES, act=4)
    r.tick()
    r.set(0, start=YES, act=1)
    assert r.tick() == (4, [NOT_CONSIDERED, NOT_CONSIDERED, ACTED, NOT_CONSIDERED])
    r.set(2, ends=1)
    assert r.tick() == (1, [ACTED, NOT_CONSIDERED, ENDED, NOT_CONSIDERED])


def test_it_does_not_yield_while_it_holds(plain):
    r = Runner(plain=plain).set(2, start=YES, act=4 + HOLD)
    assert r.tick()[0] == 4
    r.set(0, start=YES, act=1)
    assert r.tick()[0] == 4
    r.set(2, act=3)  # lets go
    assert r.tick()[0] == 3
    assert r.tick()[0] == 1


def test_one_that_has_ended_may_start_again_in_its_turn(plain):
    r = Runner(plain=plain).set(2, start=YES, act=4)
    r.tick()
    r.set(2, ends=1)
    assert r.tick()[0] == 4
    r.set(1, start=YES, act=3)
    assert r.tick()[0] == 3


def test_one_that_cannot_act_is_not_asked_twice_in_a_tick():
    r = Runner().set(1, start=YES, act=4)
    r.tick()
    r.set(1, act=CANNOT)
    r.asked[:] = 0
    assert r.tick() == (0, [COULD_NOT_START, COULD_NOT_ACT + 7, COULD_NOT_START, COULD_NOT_START])
    assert r.asked[0, 1].tolist() == [0, 1, 1]


def test_explanations_cost_no_room_when_off():
    r = Runner().set(0, start=YES, act=2)
    quiet = new_step(r.place, False)
    run_step(r.table, r.row_state, r.state, quiet, lambda b, h, i: 0)
    assert quiet.trace.shape == (0, MAX_BEHAVIORS)
    assert quiet.action.tolist() == [2]


def oracle(table, program, interruptible, active, held):
    """The rule in plain words: returns action, active place or -1, and whether it holds."""
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
        found = act(chosen)
        if found:
            return found
    for k in range(len(program)):
        if k not in failed and table[program[k]][CAN_START] == YES:
            found = act(k)
            if found:
                return found
    return 0, -1, False


answers = st.tuples(
    st.sampled_from([YES, 0, -3]),
    st.sampled_from([1, 2, 3, 4, 3 + HOLD, -1]),
    st.sampled_from([0, 0, 1]),
)


@pytest.mark.skipif(not COMPILED, reason="many rounds")
@settings(max_examples=150, deadline=None)
@given(
    st.permutations(range(BEHAVIORS)),
    st.lists(st.booleans(), min_size=4, max_size=4),
    st.lists(st.lists(answers, min_size=4, max_size=4), min_size=1, max_size=6),
    st.sets(st.integers(0, 3)),
)
def test_rounds_follow_the_rule(program, interruptible, ticks, plain):
    r = Runner(program=program, interruptible=interruptible, plain=plain)
    active, held = -1, False
    for table in ticks:
        r.answers[0] = table
        action, _ = r.tick()
        expected, active, held = oracle(table, program, interruptible, active, held)
        assert (action, r.active, bool(r.seats.is_uninterruptible[0])) == (expected, active, held)


def test_rows_do_not_feel_each_other():
    rng = np.random.default_rng(0)
    r = Runner(places=50, plain=(2,))
    r.answers[:, :, CAN_START] = rng.integers(0, 2, (50, 4))
    r.answers[:, :, ACT] = rng.integers(-1, 5, (50, 4))
    r.tick()
    for place in range(50):
        alone = Runner()
        alone.answers[0] = r.answers[place]
        assert alone.tick()[0] == r.round.action[place]
