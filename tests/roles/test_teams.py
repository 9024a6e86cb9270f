from functools import partial

import pytest
from role_scenes import make_catalog, written

from kinfolk.core.random import seed_key
from kinfolk.roles.catalog import have_same_vibe, map_role_to_vibe
from kinfolk.roles.config import EvolutionConfig
from kinfolk.roles.coordinator import EvolutionaryRoleCoordinator
from kinfolk.roles.model import RoleDef
from kinfolk.roles.teams import (
    PRIOR_GAMES,
    SCORE_DECAY,
    TeamComposition,
    crossover_teams,
    next_teams,
    rank_teams,
    replace_one_role,
    replace_parent,
    shift_roles,
)


def test_few_games_move_a_line_up_little_and_many_much():
    child = TeamComposition((0, 1), prior=100.0)
    assert child.fitness == 100.0
    lucky = child.with_games([400.0] * PRIOR_GAMES)
    assert lucky.fitness == pytest.approx(250.0), "half way: as many games as were expected"
    for _ in range(60):
        lucky = lucky.with_games([400.0] * 4)
    assert lucky.fitness > 340.0


def test_older_games_count_less():
    line_up = TeamComposition((0,)).with_games([10.0]).with_games([10.0])
    assert (line_up.total, line_up.games) == (10.0 * SCORE_DECAY + 10.0, 1.0 * SCORE_DECAY + 1.0)


def test_the_best_come_first_and_equals_in_a_fixed_order():
    one, other, third = (
        TeamComposition((0, 1), 5.0),
        TeamComposition((0, 2), 9.0),
        TeamComposition((0, 3), 5.0),
    )
    assert rank_teams([third, one, other]) == [other, one, third]


def test_a_newborn_takes_the_place_of_its_parent_or_of_all_who_play_its_role():
    catalog = make_catalog()
    baby = catalog.add_role(RoleDef(catalog.roles[0].tiers, parents=(2,)))
    seen = {
        replace_parent(catalog, TeamComposition((0, 0, 2, 2, 2)), baby.id, seed_key(s)).roles
        for s in range(40)
    }
    assert seen == {(0, 0, 2, 2, 4), (0, 0, 4, 4, 4)}
    stranger = catalog.add_role(RoleDef(catalog.roles[0].tiers, parents=(3,)))
    for seed in range(20):
        child = replace_parent(catalog, TeamComposition((0, 0, 2)), stranger.id, seed_key(seed))
        assert stranger.id in child.roles
        assert len(child.roles) == 3


def test_a_shift_uses_only_roles_that_are_there_and_a_crossing_those_of_both():
    for seed in range(40):
        moved = shift_roles(TeamComposition((0, 1, 2)), seed_key(seed)).roles
        assert set(moved) < {0, 1, 2}, "one took on the role of another"
        mixed = crossover_teams(
            TeamComposition((0, 0, 0)), TeamComposition((1, 1, 1)), seed_key(seed)
        )
        assert set(mixed.roles) <= {0, 1}
        changed = replace_one_role(TeamComposition((0, 0, 0)), 7, seed_key(seed))
        assert changed.roles == (0, 0, 7)


@pytest.fixture
def coordinator():
    config = EvolutionConfig(exploration_chance=0.0)
    return EvolutionaryRoleCoordinator(4, make_catalog(), config=config, seed=2)


def test_the_best_stay_and_of_children_their_mean_is_expected(coordinator):
    lineups = [TeamComposition((0, 1, 2, 3 + i), prior=float(i)) for i in range(6)]
    made = next_teams(coordinator, lineups, 10, 2, [], True, seed_key(5))
    assert made[:2] == rank_teams(lineups)[:2]
    assert len(made) == 10
    assert {child.prior for child in made[2:]} == {4.5}
    assert all(len(child.roles) == 4 and child.games == 0 for child in made[2:])


def test_newborns_are_tried_and_roles_are_bred_only_where_that_is_asked_for(coordinator):
    before = len(coordinator.catalog.roles)
    newborns = [6, 7]
    made = next_teams(
        coordinator, [TeamComposition((0, 0, 0, 0))], 20, 1, newborns, False, seed_key(1)
    )
    assert len(coordinator.catalog.roles) == before
    played = {role for child in made for role in child.roles}
    assert {6, 7} <= played
    next_teams(coordinator, [TeamComposition((0, 0, 0, 0))], 20, 1, [], True, seed_key(1))
    bred = coordinator.catalog.roles[before:]
    assert bred
    assert all(0 in role.parents and role.id in coordinator.pool for role in bred)


def test_the_same_key_gives_the_same_line_ups():
    made = []
    for _ in range(2):
        fresh = EvolutionaryRoleCoordinator(4, make_catalog(), seed=2)
        made.append(
            next_teams(fresh, [TeamComposition((0, 1, 2, 3))], 8, 1, [5], True, seed_key(9))
        )
    assert made[0] == made[1]


def vibes_of(catalog, lineup):
    return sorted(map_role_to_vibe(catalog, catalog.roles[i]) for i in lineup.roles)


def test_a_role_that_may_replace_nobody_leaves_the_roles_as_they_are():
    catalog, seated = make_catalog(), TeamComposition((0, 0, 2), prior=5.0, total=7.0, games=1.0)
    scout = catalog.add_role(RoleDef(catalog.roles[1].tiers, parents=(0,)))
    rule = partial(have_same_vibe, catalog)
    for seed in range(20):
        assert replace_parent(catalog, seated, scout.id, seed_key(seed), rule) == TeamComposition(
            (0, 0, 2)
        )
        assert replace_one_role(seated, scout.id, seed_key(seed), rule) == TeamComposition(
            (0, 0, 2)
        )
        assert shift_roles(TeamComposition((0, 1, 2)), seed_key(seed), rule).roles == (0, 1, 2)


def test_a_newborn_of_another_vibe_than_its_parent_is_seated_with_its_own():
    catalog = make_catalog()
    scout = catalog.add_role(RoleDef(catalog.roles[1].tiers, parents=(0,)))
    rule = partial(have_same_vibe, catalog)
    for seed in range(20):
        child = replace_parent(catalog, TeamComposition((0, 0, 1)), scout.id, seed_key(seed), rule)
        assert child.roles == (0, 0, scout.id), "its parent plays, but is a miner"


def test_under_a_rule_a_crossing_pairs_roles_that_may_be_exchanged():
    catalog = make_catalog()
    late_miner = catalog.add_role(written(catalog, "mine_resource / explore")).id
    one, other = TeamComposition((0, 1, 2)), TeamComposition((1, 2, late_miner))
    seen = {
        crossover_teams(one, other, seed_key(s), partial(have_same_vibe, catalog)).roles
        for s in range(40)
    }
    assert seen == {one.roles, other.roles}, "by place, a miner would meet a scout"


def test_under_a_rule_every_child_keeps_to_it_and_newborns_do_not_wait_in_vain():
    strange = 0
    for seed in range(10):
        fresh = EvolutionaryRoleCoordinator(4, make_catalog(), seed=seed)
        catalog, lineups = fresh.catalog, [TeamComposition((0, 0, 2, 3))]
        idle = fresh.add_to_pool(written(catalog, "explore / recharge")).id
        miner = fresh.add_to_pool(written(catalog, "mine_resource / explore", parents=(1,))).id
        mix, rule = vibes_of(catalog, lineups[0]), partial(have_same_vibe, catalog)
        tried = set()
        for generation in range(5):
            key = seed_key(100 * seed + generation)
            lineups = next_teams(fresh, lineups, 12, 4, [idle, miner], True, key, rule)
            assert all(vibes_of(catalog, lineup) == mix for lineup in lineups)
            tried |= {role for lineup in lineups for role in lineup.roles}
        assert idle not in tried
        assert idle in fresh.pool, "of a vibe that no seat has: in the pool, unplayed"
        assert miner in tried, "the one before it, which fits nowhere, does not block it"
        bred = [role for role in catalog.roles if role.parents and role.id in tried]
        strange += sum(not any(have_same_vibe(catalog, r.id, p) for p in r.parents) for r in bred)
    assert strange, "some that were bred changed their vibe, and still found a seat of it"


def test_without_breeding_and_under_a_rule_line_ups_still_differ():
    fresh = EvolutionaryRoleCoordinator(4, make_catalog(), seed=3)
    rule = partial(have_same_vibe, fresh.catalog)
    lineups = [
        TeamComposition((0, 1, 2, 3))
    ]  # one role for each craft: nothing to shift, nothing to cross
    for generation in range(3):
        lineups = next_teams(fresh, lineups, 12, 4, [], False, seed_key(generation), rule)
        assert len({lineup.roles for lineup in lineups}) == 12
        assert all(len(lineup.roles) == 4 for lineup in lineups)


def test_of_copies_one_stays(coordinator):
    better, copy, other = (
        TeamComposition((0, 1), 9.0),
        TeamComposition((0, 1), 5.0),
        TeamComposition((0, 2), 7.0),
    )
    assert next_teams(coordinator, [copy, better, other], 2, 3, [], False, seed_key(1)) == [
        better,
        other,
    ]
