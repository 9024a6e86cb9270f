from functools import partial

from role_helpers import make_catalog, parse_role

from kinfolk.core.random import seed_key
from kinfolk.roles.catalog import have_same_vibe, map_role_to_vibe
from kinfolk.roles.contribution import Contributions
from kinfolk.roles.fitness import record_role_score
from kinfolk.roles.model import EvolutionConfig, RoleDef
from kinfolk.roles.teams import (
    TeamComposition,
    TeamProposer,
    crossover_teams,
    rank_teams,
    replace_one_role,
    replace_parent,
    shift_roles,
)

CONFIG = EvolutionConfig()


def test_teams_are_ranked_by_value_and_ties_by_roles():
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


def make_proposer(catalog, *teams, contributions=None, may_replace=None, config=CONFIG):
    extra = {} if may_replace is None else {"may_replace": may_replace}
    parents = [TeamComposition(team) for team in teams]
    known = contributions or Contributions()
    pool = range(len(catalog.roles))
    return TeamProposer(catalog, pool, parents, config, known, **extra)


def test_every_new_role_gets_a_place_in_a_team_also_if_there_are_more_than_teams(catalog):
    new = [
        catalog.add_role(RoleDef(role.tiers[:1], parents=(role.id,))).id
        for role in list(catalog.roles)
    ]
    proposed = make_proposer(catalog, (0, 0, 2, 3)).propose(2, new, seed_key(1))
    assert len(proposed) == 4
    for role in new:
        assert any(role in team.roles for team in proposed)
    assert (0, 0, 2, 3) not in [team.roles for team in proposed]


def test_proposed_teams_differ_and_follow_from_the_key(catalog):
    for role in catalog.roles:
        record_role_score(catalog, role.id, 0.5)
    proposer = make_proposer(catalog, (0, 0, 1, 2), (0, 1, 2, 3))
    first, again = (proposer.propose(8, [], seed_key(9)) for _ in range(2))
    assert first == again
    assert len({team.roles for team in first}) == 8
    assert {role for team in first for role in team.roles} == {0, 1, 2, 3}
    assert proposer.propose(8, [], seed_key(8)) != first


def test_one_team_is_composed_by_contribution(catalog):
    known = Contributions(100.0, {0: 5.0, 1: -40.0, 2: 20.0, 3: 0.0})
    proposer = make_proposer(catalog, (0, 1, 2), contributions=known)
    assert proposer.compose_by_contribution().roles == (0, 2, 2), "2 replaces 1, the worst"
    assert proposer.propose(1, [], seed_key(0))[0].roles == (0, 2, 2)


def test_if_no_other_team_is_possible_none_is_proposed(catalog):
    never = make_proposer(catalog, (0, 0), may_replace=lambda new, old: new == old)
    assert never.propose(3, [2], seed_key(0)) == []


def vibes_of(catalog, team):
    return sorted(map_role_to_vibe(catalog, catalog.roles[i]) for i in team.roles)


def test_a_role_that_may_replace_no_other_leaves_the_team_unchanged():
    catalog, team = make_catalog(), TeamComposition((0, 0, 2), value=5.0, games=1)
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


def test_every_proposed_team_keeps_the_replacement_rule_and_no_new_role_blocks_another():
    for seed in range(10):
        catalog = make_catalog()
        idle = catalog.add_role(parse_role(catalog, "explore / recharge")).id
        miner = catalog.add_role(parse_role(catalog, "mine_resource / explore", parents=(1,))).id
        for role in catalog.roles:
            record_role_score(catalog, role.id, 0.5)
        team, rule = TeamComposition((0, 0, 2, 3)), partial(have_same_vibe, catalog)
        proposer = make_proposer(catalog, team.roles, may_replace=rule)
        proposed = proposer.propose(3, [idle, miner], seed_key(seed))
        assert all(vibes_of(catalog, other) == vibes_of(catalog, team) for other in proposed)
        played = {role for other in proposed for role in other.roles}
        assert idle not in played, "no agent has its vibe"
        assert miner in played, "the one before it, which may replace no role, does not block it"


def test_with_uniform_selection_no_team_is_composed_by_contribution(catalog):
    known = Contributions(100.0, {0: 5.0, 1: -40.0, 2: 20.0, 3: 0.0})
    uniform = EvolutionConfig(selection="uniform")
    proposer = make_proposer(catalog, (0, 1, 2), contributions=known, config=uniform)
    firsts = {proposer.propose(1, [], seed_key(seed))[0].roles for seed in range(20)}
    assert len(firsts) > 3
