"""Savanna policies fulfil the policy contract, in a small savanna."""

import numpy as np
import pytest

from kinfolk.testing.contracts.policy import PolicyContract

ACTOR = "class:kinfolk.policies.scripted.savanna.published_actor.PublishedActor"
SMALL = {
    "grid_size": 9,
    "manual_wall_positions": [[3, 3], [3, 4], [3, 5], [6, 1]],
    "initial_num_grass": 14,
    "n_initial_active_type_1_predator": 3,
    "n_initial_active_type_1_prey": 5,
    "prey_creation_energy_threshold": 4.0,
    "max_rows": 24,
    "max_steps": 40,
}


class TestScriptsOnFloatPlanes(PolicyContract):
    world, world_settings = "savanna", SMALL

    @pytest.fixture(params=["random", "noop", "hunter", "grazer"])
    def uri(self, request):
        return f"kin://{request.param}"


class TestScriptsOnCompactWordsWithTwoTypes(PolicyContract):
    world = "savanna"
    world_settings = SMALL | {
        "observation": "compact",
        "prey_obs_range": 7,
        "type_2_action_range": 5,
        "n_initial_active_type_2_predator": 2,
        "n_initial_active_type_2_prey": 2,
        "mutation_rate_prey": 0.2,
    }

    @pytest.fixture(params=["hunter", "grazer"])
    def uri(self, request):
        return f"kin://{request.param}"


class TestPublishedActor(PolicyContract):
    world, world_settings = "savanna", SMALL

    @pytest.fixture
    def uri(self, tmp_path):
        from kinfolk.policies.scripted.savanna.published_actor import WEIGHT_SHAPES

        rng = np.random.default_rng(2)
        weights = {
            name: (rng.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32)
            for name, shape in WEIGHT_SHAPES.items()
        }

        np.savez(tmp_path / "drawn.npz", **weights)
        return f"{ACTOR}?weights={tmp_path / 'drawn.npz'}"
