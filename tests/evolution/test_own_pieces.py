"""Fitness functions, nets and loops of one's own."""

import copy
import pickle

import numpy as np
import pytest

from kinfolk.core.errors import ContractError, SettingsError, UnknownNameError
from kinfolk.engines.processes import ProcessEngine
from kinfolk.evolution import GeneratorPop, GeneticOptions, evaluate_members, evolve
from kinfolk.nets import FeedforwardStaticNets, FunctionNets, ModuleNets, RecurrentStaticNets

X = np.linspace(-1, 1, 12, dtype=np.float32)[:, None]


def error_of_sine(nets):
    """Fitness of one member: how well it follows a sine."""
    out, _ = nets(X[None])
    return -float(((out[0] - np.sin(3 * X)) ** 2).mean())


def error_of_all(pop):
    out = pop.generate(np.broadcast_to(X, (pop.num_nets, *X.shape)))
    return -((out - np.sin(3 * X)) ** 2).mean(axis=(1, 2))


def quadratic(parameters, x):
    return parameters[0] + x * parameters[1] + x * x * parameters[2]


def small_pop(members=16, **options):
    return GeneratorPop(FeedforwardStaticNets(members, 1, 1, (8,), key=2, **options))


def test_a_fitness_of_one_member_equals_that_of_the_population():
    pop = small_pop()
    one_by_one = evaluate_members(error_of_sine, pop, chunk_size=5)
    assert np.allclose(one_by_one, error_of_all(pop), atol=1e-6)


def test_members_are_scored_by_processes_alike(tmp_path, monkeypatch):
    (tmp_path / "own_fitness.py").write_text("def norm(nets):\n    return abs(nets.flat).sum()\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    from own_fitness import norm

    pop, engine = small_pop(6), ProcessEngine(2)
    try:
        scores = evaluate_members(norm, pop, engine, chunk_size=2)
    finally:
        engine.close()
    assert np.array_equal(scores, [float(norm(pop.nets.select([i]))) for i in range(6)])


@pytest.mark.parametrize("algorithm", ["ga", "cma", "sep-cma", "snes", "pgpe"])
@pytest.mark.parametrize("per_member", [False, True])
def test_evolution_follows_a_fitness_of_ones_own(algorithm, per_member):
    pop = small_pop(16, sigma=0.1)
    fitness = error_of_sine if per_member else error_of_all
    generations = list(
        evolve(pop, fitness, algorithm=algorithm, generations=12, per_member=per_member)
    )
    means = [generation.fitness.mean() for generation in generations]
    assert means[-1] > means[0]
    assert generations[-1].best.num_nets == 1
    assert (generations[-1].center is None) == (algorithm == "ga")
    assert repr(generations[0]).startswith("Generation(0: fitness -")


def test_evolution_is_determined_by_its_seed():
    runs = [
        [g.fitness.tolist() for g in evolve(small_pop(), error_of_all, generations=4, seed=seed,
                                            options=GeneticOptions(crossover=0.5, elites=1))]
        for seed in (1, 1, 2)
    ]  # fmt: skip
    assert runs[0] == runs[1] != runs[2]


def test_it_stops_at_a_goal_and_names_an_unknown_algorithm():
    assert len(list(evolve(small_pop(), error_of_all, goal=-1e9))) == 1
    with pytest.raises(
        UnknownNameError, match=r"No algorithm is named 'sness'\. Did you mean 'snes'"
    ):
        next(evolve(small_pop(), error_of_all, algorithm="sness"))


def test_a_failing_fitness_names_the_member_and_the_line():
    def failing(nets):
        raise ValueError("no such thing")

    with pytest.raises(ContractError) as caught:
        evaluate_members(failing, small_pop())
    message = str(caught.value)
    assert message.startswith(
        "The fitness function failed for member 0: ValueError: no such thing (test_own_pieces.py:"
    )
    with pytest.raises(ContractError, match=r"^Member 0 \(uid 0\) has the fitness nan"):
        evaluate_members(lambda nets: np.nan, small_pop())


# Nets of one's own.


def test_functions_of_numpy_are_nets():
    nets = FunctionNets(quadratic, 3, num_nets=16, inputs=1, outputs=1, key=4, sigma=0.1)
    out, memory = nets(np.broadcast_to(X, (16, *X.shape)))
    assert memory is None
    assert np.allclose(out[3], quadratic(nets.flat[3], X))
    many = FunctionNets(
        lambda p, x: p[:, None, :1] + x * p[:, None, 1:2] + x * x * p[:, None, 2:], 3, 16, 1, 1,
        key=4, vectorized=True,
    )  # fmt: skip
    assert np.allclose(many(np.broadcast_to(X, (16, *X.shape)))[0], out)
    assert repr(nets) == (
        "FunctionNets(quadratic, num_nets=16, inputs=1, outputs=1, parameters=3, sigma=0.1)"
    )
    last = list(evolve(GeneratorPop(nets), error_of_all, generations=25))[-1]
    assert last.fitness.max() > -0.25


def counting(parameters, x, memory=None):
    memory = np.zeros((len(x), 1)) if memory is None else memory
    return x + memory, memory + parameters[0]


def test_functions_may_have_memory():
    pop = GeneratorPop(FunctionNets(counting, 1, 3, 1, 1, key=1))
    x = np.zeros((3, 2, 1))
    assert not pop.generate(x).any()
    assert np.allclose(pop.generate(x)[:, 0, 0], pop.nets.flat[:, 0])
    pop.on_done(np.array([[True, False]] * 3))
    assert np.allclose(pop.generate(x)[:, 0, 0], 0)


def test_an_error_in_a_net_of_ones_own_names_its_line():
    def broken(parameters, x):
        return x[0] @ parameters

    nets = FunctionNets(broken, 2, 3, 1, 1, key=1)
    with pytest.raises(ContractError, match=r"^broken failed: ValueError: .*test_own_pieces.py:"):
        nets(np.zeros((3, 2, 1)))
    wrong = FunctionNets(lambda p, x: np.zeros((len(x), 4)), 2, 3, 1, 1, key=1)
    with pytest.raises(ContractError) as caught:
        wrong(np.zeros((3, 2, 1)))
    assert str(caught.value) == (
        "<lambda> must return outputs of shape [3, 2, 1] for all members, not [3, 2, 4]."
    )


@pytest.mark.train
def test_torch_modules_are_nets():
    torch = pytest.importorskip("torch")

    def make():
        return torch.nn.Sequential(torch.nn.Linear(1, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))

    nets = ModuleNets(make, 16, 1, 1, key=3, sigma=0.1)
    x = np.broadcast_to(X, (16, *X.shape))
    out, _ = nets(x)
    assert isinstance(out, np.ndarray)
    assert len(np.unique(out[:, 0, 0])) == 16, "each has weights of its own"
    with torch.no_grad():
        assert np.allclose(out[5], nets.module(5)(torch.tensor(X)).numpy(), atol=1e-6)
    assert isinstance(nets(torch.tensor(x.copy()))[0], torch.Tensor)
    assert np.array_equal(ModuleNets(make, 16, 1, 1, key=3)(x)[0], out)
    other = copy.deepcopy(nets)
    other.mutate()
    assert not np.array_equal(other(x)[0], out)
    assert np.array_equal(pickle.loads(pickle.dumps(nets))(x)[0], out)
    fitness = [g.fitness.max() for g in evolve(GeneratorPop(nets), error_of_all, generations=15)]
    assert fitness[-1] > fitness[0]


@pytest.mark.train
def test_recurrent_torch_modules_have_memory():
    torch = pytest.importorskip("torch")

    class Elman(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.cell, self.out = torch.nn.RNNCell(2, 5), torch.nn.Linear(5, 3)

        def forward(self, x, memory=None):
            hidden = self.cell(x, memory)
            return self.out(hidden), hidden

    pop = GeneratorPop(ModuleNets(Elman, 4, 2, 3, key=3))
    x = np.ones((4, 2, 2), dtype=np.float32)
    first, second = pop.generate(x), pop.generate(x)
    assert not np.array_equal(first, second)
    pop.reset_memory()
    assert np.allclose(pop.generate(x), first, atol=1e-6)
    pop.apply_selection([1, 1, 3, 3])
    assert pop.generate(x).shape == (4, 2, 3)


def test_a_population_of_own_nets_is_saved_and_loaded_into_such_nets(tmp_path):
    path = tmp_path / "own.safetensors"
    pop = GeneratorPop(FunctionNets(quadratic, 3, 4, 1, 1, key=1))
    pop.save(path)
    loaded = GeneratorPop.load(path, nets=FunctionNets(quadratic, 3, 4, 1, 1, key=2))
    assert np.array_equal(loaded.get_params(), pop.get_params())
    with pytest.raises(SettingsError) as caught:
        GeneratorPop.load(path)
    assert str(caught.value) == (
        f"{path} holds nets of your own, and a file holds no code: load it with "
        "GeneratorPop.load(path, nets=...), nets of the same class and sizes."
    )


# Running normalisation of static nets.


@pytest.mark.parametrize("kind", [FeedforwardStaticNets, RecurrentStaticNets])
def test_inputs_are_normalised_by_what_was_seen(kind):
    nets = kind(3, 2, 2, (4,), key=1, normalize=True)
    pop, plain = GeneratorPop(nets), kind(3, 2, 2, (4,), key=1)
    data = np.random.default_rng(0).normal([100.0, -0.01], [30.0, 0.001], (200, 3, 1, 2))
    memory = None
    for step in range(200):
        seen = data[: step + 1].astype(np.float32).astype(np.float64)
        deviation = seen.std(axis=0, ddof=1) if step else np.inf
        scaled = (data[step].astype(np.float32) - seen.mean(axis=0)) / deviation
        expected, memory = plain(scaled, memory)
        assert np.allclose(pop.generate(data[step]), expected, atol=1e-4)
    assert not pop.nets.running_stats.n.any(), "memory has the copies"
    pop.apply_selection([2, 2, 0])
    assert (pop.nets.running_stats.n == 200).all()
    assert np.allclose(pop.nets.running_stats.mean[0], data[:, 2, 0].mean(axis=0), rtol=1e-4)
