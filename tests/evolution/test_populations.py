import numpy as np
import pytest

from kinfolk.core.errors import ContractError, SettingsError
from kinfolk.core.random import seed_key
from kinfolk.evolution import GAConfig, GeneratorDiscriminatorPop, GeneratorPop
from kinfolk.nets import make_nets
from kinfolk.nets.memory import map_arrays

KINDS = ["feedforward", "recurrent", "dynamic"]
INDICES = [1, 1, 3, 3]
ALL = GAConfig(inherit_env=True, inherit_mem=True, inherit_fit=True)


def nets_of(kind, members=4, outputs=3):
    options = {} if kind == "dynamic" else {"hidden": (6,), "self_adaptive": True}
    nets = make_nets(kind, members, 4, outputs, key=seed_key(1), **options)
    for step in range(8 if kind == "dynamic" else 1):
        nets.mutate(seed_key(2 + step))
    return nets


def steps(count, members=4, batch=2, seed=0):
    return np.random.default_rng(seed).standard_normal((count, members, batch, 4))


def played(pop, count=6):
    for x in steps(count):
        pop.generate(x)
        if isinstance(pop, GeneratorDiscriminatorPop):
            pop.discriminate(-x)
    return pop


def parts(memory):
    found = []
    map_arrays(lambda part: found.append(np.asarray(part)) or part, memory)
    return found


# Follows the selection indices: one test for each thing that a member carries.


@pytest.mark.parametrize("kind", KINDS)
def test_weights_follow_the_selection(kind):
    pop = GeneratorPop(nets_of(kind))
    before = {name: array.copy() for name, array in pop.nets.to_arrays().items()}
    pop.apply_selection(INDICES)
    for name, array in pop.nets.to_arrays().items():
        assert np.array_equal(array, before[name][INDICES]), name


def test_sigmas_follow_the_selection():
    pop = GeneratorPop(nets_of("recurrent"))
    before = pop.nets.sigmas.copy()
    pop.apply_selection(INDICES)
    assert np.array_equal(pop.nets.sigmas, before[INDICES])
    assert len(np.unique(before[:, 0])) == 4


def test_calibration_follows_the_selection():
    pop, alone = (played(GeneratorPop(nets_of("dynamic"))) for _ in range(2))
    alone.nets.merge_copies([alone.save_memory()])
    before = alone.nets.graph
    assert before.n.any()
    assert len({row.tobytes() for row in before.mean}) == 4
    pop.apply_selection(INDICES)
    for name in ("n", "mean", "m2"):
        assert np.array_equal(getattr(pop.nets.graph, name), getattr(before, name)[INDICES])


@pytest.mark.parametrize("inherited", [GAConfig(), ALL])
def test_what_was_learned_is_kept_once(inherited):
    pop = played(GeneratorDiscriminatorPop(nets_of("dynamic"), 2, 1, inherited))
    seen = sum(pop.save_memory()[role].n.sum(axis=1) for role in ("gen", "disc"))
    pop.apply_selection(range(4))
    assert np.array_equal(pop.nets.graph.n, seen)
    pop.apply_selection(range(4))
    assert np.array_equal(pop.nets.graph.n, seen), "nothing was seen since"
    before = pop.nets.graph.n.copy()
    played(pop, 1)
    pop.apply_selection(range(4))
    gained = pop.nets.graph.n - before
    assert gained.max() == 4, "two rows in each of two roles"
    assert gained.min() >= 0


@pytest.mark.parametrize("kind", ["recurrent", "dynamic"])
def test_memory_of_each_role_follows_the_selection(kind):
    pop = played(GeneratorDiscriminatorPop(nets_of(kind), 2, 1, ALL))
    before = pop.save_memory()
    pop.apply_selection(INDICES)
    after = pop.save_memory()
    for role in ("gen", "disc"):
        state = 2 if kind == "dynamic" else 1  # x and z; the rest is calibration, and is the nets'
        for old, new in zip(parts(before[role])[:state], parts(after[role])[:state], strict=True):
            assert np.array_equal(new, old[INDICES])
    assert not np.array_equal(parts(before["gen"])[0], parts(before["disc"])[0])


def test_memory_is_left_behind_unless_inherited():
    pop = played(GeneratorPop(nets_of("recurrent"), GAConfig(inherit_fit=True)))
    pop.apply_selection(INDICES)
    assert pop.save_memory() is None


def test_fitness_is_the_sum_of_the_ancestors_and_follows_the_selection():
    pop = GeneratorPop(nets_of("feedforward"), GAConfig(inherit_fit=True))
    assert pop.get_total_fitness(np.array([1.0, 2.0, 3.0, 4.0])).tolist() == [1, 2, 3, 4]
    pop.apply_selection(INDICES)
    assert pop.get_inheritable_fitness().tolist() == [2, 2, 4, 4]
    assert pop.get_total_fitness(np.array([10.0, 20.0, 30.0, 40.0])).tolist() == [12, 22, 34, 44]
    pop.apply_selection([3, 3, 2, 0])
    assert pop.get_inheritable_fitness().tolist() == [44, 44, 34, 12]


def test_without_inheritance_fitness_is_the_own():
    pop = GeneratorPop(nets_of("feedforward"))
    pop.get_total_fitness(np.ones(4))
    pop.apply_selection(INDICES)
    assert pop.get_total_fitness(np.array([1.0, 2.0, 3.0, 4.0])).tolist() == [1, 2, 3, 4]


def test_numbers_and_parents_follow_the_selection():
    pop = GeneratorPop(nets_of("feedforward"), first_uid=10)
    assert pop.uid.tolist() == [10, 11, 12, 13]
    assert pop.parents.tolist() == [-1] * 4
    pop.apply_selection(INDICES)
    assert pop.uid.tolist() == [14, 15, 16, 17]
    assert pop.parents.tolist() == [11, 11, 13, 13]
    pop.apply_selection([2, 0, 1, 1], n_elites=1)
    assert pop.uid.tolist() == [16, 18, 19, 20], "the elite lives on"
    assert pop.parents.tolist() == [13, 14, 15, 15]


@pytest.mark.parametrize("toggle", ["inherit_mem", "inherit_fit"])
def test_each_toggle_works_alone(toggle):
    pop = played(GeneratorPop(nets_of("recurrent"), GAConfig(**{toggle: True})))
    pop.get_total_fitness(np.arange(4.0))
    pop.apply_selection(INDICES)
    assert (pop.save_memory() is not None) == (toggle == "inherit_mem")
    assert pop.get_inheritable_fitness().tolist() == (
        [1, 1, 3, 3] if toggle == "inherit_fit" else [0] * 4
    )


# Memories.


@pytest.mark.parametrize("kind", KINDS)
def test_interleaved_roles_equal_separate_ones(kind):
    mixed, acting, judging = (GeneratorDiscriminatorPop(nets_of(kind), 2, 1) for _ in range(3))
    seen, judged = steps(12, seed=1), steps(12, seed=2)
    together = [
        (mixed.generate(x), mixed.discriminate(y)) for x, y in zip(seen, judged, strict=True)
    ]
    acts = [acting.generate(x) for x in seen]
    verdicts = [judging.discriminate(y) for y in judged]
    for (act, verdict), alone_act, alone_verdict in zip(together, acts, verdicts, strict=True):
        assert act.shape == (4, 2, 2)
        assert verdict.shape == (4, 2, 1)
        assert np.array_equal(act, alone_act)
        assert np.array_equal(verdict, alone_verdict)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", ["gen", "disc", None])
def test_resetting_a_role_leaves_the_other_alone(kind, mode):
    pop = played(GeneratorDiscriminatorPop(nets_of(kind), 2, 1))
    before = pop.save_memory()
    pop.reset_memory(mode)
    after = pop.save_memory()
    for role in ("gen", "disc"):
        state = 2 if kind == "dynamic" else 1  # x and z; the rest is calibration
        for old, new in zip(parts(before[role])[:state], parts(after[role])[:state], strict=True):
            assert (not new.any()) if mode in (role, None) else np.array_equal(old, new)


def test_resetting_keeps_what_the_nets_have_learned():
    pop = played(GeneratorPop(nets_of("dynamic")))
    learned = pop.save_memory().n
    pop.reset_memory()
    assert np.array_equal(pop.save_memory().n, learned)
    pop.apply_selection(range(4))
    assert np.array_equal(pop.nets.graph.n, learned.sum(axis=1)), "two rows have seen their own"


def test_saved_memory_is_a_copy():
    pop = played(GeneratorPop(nets_of("recurrent")))
    saved = pop.save_memory()
    expected = [np.asarray(part).copy() for part in saved]
    played(pop)
    assert all(np.array_equal(a, b) for a, b in zip(saved, expected, strict=True))
    again = pop.generate(steps(1)[0])
    pop.restore_memory(saved)
    assert not np.array_equal(pop.generate(steps(1)[0]), again)


def test_a_memory_of_an_unknown_type_is_named():
    pop = GeneratorPop(nets_of("recurrent"))
    with pytest.raises(TypeError) as caught:
        pop.restore_memory("yesterday")
    assert str(caught.value) == (
        "A memory is None, an array, a tensor, or a list or tuple of these, not str."
    )


def test_an_unknown_mode_is_named():
    with pytest.raises(SettingsError) as caught:
        GeneratorDiscriminatorPop(nets_of("recurrent"), 2, 1).reset_memory("both")
    assert str(caught.value) == "A memory's mode is 'gen' or 'disc', or None for all, not 'both'."


def test_ended_rows_forget():
    pop = played(GeneratorDiscriminatorPop(nets_of("recurrent"), 2, 1))
    done = np.zeros((4, 2), dtype=bool)
    done[1, 0] = True
    before = pop.save_memory()
    pop.on_done(done, "gen")
    after = pop.save_memory()
    assert not after["gen"][0][1, 0].any()
    assert np.array_equal(after["gen"][0][1, 1], before["gen"][0][1, 1])
    assert np.array_equal(after["disc"][0], before["disc"][0])


# --- fitness, outputs, uids and storage


@pytest.mark.parametrize(("fitness", "message"), [
    ([1.0, np.nan, 2.0, 3.0],
     "Member 1 (uid 11) has the fitness nan. A fitness must be a finite number."),
    ([1.0, 2.0], "Fitness must be one number per member, for 4 members, not an array of shape (2,)."),
    (5.0, "Fitness must be one number per member, for 4 members, not an array of shape ()."),
])  # fmt: skip
def test_a_wrong_fitness_is_refused(fitness, message):
    pop = GeneratorPop(nets_of("feedforward"), first_uid=10)
    with pytest.raises(ContractError) as caught:
        pop.get_total_fitness(fitness)
    assert str(caught.value) == message


OVERLAP = (
    "The generator has the first 2 outputs and the discriminator the last 2, so nets need at least "
    "4; with 3 they would overlap."
)


def test_roles_that_would_share_an_output_are_refused():
    with pytest.raises(SettingsError) as caught:
        GeneratorDiscriminatorPop(nets_of("feedforward"), 2, 2)
    assert str(caught.value) == OVERLAP


@pytest.mark.parametrize("kind", KINDS)
def test_populations_differ_unless_they_have_the_same_seed(kind):
    hidden = () if kind == "dynamic" else (6,)
    one, two = (GeneratorPop(make_nets(kind, 8, 4, 2, hidden)) for _ in range(2))
    again = GeneratorPop(make_nets(kind, 8, 4, 2, hidden, key=one.seed))
    first = {name: array.tobytes() for name, array in one.nets.to_arrays().items()}
    assert one.seed != two.seed
    assert first != {name: array.tobytes() for name, array in two.nets.to_arrays().items()}
    assert first == {name: array.tobytes() for name, array in again.nets.to_arrays().items()}
    assert again.seed == one.seed


def test_a_wrong_selection_is_refused():
    pop = GeneratorPop(nets_of("feedforward"))
    for wrong in ([0, 1, 2], [0, 1, 2, 4], [0, 1, 2, -1]):
        with pytest.raises(ContractError) as caught:
            pop.apply_selection(wrong)
        assert str(caught.value) == (
            f"A selection of 4 members needs as many indices from 0 to 3, not {wrong}."
        )


def test_parameters_of_a_strategy_make_new_members():
    pop = GeneratorPop(nets_of("feedforward"))
    params = pop.get_params()
    centre = pop.new_uid()
    pop.set_params(params[::-1], centre)
    assert np.array_equal(pop.get_params(), params[::-1])
    assert pop.uid.tolist() == [5, 6, 7, 8]
    assert pop.parents.tolist() == [4] * 4


@pytest.mark.parametrize("kind", KINDS)
def test_a_population_round_trips_with_all_it_carries(kind):
    pop = played(GeneratorDiscriminatorPop(nets_of(kind), 2, 1, ALL))
    pop.get_total_fitness(np.arange(4.0))
    pop.apply_selection(INDICES)
    pop.mutate(seed_key(50), n_elites=1)
    other = GeneratorDiscriminatorPop(nets_of(kind), 2, 1, ALL)
    other.load_arrays(pop.to_arrays(), pop.next_uid)
    for each in (pop, other):
        each.get_total_fitness(np.array([4.0, 3.0, 2.0, 1.0]))
    x = steps(1, seed=9)[0]
    assert np.array_equal(pop.generate(x), other.generate(x))
    assert np.array_equal(pop.discriminate(x), other.discriminate(x))
    for each in (pop, other):
        each.apply_selection([0, 2, 2, 1])
    for name, array in pop.to_arrays().items():
        assert np.array_equal(other.to_arrays()[name], array), name


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        ("feedforward", "FeedforwardStaticNets(num_nets=4, inputs=4, outputs=3, hidden=(6,), sigma=0.01, self_adaptive=True)"),
        ("recurrent", "RecurrentStaticNets(num_nets=4, inputs=4, outputs=3, hidden=(6,), sigma=0.01, self_adaptive=True)"),
        ("dynamic", "DynamicNets(num_nets=4, inputs=4, outputs=3; 10 to 12 nodes)"),
    ],
)  # fmt: skip
def test_a_population_shows_what_it_is_made_of(kind, shown):
    assert repr(GeneratorPop(nets_of(kind))) == f"GeneratorPop({shown})"
    inherited = GAConfig(inherit_env=True, inherit_fit=True)
    assert repr(GeneratorPop(nets_of(kind), inherited)) == (
        f"GeneratorPop({shown}, inherit_env, inherit_fit)"
    )
