import pytest

from kinfolk.core.errors import SettingsError
from kinfolk.policies.scripted.savanna.hunter import Hunter
from kinfolk.worlds import build_world as build_world

WALL, PREDATOR, PREY, GRASS = range(4)


@pytest.fixture
def hunter(draw):
    return lambda energy=5.0, **kwargs: draw(species="predator", **kwargs).put(
        PREDATOR, (0, 0), energy=energy
    )


def test_it_goes_to_the_nearest_prey(hunter):
    scene = hunter().put(PREY, (3, 0), (0, -2), energy=3.0)
    assert scene.act(Hunter) == "+0-1"


@pytest.mark.parametrize("window", [3, 5, 7, 9, 11])
def test_it_hunts_in_windows_of_any_size(hunter, window):
    assert hunter(window=window).put(PREY, (1, 1), energy=3.0).act(Hunter) == "+1+1"


def test_with_longer_steps_it_lands_on_its_prey(hunter):
    assert hunter(reach=5).put(PREY, (2, -1), energy=3.0).act(Hunter) == "+2-1"


def test_hunters_of_type_2_use_the_moves_of_their_type(hunter):
    assert hunter(type_=2, reach=5).put(PREY, (4, 0), energy=3.0).act(Hunter) == "+2+0"


def test_it_prefers_weaker_prey_to_prey_that_is_too_strong(hunter):
    scene = hunter().put(PREY, (2, 0), energy=6.0).put(PREY, (0, 3), energy=3.0)
    assert scene.act(Hunter) == "+0+1"


def test_it_joins_a_team_mate_when_too_weak_alone(hunter):
    scene = hunter(energy=2.0).put(PREY, (4, 0), energy=6.0).put(PREDATOR, (0, -4), energy=1.0)
    assert scene.act(Hunter) == "+0-1"


def test_it_joins_the_team_mate_that_is_near_the_prey(hunter):
    scene = hunter(energy=2.0).put(PREY, (4, 0), energy=9.0)
    scene.put(PREDATOR, (3, 2), (0, -3), energy=1.0)
    assert scene.act(Hunter).startswith("+1")


def test_it_waits_beside_a_team_mate_while_both_are_too_weak(hunter):
    scene = hunter(energy=2.0).put(PREY, (4, 0), energy=9.0).put(PREDATOR, (0, 1), energy=2.0)
    assert scene.act(Hunter) == "stay"


def test_it_hunts_when_the_team_is_strong_enough(hunter):
    scene = hunter(energy=4.0).put(PREY, (3, 0), energy=6.0).put(PREDATOR, (0, 1), energy=4.0)
    assert scene.act(Hunter) == "+1+0"


def test_it_hunts_any_prey_when_about_to_starve(hunter):
    assert hunter(energy=0.5).put(PREY, (3, 0), energy=6.0).act(Hunter) == "+1+0"


def test_it_rests_when_full(hunter):
    scene = hunter(energy=9.5).put(PREY, (3, 0), energy=3.0)
    assert scene.act(Hunter) == "stay"
    assert scene.act(Hunter, rest_energy=12.0) == "+1+0"


def test_it_walks_around_a_wall(hunter):
    scene = hunter().put(PREY, (2, 0), energy=3.0).put(WALL, (1, -1), (1, 0), (1, 1), (1, 2))
    assert scene.act(Hunter) == "+0-1"  # the corner of a wall cannot be cut


def test_prey_behind_an_endless_wall_is_no_goal(hunter):
    scene = hunter().put(PREY, (2, 0), energy=3.0).put(WALL, *((1, y) for y in range(-4, 5)))
    moves = scene.act(Hunter, ticks=5)
    assert not any(move.startswith("+1") for move in moves)


def test_it_does_not_step_where_a_team_mate_stands(hunter):
    scene = hunter().put(PREY, (2, 0), energy=3.0).put(PREDATOR, (1, 0), energy=5.0)
    assert scene.act(Hunter) in ("+1-1", "+1+1")


def test_it_keeps_its_direction_while_it_explores(hunter):
    moves = hunter().act(Hunter, ticks=8)
    assert len(set(moves)) == 1
    assert moves[0] != "stay"


def test_it_turns_when_it_is_stuck(hunter):
    """The grass in view does not shift: it stands at a border that is not drawn."""
    moves = hunter().put(GRASS, (2, 2)).act(Hunter, ticks=12)
    assert len(set(moves)) > 2


def test_it_stays_when_walled_in(hunter):
    around = [(x, y) for x in (-1, 0, 1) for y in (-1, 0, 1) if (x, y) != (0, 0)]
    assert hunter().put(WALL, *around).act(Hunter, ticks=3) == ["stay"] * 3


def test_prey_assigned_to_a_hunter_only_explores(draw):
    scene = draw(species="prey").put(PREY, (0, 0), energy=3.0)
    alone = scene.act(Hunter, ticks=4)
    assert scene.put(PREDATOR, (1, 1), energy=5.0).act(Hunter, ticks=4) == alone


def test_other_worlds_are_refused():
    with pytest.raises(
        SettingsError, match="plays savanna; probe has other observations or actions"
    ):
        Hunter(build_world("probe", {}, 1).spec)
