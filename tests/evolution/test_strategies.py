import json

import numpy as np
import pytest

from kinfolk.core.errors import ContractError, SettingsError, UnknownNameError
from kinfolk.evolution.strategies import STRATEGIES, OptimizerState, make_strategy

START = np.linspace(-1.0, 1.0, 30)


def fitness_of(x):
    return -((x - 0.3) ** 2).sum(axis=1)


def library(name, members, seed):
    """The library called directly, as its documentation does: yields populations."""
    if name in ("cma", "sep-cma"):
        import cmaes

        kind = cmaes.CMA if name == "cma" else cmaes.SepCMA
        optimiser = kind(mean=START.copy(), sigma=0.5, seed=seed, population_size=members)
        while True:
            population = [optimiser.ask() for _ in range(optimiser.population_size)]
            yield np.array(population)
            optimiser.tell([(x, -fitness_of(x[None])[0]) for x in population])
    from ribs.emitters import opt

    if name == "openai-es":
        optimiser = opt.OpenAIEvolutionStrategy(0.5, 30, members, seed=seed, lr=0.05)
    else:
        optimiser = opt.LMMAEvolutionStrategy(0.5, 30, members, seed=seed)
    optimiser.reset(START.copy())
    while True:
        population = optimiser.ask()
        yield population.copy()
        values = fitness_of(population)
        order = np.argsort(-values, kind="stable")
        optimiser.tell(order, values[order], members // 2)


@pytest.mark.parametrize("name", STRATEGIES)
def test_adapters_give_exactly_the_populations_of_the_library(name):
    strategy = make_strategy(name, START, 16, 0.5, 7, learning_rate=0.05)
    direct = library(name, 16, 7)
    for _ in range(20):
        population = strategy.ask()
        assert np.array_equal(population, next(direct))
        strategy.tell(fitness_of(population))


@pytest.mark.parametrize("name", STRATEGIES)
def test_the_centre_gets_better(name):
    strategy = make_strategy(name, START, 20, 0.5, 1, learning_rate=0.1)
    assert np.array_equal(strategy.center, START)
    before = START.copy()
    for _ in range(60):
        strategy.tell(fitness_of(strategy.ask()))
    assert fitness_of(strategy.center[None])[0] > fitness_of(START[None])[0] / 4
    assert np.array_equal(START, before), "the initial mean is not changed"


@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize("members", [16, 17])
def test_a_restored_strategy_continues_as_if_never_stopped(name, members):
    strategy = make_strategy(name, START, members, 0.5, 3)
    for _ in range(5):
        strategy.tell(fitness_of(strategy.ask()))
    state = strategy.state_dict()
    text = json.loads(json.dumps(state.values))  # as it lies on the disk
    other = make_strategy(name, np.zeros(30), members, 0.5, 99)
    other.load_state_dict(OptimizerState(state.arrays, text))
    for _ in range(6):
        population = strategy.ask()
        assert np.array_equal(other.ask(), population)
        for each in (strategy, other):
            each.tell(fitness_of(population))


def test_bad_numbers_are_refused_with_an_error_message():
    with pytest.raises(UnknownNameError) as caught:
        make_strategy("sepcma", START, 8, 0.5, 0)
    assert str(caught.value) == (
        "No strategy is named 'sepcma'. Did you mean 'sep-cma'? Known: cma, sep-cma, openai-es, lm-ma."
    )
    with pytest.raises(SettingsError) as caught:
        make_strategy("lm-ma", START, 31, 0.5, 0)
    assert str(caught.value) == (
        "lm-ma needs at least as many parameters as members; "
        "these nets have 30, and there are 31 members."
    )
    with pytest.raises(ContractError) as caught:
        make_strategy("cma", START, 8, 0.5, 0).tell(np.zeros(8))
    assert str(caught.value) == (
        "tell needs one fitness for each member of the population that ask returned last."
    )


@pytest.mark.parametrize("name", ["cma", "sep-cma"])
def test_no_uninitialised_memory_is_stored(name, monkeypatch):
    def dirty(shape, *_, **__):
        return np.full(shape, 7.0)

    monkeypatch.setattr(np, "empty", dirty)
    state = make_strategy(name, START, 4, 0.5, seed=1).state_dict()
    monkeypatch.undo()
    assert not state.arrays["_funhist_values"].any()
