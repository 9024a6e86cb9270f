from functools import partial

import pytest
from role_helpers import make_catalog, parse_role

from kinfolk.core.random import seed_key
from kinfolk.roles.catalog import have_same_vibe, map_role_to_vibe
from kinfolk.roles.coordinator import EvolutionaryRoleCoordinator
from kinfolk.roles.model import EvolutionConfig, RoleDef
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


def test_the_fitness_of_a_team_is_shrunk_towards_the_prior_while_games_are_few():
    child = TeamComposition((0, 1), prior=100.0)
    assert child.fitness == 100.0
    lucky = child.with_games([400.0] * PRIOR_GAMES)
    assert lucky.fitness == pytest.approx(250.0), "half way: as many games as the prior counts"
    for _ in range(60):
        lucky = lucky.with_games([400.0] * 4)
    assert lucky.fitness > 340.0


def test_older_games_are_decayed():
    team = TeamComposition((0,)).with_games([10.0]).with_games([10.0])
    assert (team.total, team.games) == (10.0 * SCORE_DECAY + 10.0, 1.0 * SCORE_DECAY + 1.0)


def test_teams_are_ranked_by_fitness_and_ties_by_roles():
    one, other, third = (
        TeamComposition((0, 1), 5.0),
        TeamComposition((0, 2), 9.0),
        TeamComposition((0, 3), 5.0),
    )
    assert rank_teams([third, one, other]) == [other, one, third]


def test_a_newborn_replaces_its_parent_for_one_agent_or_for_all():
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


def test_a_shift_adds_no_role_and_a_crossover_uses_those_of_both_teams():
    for seed in range(40):
        moved = shift_roles(TeamComposition((0, 1, 2)), seed_key(seed)).roles
        assert set(moved) < {0, 1, 2}, "one agent got the role of another"
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


def test_the_best_survive_and_the_prior_of_children_is_their_mean(coordinator):
    teams = [TeamComposition((0, 1, 2, 3 + i), prior=float(i)) for i in range(6)]
    made = next_teams(coordinator, teams, 10, 2, [], True, seed_key(5))
    assert made[:2] == rank_teams(teams)[:2]
    assert len(made) == 10
    assert {child.prior for child in made[2:]} == {4.5}
    assert all(len(child.roles) == 4 and child.games == 0 for child in made[2:])


def test_newborns_are_tried_and_roles_are_bred_only_if_breeding_is_on(coordinator):
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


def test_the_same_key_gives_the_same_teams():
    made = []
    for _ in range(2):
        fresh = EvolutionaryRoleCoordinator(4, make_catalog(), seed=2)
        made.append(
            next_teams(fresh, [TeamComposition((0, 1, 2, 3))], 8, 1, [5], True, seed_key(9))
        )
    assert made[0] == made[1]


def vibes_of(catalog, team):
    return sorted(map_role_to_vibe(catalog, catalog.roles[i]) for i in team.roles)


def test_a_role_that_may_replace_no_other_leaves_the_team_unchanged():
    catalog, team = make_catalog(), TeamComposition((0, 0, 2), prior=5.0, total=7.0, games=1.0)
    scout = catalog.add_role(RoleDef(catalog.roles[1].tiers, parents=(0,)))
    rule = partial(have_same_vibe, catalog)
    for seed in range(20):
        assert replace_parent(catalog, team, scout.id, seed_key(seed), rule) == TeamComposition(
            (0, 0, 2)
        )
        assert replace_one_role(team, scout.id, seed_key(seed), rule) == TeamComposition((0, 0, 2))
        assert shift_roles(TeamComposition((0, 1, 2)), seed_key(seed), rule).roles == (0, 1, 2)


def test_a_newborn_replaces_a_role_of_its_vibe_rather_than_its_parent():
    catalog = make_catalog()
    scout = catalog.add_role(RoleDef(catalog.roles[1].tiers, parents=(0,)))
    rule = partial(have_same_vibe, catalog)
    for seed in range(20):
        child = replace_parent(catalog, TeamComposition((0, 0, 1)), scout.id, seed_key(seed), rule)
        assert child.roles == (0, 0, scout.id), "its parent is in the team, but is a miner"


def test_a_crossover_pairs_roles_that_may_replace_each_other():
    catalog = make_catalog()
    late_miner = catalog.add_role(parse_role(catalog, "mine_resource / explore")).id
    one, other = TeamComposition((0, 1, 2)), TeamComposition((1, 2, late_miner))
    seen = {
        crossover_teams(one, other, seed_key(s), partial(have_same_vibe, catalog)).roles
        for s in range(40)
    }
    assert seen == {one.roles, other.roles}, "paired by position, a scout would replace a miner"


def test_every_child_keeps_the_replacement_rule_and_no_newborn_blocks_another():
    n_changed = 0
    for seed in range(10):
        fresh = EvolutionaryRoleCoordinator(4, make_catalog(), seed=seed)
        catalog, teams = fresh.catalog, [TeamComposition((0, 0, 2, 3))]
        idle = fresh.add_to_pool(parse_role(catalog, "explore / recharge")).id
        miner = fresh.add_to_pool(parse_role(catalog, "mine_resource / explore", parents=(1,))).id
        mix, rule = vibes_of(catalog, teams[0]), partial(have_same_vibe, catalog)
        tried = set()
        for generation in range(5):
            key = seed_key(100 * seed + generation)
            teams = next_teams(fresh, teams, 12, 4, [idle, miner], True, key, rule)
            assert all(vibes_of(catalog, team) == mix for team in teams)
            tried |= {role for team in teams for role in team.roles}
        assert idle not in tried
        assert idle in fresh.pool, "no agent has its vibe: it stays in the pool, unplayed"
        assert miner in tried, "the one before it, which may replace no role, does not block it"
        bred = [role for role in catalog.roles if role.parents and role.id in tried]
        n_changed += sum(not any(have_same_vibe(catalog, r.id, p) for p in r.parents) for r in bred)
    assert n_changed, "some variants changed their vibe and replaced a role of the new one"


def test_teams_differ_even_without_breeding_and_under_a_replacement_rule():
    fresh = EvolutionaryRoleCoordinator(4, make_catalog(), seed=3)
    rule = partial(have_same_vibe, fresh.catalog)
    teams = [TeamComposition((0, 1, 2, 3))]  # one role per vibe: nothing to shift or cross
    for generation in range(3):
        teams = next_teams(fresh, teams, 12, 4, [], False, seed_key(generation), rule)
        assert len({team.roles for team in teams}) == 12
        assert all(len(team.roles) == 4 for team in teams)


def test_of_equal_teams_only_the_fittest_survives(coordinator):
    better, copy, other = (
        TeamComposition((0, 1), 9.0),
        TeamComposition((0, 1), 5.0),
        TeamComposition((0, 2), 7.0),
    )
    assert next_teams(coordinator, [copy, better, other], 2, 3, [], False, seed_key(1)) == [
        better,
        other,
    ]
