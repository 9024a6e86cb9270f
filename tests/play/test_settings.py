"""Settings that people give by another name get the name that was meant."""

import pytest

from kinfolk.core.errors import SettingsError
from kinfolk.core.settings import validate_settings
from kinfolk.jobs.evaluate import Evaluate
from kinfolk.jobs.tournament.settings import Tournament


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"map": {"grazer": "a"}},
         "Evaluate has no setting 'map'. Did you mean 'agent_slot_map'? --map is its flag on the command line."),
        ({"replay": 1},
         "Evaluate has no setting 'replay'. Did you mean 'replays'? --replay is its flag on the command line."),
        ({"world": "savanna", "max_steps": 20},
         "Evaluate has no setting 'max_steps'. It is a rule of the world: world_settings={'max_steps': 20}."),
        ({"growth": 0.5},
         "Evaluate has no setting 'growth'. It is a rule of the world: world_settings={'growth': 0.5}."),
        ({"policy": "kin://noop"},
         "Evaluate has no setting 'policy'. Policies play slots: slots={'all': 'kin://noop'}."),
    ],
)  # fmt: skip
def test_the_name_of_a_flag_a_rule_or_a_policy_is_explained(settings, message):
    with pytest.raises(SettingsError) as refused:
        validate_settings(Evaluate, settings)
    assert str(refused.value) == message


def test_other_unknown_settings_get_the_most_similar_name():
    with pytest.raises(
        SettingsError, match=r"^Tournament has no setting 'game'\. Did you mean 'games'\?"
    ):
        validate_settings(Tournament, {"policies": {}, "game": 3})
