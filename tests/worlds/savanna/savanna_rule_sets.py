"""Rules in which much happens, and a way to play them that follows from keys alone."""

import hashlib

import numpy as np

from kinfolk.core.settings import validate_settings
from kinfolk.worlds.savanna.settings import Savanna
from kinfolk.worlds.savanna.world import SavannaWorld

LIVELY = {
    "grid_size": 16,
    "max_rows": 64,
    "max_steps": 60,
    "n_initial_active_type_1_predator": 6,
    "n_initial_active_type_2_predator": 2,
    "n_initial_active_type_1_prey": 10,
    "n_initial_active_type_2_prey": 2,
    "type_2_action_range": 5,
    "initial_num_grass": 60,
    "energy_loss_per_step_predator": 0.05,
    "prey_creation_energy_threshold": 4.5,
    "predator_creation_energy_threshold": 8.0,
    "mutation_rate_prey": 0.2,
    "lineage_reward_coeff": 0.3,
    "max_energy_gain_per_prey": 2.0,
    "predator_obs_range": 7,
    "energy_percentage_loss_per_failed_attacked_prey": 0.05,
}
BITING = LIVELY | {
    "team_capture_enabled": False,
    "carcass_only_predator_age": 5,
    "max_agent_age": 40,
}

# Two action heads, traits, donations, seasons, two prey channels and a view ahead.
VARIED = LIVELY | {
    "join_choice": True,
    "team_capture_join_cost": 0.1,
    "team_capture_scavenger_fraction": 0.2,
    "separate_prey_channels": True,
    "forward_view": True,
    "mask_observation_with_visibility": False,
    "include_visibility_channel": False,
    "donation_fraction": {"type_1_prey": 0.02},
    "season_length_steps": 7,
    "energy_change_reward": 0.5,
    "traits": {
        "metabolic_rate": {
            "low": 0.5,
            "high": 2.0,
            "std_prey": 0.2,
            "std_predator": 0.2,
            "mutation_rate": 0.5,
        },
    },
    "neutral_drift": True,
}


def play(rules, keys, steps=40, threads=1, seed=5):
    """Digests of every world after every step; actions follow from the world's key and tick."""
    world = SavannaWorld(validate_settings(Savanna, rules), len(keys), threads=threads)
    world.reset(np.array(keys))
    rows = world.spec.rows
    out = np.zeros((len(keys) * rows, world.spec.row_bytes), dtype=np.uint8)
    trail = []
    for tick in range(steps):
        actions = np.zeros((len(keys) * rows, world.spec.n_heads), dtype=np.int64)
        for w, key in enumerate(keys):
            choices = world.spec.n_choices[world.columns.group[w * rows : (w + 1) * rows]]
            draws = np.random.default_rng([seed, key, tick]).integers(0, 1 << 30, choices.shape)
            actions[w * rows : (w + 1) * rows] = draws % choices
        world.step(actions)
        world.observe(out)
        columns = [np.asarray(c).reshape(len(keys), -1) for c in world.columns]
        trail.append(
            [
                hashlib.sha256(
                    b"".join(c[w].tobytes() for c in columns)
                    + world._arrays.energy[w].tobytes()
                    + world._arrays.grass_energy[w].tobytes()
                    + out[w * rows : (w + 1) * rows].tobytes()
                ).hexdigest()
                for w in range(len(keys))
            ]
        )
    return trail, world
