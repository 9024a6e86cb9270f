import pytest
from role_scenes import make_catalog

from kinfolk.core.keys import root
from kinfolk.roles.config import EvolutionConfig
from kinfolk.roles.coordinator import EvolutionaryRoleCoordinator
from kinfolk.roles.lineups import (
    FADING,
    PRIOR_GAMES,
    Lineup,
    best_first,
    crossed,
    shifted,
    with_newborn,
    with_one_changed,
)
from kinfolk.roles.mixing import next_lineups
from kinfolk.roles.model import RoleDef


def test_few_games_move_a_line_up_little_and_many_much():
    child = Lineup((0, 1), prior=100.0)
    assert child.fitness == 100.0
    lucky = child.played([400.0] * PRIOR_GAMES)
    assert lucky.fitness == pytest.approx(250.0), "half way: as many games as were expected"
    for _ in range(60):
        lucky = lucky.played([400.0] * 4)
    assert lucky.fitness > 340.0


def test_older_games_count_less():
    line_up = Lineup((0,)).played([10.0]).played([10.0])
    assert (line_up.total, line_up.games) == (10.0 * FADING + 10.0, 1.0 * FADING + 1.0)


def test_the_best_come_first_and_equals_in_a_fixed_order():
    one, other, third = Lineup((0, 1), 5.0), Lineup((0, 2), 9.0), Lineup((0, 3), 5.0)
    assert best_first([third, one, other]) == [other, one, third]


def test_a_newborn_takes_the_place_of_its_parent_or_of_all_who_play_its_role():
    catalog = make_catalog()
    baby = catalog.add_role(RoleDef(catalog.roles[0].tiers, parents=(2,)))
    seen = {
        with_newborn(catalog, Lineup((0, 0, 2, 2, 2)), baby.id, root(s)).roles for s in range(40)
    }
    assert seen == {(0, 0, 2, 2, 4), (0, 0, 4, 4, 4)}
    stranger = catalog.add_role(RoleDef(catalog.roles[0].tiers, parents=(3,)))
    for seed in range(20):
        child = with_newborn(catalog, Lineup((0, 0, 2)), stranger.id, root(seed))
        assert stranger.id in child.roles
        assert len(child.roles) == 3


def test_a_shift_uses_only_roles_that_are_there_and_a_crossing_those_of_both():
    for seed in range(40):
        assert set(shifted(Lineup((0, 1, 2)), root(seed)).roles) <= {0, 1, 2}
        mixed = crossed(Lineup((0, 0, 0)), Lineup((1, 1, 1)), root(seed))
        assert set(mixed.roles) <= {0, 1}
        changed = with_one_changed(Lineup((0, 0, 0)), 7, root(seed))
        assert changed.roles == (0, 0, 7)


@pytest.fixture
def coordinator():
    config = EvolutionConfig(exploration_chance=0.0)
    return EvolutionaryRoleCoordinator(4, make_catalog(), config=config, seed=2)


def test_the_best_stay_and_of_children_their_mean_is_expected(coordinator):
    lineups = [Lineup((0, 1, 2, 3), prior=float(i)) for i in range(6)]
    made = next_lineups(coordinator, lineups, 10, 2, [], True, root(5))
    assert made[:2] == best_first(lineups)[:2]
    assert len(made) == 10
    assert {child.prior for child in made[2:]} == {4.5}
    assert all(len(child.roles) == 4 and child.games == 0 for child in made[2:])


def test_newborns_are_tried_and_roles_are_bred_only_where_that_is_asked_for(coordinator):
    before = len(coordinator.catalog.roles)
    newborns = [6, 7]
    made = next_lineups(coordinator, [Lineup((0, 0, 0, 0))], 20, 1, newborns, False, root(1))
    assert len(coordinator.catalog.roles) == before
    played = {role for child in made for role in child.roles}
    assert {6, 7} <= played
    next_lineups(coordinator, [Lineup((0, 0, 0, 0))], 20, 1, [], True, root(1))
    bred = coordinator.catalog.roles[before:]
    assert bred
    assert all(0 in role.parents and role.id in coordinator.pool for role in bred)


def test_the_same_key_gives_the_same_line_ups():
    made = []
    for _ in range(2):
        fresh = EvolutionaryRoleCoordinator(4, make_catalog(), seed=2)
        made.append(next_lineups(fresh, [Lineup((0, 1, 2, 3))], 8, 1, [5], True, root(9)))
    assert made[0] == made[1]
