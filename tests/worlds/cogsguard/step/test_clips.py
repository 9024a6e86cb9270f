"""The clips of edition F: their timetable and their reach."""

import pytest
from cogs_scenes import EAST, NOOP, act, counter, give, has, kinds, owners, scene

# Junctions 10 cells apart on one line, the hub far below.
ROW = "J" + ("." * 9 + "J") * 5
MAP = "\n".join([ROW, *["." * len(ROW)] * 2, "H@" + "." * (len(ROW) - 2)])
NOBODY, TEAM, CLIPS = -1, 0, 1


def play(world, ticks):
    """What the clips did, by tick."""
    world.record_events(True)
    found = {}
    for _ in range(ticks):
        act(world)
        if kinds(world):
            found[int(world.tick[0])] = kinds(world)
    return found


def test_clips_are_seeded_at_step_10_and_spread_every_100_from_100():
    world = scene(MAP, clips="normal")
    found = play(world, 420)
    assert found == {t: ["clips_align"] for t in (10, 100, 200, 300, 400)}
    assert owners(world).count(CLIPS) == 5
    assert counter(world, "junctions_won_clips") == 5
    assert counter(world, "junction_ticks_clips") == 90 + 2 * 100 + 3 * 100 + 4 * 100 + 5 * 21 + 0


def test_the_junctions_that_clips_take_are_drawn_from_the_key():
    seeds = set()
    for key in range(20):
        world = scene(MAP, key=key, clips="normal")
        play(world, 10)
        seeds.add(owners(world).index(CLIPS))
    assert len(seeds) >= 4


def test_clips_scramble_one_owned_junction_every_100_from_50():
    world = scene(MAP.replace("J", "0"), clips="normal")
    found = play(world, 60)
    assert found == {10: ["clips_align"], 50: ["clips_scramble"]}
    assert sorted(owners(world)) == [NOBODY, TEAM, TEAM, TEAM, TEAM, CLIPS]
    near = owners(world).index(CLIPS) - owners(world).index(NOBODY)
    assert abs(near) <= 2


@pytest.mark.parametrize(
    ("rows", "columns", "taken"), [(0, 25, True), (25, 25, True), (0, 26, False), (26, 0, False)]
)
def test_the_reach_of_the_clips_is_a_square_of_25(rows, columns, taken):
    lines = [["."] * 30 for _ in range(30)]
    lines[0][0], lines[rows][columns] = "!", "J"
    lines[29][28:] = "H@"
    text = "\n".join("".join(line) for line in lines)
    world = scene(text, clips="normal", clips_seed_at=1000)
    assert play(world, 100) == ({100: ["clips_align"]} if taken else {})


def test_at_tick_10_clips_take_any_junction_even_of_a_team():
    world = scene("H@0", clips="normal")
    assert play(world, 10) == {10: ["clips_align"]}
    assert owners(world) == [CLIPS]


def test_with_the_quirk_clips_spread_only_from_junctions_that_were_theirs_at_the_start():
    quirk = {"quirks": {"clips_lose_marks": True}, "clips": "normal"}
    text = "!" + ("." * 19 + "J") * 3 + "\nH@" + "." * 59
    times = {"clips_align_from": 1, "clips_align_every": 1, "clips_seed_at": 1000}
    for more, taken in ((quirk, 2), ({"clips": "normal"}, 4)):
        world = scene(text, **(times | more))
        play(world, 4)
        assert owners(world).count(CLIPS) == taken


def test_with_the_quirk_clips_seed_twice_at_10_and_again_at_210_although_they_hold_some():
    world = scene(MAP, clips="normal", quirks={"clips_lose_marks": True}, key=5)
    found = play(world, 215)
    assert found == {10: ["clips_align", "clips_align"], 210: ["clips_align"]}


def test_clips_that_find_all_spread_from_any_junction_and_seed_only_once():
    far = "\n".join([*["0" + "." * 69 + "J"], *["." * 71] * 2, "." * 35 + "H@" + "." * 34])
    times = {"clips_seed_at": 1000, "clips_reseed_from": 5, "clips_reseed_every": 5}
    world = scene(far, clips="normal", quirks={"clips_find_all": True}, **times)
    found = play(world, 105)
    assert found == {50: ["clips_scramble"], 100: ["clips_align"]}
    assert sorted(owners(world)) == [NOBODY, CLIPS]
    assert play(scene(far, clips="normal", **(times | {"clips_reseed_from": 1000})), 105) == {}


def test_clips_act_before_agents_so_that_a_bump_in_the_same_tick_finds_their_junction():
    for tick, success, hearts in ((9, 1, 1), (10, 0, 2), (11, 0, 2)):
        world = scene("@J" + "." * 9 + "H", clips="normal", influence_upkeep=0)
        give(world, gear="aligner", influence=20, hearts=2)
        for t in range(1, tick + 1):
            act(world, EAST if t == tick else NOOP)
        assert has(world, "last_action_succeeded", "hearts") == [success, hearts]
        assert owners(world) == [TEAM if tick == 9 else CLIPS]


def test_clips_are_seeded_again_every_200_if_they_hold_none():
    world = scene(MAP, clips="normal")
    play(world, 10)
    world._arrays.junction[0, :, 1] = NOBODY
    world._arrays.teams[0, CLIPS, 4] = 0
    assert play(world, 205) == {210: ["clips_align"]}


def test_aggressive_clips_have_half_the_periods():
    world = scene(MAP.replace("J", "0", 1), clips="aggressive")
    ticks = [t for t, kind in play(world, 260).items() if "clips_align" in kind]
    assert ticks == [10, 100, 150, 200, 250]


def test_clips_can_be_switched_off():
    assert play(scene(MAP, clips="off"), 120) == {}
