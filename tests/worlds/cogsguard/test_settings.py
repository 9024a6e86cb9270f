"""Settings are validated with exact messages; presets are data."""

import numpy as np
import pytest

from kinfolk.core.errors import SettingsError, UsageError
from kinfolk.core.settings import validate_settings
from kinfolk.replay import codec
from kinfolk.store import settings_file
from kinfolk.worlds.cogsguard import reset
from kinfolk.worlds.cogsguard.maps import KNOWN_SYMBOLS
from kinfolk.worlds.cogsguard.presets import DESCRIPTIONS, FORMER_RULES, MAP_DEFAULTS, PRESETS
from kinfolk.worlds.cogsguard.settings import Cogsguard
from kinfolk.worlds.cogsguard.world import CogsguardWorld

LEGEND = " ".join(KNOWN_SYMBOLS)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (
            {"map_text": "H@\n.?", "agents": 1},
            "Cogsguard.map_text has an unknown symbol '?' in line 2, column 2. Known: " + LEGEND,
        ),
        (
            {"map_text": "@.\n..", "agents": 1},
            "Cogsguard.map_text has no hub (H); every team needs one.",
        ),
        (
            {"map_text": "H@.\n..%", "agents": 1, "teams": 2},
            "Cogsguard.map_text must have a hub (H) for each team, 2, not 1.",
        ),
        (
            {"map_text": "H@@\n...", "agents": 3},
            "Cogsguard.agents must be at most the 2 spawn pads (@) of team 0 in map_text, not 3.",
        ),
        (
            {"map_text": "H@@\n..H", "agents": 2, "teams": 2},
            "Cogsguard.agents must be at most the 0 spawn pads (%) of team 1 in map_text, not 2.",
        ),
        (
            {"map_text": "H@@\n..", "agents": 1},
            "Cogsguard.map_text must have lines of one length; line 1 has 3 cells and line 2 has 2.",
        ),
        ({"map_text": " \n "}, "Cogsguard.map_text must have at least one cell."),
        (
            {"map_text": "H@2", "agents": 1},
            "Cogsguard.map_text has a junction of team 2; teams is 1, and they are numbered from 0.",
        ),
        (
            {"map": "tutorial", "teams": 2, "height": 33, "width": 33},
            "Cogsguard.teams: a map of 33 x 33 with compound_radius 7 has room for 1, not 2.",
        ),
        ({"map": "moon"}, "Cogsguard.map must be 'arena', 'machina_1' or 'tutorial', not 'moon'."),
        ({"edition": "B"}, "Cogsguard.edition must be 'F' or 'A', not 'B'."),
        ({"agents": 25}, "Cogsguard.agents must be at most 24, not 25."),
        ({"agents": 0}, "Cogsguard.agents must be at least 1, not 0."),
        ({"teams": 5}, "Cogsguard.teams must be at most 4, not 5."),
        (
            {"clips": "angry"},
            "Cogsguard.clips must be 'off', 'normal' or 'aggressive', not 'angry'.",
        ),
        (
            {"temple": True, "temple_cap": 4},
            "Cogsguard.temple_cap must be at least the 8 agents of a team, not 4.",
        ),
        (
            {"junctions": [27, 33]},
            "Cogsguard.junctions is the number of objects to draw, not the fewest and the most as in "
            f"the former rules. {FORMER_RULES}.",
        ),
        (
            {"ships_every": 100},
            "Cogsguard.ships_every is a setting of the former rules: ships act by clips_align_every "
            f"and clips_scramble_every. {FORMER_RULES}.",
        ),
    ],
)
def test_a_wrong_setting_raises_an_error_that_names_it(given, why):
    with pytest.raises(SettingsError) as refusal:
        validate_settings(Cogsguard, given)
    assert str(refusal.value) == why


def test_an_unknown_setting_is_refused_with_a_hint():
    with pytest.raises(SettingsError, match=r"has no setting 'clip'\. Did you mean 'clips'\?"):
        validate_settings(Cogsguard, {"clip": "off"})


def test_a_map_that_cannot_be_drawn_is_refused(monkeypatch):
    world = CogsguardWorld(validate_settings(Cogsguard, {"map": "tutorial", "junctions": 300}), 1)
    monkeypatch.setattr(reset, "reset_worlds", lambda *arguments: 0)
    with pytest.raises(SettingsError) as refusal:
        world.reset(np.array([1]))
    assert str(refusal.value) == (
        "No map of 35 x 35 cells could be generated on which all of 300 junctions and 34 extractors "
        "can be reached. Use a larger map or fewer objects."
    )
    assert world.done[0]


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_is_described_and_plays(name):
    assert DESCRIPTIONS[name]
    world = CogsguardWorld(validate_settings(Cogsguard, CogsguardWorld.presets[name]), 1)
    world.reset(np.array([3]))
    given = world.settings
    assert int(world.columns.alive.sum()) == given.teams * given.agents
    world.step(np.zeros((world.spec.rows, 2), dtype=np.int64))


def test_a_map_brings_its_size_and_length_and_both_can_be_changed():
    for name, expected in MAP_DEFAULTS.items():
        given = validate_settings(Cogsguard, {"map": name})
        assert (given.height, given.width, given.max_steps) == (
            expected["height"],
            expected["width"],
            expected["max_steps"],
        )
    assert validate_settings(Cogsguard, {"map": "machina_1", "max_steps": 9}).max_steps == 9


@pytest.mark.parametrize(
    ("missing", "changed", "version"),
    [
        (("rules_version", "ledger", "team_ledger"), {}, 1),
        (("rules_version",), {}, 2),
        ((), {"rules_version": np.array([3])}, 3),
    ],
)
def test_a_snapshot_of_other_rules_is_refused_with_the_reason(missing, changed, version):
    world = CogsguardWorld(validate_settings(Cogsguard, {"map": "tutorial"}), 1)
    world.reset(np.array([1]))
    snapshot = {name: a for name, a in world.snapshot().items() if name not in missing} | changed
    with pytest.raises(UsageError) as refusal:
        world.restore(snapshot)
    assert str(refusal.value) == (
        f"The snapshot was made by rules version {version} of CogsGuard, and this is version 4. "
        "CogsGuard's rules and maps are those of the original engine since rules version 2; "
        "docs/cogsguard.md lists what changed. Start anew."
    )
    world.restore(world.snapshot())


def test_runs_and_replays_of_former_rules_are_of_former_formats():
    versions = (CogsguardWorld.rules_version, settings_file.FORMAT_VERSION, codec.FORMAT_VERSION)
    assert versions == (4, 4, 5), "raise both formats with the version of the rules"


def test_groups_are_named_for_teams():
    one, two = (
        CogsguardWorld(validate_settings(Cogsguard, {"teams": teams}), 1).spec for teams in (1, 2)
    )
    assert [group.name for group in one.groups] == ["cogs"]
    assert [group.name for group in two.groups] == ["cogs_0", "cogs_1"]
    assert [(head.name, len(head.choices)) for head in one.groups[0].heads] == [
        ("move", 5),
        ("vibe", 7),
    ]
