"""The design note on populations ("Pop Design Plan"), statement by statement, by its own names."""

import copy
import inspect
import pickle

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.core.errors import SettingsError
from kinfolk.evolution import BasePop, GAConfig, GeneratorDiscriminatorPop, GeneratorPop, truncation
from kinfolk.nets import BaseNets, DynamicNets, FeedforwardStaticNets, RecurrentStaticNets

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


# "Nets = pure low-level computation (no argmax, no action selection)"


@pytest.mark.parametrize("kind", KINDS)
def test_nets_map_x_and_memory_to_out_and_memory(kind):
    nets = nets_of(kind)
    assert isinstance(nets, BaseNets)
    out, memory = nets(inputs())
    assert out.shape == (4, 2, 3), "[num_nets, batch_size, num_outputs]"
    before = [np.array(part) for part in memory or []]
    out_again, _ = nets(inputs(seed=1), memory)
    assert out_again.shape == (4, 2, 3)
    for old, part in zip(before, memory or [], strict=True):
        assert np.array_equal(old, part), "the memory that was passed in is not changed"


def test_feedforward_nets_have_no_memory():
    nets = nets_of(FeedforwardStaticNets)
    assert nets(inputs(), None)[1] is None


def test_recurrent_memory_is_a_list_of_hidden_tensors_per_layer():
    nets = RecurrentStaticNets(4, 5, 3, (6, 7), key=1)
    memory = nets(inputs())[1]
    assert isinstance(memory, list)
    assert [part.shape for part in memory] == [(4, 2, 6), (4, 2, 7)]


def test_dynamic_memory_holds_n_mean_m2_x_z():
    memory = nets_of(DynamicNets)(inputs())[1]
    assert set(memory._fields) == {"n", "mean", "m2", "x", "z"}


# "BasePop: nets, mutate(), apply_selection(indices), get_inheritable_fitness(), get_params(),
#  set_params()"


@pytest.mark.parametrize("kind", KINDS)
def test_a_pop_wraps_nets_and_delegates_mutation(kind):
    pop = GeneratorPop(nets_of(kind))
    assert isinstance(pop, BasePop)
    assert inspect.isabstract(BasePop)
    assert inspect.isabstract(BaseNets)
    assert pop.num_nets == pop.nets.num_nets == 4
    before = pop.nets.to_arrays()
    before = {name: array.copy() for name, array in before.items()}
    pop.mutate()
    changed = pop.nets.to_arrays()
    assert any(not np.array_equal(changed[name], before[name]) for name in before)


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


@pytest.mark.parametrize("kind", KINDS)
def test_apply_selection_copies_parents_as_1_1_3_3(kind):
    pop = GeneratorPop(nets_of(kind))
    before = {name: array.copy() for name, array in pop.nets.to_arrays().items()}
    pop.apply_selection([1, 1, 3, 3])
    for name, array in pop.nets.to_arrays().items():
        assert np.array_equal(array, before[name][[1, 1, 3, 3]])


def test_get_params_and_set_params_flatten_and_reconstruct():
    torch = pytest.importorskip("torch")
    pop = GeneratorPop(nets_of(RecurrentStaticNets))
    params, expected = pop.get_params(), pop.generate(inputs())
    assert params.shape == (4, 5 * 6 + 6 * 6 + 6 + 6 * 3 + 3)
    for given in (params, torch.tensor(params)):
        pop.set_params(given * 0)
        assert not pop.get_params().any()
        pop.set_params(given)
        assert np.array_equal(pop.generate(inputs()), expected)


def test_dynamic_nets_say_that_they_have_no_parameters():
    with pytest.raises(SettingsError, match=r"^Dynamic nets have no fixed set of parameters"):
        GeneratorPop(nets_of(DynamicNets)).get_params()


# "GeneratorPop: generate(x) -> raw outputs, single memory slot _mem"


@pytest.mark.parametrize("kind", KINDS[1:])
def test_a_generator_pop_keeps_one_memory(kind):
    pop, nets = GeneratorPop(nets_of(kind)), nets_of(kind)
    memory = None
    for step in range(3):
        expected, memory = nets(inputs(seed=step), memory)
        assert np.array_equal(pop.generate(inputs(seed=step)), expected)
    for ours, theirs in zip(pop._mem, memory, strict=True):
        assert np.array_equal(ours, theirs)
    pop.reset_memory()
    assert not pop._mem[0].any()


# "GeneratorDiscriminatorPop: generate(x) -> first n outputs, discriminate(x) -> last m outputs"


@pytest.mark.parametrize("kind", KINDS)
def test_outputs_are_partitioned_between_the_roles(kind):
    pop, whole = GeneratorDiscriminatorPop(nets_of(kind), 2, 1), nets_of(kind)
    out, _ = whole(inputs())
    assert np.array_equal(pop.generate(inputs()), out[..., :2])
    assert np.array_equal(pop.discriminate(inputs()), out[..., -1:])
    assert (pop.n_gen, pop.n_disc) == (2, 1)


@pytest.mark.parametrize("kind", KINDS[1:])
def test_two_memories_never_mix(kind):
    pop = GeneratorDiscriminatorPop(nets_of(kind), 2, 1)
    pop.generate(inputs())
    assert pop._disc_mem is None
    pop.discriminate(inputs(seed=1))
    gen, saved = pop._gen_mem, pop.save_memory()
    assert set(saved) == {"gen", "disc"}
    pop.discriminate(inputs(seed=2))
    assert pop._gen_mem is gen
    pop.reset_memory("disc")
    assert not pop._disc_mem[0].any()
    assert pop._gen_mem is gen
    pop.restore_memory(saved)
    assert np.array_equal(pop._disc_mem[0], saved["disc"][0])
    assert pop._disc_mem[0] is not saved["disc"][0], "states are cloned"


def test_a_state_of_an_unknown_type_is_a_type_error():
    with pytest.raises(TypeError, match=r"not dict\.$"):
        GeneratorPop(nets_of(RecurrentStaticNets)).restore_memory({})


# "Three toggles, each independent"


def test_ga_config_has_three_toggles_that_are_off():
    assert GAConfig() == GAConfig(inherit_env=False, inherit_mem=False, inherit_fit=False)
    assert [*inspect.signature(GAConfig).parameters] == [
        "inherit_env",
        "inherit_mem",
        "inherit_fit",
    ]


@pytest.mark.parametrize("mem", [False, True])
@pytest.mark.parametrize("fit", [False, True])
def test_what_a_child_takes_over_is_what_the_toggles_say(mem, fit):
    pop = GeneratorPop(nets_of(RecurrentStaticNets), GAConfig(inherit_mem=mem, inherit_fit=fit))
    pop.generate(inputs())
    before = pop.save_memory()
    assert pop.get_total_fitness(np.arange(4.0)).tolist() == [0, 1, 2, 3]
    pop.apply_selection([1, 1, 3, 3])
    assert (pop._mem is not None) == mem
    if mem:
        assert np.array_equal(pop._mem[0], before[0][[1, 1, 3, 3]])
    inherited = [1.0, 1.0, 3.0, 3.0] if fit else [0.0] * 4
    assert pop.get_inheritable_fitness().tolist() == inherited
    assert pop.get_total_fitness([10.0] * 4).tolist() == [10 + value for value in inherited]


# Numpy or tensors, as they came in; errors; copies.


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
