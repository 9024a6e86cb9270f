import pytest

from kinfolk.policies.scripted.savanna.grazer import Grazer

WALL, PREDATOR, PREY, GRASS = range(4)


@pytest.fixture
def grazer(draw):
    return lambda energy=3.0, **kwargs: draw(species="prey", **kwargs).put(
        PREY, (0, 0), energy=energy
    )


def test_it_goes_to_the_nearest_grass(grazer):
    assert grazer().put(GRASS, (0, 3), (-2, 0), energy=2.0).act(Grazer) == "-1+0"


def test_ripe_grass_is_worth_a_longer_way(grazer):
    scene = grazer().put(GRASS, (0, 1), energy=0.2).put(GRASS, (-2, 0), energy=2.0)
    assert scene.act(Grazer) == "-1+0"


def test_poor_grass_next_to_it_is_better_than_ripe_grass_far_away(grazer):
    scene = grazer().put(GRASS, (0, 1), energy=1.2).put(GRASS, (-4, 0), energy=2.0)
    assert scene.act(Grazer) == "+0+1"


def test_it_leaves_grass_that_another_prey_occupies(grazer):
    scene = grazer().put(GRASS, (0, 1), (3, 0), energy=2.0).put(PREY, (0, 1), energy=3.0)
    assert scene.act(Grazer) == "+1+0"


def test_it_walks_around_a_wall(grazer):
    scene = grazer().put(GRASS, (0, 2), energy=2.0).put(WALL, (-1, 1), (0, 1), (1, 1), (2, 1))
    assert scene.act(Grazer) == "-1+0"


@pytest.mark.parametrize(("reach", "fled"), [(3, "-1"), (5, "-2")])
def test_it_flees_a_predator_though_there_is_grass(grazer, reach, fled):
    scene = grazer(reach=reach).put(PREDATOR, (2, 0), energy=5.0).put(GRASS, (1, 0), energy=2.0)
    assert scene.act(Grazer).startswith(fled)


def test_it_flees_a_strong_predator_earlier_than_a_weak_one(grazer):
    grass = grazer().put(GRASS, (0, 3), energy=2.0)
    assert grass.put(PREDATOR, (-2, 0), energy=1.0).act(Grazer) == "+0+1"
    assert grass.put(PREDATOR, (-2, 0), energy=4.0).act(Grazer).startswith("+1")


def test_two_weak_predators_are_a_strong_group(grazer):
    grass = grazer().put(GRASS, (0, 3), energy=2.0)
    grass.put(PREDATOR, (-2, 0), (-3, 0), energy=1.6)
    assert grass.act(Grazer).startswith("+1")


def test_a_weak_predator_beside_it_is_fled_too(grazer):
    assert grazer().put(PREDATOR, (0, 1), energy=0.5).act(Grazer).endswith("-1")


def test_it_does_not_flee_into_a_wall(grazer):
    scene = grazer().put(PREDATOR, (2, 0), energy=5.0).put(WALL, (-1, -1), (-1, 0), (-1, 1))
    assert not scene.act(Grazer).startswith("-1")


def test_it_keeps_from_grass_beside_a_predator(grazer):
    scene = grazer().put(GRASS, (3, 0), (0, -4), energy=2.0).put(PREDATOR, (4, 0), energy=5.0)
    assert scene.act(Grazer) == "+0-1"


def test_it_explores_when_nothing_is_in_view(grazer):
    moves = grazer().act(Grazer, ticks=6)
    assert len(set(moves)) == 1
    assert moves[0] != "stay"


@pytest.mark.parametrize("window", [1, 3])
def test_it_explores_in_the_smallest_windows(grazer, window):
    assert grazer(window=window).act(Grazer) != "stay"


def test_predators_assigned_to_a_grazer_only_explore(draw):
    scene = draw(species="predator").put(PREDATOR, (0, 0), energy=3.0)
    alone = scene.act(Grazer, ticks=4)
    assert scene.put(PREY, (1, 1), energy=2.0).act(Grazer, ticks=4) == alone
