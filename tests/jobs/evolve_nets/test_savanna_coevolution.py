"""Predators and prey evolved against each other are better than random nets against others."""

import numpy as np
import pytest

from kinfolk.core.random import seed_key
from kinfolk.core.settings import validate_settings
from kinfolk.engines.processes import ProcessEngine
from kinfolk.evaluation.statistics import estimate_mean
from kinfolk.fitness.world import evaluate_held_out
from kinfolk.jobs.evolve_nets.job import evolve_nets
from kinfolk.jobs.evolve_nets.settings import EvolveNets
from kinfolk.jobs.evolve_nets.state import NetEvolutionState, initial_state
from kinfolk.nets.registry import make_nets, nets_from_config
from kinfolk.policies.resolve import resolve
from kinfolk.store.run import create_run
from kinfolk.store.run_job import run_and_store

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]
# No births, so that a life is not cut short by being born late; predators that starve slowly.
SETTINGS = {
    "task": "savanna",
    "world_settings": {
        "max_steps": 120, "prey_creation_energy_threshold": 1000.0,
        "predator_creation_energy_threshold": 1000.0, "energy_loss_per_step_predator": 0.05,
        "max_rows": 30, "predator_obs_range": 5, "prey_obs_range": 5,
        "include_visibility_channel": False,
    },
    "fitness": {"type_1_predator": "counter:team_capture_successes", "type_1_prey": "life"},
    "algorithm": "openai-es", "sigma": 0.2, "learning_rate": 0.02, "population": 64,
    "hidden": (), "matches": 2, "generations": 200, "held_out_episodes": 0, "chunk_size": 32,
}  # fmt: skip
RANDOM_NETS, EPISODES = 10, 10


def of_random_nets(lab: NetEvolutionState, name, engine):
    """Scores of some random nets, pooled."""
    nets = lab.populations[name].nets
    found = []
    for seed in range(RANDOM_NETS):
        one = make_nets(
            "feedforward", 1, nets.inputs, nets.outputs, nets.hidden, key=seed_key(1000 + seed)
        )
        found.append(
            evaluate_held_out(lab.setup, name, one, lab.held_out_opponents, range(EPISODES), engine)
        )
    return np.concatenate(found)


def test_evolved_predators_catch_more_and_evolved_prey_live_longer(tmp_path):
    settings = validate_settings(EvolveNets, SETTINGS)
    engine = ProcessEngine(2)
    run = create_run(tmp_path / "run", "evolve_nets", settings.model_dump())
    try:
        for _ in run_and_store(run, lambda snapshot: evolve_nets(settings, engine, snapshot)):
            pass
        lab = initial_state(settings)
        for name in lab.populations:
            policy = resolve(f"run:{run.folder}/{name}@latest")
            about, arrays = policy.settings["nets"], policy.arrays
            evolved = evaluate_held_out(
                lab.setup, name, nets_from_config(about, arrays), lab.held_out_opponents,
                range(RANDOM_NETS * EPISODES), engine,
            )  # fmt: skip
            random = of_random_nets(lab, name, engine)
            assert estimate_mean(evolved).low > estimate_mean(random).high, (
                name,
                estimate_mean(evolved),
                estimate_mean(random),
            )
    finally:
        engine.close()
