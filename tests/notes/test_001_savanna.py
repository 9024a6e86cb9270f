"""Design note 001: shared prey, lineage rewards and fertility caps, statement by statement.

Scenes are grids of 2 x 2 or 3 x 3 cells without grass, on which all agents are beside each other, and are
played through the environment that a user of the note makes: `kf.pettingzoo("savanna", ...)`.
"""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.cli.app import main
from kinfolk.lineage import kernels
from kinfolk.worlds.adapters import rllib
from kinfolk.worlds.savanna import from_upstream
from kinfolk.worlds.savanna.presets import PRESETS
from kinfolk.worlds.savanna.settings import Savanna

ROOT = Path(__file__).resolve().parents[2]
STAY = 4
COUNTERS = ("team_capture_successes", "team_capture_failures", "team_capture_last_helpers")
TINY = {
    "grid_size": 2,
    "initial_num_grass": 0,
    "manual_wall_positions": [],
    "n_initial_active_type_1_predator": 2,
    "n_initial_active_type_1_prey": 1,
    "predator_obs_range": 3,
    "prey_obs_range": 3,
    "energy_loss_per_step_predator": 0.0,
    "energy_loss_per_step_prey": 0.0,
    "initial_energy_predator": 2.0,
    "initial_energy_prey": 3.0,
}
PAIR = TINY | {"n_initial_active_type_1_predator": 1, "team_capture_enabled": False}
# A predator with much energy has a child at every step, on one of the other cells.
FAMILY = PAIR | {
    "grid_size": 3,
    "initial_energy_prey": 100.0,
    "prey_creation_energy_threshold": 1000.0,
    "predator_creation_energy_threshold": 4.0,
    "lineage_reward_coeff": {"type_1_predator": 0.35},
}
WOLF, OTHER_WOLF, SHEEP = "type_1_predator_0", "type_1_predator_1", "type_1_prey_0"
CHILD = "type_1_predator_1"


def begin(rules, preset=None, **more):
    env = kf.pettingzoo("savanna", preset=preset, **(rules | more))
    env.reset(seed=0)
    return env


def stay(env):
    return dict.fromkeys(env.agents, STAY)


def set_energies(env, *energies):
    """Set the energies of the founders, predators first."""
    env.world._arrays.energy[0, : len(energies)] = energies


def row_of(env, uid):
    return int((env.world.columns.uid == uid).nonzero()[0][0])


def energy(env, uid):
    return float(env.world._arrays.energy[0, row_of(env, uid)])


def onto_prey(env):
    """Return actions in which the only predator moves to the cell of the only prey."""
    s = env.world._arrays
    dx, dy = int(s.x[0, 1] - s.x[0, 0]), int(s.y[0, 1] - s.y[0, 0])
    return stay(env) | {WOLF: 3 * (dx + 1) + dy + 1}


def give_birth(**more):
    """Return an environment after the birth of `CHILD`, and what that step returned."""
    env = begin(FAMILY, **more)
    set_energies(env, 4.0)
    return env, env.step(stay(env))


def kill_child(env):
    """Let the child starve, and return what that step returned."""
    env.world._arrays.energy[0, row_of(env, 2)] = 0.0
    return env.step(stay(env))


# Shared prey


def test_01_predators_capture_when_their_summed_energy_meets_or_exceeds_the_prey():
    """Capture iff the sum of predator energies in the Moore neighborhood meets or exceeds the prey's."""
    for energies, caught in (((2.0, 2.0, 4.0), True), ((2.0, 1.9, 4.0), False)):
        env = begin(TINY)
        set_energies(env, *energies)
        assert env.step(stay(env))[2][SHEEP] == caught
    far = begin(TINY, grid_size=30)
    set_energies(far, 9.0, 9.0, 4.0)
    assert not far.step(stay(far))[2][SHEEP], "nobody is in its neighborhood"
    assert far.counters["team_capture_failures"] == 0


def test_02_team_capture_margin_is_added_to_what_is_needed():
    """Optional margin `team_capture_margin`."""
    for energies, caught in (((2.0, 2.0, 4.0), False), ((2.0, 3.0, 4.0), True)):
        env = begin(TINY, team_capture_margin=1.0)
        set_energies(env, *energies)
        assert env.step(stay(env))[2][SHEEP] == caught


def catch_with_three(preset):
    """Let three predators of 3 catch a prey of 6, for a reward of 6."""
    env = begin(
        TINY | {"n_initial_active_type_1_predator": 3},
        preset,
        reward_predator_catch_prey={"type_1_predator": 6.0},
    )
    set_energies(env, 3.0, 3.0, 3.0, 6.0)
    _, rewards, terminations, _, _ = env.step(stay(env))
    assert terminations[SHEEP]
    helpers = [f"type_1_predator_{i}" for i in range(3)]
    return [rewards[helper] for helper in helpers], [energy(env, i) for i in range(3)]


def test_03_intake_and_catch_reward_are_split_equally():
    """Prey energy intake and the catch reward are split equally (`team_capture_equal_split=True`)."""
    assert Savanna().team_capture_equal_split
    assert catch_with_three(None) == ([2.0, 2.0, 2.0], [5.0, 5.0, 5.0])


def test_04_the_preset_of_the_note_splits_equally():
    """`shared_prey_r1` is the note; what the published code pays is `shared_prey_r1_published`."""
    assert catch_with_three("shared_prey_r1") == ([2.0, 2.0, 2.0], [5.0, 5.0, 5.0])
    rewards, energies = catch_with_three("shared_prey_r1_published")
    assert (rewards, energies) == ([6.0, 6.0, 6.0], [5.0, 5.0, 5.0])


def test_05_team_capture_enabled_is_a_switch():
    """Toggle via `team_capture_enabled`."""
    env = begin(TINY, team_capture_enabled=False)
    assert not env.step(stay(env))[2][SHEEP], "nobody stands on its cell"
    assert env.counters["team_capture_successes"] == env.counters["team_capture_failures"] == 0


def test_06_summary_counters_land_in_the_infos_of_all(monkeypatch):
    """Summary counters land in `infos['__all__']`."""
    env = begin(TINY)
    infos = env.step(stay(env))[4]
    assert env.agents == [], "the only prey was caught: the last step"
    assert [infos["__all__"][name] for name in COUNTERS] == [1, 0, 2]
    monkeypatch.setattr(rllib, "MultiAgentEnv", object)  # RLlib need not be installed
    for_rllib = rllib.RLlibEnvAdapter({"world": "savanna", "ids": 4, **TINY})
    for_rllib.reset(seed=0)
    infos = for_rllib.step(dict.fromkeys(for_rllib.agents, STAY))[4]
    assert [infos["__all__"][name] for name in COUNTERS] == [1, 0, 2]


def test_07_predators_in_the_carcass_only_window_are_ignored_and_get_the_step_reward():
    """Predators blocked by the carcass-only window are ignored; they receive step reward only."""
    env = begin(TINY, carcass_only_predator_age=30, reward_predator_step=0.25)
    env.world._arrays.age[0, 0] = 0
    _, rewards, terminations, _, infos = env.step(stay(env))
    assert not terminations[SHEEP], "the other predator alone is too weak"
    assert rewards[WOLF] == 0.25
    assert energy(env, 0) == 2.0
    assert infos[WOLF] == {"carcass_only_live_prey_blocked": True, "carcass_only_block_count": 1}


def test_08_lineage_rewards_are_disabled_in_shared_prey():
    """Lineage survival rewards are disabled in `shared_prey`."""
    for preset in ("shared_prey_r1", "shared_prey_r1_published", "shared_prey_r2"):
        settings = Savanna(**PRESETS[preset])
        assert not any(settings.lineage_reward_coeff.model_dump().values())
        assert settings.team_capture_enabled


# Lineage rewards


def test_09_a_change_of_live_descendants_pays_every_ancestor():
    """R_lineage(i, t) = λ * (L_i(t) - L_i(t-1)), for ancestors of any depth."""
    env, _ = give_birth(lineage_reward_coeff={"type_1_predator": 0.6})
    env.world._arrays.energy[0, row_of(env, 2)] = 4.0
    _, rewards, _, _, _ = env.step(stay(env))
    assert rewards[WOLF] == 0.6, "for a grandchild"
    assert rewards[CHILD] == 10.6, "for a birth and a child"


def test_10_only_the_positive_portion_is_awarded():
    """The current code awards only the positive portion (no penalty when descendants die)."""
    env, _ = give_birth()
    _, rewards, terminations, _, _ = kill_child(env)
    assert terminations[CHILD]
    assert rewards[WOLF] == 0.0


def test_11_the_preset_of_the_note_pays_no_penalty():
    """`lineage_documented` pays gains only; `lineage_published` does what the published code does."""
    assert Savanna(**PRESETS["lineage_documented"]).lineage_reward_mode == "positive"
    coefficient = {"lineage_reward_coeff": {"type_1_predator": 0.6}}
    still = {"carcass_only_predator_age": -1}
    for preset, cost in (("lineage_documented", 0.0), ("lineage_published", -0.6)):
        env = begin(FAMILY | coefficient | still, preset)
        set_energies(env, 4.0)
        assert env.step(stay(env))[1][WOLF] == 10.6
        assert kill_child(env)[1][WOLF] == cost


def test_12_symmetric_rewards_are_an_option():
    """The bookkeeping keeps both counts, so enabling symmetric rewards would be straightforward."""
    env, _ = give_birth(lineage_reward_mode="symmetric")
    assert kill_child(env)[1][WOLF] == -0.35


def test_13_the_lineage_tracker_has_its_five_fields():
    """`self.lineage_tracker[agent_id]`: parent_id, children_ids, live_descendants, prev_..., is_alive_..."""
    env, _ = give_birth()
    assert env.lineage_tracker[WOLF] == {
        "parent_id": None,
        "children_ids": [CHILD],
        "live_descendants": 1,
        "prev_live_descendants": 1,
        "is_alive_descendant": True,
    }
    assert env.lineage_tracker[CHILD]["parent_id"] == WOLF
    kill_child(env)
    assert env.lineage_tracker[WOLF]["live_descendants"] == 0
    assert env.lineage_tracker[CHILD]["is_alive_descendant"] is False


def test_14_agent_stats_live_aggregates_payouts():
    """`self.agent_stats_live[agent_id]['lineage_reward_total']` aggregates payouts."""
    env, _ = give_birth()
    assert env.agent_stats_live[WOLF]["lineage_reward_total"] == 0.35
    assert env.agent_stats_live == env.agent_stats()


def test_15_agent_event_log_records_each_payout():
    """`self.agent_event_log[agent_id]['reward_events']` records each lineage payout."""
    env, _ = give_birth()
    assert env.agent_event_log[WOLF]["reward_events"][-1]["lineage_reward"] == 0.35
    assert env.agent_event_log == env.event_log()


def test_16_payouts_are_logged_with_timestamp_and_cumulative_reward():
    """`lineage_reward_total`, per-step `reward_events` with timestamp and cumulative reward."""
    env, _ = give_birth()
    env.world._arrays.energy[0, row_of(env, 2)] = 4.0
    env.step(stay(env))
    events = env.agent_event_log[WOLF]["reward_events"]
    assert [(event["t"], event["lineage_reward"]) for event in events] == [
        (1, 0.0),
        (1, 0.35),
        (2, 0.35),
    ]
    assert [event["cumulative_reward"] for event in events] == pytest.approx([10.0, 10.35, 10.7])
    assert env.agent_stats_live[WOLF]["lineage_reward_total"] == pytest.approx(0.7)


def test_17_births_and_deaths_propagate_to_all_ancestors():
    """`_register_birth`, `_register_death`: every ancestor gains or loses a live descendant."""
    parent, living = np.full((1, 3), -1), np.zeros((1, 3), np.bool_)
    live, before = np.zeros((1, 3), np.int64), np.zeros((1, 3), np.int64)
    for child, its_parent in ((0, -1), (1, 0), (2, 1)):
        kernels.record_birth(parent, living, live, before, 0, child, its_parent)
    assert parent[0].tolist() == [-1, 0, 1]
    assert live[0].tolist() == [2, 1, 0]
    delta = kernels.update_descendant_change(live, before, 0, 0)
    assert (delta, kernels.compute_lineage_reward(0.35, delta, False)) == (2, 0.7)
    kernels.record_death(parent, living, live, 0, 2)
    assert live[0].tolist() == [1, 0, 0]
    assert kernels.compute_lineage_reward(0.35, -1, False) == 0.0


def test_18_coefficients_are_set_per_type_and_zero_reverts_to_reproduction_only():
    """`lineage_reward_coeff`; setting them to 0.0 reverts to reproduction-only incentives."""
    _, step = give_birth(lineage_reward_coeff=0.0)
    assert step[1][WOLF] == 10.0
    _, step = give_birth(lineage_reward_coeff={"type_1_predator": 0.5, "type_1_prey": 0.9})
    assert step[1][WOLF] == 10.5


# Fertility and age


def test_19_max_fertility_age_counts_steps_and_none_or_negative_is_unlimited():
    """`max_fertility_age` counts steps since birth; `None` (or negative) = unlimited fertility."""
    for limit, is_fertile in ((None, True), (-1, True), (3, True), (2, False)):
        env = begin(FAMILY, max_fertility_age={"type_1_predator": limit})
        env.world._arrays.age[0, 0] = 1
        set_energies(env, 4.0)
        _, rewards, _, _, _ = env.step(stay(env))
        assert rewards[WOLF] == (10.35 if is_fertile else 0.0), limit
        assert energy(env, 0) == (2.0 if is_fertile else 4.0)


def test_20_blocked_births_are_counted_by_species():
    """Counters `reproduction_blocked_due_to_fertility_{predator,prey}` increment."""
    env, _ = give_birth(max_fertility_age={"type_1_predator": 1, "type_1_prey": 1},
                        prey_creation_energy_threshold=50.0)  # fmt: skip
    env.step(stay(env))
    assert env.counters["reproduction_blocked_due_to_fertility_predator"] == 2
    assert env.counters["reproduction_blocked_due_to_fertility_prey"] == 2


def test_21_the_agents_log_fertility():
    """`fertility_blocked_attempts`, `fertility_expired_step` and a `fertility_events` entry."""
    env, _ = give_birth(max_fertility_age={"type_1_predator": 1})
    stats = env.agent_stats_live[WOLF]
    assert (stats["fertility_blocked_attempts"], stats["fertility_expired_step"]) == (1, 1)
    assert env.agent_event_log[WOLF]["fertility_events"] == [
        {"t": 1, "event": "fertility_expired", "age": 1},
        {"t": 1, "event": "reproduction_blocked", "reason": "fertility_cap"},
    ]


def test_22_the_same_logs_with_team_capture():
    """The same statistics and logs exist in the default world, in which predators hunt in teams."""
    assert Savanna().team_capture_enabled
    caps = {"max_fertility_age": 5, "lineage_reward_coeff": 0.5, "max_agent_age": 40}
    env = begin({}, **caps, carcass_only_predator_age=10, max_steps=60)
    rng = np.random.default_rng(0)
    while env.agents:
        env.step({agent: int(rng.integers(9)) for agent in env.agents})
    stats, log = env.agent_stats_live, env.agent_event_log
    blocked = sum(entry["fertility_blocked_attempts"] for entry in stats.values())
    counted = [
        env.counters[f"reproduction_blocked_due_to_fertility_{s}"] for s in ("predator", "prey")
    ]
    assert blocked == sum(counted) > 0
    events = [event for entry in log.values() for event in entry["fertility_events"]]
    assert sum(event["event"] == "reproduction_blocked" for event in events) == blocked
    assert all(entry["fertility_expired_step"] == 5 for entry in stats.values()
               if entry["birth_step"] == 0 and "prey" in entry["agent_id"] and entry["fertility_expired_step"])  # fmt: skip
    paid = [env.counters[f"lineage_reward_total_{s}"] for s in ("predator", "prey")]
    totals = sum(entry["lineage_reward_total"] for entry in stats.values())
    assert totals == pytest.approx(sum(paid))
    assert totals > 0
    aged = [entry for entry in stats.values() if entry["death_cause"] == "max_age"]
    assert aged
    assert all(entry["age_expired_step"] == entry["death_step"] for entry in aged)
    assert {entry["carcass_only_blocks"] for entry in stats.values()} == {0}


def test_23_max_agent_age_and_none_or_negative_is_immortal():
    """`max_agent_age` counts steps lived; `None` (or negative) keeps the legacy immortal behavior."""
    for limit, dies in ((None, False), (-1, False), (100, False), (99, True)):
        env = begin(PAIR, max_agent_age={"type_1_predator": limit})
        env.world._arrays.age[0, 0] = 98
        assert env.step(stay(env))[2][WOLF] == dies, limit


def test_24_an_aged_agent_dies_before_engagements_and_is_logged():
    """Age-outs clear the lineage, mark `max_age`, stamp `age_expired_step` and emit an info flag."""
    env, _ = give_birth(max_agent_age={"type_1_predator": 2})
    _, _, terminations, _, infos = env.step(stay(env))
    assert terminations[WOLF]
    assert not terminations[CHILD], "it is younger"
    assert infos[WOLF]["terminated_due_to_age"] is True
    stats = env.agent_stats_live[WOLF]
    assert (stats["death_cause"], stats["age_expired_step"], stats["death_step"]) == (
        "max_age",
        2,
        2,
    )
    assert env.agent_event_log[WOLF]["lifecycle_events"] == [
        {"t": 2, "event": "max_age_reached", "age": 2}
    ]
    assert not env.lineage_tracker[WOLF]["is_alive_descendant"]
    for aged in ("type_1_predator", "type_1_prey"):
        env = begin(PAIR, max_agent_age={aged: 1})
        env.step(onto_prey(env))
        assert env.counters["live_bites"] == 0, "the retired agent is skipped in the same step"


# Juveniles


def bite_at_age(age, **more):
    env = begin(PAIR, carcass_only_predator_age=30, reward_predator_step=0.5, **more)
    env.world._arrays.age[0, 0] = age - 1  # it ages before it bites
    return env, env.step(onto_prey(env))


def test_25_juveniles_may_only_bite_carcasses():
    """Younger predators get only the step reward on live prey, and a `diet_events` entry is logged."""
    env, (_, rewards, terminations, _, _) = bite_at_age(29)
    assert rewards[WOLF] == 0.5
    assert (energy(env, 0), energy(env, 1)) == (2.0, 3.0)
    assert not terminations[SHEEP]
    assert env.agent_event_log[WOLF]["diet_events"] == [
        {"t": 1, "event": "carcass_only_block", "prey_id": SHEEP, "age": 29}
    ]
    _, step = bite_at_age(30)
    assert step[2][SHEEP]


def test_26_blocks_are_counted_for_the_agent_the_world_and_the_step():
    """`carcass_only_blocks`, `carcass_only_live_prey_blocks_predator`, `carcass_only_live_prey_blocked`."""
    env, (_, _, _, _, infos) = bite_at_age(3)
    assert infos[WOLF]["carcass_only_live_prey_blocked"] is True
    env.step(stay(env))
    assert env.agent_stats_live[WOLF]["carcass_only_blocks"] == 2
    assert env.counters["carcass_only_live_prey_blocks_predator"] == 2


def test_27_founders_may_hunt_at_once_and_newborns_start_at_zero():
    """Founders start with their age equal to the window; newborn predators begin at age 0."""
    env = begin(PAIR, carcass_only_predator_age=30)
    assert env.world._arrays.age[0, :2].tolist() == [30, 0]
    assert env.step(onto_prey(env))[2][SHEEP]
    mother, _ = give_birth(carcass_only_predator_age=30)
    assert mother.world._arrays.age[0, row_of(mother, 2)] == 0


def test_28_juveniles_bite_carcasses():
    """Juveniles may only bite carcasses (prey already in the `dead_prey` set)."""
    env = begin(PAIR, carcass_only_predator_age=30, max_energy_gain_per_prey=1.0)
    env.step(onto_prey(env))
    env.world._arrays.age[0, 0] = 0
    env.step(stay(env))
    assert (env.counters["live_bites"], env.counters["carcass_bites"]) == (1, 1)
    assert (energy(env, 0), energy(env, 1)) == (4.0, 1.0)


def test_29_intake_is_limited_and_leaves_a_carcass():
    """Limited intake: predators take multiple small bites."""
    env = begin(PAIR, max_energy_gain_per_prey=1.0)
    actions, energies = onto_prey(env), []
    while SHEEP in env.agents:
        env.step(actions if not energies else stay(env))
        energies.append(energy(env, 0))
    assert energies == [3.0, 4.0, 5.0]
    assert env.counters["carcasses"] == 1
    assert env.agent_event_log[SHEEP]["death_step"] == 1, "it died of the first bite"


def test_30_ids_are_never_reused_and_run_out():
    """IDs are never reused; beyond `n_possible_type_*` reproduction is blocked by capacity."""
    env, _ = give_birth()
    kill_child(env)
    set_energies(env, 4.0)
    seen = env.step(stay(env))[0]
    assert "type_1_predator_2" in seen
    assert CHILD not in seen
    env, step = give_birth(n_possible_type_1_predator=1)
    assert step[1][WOLF] == 0.0
    assert env.counters["reproduction_blocked_due_to_capacity_predator"] == 1


def test_31_kick_backs_are_counted_per_agent():
    """Legacy: `kin_kickbacks` counter per agent; a one-time kick-back to the grandparent."""
    assert Savanna(**PRESETS["kick_back"]).kin_kick_back_reward_predator.type_1_predator == 4.0
    env, _ = give_birth(lineage_reward_coeff=0.0, kin_kick_back_reward_predator=4.0)
    env.world._arrays.energy[0, row_of(env, 2)] = 4.0
    assert env.step(stay(env))[1][WOLF] == 4.0
    assert env.agent_stats_live[WOLF]["kin_kickbacks"] == 1


# Evaluation


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory):
    """A run of two short episodes of the note's preset."""
    run = tmp_path_factory.mktemp("runs") / "lineage"
    result = kf.evaluate(
        "savanna",
        preset="lineage_documented",
        world_settings={"max_steps": 60, "max_fertility_age": 40},
        slots={"pack": "kin://hunter", "herd": "kin://grazer"},
        agent_slot_map={"type_1_predator": "pack", "type_1_prey": "herd"},
        episodes=2,
        out=run,
    )
    return result, run


def run_command(*arguments):
    with pytest.raises(SystemExit) as left:
        main([str(argument) for argument in arguments])
    assert left.value.code == 0


def test_32_event_log_and_reward_summary_are_written(evaluated, tmp_path):
    """`agent_event_log_*.json` has reward events, `reward_summary.txt` prints `Lineage` columns."""
    _, run = evaluated
    run_command("export", "events", run, "--out", tmp_path)
    log = json.loads((tmp_path / "agent_event_log_0.json").read_text())
    paid = [e for entry in log.values() for e in entry["reward_events"] if e["lineage_reward"]]
    assert paid
    assert all(event["t"] >= 1 for event in paid)
    heading, *rows = (tmp_path / "reward_summary_0.txt").read_text().splitlines()
    assert heading.split()[-4:] == ["Lineage", "FertCap", "FertExp", "FBlk"]
    assert [row.split()[0] for row in rows[:2]] == ["type_1_predator", "type_1_prey"]


def test_33_the_evaluation_reports_lineage_and_fertility(evaluated, tmp_path, capsys):
    """Console summaries print `Lineage` and fertility columns per agent group."""
    result, run = evaluated
    frame = kf.load_run(run).frame("episodes")
    for species in ("predator", "prey"):
        for name in (
            f"lineage_reward_total_{species}",
            f"fertility_expired_{species}",
            f"reproduction_blocked_due_to_fertility_{species}",
        ):
            assert result.metrics[name].mean == pytest.approx(frame[f"counters.{name}"].mean())
    assert result.metrics["lineage_reward_total_prey"].mean > 0
    assert result.metrics["fertility_expired_prey"].mean > 0
    options = ["--preset", "lineage_documented", "--episodes", "1", "--set", "max_steps=5"]
    run_command("eval", "--world", "savanna", *options, "--out", tmp_path / "run")
    said = capsys.readouterr().out
    assert "lineage_reward_total_predator" in said
    assert "reproduction_blocked_due_to_fertility_prey" in said
    plain = kf.evaluate("savanna", episodes=1, world_settings={"max_steps": 5})
    assert not [name for name in plain.metrics if "lineage" in name or "fertility" in name]


def test_34_the_preset_has_the_values_of_the_note():
    """0.35/0.60; `max_fertility_age` 160/120; `max_agent_age` 220/180; `carcass_only_predator_age` 30."""
    settings = Savanna(**PRESETS["lineage_documented"])
    named = [
        (settings.lineage_reward_coeff, 0.35, 0.60),
        (settings.max_fertility_age, 160, 120),
        (settings.max_agent_age, 220, 180),
    ]
    for table, predator, prey in named:
        assert (table.type_1_predator, table.type_1_prey) == (predator, prey)
    assert settings.carcass_only_predator_age.type_1_predator == 30
    published = Savanna(**PRESETS["lineage_published"])
    assert published.max_fertility_age.type_1_predator == 100
    assert published.carcass_only_predator_age.type_1_predator == 10


def test_35_the_config_files_are_python(tmp_path, capsys):
    """Config knobs: `config/config_env_lineage_rewards.py`."""
    path = tmp_path / "config_env_lineage_rewards.py"
    path.write_text(
        'config_env = {\n    "lineage_reward_coeff": {"type_1_predator": 0.35, "type_1_prey": 0.60},\n'
        '    "max_fertility_age": {"type_1_predator": 160, "type_1_prey": 120},\n'
        '    "max_energy_gain_per_grass": float("inf"),\n}\n'
    )
    run_command("settings", "savanna", "--from", path)
    printed = json.loads(capsys.readouterr().out)
    assert printed["max_fertility_age"]["type_1_prey"] == 120
    found = from_upstream({"lineage_reward_coeff": {"type_1_prey": 0.6}}).settings
    assert found.grid_size == 25, "completed with the settings of the module"


def test_36_the_validation_tests_of_the_note_pass():
    """Unit tests for the lineage rewrite live in `tests/test_lineage_rewards_validation.py`."""
    names = (
        "test_lineage_reward_triggers_on_descendant_gain",
        "test_agent_emits_max_age_termination_and_logs_event",
        "test_juvenile_predator_blocked_from_live_prey",
        "test_predator_can_eat_live_prey_after_window",
        "test_founder_predator_starts_at_carcass_threshold",
    )
    path = "tests/worlds/savanna/test_published.py"
    selected = [f"{path}::{name}" for name in names]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *selected], cwd=ROOT, capture_output=True, text=True
    )
    assert "5 passed" in done.stdout, done.stdout + done.stderr


def test_37_lineage_depths_can_be_studied(evaluated, tmp_path):
    """Extend with empirical findings (plots, lineage depth distributions, etc.)."""
    _, run = evaluated
    run_command("export", "phylogeny", run, "--out", tmp_path / "family.csv")
    header, *rows = (tmp_path / "family.csv").read_text().splitlines()
    assert header == "id,ancestor_list,origin_time,destruction_time,taxon_label,cause,agent_id"
    assert len(rows) == sum(kf.load_run(run).frame("agents")["episode"] == 0)
