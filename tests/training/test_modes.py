"""The eight modes: every example file is run, for seconds."""

from pathlib import Path

import pytest

from kinfolk.core.settings import merge_settings, validate_settings
from kinfolk.engines.base import LocalEngine
from kinfolk.jobs.evaluate import Evaluate, evaluate
from kinfolk.jobs.train.job import train
from kinfolk.jobs.train.settings import Train
from kinfolk.store.files import read_settings_file
from kinfolk.store.run import create_run
from kinfolk.store.run_job import run_and_store

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
QUICK = {"worlds": 2, "n_chunks": 1, "rollout_length": 8, "steps": 1, "evaluation": {"every": 0}}
SHORT_GAMES = {"max_steps": 6}


def run_example(name, folder, **changes):
    """Train an example for one update; the events, and the settings."""
    given = merge_settings(read_settings_file(EXAMPLES / name), merge_settings(QUICK, changes))
    given = merge_settings(given, {"world_settings": SHORT_GAMES})
    settings = validate_settings(Train, given)
    run = create_run(folder, "train", settings.model_dump())
    events = list(run_and_store(run, lambda snapshot: train(settings, LocalEngine(), snapshot)))
    return settings, {event.kind: event for event in events}


@pytest.fixture(scope="module")
def one_policy(tmp_path_factory):
    """Mode 1, whose policy modes 3 and 8 play with."""
    folder = tmp_path_factory.mktemp("modes") / "runs" / "one_policy"
    return folder, run_example("mode_1_one_policy.toml", folder)


def test_mode_1_one_policy_for_all(one_policy):
    _, (settings, events) = one_policy
    assert settings.slot_ids == ["main"]
    assert "entropy" in events["update_done"].slots["main"]
    assert events["update_done"].length == 6


def test_mode_2_two_species_two_policies(tmp_path):
    _, events = run_example("mode_2_two_species.toml", tmp_path / "run")
    for name in ("predators", "prey"):
        assert events["update_done"].slots[name]["entropy"] > 2.0
    assert events["training_done"].weights["predators"] != events["training_done"].weights["prey"]


def test_mode_3_against_a_frozen_checkpoint(one_policy, tmp_path, monkeypatch):
    folder, (_, first) = one_policy
    monkeypatch.chdir(folder.parents[1])
    _, events = run_example("mode_3_against_frozen.toml", tmp_path / "run")
    assert "entropy" in events["update_done"].slots["predators"]
    assert "entropy" not in events["update_done"].slots["prey"]
    assert events["training_done"].weights["prey"] == first["training_done"].weights["main"]


def test_mode_4_beside_scripted_role_agents(tmp_path):
    _, events = run_example("mode_4_beside_scripts.toml", tmp_path / "run")
    slots = events["update_done"].slots
    assert slots["npc"]["rows"] == 3 * slots["main"]["rows"]
    assert "entropy" in slots["main"]
    assert "entropy" not in slots["npc"]


def test_mode_5_kickstarting_from_a_scripted_teacher(tmp_path):
    _, events = run_example("mode_5_kickstart.toml", tmp_path / "run")
    student = events["update_done"].slots["student"]
    assert student["cloner"] > 0.0
    assert 0.0 <= student["agreement"] <= 1.0
    assert "entropy" in student


def test_mode_6_alternating_slots(tmp_path):
    turns = {
        "predators": {"train_every": 2, "train_for": 1},
        "prey": {"train_every": 2, "train_for": 1},
    }
    settings = validate_settings(Train, merge_settings(
        merge_settings(read_settings_file(EXAMPLES / "mode_6_alternating.toml"), QUICK),
        {"steps": 1200, "slots": turns, "world_settings": SHORT_GAMES},
    ))  # fmt: skip
    events = [
        item
        for item in train(settings, LocalEngine())
        if getattr(item, "kind", "") == "update_done"
    ]
    learnt = [sorted(name for name, s in t.slots.items() if "entropy" in s) for t in events]
    assert learnt[:3] == [["predators"], ["prey"], ["predators"]]


def test_mode_7_self_play_against_a_pool(tmp_path):
    settings, events = run_example(
        "mode_7_self_play.toml", tmp_path / "run", opponent_pool={"add_every": 1}
    )
    slots = events["update_done"].slots
    assert settings.opponent_pool.sampling == "win_rate"
    assert slots["main"]["rows"] == slots["rival"]["rows"]
    assert "entropy" not in slots["rival"]
    assert slots["main"]["wins"] + slots["rival"]["wins"] == pytest.approx(1.0)


def test_mode_8_evaluation_of_a_mix(one_policy, monkeypatch):
    folder, _ = one_policy
    monkeypatch.chdir(folder.parents[1])
    given = merge_settings(
        read_settings_file(EXAMPLES / "mode_8_evaluate_mix.toml"),
        {"episodes": 2, "world_settings": SHORT_GAMES},
    )
    summary = list(evaluate(validate_settings(Evaluate, given), LocalEngine()))[-1]
    assert set(summary.returns) == {"hunters", "herd"}
    assert summary.ticks.mean == 6


def test_cartpole_begins(tmp_path):
    _, events = run_example("cartpole.toml", tmp_path / "run", rollout_length=64)
    assert events["update_done"].length == 6


def test_a_net_that_plays_nobody_learns_cogsguard_by_watching(tmp_path):
    _, events = run_example(
        "cogsguard_imitation.toml",
        tmp_path / "run",
        slots={"teacher": {"policy_uri": "kin://smart"}},
    )
    slots = events["update_done"].slots
    assert slots["student"]["agreement"] > 0.0
    assert (slots["student"]["rows"], slots["teacher"]["rows"]) == (0, 2 * 8 * 8)
    assert events["update_done"].step == 2 * 8 * 8, "rows that it learns from are steps"


def test_cogsguard_is_learnt_from_scratch(tmp_path):
    _, events = run_example("cogsguard_scratch.toml", tmp_path / "run")
    assert events["update_done"].slots["main"]["entropy"] > 0.0


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_cartpole_reaches_475_within_150_k_steps(seed):
    given = merge_settings(read_settings_file(EXAMPLES / "cartpole.toml"), {"seed": seed})
    last = list(train(validate_settings(Train, given), LocalEngine()))[-1]
    assert last.reason == "reached", f"score {last.score} after {last.step} steps"
    assert last.score >= 475.0
    assert last.step <= 150_000
