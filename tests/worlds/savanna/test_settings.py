"""Settings are validated with exact messages; presets are data."""

import numpy as np
import pytest

from kinfolk.core.errors import SettingsError
from kinfolk.core.settings import validate_settings
from kinfolk.worlds.savanna.presets import DESCRIPTIONS, PRESETS
from kinfolk.worlds.savanna.rules import make_rules
from kinfolk.worlds.savanna.settings import DEFAULT_WALLS, Savanna
from kinfolk.worlds.savanna.world import SavannaWorld


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"gird_size": 9}, "Did you mean 'grid_size'"),
        ({"initial_energy_prey": -1.0}, "initial_energy_prey must be greater than 0"),
        ({"energy_loss_per_step_prey": -0.1}, "must be at least 0"),
        ({"grid_size": 5}, "leaves 25 free cells, and 30 founders and 100 grass patches need 130"),
        ({"max_rows": 10}, "max_rows must hold all 30 founders, not 10"),
        ({"prey_obs_range": 8}, "prey_obs_range must be odd, not 8"),
        ({"mutation_rate_prey": 0.1}, "type_2_action_range is 0"),
        ({"team_capture_tie": "maybe"}, "'succeeds' or 'fails'"),
        (
            {"max_agent_age": {"type_3_prey": 1}},
            "Savanna.max_agent_age has no setting 'type_3_prey'",
        ),
        ({"quirks": {"nonsense": True}}, "Savanna.quirks has no setting 'nonsense'"),
    ],
)
def test_a_wrong_setting_raises_an_error_that_names_it(given, why):
    with pytest.raises(SettingsError) as refusal:
        validate_settings(Savanna, given)
    assert why in str(refusal.value)


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_is_described_and_plays(name):
    assert DESCRIPTIONS[name]
    world = SavannaWorld(validate_settings(Savanna, SavannaWorld.presets[name]), 1)
    world.reset(np.array([3]))
    assert int(world.columns.alive.sum()) == sum(world.settings.founder_counts)


def has_quirks(preset):
    return any(validate_settings(Savanna, preset).quirks.model_dump().values())


def test_only_presets_switch_quirks_on():
    assert not any(validate_settings(Savanna, {}).quirks.model_dump().values())
    own = {name for name, preset in PRESETS.items() if not has_quirks(preset)}
    notes = {"shared_prey_r1", "lineage_documented"}
    assert own == {"seasonal", "donation"} | notes, "the variants with our own rules"


def test_the_published_map_has_36_wall_cells_and_those_off_the_grid_are_left_out():
    assert len(set(DEFAULT_WALLS)) == 36
    small = validate_settings(
        Savanna,
        {
            "grid_size": 5,
            "initial_num_grass": 0,
            "n_initial_active_type_1_predator": 1,
            "n_initial_active_type_1_prey": 1,
        },
    )
    assert small.wall_cells == []


def test_there_are_four_rows_per_founder_and_at_least_256():
    assert validate_settings(Savanna, {}).rows == 256
    assert validate_settings(Savanna, {"n_initial_active_type_1_prey": 85}).rows == 400


def test_a_preset_takes_none_for_the_undocumented_age_caps_and_the_default_does_not():
    assert make_rules(validate_settings(Savanna, PRESETS["lineage_shipped"])).max_age.tolist() == [
        120,
        -1,
        100,
        -1,
    ]
    assert make_rules(validate_settings(Savanna, {})).max_age.tolist() == [-1, -1, -1, -1]


def test_a_plain_number_sets_the_value_of_every_type():
    ages = validate_settings(Savanna, {"max_agent_age": 7}).max_agent_age
    assert (ages.type_1_predator, ages.type_2_prey) == (7, 7)
