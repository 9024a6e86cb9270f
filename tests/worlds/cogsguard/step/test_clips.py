"""The clips of edition F: their timetable and their reach."""

from cogs_scenes import act, counter, kinds, owners, scene

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


def test_clips_reach_25_cells():
    far = "!" + "." * 24 + "J.." + "." * 3 + "\nH@" + "." * 29
    assert play(scene(far, clips="normal"), 100) == {100: ["clips_align"]}
    too_far = "!" + "." * 25 + "J." + "." * 3 + "\nH@" + "." * 29
    assert play(scene(too_far, clips="normal"), 100) == {}


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
