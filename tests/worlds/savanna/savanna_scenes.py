"""Hand-made scenes: agents on chosen cells with chosen energies."""

import numpy as np

from kinfolk.core.settings import validate_settings
from kinfolk.worlds.savanna.settings import Savanna
from kinfolk.worlds.savanna.world import SavannaWorld

STAY = 4
# No decay, no births, no walls: only what a test is about happens.
STILL = {
    "grid_size": 9,
    "manual_wall_positions": (),
    "max_rows": 32,
    "initial_num_grass": 0,
    "energy_loss_per_step_predator": 0.0,
    "energy_loss_per_step_prey": 0.0,
    "predator_creation_energy_threshold": 1000.0,
    "prey_creation_energy_threshold": 1000.0,
    "energy_gain_per_step_grass": 0.0,
}
BITES = STILL | {"team_capture_enabled": False}


def scene(predators=(), prey=(), grass=(), rules=STILL, **more):
    """Make a world with predators and prey at (x, y, energy) and grass at (x, y)."""
    chosen = dict(rules) | more
    chosen |= {
        "n_initial_active_type_1_predator": len(predators),
        "n_initial_active_type_1_prey": len(prey),
        "initial_num_grass": len(grass),
    }
    world = SavannaWorld(validate_settings(Savanna, chosen), 1)
    size = world.settings.grid_size
    everybody = [*predators, *prey]
    cells = np.array([[p[0] * size + p[1] for p in (*everybody, *grass)]], dtype=np.int64)
    world._begin(np.array([0]), np.array([7]), cells)
    s = world._arrays
    for row, (x, y, energy) in enumerate(everybody):
        s.energy[0, row] = energy
        s.visible_energy[0, 0 if row < len(predators) else 1, x * size + y] = energy
    return world


def act(world, **moves):
    """Step once: all agents stay, except rows given as `r0=action`."""
    actions = np.full((world.n_worlds * world.spec.rows, 1), STAY, dtype=np.int64)
    for row, action in moves.items():
        actions[int(row[1:]), 0] = action
    world.step(actions)
    return world


def energies(world, *rows):
    return [round(float(world._arrays.energy[0, row]), 4) for row in rows]


def position(world, row):
    return int(world._arrays.x[0, row]), int(world._arrays.y[0, row])


def counter(world, name):
    return int(world.counters()[name][0])


def random_actions(world, rng):
    """Return a valid action for every batch row."""
    choices = world.spec.n_choices[world.columns.group]
    return (rng.integers(0, 1 << 30, choices.shape) % choices).astype(np.int64)
