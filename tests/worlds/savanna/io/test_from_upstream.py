"""Configurations of PredPreyGrass become settings, and what is ignored is said."""

import json
import os
from pathlib import Path

import pytest

from kinfolk.cli.app import main
from kinfolk.core.errors import SettingsError, UsageError
from kinfolk.core.settings import validate_settings
from kinfolk.worlds.savanna import from_upstream
from kinfolk.worlds.savanna.io.from_upstream import PUBLISHED_PRESETS, read_python_config
from kinfolk.worlds.savanna.io.golden_trace import parse_trace
from kinfolk.worlds.savanna.presets import PRESETS
from kinfolk.worlds.savanna.settings import Savanna

ROOT = Path(__file__).resolve().parents[4]
SHARED = Path(os.environ.get("KINFOLK_GOLDEN", ROOT.parent / "shared" / "golden"))
RULES = {
    "savanna/shared_r1_s1": "r1",
    "savanna/shared_r2_s1": "r2",
    "savanna/lineage_shipped_s1": "lineage",
    "savanna_variants/stag_hunt_shipped_s2001": "stag_hunt",
    "savanna_variants/stag_hunt_defection_shipped_s2101": "stag_hunt_defection",
    "savanna_variants/metabolic_rate_shipped_s2201": "metabolic_rate",
    "savanna_variants/seasonal_shipped_s2301": "seasonal",
    "savanna_variants/donation_shipped_s2401": "donation",
}


def config(name):
    path = SHARED / f"{name}.json.gz"
    if not path.exists():
        pytest.skip(f"There is no {path}.")
    return parse_trace(path.read_bytes())["config"]


@pytest.mark.parametrize("name", RULES)
def test_the_rules_follow_from_the_keys(name):
    found = from_upstream(config(name))
    assert found.rule_set == RULES[name]
    assert found.settings.grid_size == config(name)["grid_size"]
    assert found.settings.max_rows is None
    # No name of a file, and no key that changes the rules, is ignored.
    verbose = {key for key in found.ignored if key.startswith("verbose_")}
    assert verbose or "debug_mode" in found.ignored
    assert not any(key.startswith(("energy_", "initial_", "n_initial")) for key in found.ignored)


def test_what_is_ignored_is_said_with_the_reason():
    found = from_upstream(config("savanna/shared_r2_s1"))
    assert found.ignored["num_walls"] == "PredPreyGrass does not read it"
    assert found.ignored["n_possible_type_1_prey"] == "rows are reused, so ids do not run out"
    assert found.settings.team_capture_tie == "fails"


def test_without_genomes_their_keys_are_ignored():
    found = from_upstream(config("savanna_variants/metabolic_rate_off_s2205"))
    assert found.settings.traits == {}
    assert found.ignored["founder_genome"] == "genomes are off"


def test_a_negative_bite_is_none():
    stag_hunt = config("savanna_variants/stag_hunt_scalar_s2004")
    found = from_upstream(stag_hunt | {"bite_size_prey": -1.0})
    assert found.settings.max_energy_gain_per_grass == 0.0


def test_kick_backs_and_older_keys_are_read():
    base = config("savanna/lineage_shipped_s1")
    lineage = (
        "lineage_reward_coeff",
        "max_fertility_age",
        "max_agent_age",
        "carcass_only_predator_age",
    )
    older = {key: value for key, value in base.items() if key not in lineage}
    found = from_upstream(
        older | {"kin_kick_back_reward_prey": {"type_1_prey": 4.0, "type_2_prey": 0.0}}
    )
    assert found.rule_set == "kick_back"
    assert found.settings.kin_kick_back_reward_prey.type_1_prey == 4.0
    assert found.settings.max_agent_age.type_1_prey is None
    assert not found.settings.quirks.default_age_caps
    found = from_upstream(
        older | {"move_energy_cost_factor": 0.01, "max_energy_prey": "inf"}, "limited_intake"
    )
    assert found.settings.move_energy_cost_factor == 0.01
    assert found.settings.max_energy_prey == float("inf")


def test_a_key_of_an_unknown_version_gets_an_error_message():
    with pytest.raises(SettingsError) as caught:
        from_upstream(config("savanna/shared_r2_s1") | {"moon_phase": 3})
    assert str(caught.value).startswith(
        "'moon_phase' is no key of PredPreyGrass that kinfolk knows for the rules r2: it is of another "
        "version, or misspelt."
    )


def test_a_configuration_of_no_known_module_gets_an_error_message():
    with pytest.raises(SettingsError, match=r"^This is no configuration of a PredPreyGrass module"):
        from_upstream({"grid_size": 9})


@pytest.mark.parametrize(("rules", "preset"), PUBLISHED_PRESETS.items())
def test_a_partial_configuration_is_completed_by_the_settings_file_of_its_module(rules, preset):
    found = from_upstream({"max_steps": 77}, rules).settings
    expected = validate_settings(Savanna, {**PRESETS[preset], "max_steps": 77})
    without_effect = {
        "lineage_reward_mode",
        "reproduction_reward_predator",
        "reproduction_reward_prey",
    }
    for key, value in expected.model_dump(exclude={*without_effect, "quirks"}).items():
        assert getattr(found, key) == getattr(expected, key), (key, value)
    assert found.reproduction_reward_prey.type_1_prey == 10.0
    named = found.quirks.model_copy(update={"parents_not_logged": False})
    assert named == expected.quirks


def test_a_table_of_a_partial_configuration_is_read():
    found = from_upstream({"lineage_reward_coeff": {"type_1_predator": 0.35, "type_1_prey": 0.6}})
    assert found.rule_set == "lineage"
    assert found.settings.lineage_reward_coeff.type_1_prey == 0.6
    assert found.settings.energy_gain_per_step_grass == 0.08, "as the settings file of the module"
    assert found.ignored == {}


def test_a_misspelt_key_gets_a_suggestion():
    with pytest.raises(SettingsError, match=r"misspelt\. Did you mean 'max_fertility_age'\?"):
        from_upstream({"lineage_reward_coeff": {}, "max_fertilty_age": {"type_1_prey": 120}})


PYTHON = """
from math import inf
config_env = {
    "seed": 42,
    "max_steps": 500,  # a comment
    "lineage_reward_coeff": {"type_1_predator": 0.35, "type_1_prey": 0.60},
    "max_fertility_age": {"type_1_predator": 160, "type_1_prey": None},
    "max_energy_gain_per_prey": float('inf'),
    "manual_wall_positions": [(1, 2), (3, 4)],
}
raise RuntimeError("this file must not be run")
"""


def test_a_python_configuration_is_read_without_running_it(tmp_path, capsys):
    path = tmp_path / "config_env_lineage_rewards.py"
    path.write_text(PYTHON)
    with pytest.raises(SystemExit) as left:
        main(["settings", "savanna", "--from", str(path)])
    said = capsys.readouterr()
    assert left.value.code == 0, said.err
    printed = json.loads(said.out)
    assert printed["max_steps"] == 500
    assert printed["lineage_reward_coeff"]["type_1_predator"] == 0.35
    assert printed["max_fertility_age"]["type_1_predator"] == 160
    assert printed["manual_wall_positions"] == [[1, 2], [3, 4]]
    assert "Ignored: seed" in said.err


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("config_env = {", "x.py is not valid Python: '{' was never closed, line 1."),
        ("a = 1", "x.py must assign one dictionary, such as config_env = {...}; it assigns 0."),
        (
            "c = {'a': open('b')}",
            "x.py is read without running it, so its dictionary can hold literals",
        ),
    ],
)
def test_a_python_file_without_literals_gets_an_error_message(source, message):
    with pytest.raises(UsageError) as caught:
        read_python_config(source, "x.py")
    assert str(caught.value).startswith(message)


def test_the_command_prints_settings_and_what_was_ignored(tmp_path, capsys):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config("savanna_variants/stag_hunt_shipped_s2001")))
    with pytest.raises(SystemExit) as left:
        main(["settings", "savanna", "--from", str(path)])
    assert left.value.code == 0
    said = capsys.readouterr()
    printed = json.loads(said.out)
    assert (printed["initial_energy_prey"], printed["initial_energy_type_2_prey"]) == (10.0, 1.5)
    assert "Ignored: num_walls (PredPreyGrass does not read it)." in said.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["settings", "cogsguard", "--from", "a.json"], "--from converts settings of the savanna, not of 'cogsguard'."),
        (["settings", "savanna", "--from", "none.json"], "There is no file none.json."),
        (["settings", "savanna", "--from", "bad.json"], "bad.json is not valid JSON or TOML"),
    ],
)  # fmt: skip
def test_a_wrong_file_gets_an_error_message(arguments, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert left.value.code == 2
    assert message in capsys.readouterr().err
