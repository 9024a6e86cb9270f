"""Energy is conserved: what leaves one account enters another."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from savanna_scenes import random_actions

from kinfolk.core.settings import validate_settings
from kinfolk.worlds.savanna.agent_log import SavannaAgentLog
from kinfolk.worlds.savanna.settings import Savanna
from kinfolk.worlds.savanna.world import SavannaWorld

SPENT = (
    "energy_decayed",
    "energy_moved",
    "energy_failed_attacks",
    "energy_wasted",
    "energy_lost_with_the_dead",
    "energy_join_costs",
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
        # Donations can multiply energy without bound: beyond 1 the error is relative.
        assert abs(float(world.energy()[0]) - expected) < 1e-9 * max(1.0, abs(expected))
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


VARIANTS = st.fixed_dictionaries(
    {
        "join_choice": st.booleans(),
        "team_capture_join_cost": st.floats(0.0, 0.5),
        "team_capture_scavenger_fraction": st.floats(0.0, 1.0),
        "failed_attack_kills_predator": st.booleans(),
        "leave_small_bite": st.booleans(),
        "leave_carcass": st.booleans(),
        "predator_satiation_cooldown": st.integers(0, 4),
        "movement_energy_cost_per_cell_prey": st.floats(0.0, 0.05),
        "season_length_steps": st.integers(0, 9),
        "donation_fraction": st.floats(0.0, 0.2),
        "donation_multiplier": st.floats(0.5, 2.0),
        "energy_loss_per_step_type_2_prey": st.floats(0.0, 0.1),
        "initial_energy_type_2_prey": st.floats(0.5, 2.0),
        "predator_reproduction_max_ratio": st.none() | st.floats(0.0, 2.0),
        "neutral_drift": st.booleans(),
        "metabolic_rate_alpha": st.floats(0.0, 1.0),
        "traits": st.just({}) | st.just({
            "metabolic_rate": {"low": 0.5, "high": 2.0, "std_prey": 0.3, "mutation_rate": 0.5},
            "marker": {"low": -1.0, "high": 1.0, "mean_predator": 0.0, "std_predator": 0.5},
        }),
    }
)  # fmt: skip


@given(RULES, VARIANTS, st.integers(0, 2**31))
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_energy_balances_in_all_variants(rules, variants, seed):
    balance(rules | variants, seed, steps=100)


@given(VARIANTS, st.integers(0, 2**31))
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_inheritance_balances(variants, seed):
    traits = {
        "size": {
            "low": 0.5,
            "high": 2.0,
            "std_prey": 0.3,
            "mutation_rate": 0.5,
            "mutation_std": 0.2,
        }
    }
    rules = {k: v for k, v in (variants | {"traits": traits}).items() if v is not None}
    more = {"prey_creation_energy_threshold": 3.0, "grid_size": 12}
    world = SavannaWorld(validate_settings(Savanna, FIXED | rules | more), 1)
    world.reset(np.array([seed]))
    log, rng = SavannaAgentLog(world), np.random.default_rng(seed)
    log.start()
    while not world.done[0] and world.tick[0] < 60:
        world.step(random_actions(world, rng))
        log.update()
    s, lives = world._arrays, log.by_uid
    for k, species in enumerate(("predator", "prey")):
        kind = [record for record in lives.values() if record.policy_group.endswith(species)]
        assert all(0.5 <= record.traits["size"] <= 2.0 for record in kind)
        everybody = sum(record.traits["size"] for record in kind)
        parents = sum(log.by_id[r.parent].traits["size"] for r in kind if r.parent is not None)
        assert abs(s.trait_totals[0, k, 0, 0] - everybody) < 1e-9
        assert abs(s.trait_totals[0, k, 0, 1] - parents) < 1e-9
        found = world.counters()[f"trait_size_selection_differential_{species}"][0]
        n_births = sum(record.parent is not None for record in kind)
        expected = parents / n_births - everybody / len(kind) if n_births else 0.0
        assert abs(found - expected) < 1e-9
    for record in lives.values():
        if record.parent is not None and not rules["neutral_drift"]:
            assert abs(record.traits["size"] - log.by_id[record.parent].traits["size"]) < 1.3


@pytest.mark.slow
@given(RULES, st.integers(0, 2**31))
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_energy_balances_over_a_thousand_steps_of_fifty_settings(rules, seed):
    balance(rules, seed, steps=1000)
