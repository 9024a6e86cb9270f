import json

import numpy as np
import pytest

from kinfolk.core.errors import ContractError, SettingsError, UnknownNameError
from kinfolk.evolution.states import OptimizerState
from kinfolk.evolution.strategies import STRATEGIES, make_strategy

START = np.linspace(-1.0, 1.0, 30)


def fitness_of(x):
    return -((x - 0.3) ** 2).sum(axis=1)


def library(name, members, seed):
    """The library called directly, as its documentation does: yields populations."""
    if name == "cma":
        import cmaes

        optimiser = cmaes.CMA(mean=START.copy(), sigma=0.5, seed=seed, population_size=members)
        while True:
            population = [optimiser.ask() for _ in range(optimiser.population_size)]
            yield np.array(population)
            optimiser.tell([(x, -fitness_of(x[None])[0]) for x in population])
    from ribs.emitters import opt

    optimiser = opt.LMMAEvolutionStrategy(0.5, 30, members, seed=seed)
    optimiser.reset(START.copy())
    while True:
        population = optimiser.ask()
        yield population.copy()
        values = fitness_of(population)
        order = np.argsort(-values, kind="stable")
        optimiser.tell(order, values[order], members // 2)


@pytest.mark.parametrize("name", ["cma", "lm-ma"])
def test_adapters_give_exactly_the_populations_of_the_library(name):
    strategy = make_strategy(name, START, 16, 0.5, 7)
    direct = library(name, 16, 7)
    for _ in range(20):
        population = strategy.ask()
        assert np.array_equal(population, next(direct))
        strategy.tell(fitness_of(population))


@pytest.mark.parametrize("members", [2, 16, 17])
def test_sep_cma_is_updated_by_the_same_members_as_that_of_cmaes(members):
    import cmaes

    strategy = make_strategy("sep-cma", START, members, 0.5, 7)
    oracle = cmaes.SepCMA(mean=START.copy(), sigma=0.5, population_size=members)
    for _ in range(60):
        population = strategy.ask()
        values = fitness_of(population)
        strategy.tell(values)
        oracle.tell([(x.astype(float), -v) for x, v in zip(population, values, strict=True)])
        assert strategy.center == pytest.approx(oracle.mean, rel=1e-3, abs=1e-4)
        assert strategy.sigma == pytest.approx(oracle._sigma, rel=1e-3)
        assert strategy.variance == pytest.approx(oracle._C, rel=1e-3)


@pytest.mark.parametrize("members", [2, 16, 17])
def test_openai_es_is_updated_by_the_same_noise_as_that_of_pyribs(members):
    opt = pytest.importorskip("ribs.emitters.opt")
    strategy = make_strategy("openai-es", START, members, 0.5, 7, learning_rate=0.05)
    mirrored = members % 2 == 0
    oracle = opt.OpenAIEvolutionStrategy(0.5, 30, members, mirror_sampling=mirrored, lr=0.05)
    oracle.reset(START.copy())
    for _ in range(60):
        population = strategy.ask()
        values = fitness_of(population)
        oracle.noise = (population - strategy.center) / 0.5
        strategy.tell(values)
        order = np.argsort(-values, kind="stable")
        oracle.tell(order, values[order], members // 2)
        assert strategy.center == pytest.approx(oracle.adam_opt.theta, abs=1e-4)


def test_mirrored_members_lie_opposite_each_other():
    for name in ("openai-es", "pgpe"):
        strategy = make_strategy(name, START, 8, 0.5, 7)
        population = strategy.ask()
        assert population[:4] + population[4:] == pytest.approx(
            np.tile(2 * START, (4, 1)), abs=1e-6
        )


def test_the_state_of_an_earlier_version_is_refused():
    state = OptimizerState({"_mean": START}, {})
    with pytest.raises(ContractError) as caught:
        make_strategy("sep-cma", START, 8, 0.5, 0).load_state_dict(state)
    assert str(caught.value) == (
        "The stored state has no center, which SepCMA needs: it is of another strategy or of an "
        "earlier version of it. Start a new run."
    )


@pytest.mark.parametrize("name", STRATEGIES)
def test_the_centre_gets_better(name):
    strategy = make_strategy(name, START, 20, 0.5, 1)
    assert np.array_equal(strategy.center, START)
    before = START.copy()
    for _ in range(60):
        strategy.tell(fitness_of(strategy.ask()))
    assert fitness_of(strategy.center[None])[0] > fitness_of(START[None])[0] / 4
    assert np.array_equal(START, before), "the initial mean is not changed"


@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize("members", [16, 17])
def test_a_restored_strategy_continues_as_if_never_stopped(name, members):
    members -= members % 2 if name == "pgpe" else 0
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
        "No strategy is named 'sepcma'. Did you mean 'sep-cma'? Known: cma, sep-cma, openai-es, lm-ma, pgpe, snes, xnes."
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


def test_no_uninitialised_memory_is_stored(monkeypatch):
    def dirty(shape, *_, **__):
        return np.full(shape, 7.0)

    monkeypatch.setattr(np, "empty", dirty)
    state = make_strategy("cma", START, 4, 0.5, seed=1).state_dict()
    monkeypatch.undo()
    assert not state.arrays["_funhist_values"].any()


def evotorch_searcher(name, members, sigma):
    """The strategy of EvoTorch, which minimises the same function from the same start."""
    evotorch = pytest.importorskip("evotorch", reason="EvoTorch is an oracle that CI has not")
    import torch
    from evotorch import algorithms

    evotorch.tools.set_default_logger_config(logger_level=40)
    problem = evotorch.Problem(
        "max", lambda x: -((x - 0.3) ** 2).sum(dim=-1), solution_length=30, vectorized=True,
        initial_bounds=(-1, 1), seed=1, dtype=torch.float64,
    )  # fmt: skip
    start = torch.tensor(START)
    if name == "pgpe":
        return algorithms.PGPE(
            problem, popsize=members, center_learning_rate=np.sqrt(30) * sigma / 30,
            stdev_learning_rate=0.1, stdev_init=sigma, center_init=start,
        )  # fmt: skip
    kind = {"snes": algorithms.SNES, "xnes": algorithms.XNES}[name]
    return kind(problem, popsize=members, stdev_init=sigma, center_init=start)


@pytest.mark.parametrize("name", ["pgpe", "snes", "xnes"])
def test_natural_strategies_come_as_far_as_those_of_evotorch(name):
    ours = []
    for seed in range(5):
        strategy = make_strategy(name, START, 20, 0.5, seed)
        for _ in range(60):
            strategy.tell(fitness_of(strategy.ask()))
        ours.append(fitness_of(strategy.center[None])[0])
    searcher = evotorch_searcher(name, 20, 0.5)
    searcher.run(60)
    center = np.asarray(searcher.status["center"], dtype=np.float64)
    theirs = fitness_of(center[None])[0]
    assert np.log10(-np.median(ours)) == pytest.approx(np.log10(-theirs), abs=1.0), (ours, theirs)


def naive_snes(start, members, sigma, noises, rounds):
    """SNES as in algorithm 5 of Wierstra et al. 2014, loop by loop."""
    mean, deviation, size = list(start), [sigma] * len(start), len(start)
    rate = (3 + np.log(size)) / (5 * np.sqrt(size))
    for noise in noises[:rounds]:
        values = [
            -sum((mean[j] + deviation[j] * z[j] - 0.3) ** 2 for j in range(size)) for z in noise
        ]
        order = sorted(range(members), key=lambda k: -values[k])
        weight = [max(0.0, np.log(members / 2 + 1) - np.log(k + 1)) for k in range(members)]
        utility = {k: weight[i] / sum(weight) - 1 / members for i, k in enumerate(order)}
        for j in range(size):
            slope = sum(utility[k] * noise[k][j] for k in range(members))
            spread = sum(utility[k] * (noise[k][j] ** 2 - 1) for k in range(members))
            mean[j] += deviation[j] * slope
            deviation[j] *= np.exp(rate / 2 * spread)
    return mean


def test_snes_follows_the_algorithm_of_the_paper():
    strategy, noises = make_strategy("snes", START, 8, 0.5, 3), []
    for _ in range(10):
        population = strategy.ask()
        noises.append(strategy._noise.copy())
        strategy.tell(fitness_of(population))
    expected = naive_snes(START, 8, 0.5, noises, 10)
    assert np.allclose(strategy.center, expected, atol=1e-5)


def test_pgpe_needs_pairs_and_xnes_few_parameters():
    with pytest.raises(SettingsError, match="members must be even, not 7"):
        make_strategy("pgpe", START, 7, 0.5, 0)
    with pytest.raises(SettingsError, match=r"these nets have 600\. Use snes"):
        make_strategy("xnes", np.zeros(600), 8, 0.5, 0)
