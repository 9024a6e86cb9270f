"""Populations and nets in use: arrays or tensors, refusals, copies."""

import copy
import pickle

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.core.errors import SettingsError
from kinfolk.evolution import GAConfig, GeneratorDiscriminatorPop, GeneratorPop, truncation
from kinfolk.nets import DynamicNets, FeedforwardStaticNets, RecurrentStaticNets

KINDS = [FeedforwardStaticNets, RecurrentStaticNets, DynamicNets]
NAMES = ["BaseNets", "BasePop", "GAConfig", "GeneratorDiscriminatorPop", "GeneratorPop",
         "DynamicNets", "FeedforwardStaticNets", "RecurrentStaticNets"]  # fmt: skip


def nets_of(kind, members=4, outputs=3, key=1):
    hidden = {} if kind is DynamicNets else {"hidden": (6,)}
    nets = kind(members, 5, outputs, key=key, **hidden)
    for step in range(6):
        nets.mutate(step)
    return nets


def inputs(members=4, batch=2, seed=0):
    return np.random.default_rng(seed).standard_normal((members, batch, 5)).astype(np.float32)


def test_every_name_of_the_note_is_public():
    for name in NAMES:
        home = kf.nets if name.endswith("Nets") else kf.evolution
        assert getattr(kf, name) is getattr(home, name)
        assert name in kf.__all__
        assert name in home.__all__


@pytest.mark.parametrize("kind", KINDS)
def test_mutate_without_a_key_takes_the_next_of_a_counter(kind):
    one, two = (GeneratorPop(nets_of(kind, key=7)) for _ in range(2))
    other = GeneratorPop(nets_of(kind, key=8))
    for pop in (one, two, other):
        pop.mutate()
        pop.mutate()
    assert digest(one) == digest(two), "the same nets mutate alike"
    assert digest(one) != digest(other)
    one.mutate()
    two.mutate(5)
    assert digest(one) != digest(two)
    one.nets, two.nets = nets_of(kind), nets_of(kind)
    one.mutate(5)
    two.mutate(5)
    assert digest(one) == digest(two), "a key makes it exact"


def digest(pop):
    return {name: array.tobytes() for name, array in pop.nets.to_arrays().items()}


@pytest.mark.train
@pytest.mark.parametrize("kind", KINDS)
def test_tensors_return_tensors_and_arrays_arrays(kind):
    torch = pytest.importorskip("torch")
    pop = GeneratorDiscriminatorPop(nets_of(kind), 2, 1, GAConfig(inherit_fit=True))
    arrays = pop.generate(inputs())
    tensors = GeneratorDiscriminatorPop(nets_of(kind), 2, 1).generate(torch.tensor(inputs()))
    assert isinstance(arrays, np.ndarray)
    assert isinstance(tensors, torch.Tensor)
    assert np.allclose(arrays, tensors.numpy(), atol=1e-5)
    assert pop.generate(torch.tensor(inputs(seed=1))).shape == (4, 2, 2), "and they mix"
    total = pop.get_total_fitness(torch.arange(4.0))
    assert isinstance(total, torch.Tensor)
    assert truncation(total).tolist() == [3, 2, 3, 2]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("x", "message"),
    [
        ([[[0.0] * 5]] * 4,
         "Inputs must be an array or a tensor of shape [4, batch, 5], not a list."),
        (np.zeros((4, 5)), "Inputs must have shape [4, batch, 5], not [4, 5]."),
        (np.zeros((3, 1, 5)), "Inputs must have shape [4, batch, 5], not [3, 1, 5]."),
        (np.zeros((4, 1, 6)), "Inputs must have shape [4, batch, 5], not [4, 1, 6]."),
        (np.full((4, 1, 5), "a"), "Inputs must be numbers, not of the dtype <U1."),
    ],
    ids=["a list", "no batch", "other nets", "other inputs", "text"],
)  # fmt: skip
def test_wrong_inputs_are_refused(kind, x, message):
    with pytest.raises(SettingsError) as caught:
        GeneratorPop(nets_of(kind)).generate(x)
    assert str(caught.value) == message


@pytest.mark.parametrize("kind", KINDS[1:])
def test_another_batch_size_is_refused_until_the_memory_is_reset(kind):
    pop = GeneratorPop(nets_of(kind))
    pop.generate(inputs(batch=2))
    with pytest.raises(SettingsError) as caught:
        pop.generate(inputs(batch=3))
    assert str(caught.value) == (
        "The memory is of 4 nets with 2 rows each, and the inputs are of 4 nets with 3. Keep the "
        "batch size until the memory is reset, or pass the memory of these nets."
    )
    pop.reset_memory()
    if kind is DynamicNets:
        pop.apply_selection(range(4))  # their statistics are merged, row by row
    assert pop.generate(inputs(batch=3)).shape == (4, 3, 3)


def played(kind, roles=2):
    config = GAConfig(inherit_mem=True, inherit_fit=True)
    nets = nets_of(kind)
    pop = (
        GeneratorDiscriminatorPop(nets, 2, 1, config) if roles == 2 else GeneratorPop(nets, config)
    )
    pop.generate(inputs())
    pop.get_total_fitness(np.arange(4.0))
    pop.apply_selection([1, 1, 3, 3])
    pop.mutate()
    pop.generate(inputs(seed=3))
    return pop


def assert_same_future(pop, other):
    assert repr(other) == repr(pop)
    for step in range(3):
        assert np.array_equal(pop.generate(inputs(seed=step)), other.generate(inputs(seed=step)))
        for each in (pop, other):
            each.get_total_fitness([4.0, 1.0, 2.0, 3.0])
            each.apply_selection([0, 3, 3, 2], n_elites=1)
            each.mutate(n_elites=1)
        assert digest(pop) == digest(other)
        assert pop.uid.tolist() == other.uid.tolist()
        assert pop.get_inheritable_fitness().tolist() == other.get_inheritable_fitness().tolist()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("roles", [1, 2])
def test_a_copied_pickled_or_saved_population_goes_on_alike(kind, roles, tmp_path):
    path = tmp_path / "pop.safetensors"
    pop = played(kind, roles)
    pop.save(path)
    for other in (copy.deepcopy(pop), pickle.loads(pickle.dumps(pop)), type(pop).load(path)):
        assert_same_future(copy.deepcopy(pop), other)


@pytest.mark.train
def test_a_copy_runs_its_own_parameters_in_torch_too():
    torch = pytest.importorskip("torch")
    pop = GeneratorPop(nets_of(FeedforwardStaticNets))
    x = torch.tensor(inputs())
    pop.generate(x)
    other = copy.deepcopy(pop)
    other.mutate()
    assert np.allclose(other.generate(x).numpy(), other.generate(inputs()), atol=1e-5)
    assert not np.allclose(other.generate(x).numpy(), pop.generate(x).numpy(), atol=1e-5)


def test_a_file_of_another_population_is_refused(tmp_path):
    path = tmp_path / "pop.safetensors"
    played(RecurrentStaticNets, 1).save(path)
    with pytest.raises(SettingsError) as caught:
        GeneratorDiscriminatorPop.load(path)
    assert str(caught.value) == f"{path} holds a GeneratorPop: load it with GeneratorPop.load."


def test_pops_show_what_they_are_made_of():
    pop = GeneratorDiscriminatorPop(
        FeedforwardStaticNets(4, 5, 3, (6,), key=1, normalize=True),
        2,
        1,
        GAConfig(inherit_mem=True),
    )
    assert repr(pop) == (
        "GeneratorDiscriminatorPop(FeedforwardStaticNets(num_nets=4, inputs=5, outputs=3, "
        "hidden=(6,), sigma=0.01, normalize=True), n_gen=2, n_disc=1, inherit_mem)"
    )


class Jumping(FeedforwardStaticNets):
    """Nets that mutate in place, by a `mutate` of their own without arguments."""

    def mutate(self):
        self.flat += 1.0


def test_a_mutation_without_arguments_leaves_elites_alone():
    pop = GeneratorPop(Jumping(4, 5, 3, key=1))
    before = pop.get_params()
    pop.mutate(n_elites=2)
    assert np.array_equal(pop.get_params()[:2], before[:2])
    assert np.array_equal(pop.get_params()[2:], before[2:] + 1.0)
