"""The design note on populations of nets ("Pop Design Plan"), statement by statement."""

import inspect
import subprocess
import sys

import numpy as np
import pytest

import kinfolk as kf
from kinfolk import (
    BaseNets,
    BasePop,
    DynamicNets,
    FeedforwardStaticNets,
    GAConfig,
    GeneratorDiscriminatorPop,
    GeneratorPop,
    RecurrentStaticNets,
)
from kinfolk.core.errors import SettingsError
from kinfolk.core.events import Event
from kinfolk.core.settings import validate_settings
from kinfolk.engines.base import LocalEngine
from kinfolk.evolution import evolve, make_strategy, truncation
from kinfolk.fitness.imitation import adversarial_scores, draw_partners
from kinfolk.jobs.evolve_nets.job import evolve_nets
from kinfolk.jobs.evolve_nets.settings import EvolveNets
from kinfolk.jobs.evolve_nets.setup import build_fitness, build_populations, build_setup

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.train

KINDS = [FeedforwardStaticNets, RecurrentStaticNets, DynamicNets]
WITH_MEMORY = KINDS[1:]
INDICES = [1, 1, 3, 3]


def nets_of(kind, hidden=(6,)):
    """Four nets of 5 inputs and 3 outputs, mutated a few times; dynamic ones have seen inputs."""
    options = {} if kind is DynamicNets else {"hidden": hidden}
    nets = kind(4, 5, 3, key=1, **options)
    for step in range(6):
        nets.mutate(step)
    mem = None
    for step in range(6):
        _, mem = nets(inputs(seed=100 + step), mem)
    if kind is DynamicNets:
        nets.merge_copies([mem])
    return nets


def inputs(batch=2, seed=0):
    return np.random.default_rng(seed).standard_normal((4, batch, 5)).astype(np.float32)


def copies(nets):
    return {name: array.copy() for name, array in nets.to_arrays().items()}


def same(memory, other):
    return all(np.array_equal(a, b) for a, b in zip(memory, other, strict=True))


def test_01_three_toggles_are_off_by_default():
    """`GAConfig`: inherit_env, inherit_mem, inherit_fit, each False."""
    names = ["inherit_env", "inherit_mem", "inherit_fit"]
    assert [*inspect.signature(GAConfig).parameters] == names
    assert [getattr(GAConfig(), name) for name in names] == [False, False, False]


def test_02_base_pop_is_abstract_above_two_populations():
    """`BasePop` (abstract) - `GeneratorPop`, `GeneratorDiscriminatorPop`."""
    assert inspect.isabstract(BasePop)
    assert inspect.isabstract(BaseNets)
    assert GeneratorPop.__mro__[1] is BasePop
    assert GeneratorDiscriminatorPop.__mro__[1] is BasePop
    with pytest.raises(TypeError, match="abstract"):
        BasePop(nets_of(FeedforwardStaticNets))


@pytest.mark.parametrize("kind", KINDS)
def test_03_nets_map_x_and_mem_to_out_and_mem(kind):
    """`nets(x, mem) -> (out, mem)`: the same inputs give the same outputs."""
    nets = nets_of(kind)
    first, mem = nets(inputs())
    second, _ = nets(inputs(seed=1), mem)
    assert np.array_equal(nets(inputs(seed=1), mem)[0], second)
    assert np.array_equal(nets(inputs())[0], first)
    assert np.array_equal(nets(inputs(), None)[0], first)


@pytest.mark.parametrize("kind", KINDS)
def test_04_mem_is_a_keyword(kind):
    """`def __call__(self, x, mem=None)`."""
    nets = nets_of(kind)
    _, mem = nets(inputs(), mem=None)
    by_name, _ = nets(inputs(seed=1), mem=mem)
    assert np.array_equal(by_name, nets(inputs(seed=1), mem)[0])
    assert [*inspect.signature(kind.__call__).parameters] == ["self", "x", "mem"]


def test_05_feedforward_nets_return_no_memory():
    """Feedforward: mem in = None, mem out = None."""
    nets = nets_of(FeedforwardStaticNets)
    assert nets(inputs())[1] is None
    assert nets(torch.tensor(inputs()), mem=None)[1] is None


def test_06_recurrent_memory_is_a_list_of_hidden_tensors():
    """Recurrent: mem = list of hidden tensors per layer."""
    nets = nets_of(RecurrentStaticNets, hidden=(5, 7))
    _, mem = nets(torch.tensor(inputs(batch=6)))
    assert [tuple(part.shape) for part in mem] == [(4, 6, 5), (4, 6, 7)]
    assert isinstance(mem, list)
    assert all(isinstance(part, torch.Tensor) for part in mem)


def test_07_dynamic_memory_is_n_mean_m2_x_z():
    """Dynamic: mem = the `n_mean_m2_x_z` tensor; here five tensors with these names."""
    nets = nets_of(DynamicNets)
    x = torch.tensor(inputs(batch=3))
    out, mem = nets(x)
    for name in ("n", "mean", "m2", "x", "z"):
        part = getattr(mem, name)
        assert isinstance(part, torch.Tensor)
        assert part.shape == (4, 3, nets.capacity)
    again, after = nets(x, mem)
    _, arrays = nets(inputs(batch=3))
    expected, expected_after = nets(inputs(batch=3), arrays)
    assert np.array_equal(again, expected)
    assert same(after, expected_after)
    assert not torch.equal(out, again), "the memory matters"
    assert (mem.n > 0).any(), "values were counted"


@pytest.mark.parametrize("kind", WITH_MEMORY)
def test_08_nets_receive_state_and_store_none(kind):
    """Pop manages memory externally: nets receive state, don't store it."""
    nets = nets_of(kind)
    before = copies(nets)
    _, mem = nets(inputs())
    kept = [np.array(part) for part in mem]
    nets(inputs(seed=1), mem)
    assert same(mem, kept), "the memory that was passed in is not changed"
    assert all(np.array_equal(nets.to_arrays()[name], before[name]) for name in before)


@pytest.mark.parametrize("kind", KINDS)
def test_09_outputs_are_raw_and_of_all_nets(kind):
    """Network output shape: `[num_nets, batch_size, num_outputs]`; no argmax."""
    nets, mem = nets_of(kind), None
    for step in range(4):  # an edge of dynamic nets takes a step
        out, mem = nets(inputs(batch=7, seed=step), mem)
    assert out.shape == (4, 7, 3)
    assert out.dtype == np.float32
    assert len(np.unique(out)) > 20


@pytest.mark.parametrize("kind", KINDS)
def test_10_a_generator_pop_keeps_one_memory(kind):
    """`GeneratorPop.generate(x)`; `_mem`: single memory slot."""
    pop, nets = GeneratorPop(nets_of(kind)), nets_of(kind)
    assert pop._mem is None
    mem = None
    for step in range(3):
        expected, mem = nets(inputs(seed=step), mem)
        assert np.array_equal(pop.generate(inputs(seed=step)), expected)
    assert same(pop._mem or [], mem or [])
    assert not hasattr(pop, "discriminate")


@pytest.mark.parametrize("kind", KINDS)
def test_11_outputs_are_partitioned(kind):
    """`output[..., :n_gen]` generates, `output[..., -n_disc:]` discriminates."""
    pop = GeneratorDiscriminatorPop(nets_of(kind), 2, 1)
    out, _ = nets_of(kind)(inputs())
    assert np.array_equal(pop.generate(inputs()), out[..., :2])
    assert np.array_equal(pop.discriminate(inputs()), out[..., -1:])
    assert (pop.n_gen, pop.n_disc) == (2, 1)
    with pytest.raises(SettingsError, match="with 3 they would overlap"):
        GeneratorDiscriminatorPop(nets_of(kind), 2, 2)


@pytest.mark.parametrize("kind", WITH_MEMORY)
def test_12_two_memories_never_mix(kind):
    """`_gen_mem`: state during generation; `_disc_mem`: state during discrimination."""
    pop = GeneratorDiscriminatorPop(nets_of(kind), 2, 1)
    pop.generate(inputs())
    assert pop._disc_mem is None
    gen = pop._gen_mem
    pop.discriminate(inputs(seed=1))
    assert pop._gen_mem is gen
    assert not same(pop._gen_mem, pop._disc_mem)


@pytest.mark.parametrize("kind", WITH_MEMORY)
@pytest.mark.parametrize("mode", [None, "gen", "disc"])
def test_13_memory_is_reset_by_mode(kind, mode):
    """`reset_memory(mode)`: 'gen', 'disc', or None (both)."""
    pop = GeneratorDiscriminatorPop(nets_of(kind), 2, 1)
    first = pop.generate(inputs()), pop.discriminate(inputs())
    second = pop.generate(inputs()), pop.discriminate(inputs())
    assert not np.array_equal(first[0], second[0])
    pop.reset_memory(mode)
    assert (not pop._gen_mem[0].any()) == (mode in (None, "gen"))
    assert (not pop._disc_mem[0].any()) == (mode in (None, "disc"))
    with pytest.raises(SettingsError, match="A memory's mode is 'gen' or 'disc', or None"):
        pop.reset_memory("both")


@pytest.mark.parametrize("kind", WITH_MEMORY)
def test_14_memory_is_saved_and_restored_as_clones(kind):
    """`save_memory`, `restore_memory` clone; another type is a TypeError."""
    pop = GeneratorDiscriminatorPop(nets_of(kind), 2, 1)
    pop.generate(torch.tensor(inputs()))
    pop.discriminate(torch.tensor(inputs()))
    saved = pop.save_memory()
    assert set(saved) == {"gen", "disc"}
    expected = pop.generate(torch.tensor(inputs(seed=1)))
    pop.restore_memory(saved)
    saved["gen"][0][:] = 9.0
    assert torch.equal(pop.generate(torch.tensor(inputs(seed=1))), expected)
    with pytest.raises(TypeError, match="not set"):
        GeneratorPop(nets_of(kind)).restore_memory({1})


@pytest.mark.parametrize("kind", KINDS)
def test_15_selection_copies_parents(kind):
    """`apply_selection([1,1,3,3])`: agent 0 copies from 1, agent 2 copies from 3."""
    pop = GeneratorPop(nets_of(kind))
    before = copies(pop.nets)
    pop.apply_selection(INDICES)
    for name, array in pop.nets.to_arrays().items():
        assert np.array_equal(array, before[name][INDICES])


@pytest.mark.parametrize("mem", [False, True])
@pytest.mark.parametrize("fit", [False, True])
def test_16_toggles_are_independent(mem, fit):
    """Three toggles, each independent: if inherit_mem copy mem, if inherit_fit copy fitness."""
    pop = GeneratorPop(nets_of(RecurrentStaticNets), GAConfig(inherit_mem=mem, inherit_fit=fit))
    pop.generate(inputs())
    before = pop.save_memory()
    assert pop.get_total_fitness(np.arange(4.0)).tolist() == [0, 1, 2, 3]
    pop.apply_selection(INDICES)
    assert (pop._mem is not None) == mem
    if mem:
        assert np.array_equal(pop._mem[0], before[0][INDICES])
    inherited = [1.0, 1.0, 3.0, 3.0] if fit else [0.0] * 4
    assert pop.get_inheritable_fitness().tolist() == inherited


def test_17_fitness_accumulates():
    """`total_fitness = fitness_scores + inherited_fitness`."""
    pop = GeneratorPop(nets_of(FeedforwardStaticNets), GAConfig(inherit_fit=True))
    pop.get_total_fitness(np.array([4.0, 14.0, 23.0, 33.0]))
    pop.apply_selection([0, 1, 2, 3])
    total = pop.get_total_fitness(torch.full((4,), 10.0))
    assert isinstance(total, torch.Tensor)
    assert total.tolist() == [14, 24, 33, 43]
    pop.apply_selection([3, 3, 3, 3])
    assert pop.get_inheritable_fitness().tolist() == [43.0] * 4


@pytest.mark.parametrize("kind", KINDS)
def test_18_mutate_delegates_to_the_nets(kind):
    """`mutate()`: every member changes, as the nets mutate."""
    pop, nets = GeneratorPop(nets_of(kind)), nets_of(kind)
    before = copies(nets)
    pop.mutate()
    nets.mutate()
    after = pop.nets.to_arrays()
    assert all(np.array_equal(after[name], nets.to_arrays()[name]) for name in after)
    name = "growths" if kind is DynamicNets else "flat"
    assert all((after[name][i] != before[name][i]).any() for i in range(4))


def test_19_parameters_are_tensors_where_tensors_went_in():
    """`get_params() -> Tensor [num_nets, num_params]`, `set_params(params)` reconstructs."""
    pop = GeneratorPop(nets_of(RecurrentStaticNets))
    x = torch.tensor(inputs())
    expected = pop.generate(x)
    params = pop.get_params()
    assert isinstance(params, torch.Tensor)
    assert params.shape == (4, 5 * 6 + 6 * 6 + 6 + 6 * 3 + 3)
    pop.set_params(params * 0)
    assert isinstance(pop.get_params(), torch.Tensor)
    assert not pop.get_params().any()
    pop.set_params(params)
    assert torch.equal(pop.generate(x), expected)
    pop.set_params(params.numpy())
    assert isinstance(pop.get_params(), np.ndarray), "what was given last was an array"
    modules = kf.nets.ModuleNets(lambda: torch.nn.Linear(5, 3), 4, 5, 3, key=1)
    assert isinstance(GeneratorPop(modules).get_params(), torch.Tensor)


def test_20_a_population_knows_its_number_of_nets():
    """`num_nets`: that of its nets."""
    for kind in KINDS:
        pop = GeneratorPop(nets_of(kind))
        assert (pop.num_nets, pop.nets.num_nets) == (4, 4)


def test_21_a_genetic_algorithm_returns_indices():
    """GA: fitness in, list of indices out; Pop handles copying and mutation."""
    assert truncation([1, 4, 2, 9]).tolist() == [3, 1, 3, 1]
    assert truncation(torch.tensor([1.0, 4.0, 2.0, 9.0])).tolist() == [3, 1, 3, 1]
    pop = GeneratorPop(nets_of(FeedforwardStaticNets))
    pop.apply_selection(truncation([1, 4, 2, 9]))
    assert pop.parents.tolist() == [3, 1, 3, 1]


@pytest.mark.parametrize("algorithm", ["openai-es", "snes", "cma"])
def test_22_evolution_strategies_work_on_parameters(algorithm):
    """ES: params [pop, num_params] and fitness [pop] in, new_params out."""
    pop = GeneratorPop(FeedforwardStaticNets(16, 5, 3, (6,), key=1))
    strategy = make_strategy(algorithm, np.asarray(pop.get_params())[0], 16, 0.5, 1)
    means = []
    for _ in range(30):
        params = torch.tensor(strategy.ask(), dtype=torch.float32)
        pop.set_params(params)
        assert torch.equal(pop.get_params(), params)
        fitness = -(pop.get_params() ** 2).sum(dim=1)
        strategy.tell(fitness.numpy())
        means.append(float(fitness.mean()))
    assert means[-1] > means[0]
    with pytest.raises(SettingsError, match="Dynamic nets have no fixed set of parameters"):
        GeneratorPop(nets_of(DynamicNets)).get_params()


def test_23_adversarial_fitness_sums_2_n_scores():
    """Adversarial: random matching, 2 x N scores per agent (N as gen, N as disc), summed."""
    fakes = np.array([[0.2, 0.4], [0.6, 0.8], [1.0, 0.0]])  # what each discriminator gave
    reals = np.array([[0.9, 0.7], [0.5, 0.5], [0.1, 0.3]])
    partners = np.array([[1, 2], [2, 0], [0, 1]])
    scores = adversarial_scores(fakes, reals, partners)
    # Agent 0 generated for agents 2 and 1, and told the target from agents 1 and 2.
    assert np.allclose(scores[0], [1.0, 0.8, 0.9 - 0.2, 0.7 - 0.4])
    assert np.allclose(scores.sum(axis=1), [2.8, -0.2, 0.4])
    drawn = draw_partners(5, 4, 7)
    for match in range(4):
        assert sorted(drawn[:, match]) == list(range(5)), "random matching: each is met once"
        assert (drawn[:, match] != np.arange(5)).all()
    totals = {}
    for name in ("sum", "mean"):
        given = {"adversarial": "kin://cartpole", "matches": 4, "population": 5, "target_episodes": 2,
                 "world_settings": {"max_steps": 10}, "adversarial_fitness": name}  # fmt: skip
        settings = validate_settings(EvolveNets, given)
        setup = build_setup(settings)
        pops, fitness = build_populations(settings, setup), build_fitness(settings, setup)
        totals[name] = fitness(pops, 0, 3, LocalEngine()).fitness["agent"]
    assert validate_settings(EvolveNets, {}).adversarial_fitness == "sum"
    assert np.array_equal(totals["sum"], 4 * totals["mean"])
    assert totals["sum"].max() > 2.0


def scored(**given):
    given = {"algorithm": "ga", "population": 6, "held_out_episodes": 0, **given}
    items = evolve_nets(validate_settings(EvolveNets, given), LocalEngine())
    return [e for e in items if isinstance(e, Event) and e.kind == "generation_scored"]


def test_24_worlds_are_inherited_through_the_evaluation():
    """`inherit_env`: handled by Eval, which saves and restores env state."""
    given = {"generations": 2, "steps": 8, "sigma": 0.0, "zero_init": True}
    with_env, without = scored(**given, inherit=("env",)), scored(**given)
    assert max(with_env[0].fitness) == max(without[0].fitness) == 8.0
    assert max(with_env[1].fitness) <= 2.0, "children go on where their parents had nearly fallen"
    assert max(without[1].fitness) == 8.0


@pytest.mark.parametrize("head", ["argmax", "softmax_sample", "tanh", "raw"])
def test_25_outputs_are_processed_outside_of_the_nets(head):
    """How to add argmax, softmax, tanh on top of generate()? By `kinfolk.nets.heads`."""
    (generation,) = scored(generations=1, steps=20, head=head)
    assert 1.0 <= min(generation.fitness) <= max(generation.fitness) <= 20.0


@pytest.mark.parametrize("kind", WITH_MEMORY)
def test_26_ended_episodes_reset_their_rows(kind):
    """`on_done(done_mask)` for selective reset."""
    pop = GeneratorPop(nets_of(kind))
    pop.generate(torch.tensor(inputs()))
    before = pop.save_memory()
    pop.on_done(np.array([[True, False]] * 4))
    assert not pop._mem[0][:, 0].any()
    assert torch.equal(pop._mem[0][:, 1], before[0][:, 1])


class SketchedNets(BaseNets):
    """Nets as the note sketches them: `__call__` and `mutate`, and no more."""

    def __init__(self):
        generator = torch.Generator().manual_seed(1)
        self.weights = [torch.randn(4, 5, 6, generator=generator) / 5**0.5,
                        torch.randn(4, 6, 3, generator=generator) / 6**0.5]  # fmt: skip

    def __call__(self, x, mem=None):
        hidden = torch.tanh(x @ self.weights[0])
        hidden = hidden if mem is None else hidden + 0.5 * mem
        return hidden @ self.weights[1], hidden

    def mutate(self):
        self.weights = [w + 0.01 * torch.randn_like(w) for w in self.weights]


def small_outputs(pop):
    return -(pop.generate(torch.tensor(inputs())) ** 2).mean(dim=(1, 2))


def test_27_nets_as_sketched_run():
    """`class BaseNets(ABC)`: abstract `__call__`, and `mutate`."""
    x = torch.tensor(inputs())
    pop = GeneratorDiscriminatorPop(SketchedNets(), 2, 1, GAConfig(inherit_mem=True))
    assert pop.num_nets == 4
    assert pop.generate(x).shape == (4, 2, 2)
    with pytest.raises(SettingsError, match="with 3 they would overlap"):
        GeneratorDiscriminatorPop(SketchedNets(), 2, 2).generate(x)
    memory, params = pop.save_memory()["gen"], pop.get_params()
    assert params.shape == (4, 5 * 6 + 6 * 3)
    pop.apply_selection(INDICES)
    assert torch.equal(pop.get_params(), params[INDICES])
    assert torch.equal(pop._gen_mem, memory[INDICES])
    pop.mutate(n_elites=1)
    assert torch.equal(pop.get_params()[0], params[1]), "an elite stays"
    assert (pop.get_params()[1:] != params[[1, 3, 3]]).any(dim=1).all()
    pop.set_params(params)
    assert torch.equal(pop.nets.weights[0], SketchedNets().weights[0])
    with pytest.raises(SettingsError, match=r"^These nets need parameters of shape \[4, 48\]"):
        pop.set_params(params[:, 1:])
    for algorithm in ("ga", "snes"):
        pop = GeneratorPop(SketchedNets())
        for generation in evolve(pop, small_outputs, algorithm=algorithm, generations=3):
            assert generation.fitness.shape == (4,)

    class Still(BaseNets):
        def __init__(self):
            self.weights = torch.zeros(4, 5, 3)
            self.table = torch.zeros(7)

        def __call__(self, x, mem=None):
            return x @ self.weights, mem

    with pytest.raises(SettingsError, match=r"with the member as first axis, not \{'weights/0'"):
        GeneratorPop(Still())
    still = Still()
    del still.table
    with pytest.raises(SettingsError, match=r"^Still cannot mutate: define mutate\(\), or"):
        GeneratorPop(still).mutate()


RESTART = """
import sys
import numpy as np
from kinfolk import GeneratorPop

pop = GeneratorPop.load(sys.argv[1])
pop.apply_selection([1, 1, 3, 3])
pop.mutate()
pop.save(sys.argv[2])
"""


@pytest.mark.parametrize("kind", WITH_MEMORY)
def test_28_a_population_survives_a_restart(kind, tmp_path):
    """State is external: in another process a saved population goes on bit by bit."""
    before, after = tmp_path / "before.safetensors", tmp_path / "after.safetensors"
    pop = GeneratorPop(nets_of(kind), GAConfig(inherit_mem=True, inherit_fit=True))
    pop.generate(inputs())
    pop.get_total_fitness(np.arange(4.0))
    pop.save(before)
    subprocess.run([sys.executable, "-c", RESTART, before, after], check=True)
    pop.apply_selection(INDICES)
    pop.mutate()
    loaded = GeneratorPop.load(after).to_arrays()
    for name, array in pop.to_arrays().items():
        assert array.tobytes() == loaded[name].tobytes(), name
