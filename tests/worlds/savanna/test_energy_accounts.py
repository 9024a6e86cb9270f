"""Energy is conserved: what leaves one account enters another."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from savanna_scenes import random_actions

from kinfolk.core.settings import validate_settings
from kinfolk.worlds.savanna.settings import Savanna
from kinfolk.worlds.savanna.world import SavannaWorld

SPENT = (
    "energy_decayed",
    "energy_moved",
    "energy_failed_attacks",
    "energy_wasted",
    "energy_lost_with_the_dead",
)
few = st.floats(0.0, 3.0)
share = st.floats(0.2, 1.0)
RULES = st.fixed_dictionaries(
    {
        "grid_size": st.integers(8, 14),
        "team_capture_enabled": st.booleans(),
        "team_capture_equal_split": st.booleans(),
        "team_capture_tie": st.sampled_from(["succeeds", "fails"]),
        "team_capture_margin": st.floats(-1.0, 1.0),
        "energy_percentage_loss_per_failed_attacked_prey": st.floats(0.0, 0.5),
        "energy_loss_per_step_predator": st.floats(0.0, 0.4),
        "energy_loss_per_step_prey": st.floats(0.0, 0.2),
        "initial_energy_predator": st.floats(1.0, 6.0),
        "initial_energy_prey": st.floats(1.0, 4.0),
        "predator_creation_energy_threshold": st.floats(3.0, 12.0),
        "prey_creation_energy_threshold": st.floats(2.0, 8.0),
        "max_energy_gain_per_grass": few | st.just(float("inf")),
        "max_energy_gain_per_prey": few | st.just(float("inf")),
        "max_energy_predator": st.floats(5.0, 20.0) | st.just(float("inf")),
        "max_energy_prey": st.floats(4.0, 20.0) | st.just(float("inf")),
        "energy_transfer_efficiency": share,
        "reproduction_energy_efficiency": share,
        "move_energy_cost_factor": st.floats(0.0, 0.05),
        "energy_gain_per_step_grass": st.floats(0.0, 0.2),
        "max_agent_age": st.none() | st.integers(5, 60),
        "max_fertility_age": st.none() | st.integers(3, 40),
        "carcass_only_predator_age": st.none() | st.integers(0, 12),
        "mutation_rate_prey": st.floats(0.0, 0.3),
    }
)
FIXED = {
    "type_2_action_range": 5,
    "n_initial_active_type_1_predator": 4,
    "n_initial_active_type_1_prey": 6,
    "initial_num_grass": 20,
    "manual_wall_positions": ((2, 2), (2, 3), (5, 5)),
    "max_rows": 48,
}


def balance(rules, seed, steps):
    """Play `steps` steps, beginning anew when an episode ends, and compare the accounts each time."""
    given_rules = {k: v for k, v in rules.items() if v is not None}
    world = SavannaWorld(validate_settings(Savanna, FIXED | given_rules), 1)
    rng = np.random.default_rng(seed)
    world.reset(np.array([seed]))
    start = world.energy()[0]
    for step in range(steps):
        if world.done[0]:
            world.reset(np.array([seed + step]))
            start = world.energy()[0]
        world.step(random_actions(world, rng))
        found = world.counters()
        spent = sum(float(found[name][0]) for name in SPENT)
        expected = start + float(found["energy_grown"][0]) - spent
        assert abs(float(world.energy()[0]) - expected) < 1e-9
        if "quirks" in rules:
            continue
        s = world._arrays
        for k in range(2):  # the ground shows exactly the living
            rows = s.alive_rows[0, k, : s.n_alive[0, k]]
            cells = s.x[0, rows] * world.settings.grid_size + s.y[0, rows]
            assert len(set(cells.tolist())) == len(rows) == int(s.active[0, k])
            shown = np.zeros(world.settings.grid_size**2, dtype=np.float32)
            # A parent can be left with less than nothing: it is not there, and starves next.
            shown[cells] = np.maximum(s.energy[0, rows], 0.0)
            assert (shown == s.visible_energy[0, k]).all()


@given(RULES, st.integers(0, 2**31))
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_energy_balances(rules, seed):
    balance(rules, seed, steps=120)


@given(RULES, st.integers(0, 2**31))
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_energy_balances_where_the_dead_are_bitten_as_published(rules, seed):
    quirks = {"dead_prey_bitten": True, "cell_erasure": True}
    alone = {"team_capture_enabled": False, "quirks": quirks, "grid_size": 8}
    balance(rules | alone, seed, steps=120)


@pytest.mark.slow
@given(RULES, st.integers(0, 2**31))
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_energy_balances_over_a_thousand_steps_of_fifty_settings(rules, seed):
    balance(rules, seed, steps=1000)
