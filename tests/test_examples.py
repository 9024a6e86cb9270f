"""Tests that the examples run and do what their docstrings say."""

import ast
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


@pytest.fixture(autouse=True)
def examples_on_import_path(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))


@pytest.fixture
def own_behavior(monkeypatch):
    monkeypatch.delitem(sys.modules, "own_behavior", raising=False)
    import own_behavior

    return own_behavior


def test_a_behavior_of_your_own_plays_the_same_in_plain_python_and_compiled(own_behavior):
    short_games = {"episodes": 2, "ticks": 150}
    compiled = own_behavior.play("catalog", "Careful", **short_games)
    assert compiled == own_behavior.play("python_catalog", "Careful", **short_games)
    assert compiled["deposited"] > 0


def test_the_medic_behavior_keeps_agents_from_hp_0(own_behavior):
    games = {"episodes": 3, "ticks": 500}
    assert own_behavior.catalog().behaviors[-1].name == "medic"
    scouts = own_behavior.play("catalog", "BaseScout", **games)
    careful = own_behavior.play("catalog", "Careful", **games)
    assert careful["ticks_at_hp_0"] < scouts["ticks_at_hp_0"] / 10


def test_a_behavior_with_a_parameter_added_in_ten_lines_evolves(tmp_path):
    from evolving_behavior import evolve

    record, *roles = (json.loads(line) for line in evolve(tmp_path / "run"))
    assert record["name"] == "rest"
    assert record["games"] > 0, "it acted, and was scored"
    values = {
        role["parameters"]["low_energy"] for role in roles if "low_energy" in role["parameters"]
    }
    assert len(values) >= 2
    assert all(1 <= value <= 19 for value in values)
    assert any(role["own_games"] > 0 and role["parents"] for role in roles), "children were played"


@pytest.mark.more
def test_the_kin_study_compares_and_resumes_trainings_with_and_without_lineage_reward(tmp_path):
    from kin_study import study

    rows = study(steps=2000, seeds=2, episodes=1, out=tmp_path, jobs=1)
    assert [row[0] for row in rows][:3] == ["ticks", "births_per_agent", "surviving_lineages"]
    assert {run.name for run in tmp_path.iterdir()} == {
        "without-0", "with-0", "without-1", "with-1",
    }  # fmt: skip
    weights = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.safetensors")}
    assert study(steps=2000, seeds=2, episodes=1, out=tmp_path, jobs=1) == rows
    weights_after = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.safetensors")}
    assert len(weights) >= 4
    assert weights_after == weights, "finished trainings must not be repeated"


@pytest.mark.slow
@pytest.mark.train
@pytest.mark.timeout(1800)
def test_the_league_study_measures_both_arms_and_repeats_nothing_that_is_finished(tmp_path):
    from league_study import Plan, study

    plan = Plan(steps=8_000, response_steps=4_000, episodes=2, out=tmp_path)
    rows = study(plan, seeds=2, jobs=1)
    assert [row[0] for row in rows] == [
        "lead of a best response as predators", "lead of a best response as prey",
        "worst score as predators", "worst score as prey",
    ]  # fmt: skip
    files = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.safetensors")}
    assert study(plan, seeds=2, jobs=1) == rows
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.safetensors")} == files


@pytest.mark.more
def test_the_studies_of_variants_show_what_each_variant_is_about(tmp_path):
    np, plots = pytest.importorskip("numpy"), pytest.importorskip("matplotlib")
    plots.use("Agg")
    from variant_studies import SEASON, draw, study

    results = study(episodes=3, steps=240, worlds=6)
    teams = results["stag_hunt"]
    assert teams["type_1_prey"] > 0.8 > 0.4 > teams["type_2_prey"]
    riders = results["defection"]["free rider"]
    assert riders == sorted(riders, reverse=True)
    assert riders[-1] == 0.0 < riders[0] < min(results["defection"]["joiner"]) / 5
    selected, drifting = (results["traits"][k][-1] for k in ("selection", "drift (a marker)"))
    assert selected.max() < 0.9, "a lower metabolic rate is selected in every world"
    assert abs(drifting.mean() - 1.0) < 3 * drifting.std() / np.sqrt(len(drifting)) + 0.05
    prey, steady = results["seasons"]["seasons"], results["seasons"]["no seasons"]
    growth = [prey[first + SEASON - 1] - prey[first] for first in (0, SEASON, 2 * SEASON)]
    assert growth[0] > 0 > growth[1]
    assert growth[2] > growth[1]
    assert np.ptp(prey[120:]) > 2 * np.ptp(steady[120:])
    donation = results["donation"]
    assert donation["gifts"][-1] < 0.05 < 0.4 < donation["no gifts"][-1]
    draw(results, tmp_path / "variants.png")
    assert (tmp_path / "variants.png").stat().st_size > 10_000


def find_missing(*modules):
    """Return the first of some modules that is not installed, or None."""
    return next((m for m in modules if importlib.util.find_spec(m) is None), None)


def test_a_savanna_beside_mesa_counts_the_steps_of_living_animals():
    from beside_mesa import TICKS, step_savanna

    lived, seconds = step_savanna(worlds=2, agents=120)
    assert TICKS < lived < 4 * 120 * TICKS
    assert seconds > 0


@pytest.mark.slow
def test_mesas_animals_are_counted_alike():
    pytest.importorskip("mesa", reason="beside_mesa.py needs mesa, which is not installed")
    from beside_mesa import TICKS, step_mesa

    lived, seconds = step_mesa(agents=120)
    assert 20 * TICKS < lived < 4 * 120 * TICKS
    assert seconds > 0


@pytest.mark.slow
@pytest.mark.train
@pytest.mark.parametrize(
    ("example", "modules"),
    [("rllib_savanna", ("ray", "tree", "torch")), ("torchrl_savanna", ("torchrl", "pettingzoo"))],
)
def test_another_library_trains_both_species_while_agents_are_born_and_die(
    example, modules, tmp_path
):
    missing = find_missing(*modules)
    if missing is not None:
        pytest.skip(f"{example} needs {missing}, which is not installed")
    command = [sys.executable, str(EXAMPLES / f"{example}.py")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith(("0 ", "1 ", "2 "))]
    rows = [ast.literal_eval(line[2:]) for line in lines]
    assert len(rows) == 3
    assert all(row["born"] > 0 and row["died"] > 0 for row in rows)
    losses = [[row[species] for row in rows] for species in ("type_1_predator", "type_1_prey")]
    assert all(len(set(values)) == 3 for values in losses), "both nets changed"
