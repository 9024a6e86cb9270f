"""Worlds with short episodes, and helpers to play adapters."""

import numpy as np
import pytest

# Two kinds of world: one field and one head, or several of each and two parents.
SMALL = {
    "savanna": {"max_steps": 60, "max_rows": 48, "predator_creation_energy_threshold": 7.0},
    "probe": {"rows": 12},
}


@pytest.fixture(params=list(SMALL))
def kind(request):
    """The name of a world; `small` are settings for it."""
    return request.param


@pytest.fixture
def small(kind):
    return SMALL[kind]


def _random_actions(env, rng):
    """An action per agent that follows from `rng` alone, not from the spaces' own generators."""
    chosen = {}
    for agent in env.agents:
        space = env.action_space(agent)
        sizes = getattr(space, "nvec", None)
        chosen[agent] = int(rng.integers(space.n)) if sizes is None else rng.integers(sizes)
    return chosen


def _episode(env, seed, salt=0):
    """Everything an adapter returns in an episode: from `reset`, then from each `step`."""
    rng = np.random.default_rng(salt)
    results = [env.reset(seed=seed)]
    while env.agents:
        results.append(env.step(_random_actions(env, rng)))
    return results


def _same(a, b):
    """Whether two answers are equal to the last bit."""
    if isinstance(a, dict):
        return list(a) == list(b) and all(_same(a[key], b[key]) for key in a)
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b)
    return type(a) is type(b) and a == b


# Fixtures, because test files cannot import each other under pytest's importlib mode.
@pytest.fixture
def random_actions():
    return _random_actions


@pytest.fixture
def episode():
    return _episode


@pytest.fixture
def same():
    return _same
