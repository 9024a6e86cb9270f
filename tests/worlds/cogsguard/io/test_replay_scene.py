"""Recorded scenes of the original CogsGuard: all are equal, and any changed number is found."""

import copy
import gzip
import json

import pytest

from kinfolk.worlds.cogsguard import world as world_module
from kinfolk.worlds.cogsguard.io.replay_scene import SceneError, replay_scene
from kinfolk.worlds.cogsguard.presets import AS_RELEASED
from kinfolk.worlds.cogsguard.rules import make_rules


@pytest.fixture
def scenes(golden):
    folder = golden.parent / "cogsguard"
    if not folder.is_dir():
        pytest.skip(f"There are no golden recordings in {folder}.")
    return {
        path.name.removesuffix(".json.gz"): json.loads(gzip.decompress(path.read_bytes()))
        for path in sorted(folder.glob("*.json.gz"))
    }


QUIRK_SCENES = {
    "a_align_enemy": "both_marks",
    "a_hearts_full": "wasted_hearts",
    "a_ships_stale": "stale_chains",
    "f_clips_chain": "clips_lose_marks",
    "f_clips_random": "clips_lose_marks",
    "f_hub_hearts_wasted": "wasted_hearts",
    "f_vibe_blocked": "vibe_success",
}


def test_every_scene_is_equal_in_every_field(scenes):
    assert len(scenes) == 81
    differing = {name: str(replay_scene(scene).difference) for name, scene in scenes.items()}
    assert {name: text for name, text in differing.items() if text != "None"} == {}


def test_a_scene_with_a_quirk_is_equal_under_its_switch_alone_and_others_under_all(scenes):
    assert {name for name, scene in scenes.items() if "quirk" in scene} == set(QUIRK_SCENES)
    for name, scene in scenes.items():
        if name in QUIRK_SCENES:
            assert replay_scene(scene, {QUIRK_SCENES[name]: True}).matches, name
            # The recording says whether the vibe succeeded, so its scene shows no difference.
            assert replay_scene(scene, {}).matches == (name == "f_vibe_blocked"), name
        else:
            assert replay_scene(scene, AS_RELEASED["quirks"]).matches, name


def test_all_outcomes_that_a_scene_lists_are_reached(scenes):
    drawn = {name: scene for name, scene in scenes.items() if "alternatives" in scene}
    assert len(drawn) == 5
    for scene in drawn.values():
        replay = replay_scene(scene)
        assert replay.outcomes == tuple(range(1 + len(scene["alternatives"])))


def test_an_outcome_that_many_seeds_should_have_shown_is_refused(scenes):
    scene = scenes["f_order_follow"]
    replay = replay_scene(scene | {"alternatives": scene["alternatives"][:1]})
    assert str(replay.difference).startswith("Scene f_order_follow, tick 1, agent ")


def test_the_hub_of_the_second_team_may_come_first_on_the_map(scenes):
    scene = copy.deepcopy(scenes["f_enemy_hub"])
    scene["map"] = [line.translate(str.maketrans("Hh@%", "hH%@")) for line in scene["map"]]
    scene["teams"] = [1 - team for team in scene["teams"]]
    for state in (scene["start"], *scene["ticks"]):
        state["stores"].reverse()
    assert replay_scene(scene).matches
    scene["ticks"][3]["stores"][1][0] += 1
    found = "tick 4: stores should be [[7, 6, 6, 6, 5, 0], [6, 6, 6, 6, 5, 0]] and is "
    assert found in str(replay_scene(scene).difference)


CHANGES = {  # scene, where, the changed value, what is said
    "hp": ("f_enemy_area_3", ("ticks", 2, "agents", 1, 2), "agent 1: hp should be 49 and is 48."),
    "position": ("f_moves_walls", ("ticks", 4, "agents", 0, 1), None),
    "vibe": ("a_vibes", ("ticks", 0, "agents", 0, 12), None),
    "gear": ("a_gear_clamp", ("ticks", 0, "agents", 1, 6), None),
    "reward": ("f_rewards", ("ticks", 5, "agents", 0, 14), None),
    "success": ("f_idle_bumps", ("ticks", 0, "agents", 0, 13), None),
    "stores": ("f_deposit_hub", ("ticks", 0, "stores", 0, 2), None),
    "stock": ("f_mine_bare", ("ticks", 3, "stock", 0), None),
    "owners": ("f_clips_seed", ("ticks", 9, "owners"), "tick 10: owners should be 'J' and is '!'."),
    "net": ("a_align_chain", ("ticks", 2, "net"), "tick 3: net should be 'JJJ' and is '00J'."),
    "start": ("f_deposit_hub", ("start", "stores", 0, 0), None),
}


@pytest.mark.parametrize("case", CHANGES)
def test_a_scene_with_one_changed_number_is_refused_with_its_place(case, scenes):
    name, path, said = CHANGES[case]
    scene = copy.deepcopy(scenes[name])
    place = scene
    for key in path[:-1]:
        place = place[key]
    old = place[path[-1]]
    other = "J" * len(old) if case in ("owners", "net") else "scout"
    place[path[-1]] = other if isinstance(old, str) else old + 1
    replay = replay_scene(scene)
    assert not replay.matches
    assert f"Scene {name}, tick " in str(replay.difference)
    if said is not None:
        assert said in str(replay.difference)


RULE_CHANGES = {  # changes of one rule each, in the numbers that kernels read
    "upkeep of hp": {"hp_upkeep": 2},
    "damage of enemy areas": {"hp_enemy_area": 2},
    "influence of friendly areas": {"influence_friendly_area": 9},
    "length of the day": {"day_length": 101},
    "cost of a move": {"move_cost": 3},
    "elements per bump": {"mine_amount_miner": 9},
    "cap of the store": {"store_cap": 9_999},
    "deposit per bump": {"deposit_most": 9},
    "reach of the clips": {"clips_reach": 24},
    "reach of ships": {"ships_reach": 9 * 9},
    "reach of aligners": {"align_reach": 14 * 14},
    "reach of aligners from the hub": {"align_hub_reach": 24 * 24},
    "hearts to align": {"align_hearts": 2},
    "influence to align": {"align_influence": 2},
    "edition": {"territory": True},
}


@pytest.mark.parametrize("case", RULE_CHANGES)
def test_a_changed_rule_makes_some_scene_differ(case, scenes, monkeypatch):
    def make_other_rules(settings):
        rules = make_rules(settings)
        changes = RULE_CHANGES[case]
        if case == "edition" and settings.edition == "A":
            changes = {"territory": False}
        return rules._replace(**changes)

    monkeypatch.setattr(world_module, "make_rules", make_other_rules)
    short = [s for s in scenes.values() if len(s["ticks"]) <= 220 and "alternatives" not in s]
    assert any(not replay_scene(scene).matches for scene in reversed(short))


BAD = {
    "format": ({"format": 2}, "The scene has format 2; 1 can be replayed."),
    "edition": ({"edition": "B"}, "The scene's edition must be 'F' or 'A', not 'B'."),
    "teams": ({"teams": [0, 0, 1]}, "Teams of equal size can be replayed, not of [2, 1] agents."),
    "fields": (
        {"fields": ["y", "x", "mood"]},
        "The scene has an unknown field 'mood'.",
    ),
    "agents": ({"teams": [0]}, "The scene's start has 3 agents instead of 1."),
}


@pytest.mark.parametrize("case", BAD)
def test_a_scene_that_cannot_be_replayed_is_said(case, scenes):
    change, said = BAD[case]
    with pytest.raises(SceneError) as refused:
        replay_scene(scenes["f_agents_block"] | change)
    assert str(refused.value) == said


def test_an_incomplete_scene_is_said(scenes):
    scene = dict(scenes["f_agents_block"])
    del scene["extractors"]
    with pytest.raises(SceneError) as refused:
        replay_scene(scene)
    assert str(refused.value) == "The scene has no 'extractors': it is incomplete."
    ticks = copy.deepcopy(scenes["f_agents_block"]["ticks"])
    ticks[0]["act"][0] = "jump"
    with pytest.raises(SceneError) as refused:
        replay_scene(scenes["f_agents_block"] | {"ticks": ticks})
    assert str(refused.value) == "The scene has an unknown action 'jump'."
