"""When the behaviors of scouts start, what they do and when they end, on hand-drawn maps."""

from cogs_harness import Cogs
from cogs_scenes import set_store

from kinfolk.policies.scripted.cogsguard.memory import FRUITLESS_TICKS


def test_discover_stations_goes_on_until_hub_chest_and_stations_are_known():
    cogs = Cogs("H@.........CARMT", window_radius=3)
    assert cogs.observe().start("discover_stations") == "yes"
    assert cogs.move("discover_stations") == "east"
    cogs.run_only("discover_stations").play(9)
    assert not cogs.observe().ended("discover_stations")
    cogs.play(1)  # the way ends before the chest; from there all is in view, but T
    assert cogs.observe().start("discover_stations") == "yes"
    seen = Cogs("HCARMT@", window_radius=6).observe()
    assert seen.start("discover_stations") == "all buildings are known"
    assert seen.ended("discover_stations")
    assert Cogs("HARMT.@", edition="A").observe().ended("discover_stations")  # which has no chest


def test_discover_extractors_goes_on_until_enough_of_each_are_known():
    two = {"extractors_wanted": 2}
    cogs = Cogs("H@ccooggs....\n.............\n........s....", params=two).observe()
    assert cogs.start("discover_extractors") == "yes"
    assert not cogs.ended("discover_extractors")
    cogs = Cogs("H@ccooggss...", params=two, window_radius=12).observe()
    assert cogs.start("discover_extractors") == "enough extractors are known"
    assert cogs.ended("discover_extractors")


def test_discover_extractors_prefers_frontiers_far_from_known_ones():
    cogs = Cogs("H############\n......@.ccc..\n#############", window_radius=5)
    assert cogs.observe().move("discover_extractors") == "west"


def test_discover_junctions_ends_when_no_new_junction_was_found_for_a_while():
    cogs = Cogs(
        "." * 40 + "\n.H@" + "." * 37, ["discover_junctions"], {"retry_delay": 5}, window_radius=2
    )
    assert cogs.observe().start("discover_junctions") == "yes"
    cogs.play(5)
    assert cogs.state(FRUITLESS_TICKS) == 5
    assert cogs.observe().ended("discover_junctions")
    assert cogs.start("discover_junctions") == "no more junctions are expected"


def test_discover_junctions_continues_after_a_junction_was_found():
    text = "." * 40 + "\n.H@.....J" + "." * 31
    cogs = Cogs(text, ["discover_junctions"], {"retry_delay": 5}, window_radius=3)
    cogs.play(4)
    assert cogs.observe().start("discover_junctions") == "yes"
    assert cogs.state(FRUITLESS_TICKS) < 4


def test_scouts_put_on_gear_only_if_the_store_can_spare_it():
    cogs = Cogs("H.T.@........", store_elements=5)  # a price of 3 and 1, and 3 to spare
    assert cogs.observe().move("discover_extractors") == "east"
    set_store(cogs.world, 4, 4, 4, 6)
    assert cogs.observe().move("discover_extractors") == "west"
