import numpy as np
import pytest

from kinfolk.core.errors import SettingsError
from kinfolk.core.random import seed_key
from kinfolk.core.settings import validate_settings
from kinfolk.engines.base import LocalEngine
from kinfolk.evolution import GeneratorPop
from kinfolk.fitness.imitation import ImitationFitness, append_one_hot_actions
from kinfolk.fitness.trajectories import Trajectories, read_trajectories, record_demonstrations
from kinfolk.fitness.trajectory_scoring import (
    DiscriminationTask,
    ImitationTask,
    score_discrimination,
    score_imitation,
)
from kinfolk.jobs.evolve_nets.settings import EvolveNets
from kinfolk.jobs.evolve_nets.setup import build_fitness, build_populations, build_setup
from kinfolk.nets.registry import make_nets
from kinfolk.play.task import WorldRef
from kinfolk.policies.resolve import resolve
from kinfolk.store.arrays import NETS, write_arrays


def lives(count=3, ticks=4, inputs=4, heads=1, choices=2):
    chance = np.random.default_rng(0)
    x = chance.standard_normal((count, ticks, inputs)).astype(np.float32)
    actions = chance.integers(0, choices, (count, ticks, heads))
    return Trajectories(x, actions, np.array([ticks, 2, 1])[:count])


def test_demonstrations_hold_observations_and_actions_by_life():
    target = record_demonstrations(WorldRef("gym:CartPole-v1", settings={"max_steps": 30}), "agent",
                           resolve("kin://cartpole"), 0, range(3), {})  # fmt: skip
    assert target.x.shape == (3, 30, 4)
    assert target.length.tolist() == [30, 30, 30]
    rule = target.x @ np.array([0.1, 0.3, 1.0, 0.8], dtype=np.float32) > 0
    assert np.array_equal(target.actions[..., 0], rule)


def test_lives_of_many_agents_are_separate_trajectories():
    target = record_demonstrations(WorldRef("probe"), "grazer", resolve("kin://probe-python"), 0, range(2),
                           {"hunter": resolve("kin://random")})  # fmt: skip
    assert len(target.x) > 8
    assert target.length.min() < target.length.max()
    assert not target.x[~target.valid].any()


@pytest.mark.parametrize("kind", ["feedforward", "recurrent", "dynamic"])
def test_imitation_score_is_the_mean_probability_of_the_targets_action(kind):
    target = lives()
    nets = make_nets(kind, 3, 4, 2, () if kind == "dynamic" else (5,), key=seed_key(1))
    task = ImitationTask(nets.config(), nets.to_arrays(), target, "argmax", [2])
    found = score_imitation(task).scores
    pop = GeneratorPop(nets)
    total, count = np.zeros(3), 0
    for tick in range(4):
        out = pop.generate(np.broadcast_to(target.x[:, tick], (3, 3, 4))).astype(float)
        chance = np.exp(out) / np.exp(out).sum(axis=2, keepdims=True)
        for life in np.flatnonzero(target.valid[:, tick]):
            total += chance[:, life, target.actions[life, tick, 0]]
            count += 1
    assert count == 7
    assert np.allclose(found, total / 7, atol=1e-6)


def test_continuous_outputs_are_scored_by_squared_error():
    target = Trajectories(np.ones((1, 1, 2), dtype=np.float32), np.array([[[4]]]), np.array([1]))
    nets = make_nets("feedforward", 1, 2, 1, (), zero=True)
    found = score_imitation(
        ImitationTask(nets.config(), nets.to_arrays(), target, "raw", [5])
    ).scores
    assert found.tolist() == [-1.0]  # the output is 0, and the last of five choices is 1


def test_discrimination_score_is_the_mean_probability_over_all_ticks():
    nets = make_nets("feedforward", 2, 3, 3, (), zero=True)
    nets.flat[:, 2] = [1.0, -2.0]  # the weight from the first input to the last output
    x = np.zeros((2, 1, 4, 3), dtype=np.float32)
    x[:, 0, :, 0] = [3.0, 1.0, 2.0, 0.0]
    found = score_discrimination(DiscriminationTask(nets.config(), nets.to_arrays(), x, 2)).scores

    def belief(values):
        return np.mean([1 / (1 + np.exp(-v)) for v in values])

    assert np.allclose(found[:, 0], [belief([3, 1, 2, 0]), belief([-6, -2, -4, 0])])


def test_one_hot_actions_are_appended_to_observations():
    whole = append_one_hot_actions(lives(), [2])
    assert whole.shape == (3, 4, 6)
    assert whole[0, :, 4:].sum(axis=1).tolist() == [1, 1, 1, 1]
    assert not whole[2, 1:].any(), "ticks after the end of a life are zero"


def test_chunks_of_members_do_not_change_a_bit_of_the_scores():
    nets = make_nets("feedforward", 9, 4, 2, (16,), key=seed_key(1))
    target = lives()
    scores = []
    for chunk in (1, 2, 4, 9):
        fitness = ImitationFitness("agent", target, "argmax", [2], chunk)
        scores.append(fitness({"agent": GeneratorPop(nets)}, 0, 0, LocalEngine()).fitness["agent"])
    assert all(np.array_equal(scores[0], other) for other in scores[1:])


def test_evolution_improves_imitation():
    settings = validate_settings(EvolveNets, {"imitate": "kin://cartpole", "target_episodes": 2, "sigma": 0.3,
                                 "population": 30, "world_settings": {"max_steps": 60}})  # fmt: skip
    setup = build_setup(settings)
    pops, fitness = build_populations(settings, setup), build_fitness(settings, setup)
    means = []
    for generation in range(12):
        score = fitness(pops, generation, 0, LocalEngine()).fitness["agent"]
        means.append(score.mean())
        pops["agent"].apply_selection(np.argsort(-score)[np.arange(30) % 8])
        pops["agent"].mutate(seed_key(generation))
    assert means[-1] > 0.7 > means[0]


def test_recorded_data_is_read_and_checked(tmp_path):
    target = lives()
    path = tmp_path / "data.safetensors"
    write_arrays(path, target._asdict(), NETS, {})
    again = read_trajectories(path, 4, 1)
    assert all(np.array_equal(a, b) for a, b in zip(again, target, strict=True))
    with pytest.raises(SettingsError) as caught:
        read_trajectories(path, 5, 1)
    assert str(caught.value) == (
        f"{path} must hold x [lives, ticks, 5] and actions [lives, ticks, 1], "
        f"not [3, 4, 4] and [3, 4, 1]."
    )
    write_arrays(path, {"x": target.x}, NETS, {})
    with pytest.raises(SettingsError) as caught:
        read_trajectories(path, 4, 1)
    assert str(caught.value) == f"{path} has no array 'actions'; it needs x and actions."
