"""Fitness functions, nets and loops of one's own."""

import copy
import pickle

import numpy as np
import pytest

from kinfolk.core.errors import ContractError, SettingsError, UnknownNameError
from kinfolk.engines.base import LocalEngine
from kinfolk.engines.processes import ProcessEngine
from kinfolk.evolution import GAConfig, GeneratorPop, GeneticOptions, evaluate_members, evolve
from kinfolk.nets import (
    FeedforwardStaticNets,
    FunctionNets,
    ModuleNets,
    RecurrentStaticNets,
    make_nets,
)

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


def worst_first(fitness, key):
    return np.argsort(fitness)[[0] * len(fitness)]


def test_a_function_selects_parents():
    pop = small_pop(6)
    options = GeneticOptions(selection=worst_first, elites=1)
    first = next(evolve(pop, error_of_all, options=options))
    worst, best = int(np.argmin(first.fitness)), int(np.argmax(first.fitness))
    assert pop.parents.tolist() == [-1, *[worst] * 5]
    assert pop.uid[0] == best, "the elite survives"
    with pytest.raises(ContractError, match=r"^A selection of 6 members needs as many indices"):
        next(evolve(small_pop(6), error_of_all, options=GeneticOptions(selection=lambda f, k: [0])))


@pytest.mark.parametrize(
    ("options", "error", "sentence"),
    [
        ({"selection": "roulette"}, UnknownNameError,
         "No selection is named 'roulette'. Known: truncation, tournament. "
         "Or give a function of fitness and key that returns the indices of parents."),
        ({"crossover": 3.0}, SettingsError, "crossover must be from 0 to 1, not 3.0."),
        ({"crossover": -0.1}, SettingsError, "crossover must be from 0 to 1, not -0.1."),
        ({"elites": -1}, SettingsError, "elites must be at least 0, not -1."),
        ({"tournament_size": 5}, SettingsError,
         "tournament_size has an effect with selection='tournament' only: leave it out."),
        ({"selection": "tournament", "tournament_size": 0}, SettingsError,
         "A tournament needs at least 1 contestant, not 0."),
        ({"species_distance": 2.0}, SettingsError, "species_distance must be in (0, 1], not 2.0."),
        ({"species_distance": 0.5, "selection": "tournament"}, SettingsError,
         "Species select their better half each: leave out selection or species_distance."),
    ],
)  # fmt: skip
def test_options_without_effect_or_out_of_range_are_refused(options, error, sentence):
    with pytest.raises(error) as caught:
        GeneticOptions(**options)
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"algorithm": "snes", "options": GeneticOptions()},
         "Options are for the algorithm ga; snes has none."),
        ({"algorithm": "snes", "learning_rate": 0.3},
         "Only openai-es has a learning_rate, snes has none: leave it out."),
        ({"learning_rate": 0.3},
         "ga has no learning_rate: leave it out. Nets have their own mutation."),
        ({"sigma": 0.3}, "ga has no sigma: leave it out. Nets have their own mutation."),
        ({"engine": LocalEngine()},
         "An engine scores members one by one: set per_member=True, or leave out engine."),
        ({"options": GeneticOptions(keep_running_stats=False)},
         "These nets have no running statistics to drop: leave out keep_running_stats."),
        ({"options": GeneticOptions(species_distance=0.5)},
         "FeedforwardStaticNets have no distance, which species need: leave out species_distance, "
         "or use dynamic nets."),
    ],
)  # fmt: skip
def test_arguments_without_effect_are_refused(arguments, sentence):
    with pytest.raises(SettingsError) as caught:
        next(evolve(small_pop(), error_of_all, **arguments))
    assert str(caught.value) == sentence


def test_strategies_refuse_what_only_parents_have():
    nets = FeedforwardStaticNets(4, 1, 1, (8,), key=2)
    inheriting = GeneratorPop(nets, GAConfig(inherit_mem=True, inherit_fit=True))
    with pytest.raises(SettingsError) as caught:
        next(evolve(inheriting, error_of_all, algorithm="snes"))
    assert str(caught.value) == (
        "Members drawn by snes have no parents: leave out inherit_mem, inherit_fit, or use ga."
    )
    with pytest.raises(SettingsError) as caught:
        next(evolve(small_pop(self_adaptive=True), error_of_all, algorithm="snes"))
    assert str(caught.value) == (
        "snes does not mutate: leave out self_adaptive of the nets, or use ga."
    )


def test_dynamic_nets_refuse_options_of_static_ones():
    for options in ({"hidden": (4,)}, {"sigma": 0.1}, {"zero": True}, {"normalize": True}):
        with pytest.raises(SettingsError) as caught:
            make_nets("dynamic", 4, 2, 1, **options)
        assert str(caught.value) == (
            "Dynamic nets have no hidden, sigma, self_adaptive, zero or normalize: leave them out."
        )


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


@pytest.mark.train
@pytest.mark.parametrize(
    ("layer", "sentence"),
    [
        ("BatchNorm1d", "BatchNorm1d (1): its statistics are of the batch, not of a member: "
                        "use LayerNorm."),
        ("Dropout", "Dropout (1): it drops at random in every call: leave it out, or set p to 0."),
        ("LSTMCell", "LSTMCell (1): torch.func.vmap cannot run it: use RNNCell or GRUCell, with "
                     "memory."),
        ("GRU", "GRU (1): torch.func.vmap cannot run it: use RNNCell or GRUCell, with memory."),
    ],
)  # fmt: skip
def test_layers_that_members_cannot_have_are_refused_by_name(layer, sentence):
    torch = pytest.importorskip("torch")
    arguments = {"BatchNorm1d": (5,), "Dropout": (0.5,)}.get(layer, (5, 5))

    def make():
        return torch.nn.Sequential(torch.nn.Linear(2, 5), getattr(torch.nn, layer)(*arguments))

    with pytest.raises(SettingsError) as caught:
        ModuleNets(make, 4, 2, 5, key=1)
    assert str(caught.value) == f"ModuleNets cannot have the layer {sentence}"


@pytest.mark.train
def test_a_module_that_draws_at_random_is_refused_and_a_given_module_left_alone():
    torch = pytest.importorskip("torch")

    class Noisy(torch.nn.Linear):
        def forward(self, x):
            return super().forward(x) + torch.randn(3)

    with pytest.raises(ContractError, match=r"^Noisy failed: .*random operation"):
        ModuleNets(Noisy(2, 3), 4, 2, 3, key=1)(np.zeros((4, 1, 2)))
    given = torch.nn.Linear(2, 3)
    ModuleNets(given, 4, 2, 3, key=1)
    assert given.weight.requires_grad


def test_a_memory_that_a_file_cannot_hold_is_refused(tmp_path):
    pop = GeneratorPop(FunctionNets(counting, 1, 3, 1, 1, key=1))
    pop.generate(np.zeros((3, 2, 1)))
    pop.save(tmp_path / "pop.safetensors")
    with pytest.raises(SettingsError, match=r"^The structure of a memory of FunctionNets is not"):
        GeneratorPop.load(tmp_path / "pop.safetensors", nets=pop.nets)


def test_nets_as_a_slot_say_that_they_are_no_policy():
    import kinfolk as kf

    nets = FeedforwardStaticNets(1, 4, 2, key=1)
    for given, name in ((nets, "FeedforwardStaticNets"), (GeneratorPop(nets), "GeneratorPop")):
        with pytest.raises(SettingsError) as caught:
            kf.evaluate("gym:CartPole-v1", slots={"all": given}, episodes=1)
        assert str(caught.value) == (
            f"{name} is a population of nets, not a policy. Nets of `kinfolk evolve nets` play as "
            "run:RUN; call others in a policy class of your own."
        )


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
