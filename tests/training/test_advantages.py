"""Advantages computed by hand, by plain Python and by torchrl."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinfolk.training.buffer import NO_ROW, estimate_advantages, link_next_rows
from kinfolk.training.minibatches import shuffled_indices


def advantages(index, reward, value, done, bootstrap, bootstrap_value, gamma, gae_lambda, rho=None):
    index, done, bootstrap = np.array(index), np.array(done, dtype=bool), np.array(bootstrap)
    following = np.empty(len(index), dtype=np.int64)
    link_next_rows(index, done, bootstrap, np.empty(index.max() + 1, dtype=np.int64), following)
    out = np.empty(len(index), dtype=np.float32)
    rho = np.ones(len(index)) if rho is None else rho
    as32 = [np.array(x, dtype=np.float32) for x in (reward, value, bootstrap_value, rho)]
    estimate_advantages(
        as32[0], as32[1], following, bootstrap, as32[2], as32[3], gamma, gae_lambda, out
    )
    return out, following


def test_one_life_by_hand():
    """Rewards 1, 2, 3, values 1/2 each, then the end: deltas 1, 2, 5/2 with gamma 1/2."""
    found, following = advantages(
        [0, 0, 0], [1, 2, 3], [0.5] * 3, [0, 0, 1], [NO_ROW] * 3, [], 0.5, 0.5
    )
    assert following.tolist() == [1, 2, NO_ROW]
    last = 3 - 0.5
    middle = 2 + 0.25 - 0.5 + 0.25 * last
    first = 1 + 0.25 - 0.5 + 0.25 * middle
    assert found.tolist() == [first, middle, last]


def test_truncation_bootstraps_and_termination_does_not():
    rows = ([0, 1], [1, 1], [0, 0], [1, 1], [NO_ROW, 0], [10.0], 0.5, 1.0)
    assert advantages(*rows)[0].tolist() == [1.0, 6.0]


def test_a_newborn_in_the_row_of_a_dead_agent_is_another_life():
    """A life ends in the second row; the third row is of the next agent, with a large reward."""
    rows = ([0, 0, 0], [1, 1, 1000], [0, 0, 0], [0, 1, 1], [NO_ROW] * 3, [], 1.0, 1.0)
    found, following = advantages(*rows)
    assert following.tolist() == [1, NO_ROW, NO_ROW]
    assert found.tolist() == [2.0, 1.0, 1000.0]


def test_rows_of_other_agents_between_do_not_matter():
    rows = ([0, 7, 0], [1, 50, 2], [0, 0, 0], [0, 1, 1], [NO_ROW] * 3, [], 1.0, 1.0)
    assert advantages(*rows)[0].tolist() == [3.0, 50.0, 2.0]


def test_vtrace_ratios_weigh_a_row_and_all_that_follows():
    rows = ([0, 0], [4, 8], [0, 0], [0, 1], [NO_ROW] * 2, [], 1.0, 1.0)
    assert advantages(*rows, rho=[0.5, 0.25])[0].tolist() == [0.5 * (4 + 2), 2.0]


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_it_equals_plain_python_over_random_lives(data):
    count, places = data.draw(st.integers(1, 40)), data.draw(st.integers(1, 5))
    chance = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    place = chance.integers(0, places, count)
    ended = chance.random(count) < 0.3
    tail = np.full(count, NO_ROW)
    open_ends = (chance.random(count) < 0.2) & ended
    tail[open_ends] = np.arange(open_ends.sum())
    reward, value = chance.normal(size=(2, count)).astype(np.float32)
    tail_value = chance.normal(size=open_ends.sum()).astype(np.float32)
    found, _ = advantages(place, reward, value, ended, tail, tail_value, 0.9, 0.8)
    for i in range(count):
        total, factor, at = 0.0, 1.0, i
        while True:
            later = [j for j in range(at + 1, count) if place[j] == place[at]]
            goes_on = not ended[at] and later
            after = tail_value[tail[at]] if tail[at] >= 0 else value[later[0]] if goes_on else 0.0
            total += factor * (reward[at] + 0.9 * after - value[at])
            if not goes_on:
                break
            factor, at = factor * 0.9 * 0.8, later[0]
        assert found[i] == pytest.approx(total, abs=1e-4)


def test_a_shuffle_is_a_permutation_that_follows_from_the_key():
    order = shuffled_indices(1000, 7, 0)
    assert sorted(order.tolist()) == list(range(1000))
    assert np.array_equal(order, shuffled_indices(1000, 7, 0))
    assert not np.array_equal(order, shuffled_indices(1000, 7, 1))
    assert not np.array_equal(order, shuffled_indices(1000, 8, 0))


def test_gae_equals_torchrl():
    """Against an independent implementation, where it is installed."""
    torch = pytest.importorskip("torch")
    functional = pytest.importorskip("torchrl.objectives.value.functional")
    chance = np.random.default_rng(0)
    steps, lives = 30, 6
    reward, value = chance.normal(size=(2, steps, lives)).astype(np.float32)
    after = chance.normal(size=lives).astype(np.float32)
    done = chance.random((steps, lives)) < 0.2
    tail = np.full((steps, lives), NO_ROW)
    tail[-1] = np.where(done[-1], NO_ROW, np.arange(lives))
    place = np.tile(np.arange(lives), steps)
    result, _ = advantages(
        place, reward.ravel(), value.ravel(), done.ravel(), tail.ravel(), after, 0.97, 0.9
    )
    following = np.concatenate([value[1:], after[None]])
    shaped = [torch.from_numpy(x.T[..., None].copy()) for x in (value, following, reward, done)]
    theirs, _ = functional.generalized_advantage_estimate(
        0.97, 0.9, *shaped[:3], done=shaped[3], terminated=shaped[3]
    )
    assert np.allclose(result.reshape(steps, lives), theirs[..., 0].numpy().T, atol=1e-5)
