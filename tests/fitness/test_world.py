import numpy as np
import pytest

from kinfolk.core.errors import SettingsError, UnknownNameError
from kinfolk.core.random import fold_in, seed_key
from kinfolk.core.settings import validate_settings
from kinfolk.engines.base import LocalEngine
from kinfolk.evolution.selection import truncation
from kinfolk.jobs.evolve_nets.settings import EvolveNets
from kinfolk.jobs.evolve_nets.setup import build_fitness, build_populations, build_setup

PROBE = {"task": "probe", "population": 5, "matches": 2, "steps": 15}


def start(**values):
    settings = validate_settings(EvolveNets, values)
    setup = build_setup(settings)
    return build_populations(settings, setup), build_fitness(settings, setup)


def generations(count, **given):
    """Fitness of some generations, and all that members carry at the end."""
    pops, fitness = start(**given)
    found = []
    for generation in range(count):
        scores = fitness(pops, generation, fold_in(seed_key(3), generation), LocalEngine())
        found.append({name: values.tolist() for name, values in scores.fitness.items()})
        for name, pop in pops.items():
            total = pop.get_total_fitness(scores.fitness[name])
            indices = truncation(total)
            pop.apply_selection(indices)
            if len(pops) == 1:
                fitness.select(indices)
            pop.mutate(int(fold_in(seed_key(9), generation)))
    carried = {name: pop.to_arrays() for name, pop in pops.items()}
    return found, carried, getattr(fitness, "env", {})


def same(a, b):
    return a.keys() == b.keys() and all(np.array_equal(a[name], b[name]) for name in a)


@pytest.mark.parametrize(
    ("net", "inherit"),
    [
        ("feedforward", ()),
        *((net, inherit) for net in ("recurrent", "dynamic") for inherit in ((), ("mem",))),
    ],
)
def test_chunks_have_no_effect_on_two_populations(net, inherit):
    one = generations(3, **PROBE, net=net, inherit=inherit, chunk_size=100)
    two = generations(3, **PROBE, net=net, inherit=inherit, chunk_size=2)
    assert one[0] == two[0]
    for name in one[1]:
        assert same(one[1][name], two[1][name]), name
    assert len({tuple(scores["grazer"]) for scores in one[0]}) == 3


@pytest.mark.parametrize("task", ["gym:CartPole-v1", "gym:Acrobot-v1"])
@pytest.mark.parametrize("net", ["recurrent", "dynamic"])
def test_chunks_have_no_effect_on_inherited_worlds(task, net):
    given = {"task": task, "population": 5, "matches": 2, "steps": 7, "net": net}
    one = generations(4, **given, inherit=("env", "mem", "fit"), chunk_size=100)
    two = generations(4, **given, inherit=("env", "mem", "fit"), chunk_size=2)
    assert one[0] == two[0]
    assert same(one[1]["agent"], two[1]["agent"])
    assert same(one[2], two[2])


def test_selection_copies_the_state_of_worlds():
    pops, fitness = start(
        task="gym:CartPole-v1", population=4, matches=2, steps=5, inherit=("env",)
    )
    fitness(pops, 0, 0, LocalEngine())
    before = {name: array.copy() for name, array in fitness.env.items()}
    assert len(np.unique(before["world/observation"][:, 0])) > 4
    fitness.select(np.array([1, 1, 3, 3]))
    for name, array in fitness.env.items():
        assert np.array_equal(array, before[name][[2, 3, 2, 3, 6, 7, 6, 7]]), name


def test_a_child_continues_the_world_of_its_parent():
    """Without selection or mutation, two generations of 5 steps are one of 10."""
    whole_pops, whole = start(task="gym:CartPole-v1", population=3, steps=10, inherit=("env", "mem"),
                              net="recurrent")  # fmt: skip
    parts_pops, parts = start(task="gym:CartPole-v1", population=3, steps=5, inherit=("env", "mem"),
                              net="recurrent")  # fmt: skip
    once = whole(whole_pops, 0, 0, LocalEngine())
    first, second = (parts(parts_pops, 0, 0, LocalEngine()) for _ in range(2))
    assert np.array_equal(first.fitness["agent"] + second.fitness["agent"], once.fitness["agent"])
    assert np.array_equal(parts.env["world/observation"], whole.env["world/observation"])
    assert np.array_equal(
        parts_pops["agent"].save_memory()[0], whole_pops["agent"].save_memory()[0]
    )


def test_memory_is_inherited_only_with_mem():
    given = {"task": "gym:CartPole-v1", "population": 3, "steps": 3, "net": "recurrent"}
    pops, fitness = start(**given, inherit=("env",))
    fitness(pops, 0, 0, LocalEngine())
    assert pops["agent"].save_memory() is None
    with_memory, other = start(**given, inherit=("env", "mem"))
    other(with_memory, 0, 0, LocalEngine())
    assert with_memory["agent"].save_memory()[0].any()


def test_an_idle_world_begins_a_new_episode_in_the_next_generation():
    pops, fitness = start(task="gym:CartPole-v1", population=6, steps=60, inherit=("env",),
                          zero_init=True)  # fmt: skip
    scores = fitness(pops, 0, 0, LocalEngine())
    assert scores.fitness["agent"].max() < 12, "always left: it falls"
    assert fitness.env["idle"].all()
    again = fitness(pops, 1, 0, LocalEngine())
    assert again.fitness["agent"].min() > 7
    assert fitness.env["episode"].tolist() == [1] * 6


def test_running_statistics_of_all_matches_are_merged():
    pops, fitness = start(task="gym:CartPole-v1", net="dynamic", population=3, matches=3)
    scores = fitness(pops, 0, 0, LocalEngine())
    seen = pops["agent"].nets.graph.n[:, :4]
    assert seen.min() > 15
    assert np.array_equal(seen.max(axis=1), 3 * scores.fitness["agent"]), "a value per tick"


@pytest.mark.parametrize(("kind", "expected"), [("return", 40.0), ("per_life", 10.0), ("life", 25.0),
                                                ("counter:births", 7.0)])  # fmt: skip
def test_match_fitness_of_every_kind(kind, expected):
    from kinfolk.fitness.match_task import match_fitness
    from kinfolk.play.results import EpisodeColumns
    from kinfolk.play.task import RolloutResult

    totals = {"returns": 40.0, "lives": 4.0, "ticks_lived": 100.0}
    result = RolloutResult(
        EpisodeColumns.from_results(()),
        np.array([30]),
        {name: {"a": np.array([value])} for name, value in totals.items()},
        {"births": np.array([7.0])},
        {},
        None,
    )
    assert match_fitness(kind, result, "a").tolist() == [expected]


@pytest.mark.parametrize(("given", "error", "sentence"), [
    ({"task": "gym:CartPol-v1"}, UnknownNameError,
     "Gymnasium has no task 'CartPol-v1'. Did you mean 'CartPole-v1'?"),
    ({"task": "savana"}, UnknownNameError,
     "No world is named 'savana'. Did you mean 'savanna'? "
     "Known: savanna, cogsguard, gym:CartPole-v1, probe."),
    ({"task": "gym:LunarLander-v3", "inherit": ["env"], "steps": 50}, SettingsError,
     "gym:LunarLander-v3 cannot be copied in the middle of an episode: its state is held by Box2D. "
     "Leave `env` out of --inherit, or choose a classic control task."),
    ({"task": "probe", "inherit": ["env"], "steps": 50}, SettingsError,
     "Worlds are inherited in one population; here are grazer, hunter. "
     "Give the other groups a policy that does not evolve, with fixed."),
    ({"task": "probe", "fitness": {"wolf": "life"}}, SettingsError,
     "There is no population 'wolf' to score. There are: grazer, hunter."),
    ({"task": "probe", "fitness": {"grazer": "counter:birth"}}, UnknownNameError,
     "No fitness is named 'counter:birth'. Did you mean 'counter:births'? Known: return, per_life, "
     "life, counter:births, counter:deaths, counter:blocked, counter:grown, counter:spent, "
     "counter:lost."),
    ({"task": "probe", "fixed": {"grazer": "kin://noop", "hunter": "kin://noop"}}, SettingsError,
     "Every group of world probe is fixed: nobody is left to evolve."),
    ({"task": "probe", "populations_per_group": 2}, SettingsError,
     "Roles are dealt among the agents of one group; world probe has 2 groups."),
    ({"task": "probe", "adversarial": "kin://random"}, SettingsError,
     "Imitation is of one population; here are grazer, hunter. "
     "Give the other groups a policy that does not evolve, with fixed."),
])  # fmt: skip
def test_bad_input_gets_a_sentence(given, error, sentence):
    with pytest.raises(error) as caught:
        start(**given)
    assert str(caught.value) == sentence


@pytest.mark.parametrize(("given", "sentence"), [
    ({"net": "dynamic", "algorithm": "cma"},
     "Dynamic nets have no fixed set of parameters, which cma needs. "
     "Use the algorithm ga, or feedforward or recurrent nets."),
    ({"algorithm": "sep-cma", "inherit": ["fit"]},
     "Members drawn by sep-cma have no parents to inherit fit from. Use the algorithm ga."),
    ({"inherit": ["env"]},
     "To inherit env a generation must have an end before the episode's: set steps."),
    ({"elites": 64}, "EvolveNets.elites must be fewer than the 64 members, not 64."),
    ({"algorithm": "newton"}, "EvolveNets.algorithm must be 'ga', 'cma', 'sep-cma', 'openai-es', "
                                  "'lm-ma', 'pgpe', 'snes' or 'xnes', not 'newton'."),
    ({"emitter": "improvement"},
     "Emitters fill an archive: give one, as NAME=LOW..HIGH[xCELLS][,...]."),
    ({"emitter": "improvement", "archive": "ticks=0..9", "net": "dynamic"},
     "Dynamic nets have no fixed set of parameters, which emitters need. "
     "Use feedforward or recurrent nets, or leave out emitter."),
    ({"emitter": "improvement", "archive": "ticks=0..9", "population": 10},
     "Emitters have the same number of members, at least 2, not 10 members among 4 emitters."),
    ({"emitter": "improvement", "archive": "ticks=0..9", "normalize": True},
     "Emitters draw weights only: leave out normalize and self_adaptive."),
    ({"emitter": "annealing", "archive": "ticks=0..9"},
     "Annealing emitters need a min_fitness, and the others have none."),
    ({"min_fitness": 1.0}, "Only annealing emitters have a min_fitness: leave it out."),
    ({"head": "argmin"},
     "EvolveNets.head must be one of argmax, softmax_sample, tanh, raw, not 'argmin'."),
])  # fmt: skip
def test_settings_that_do_not_fit_are_refused(given, sentence):
    with pytest.raises(SettingsError) as caught:
        validate_settings(EvolveNets, given)
    assert str(caught.value) == sentence


def test_a_search_is_named_by_its_algorithm_or_its_emitters():
    given = {"archive": "ticks=0..9", "emitter": "random-direction"}
    assert validate_settings(EvolveNets, given).search_name == "random-direction emitters"
    assert validate_settings(EvolveNets, {}).search_name == "snes"


@pytest.mark.parametrize("population", [3, 7])
@pytest.mark.parametrize("task", ["gym:CartPole-v1", "gym:Pendulum-v1", "gym:FrozenLake-v1"])
def test_odd_sizes_and_other_spaces_work(task, population):
    head = "tanh" if "Pendulum" in task else "argmax"
    found, _, _ = generations(2, task=task, population=population, steps=10, head=head)
    assert len(found[1]["agent"]) == population


def test_teams_of_roles_share_a_game():
    pops, fitness = start(task="cogsguard", preset="tutorial", populations_per_group=2, population=2, steps=5,
                          hidden=(4,), matches=2)  # fmt: skip
    assert list(pops) == ["cogs_0", "cogs_1"]
    scores = fitness(pops, 0, 0, LocalEngine())
    assert all(np.isfinite(values).all() for values in scores.fitness.values())
