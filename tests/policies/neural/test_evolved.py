import numpy as np
import pytest

from kinfolk.core.errors import SettingsError, UsageError
from kinfolk.core.random import seed_key
from kinfolk.nets.registry import make_nets
from kinfolk.policies.build import build_policy
from kinfolk.policies.neural.evolved import CLASS_PATH, GroupEncoder
from kinfolk.policies.resolve import resolve
from kinfolk.store.arrays import PolicyFile, iter_policy_chunks
from kinfolk.store.run import create_run
from kinfolk.testing.contracts.policy import PolicyContract
from kinfolk.testing.inspection import episode_digests
from kinfolk.worlds import build_world as build_world

SMALL = {
    "grid_size": 9,
    "manual_wall_positions": [[3, 3], [3, 4], [3, 5], [6, 1]],
    "initial_num_grass": 14,
    "n_initial_active_type_1_predator": 3,
    "n_initial_active_type_1_prey": 5,
    "prey_creation_energy_threshold": 4.0,
    "predator_obs_range": 5,
    "prey_obs_range": 5,
    "max_rows": 24,
    "max_steps": 40,
}


def write_run(folder, kind, head="argmax", inputs=125, outputs=9):
    """Write a run with a population of three nets, as a job does; return its URI."""
    hidden = () if kind == "dynamic" else (8,)
    nets = make_nets(kind, 3, inputs, outputs, hidden, key=seed_key(1))
    if kind == "dynamic":
        for step in range(30):
            nets.mutate(seed_key(step))
        _, state = nets(np.random.default_rng(0).standard_normal((3, 1, inputs)))
        _, state = nets(np.random.default_rng(1).standard_normal((3, 1, inputs)), state)
        nets.merge_copies([state])
    settings = {"nets": nets.config(), "head": head}
    run = create_run(folder, "evolve_nets", {})
    run.open_for_writing()
    for file in iter_policy_chunks("all", 1, PolicyFile(CLASS_PATH, settings, nets.to_arrays())):
        run.write_file_chunk(file)
    run.close()
    return f"run:{folder}"


class TestEvolvedNets(PolicyContract):
    world, world_settings = "savanna", SMALL

    @pytest.fixture(
        params=[("feedforward", "argmax"), ("recurrent", "softmax_sample"), ("dynamic", "argmax"),
                ("feedforward", "tanh")],
        ids=lambda pair: f"{pair[0]}-{pair[1]}",
    )  # fmt: skip
    def uri(self, request, tmp_path):
        kind, head = request.param
        return write_run(tmp_path / "run", kind, head, outputs=1 if head == "tanh" else 9)


def test_nets_of_another_world_are_refused(tmp_path):
    uri = write_run(tmp_path / "run", "feedforward")
    with pytest.raises(SettingsError) as caught:
        build_policy(resolve(uri), build_world("gym:CartPole-v1", {}, 1).spec)
    assert str(caught.value) == (
        "These nets have 125 inputs; group agent of world gym:CartPole-v1 needs 4. "
        "They were evolved for another world, group or observation."
    )


def test_a_run_without_policies_is_refused(tmp_path):
    run = create_run(tmp_path / "run", "evaluate", {})
    with pytest.raises(UsageError) as caught:
        resolve(f"run:{run.folder}")
    assert str(caught.value) == f"The run {run.folder} has no policies."


def test_both_observation_formats_of_savanna_give_nearly_equal_features():
    features = {}
    for observation in ("float32", "compact"):
        world = build_world("savanna", SMALL | {"observation": observation}, 3)
        world.reset(np.arange(3))
        for _ in range(5):
            world.step(np.full((72, 1), 4))
        out = np.zeros((72, world.spec.row_bytes), dtype=np.uint8)
        world.observe(out)
        alive = np.flatnonzero(world.columns.alive)
        features[observation] = GroupEncoder(world.spec, 0)(out[alive]).reshape(len(alive), 5, 5, 5)
    walls, predators, prey = (slice(0, 1), slice(1, 2), slice(2, 3))
    for plane in (walls, predators, prey, slice(4, 5)):
        assert np.allclose(
            features["float32"][:, plane], features["compact"][:, plane], atol=0.1 / 32
        )
    grass = [observation[:, 3] > 0 for observation in features.values()]
    assert np.array_equal(*grass)
    assert features["float32"][:, predators].max() > 0


def test_the_cartpole_heuristic_plays_the_same_alone_and_in_a_batch():
    arguments = {"seed": 3, "episodes": range(6), "max_steps": 60}
    alone = episode_digests("gym:CartPole-v1", {"all": "kin://cartpole"}, batch=1, **arguments)
    assert alone == episode_digests(
        "gym:CartPole-v1", {"all": "kin://cartpole"}, batch=8, **arguments
    )
    with pytest.raises(SettingsError) as caught:
        episode_digests("probe", {"all": "kin://cartpole"})
    assert str(caught.value) == "cartpole plays gym:CartPole-v1, not probe."
