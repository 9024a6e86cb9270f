"""Predators and prey evolved against each other are better than random nets against others."""

import numpy as np
import pytest

from kinfolk.core.keys import root
from kinfolk.core.settings import read
from kinfolk.engines.processes import Processes
from kinfolk.evaluation.summary import estimate
from kinfolk.fitness.worlds import held_out
from kinfolk.jobs.evolve_nets import evolve_nets
from kinfolk.jobs.evolve_nets_settings import EvolveNets
from kinfolk.jobs.nets_state import Lab, new_lab
from kinfolk.nets.kinds import make_nets, nets_from
from kinfolk.policies.resolve import resolve
from kinfolk.store.keep import keep
from kinfolk.store.run import create

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
    "rivals": {"type_1_predator": "kin://random", "type_1_prey": "kin://random"},
    "algorithm": "openai-es", "sigma": 0.2, "learning_rate": 0.02, "population": 64,
    "hidden": (), "matches": 2, "generations": 200, "held_out": 0, "chunk": 32,
}  # fmt: skip
RANDOM_NETS, EPISODES = 10, 10


def of_random_nets(lab: Lab, name, engine):
    """Scores of some random nets, pooled."""
    nets = lab.pops[name].nets
    found = []
    for seed in range(RANDOM_NETS):
        one = make_nets(
            "feedforward", 1, nets.inputs, nets.outputs, nets.hidden, key=root(1000 + seed)
        )
        found.append(held_out(lab.arena, name, one, lab.rivals, EPISODES, engine))
    return np.concatenate(found)


def test_evolved_predators_catch_more_and_evolved_prey_live_longer(tmp_path):
    settings = read(EvolveNets, SETTINGS)
    engine = Processes(2)
    run = create(tmp_path / "run", "evolve_nets", settings.model_dump())
    try:
        for _ in keep(run, lambda snapshot: evolve_nets(settings, engine, snapshot)):
            pass
        lab = new_lab(settings)
        for name in lab.pops:
            policy = resolve(f"run:{run.folder}/{name}@latest")
            about, arrays = policy.settings["nets"], policy.arrays
            evolved = held_out(
                lab.arena, name, nets_from(about, arrays), lab.rivals,
                RANDOM_NETS * EPISODES, engine,
            )  # fmt: skip
            random = of_random_nets(lab, name, engine)
            assert estimate(evolved).low > estimate(random).high, (
                name,
                estimate(evolved),
                estimate(random),
            )
    finally:
        engine.close()
