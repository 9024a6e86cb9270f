from collections import Counter

import pytest
from role_helpers import evolve, play_game

from kinfolk.core.errors import SettingsError
from kinfolk.roles.coordinator import EvolutionaryRoleCoordinator
from kinfolk.roles.fitness import AgentScore
from kinfolk.roles.model import EvolutionConfig

POOL_16 = EvolutionConfig(generated_role_count=16)
EXPLORING = EvolutionConfig(exploration_chance=0.08)  # as in tribal-village


def test_the_initial_pool_has_the_seeded_roles_and_sampled_ones(catalog):
    assert EvolutionaryRoleCoordinator(8, rng=0, catalog=catalog).pool == [0, 1, 2, 3]
    coordinator = EvolutionaryRoleCoordinator(8, rng=0, catalog=catalog, config=POOL_16)
    assert len(coordinator.pool) == 16
    origins = Counter(catalog.roles[i].origin for i in coordinator.pool)
    assert origins == {"manual": 4, "sampled": 12}


def test_an_agent_keeps_its_role_until_the_generation_ends(catalog):
    coordinator = EvolutionaryRoleCoordinator(8, 3, 0, catalog=catalog)
    roles = [coordinator.assign_role(agent).id for agent in range(8)]
    assert [coordinator.assign_role(agent, step=99).id for agent in range(8)] == roles
    assert [play_game(coordinator) for _ in range(3)] == [False, False, True]
    assert (coordinator.generation, coordinator.agent_assignments) == (1, {})
    assert (coordinator.games, coordinator.wins) == (3, 3)


def test_the_behaviors_of_an_agent_are_those_of_its_role(catalog):
    coordinator = EvolutionaryRoleCoordinator(2, rng=0, catalog=catalog)
    for agent in range(2):
        role = coordinator.assign_role(agent)
        ids = [b.id for b in coordinator.get_role_behaviors(agent)]
        assert sorted(ids) == sorted(role.behavior_ids)
        assert coordinator.get_role_behaviors(agent) == coordinator.get_role_behaviors(agent)
        assert isinstance(coordinator.choose_vibe(agent), str)


def test_exploration_happens_in_8_percent_of_assignments(catalog):
    coordinator = EvolutionaryRoleCoordinator(3000, rng=0, catalog=catalog, config=EXPLORING)
    for agent in range(3000):
        coordinator.assign_role(agent)
    explored = [role for role in catalog.roles if role.origin == "explore"]
    assert 0.065 <= len(explored) / 3000 <= 0.095  # three deviations
    assert all(role.id in coordinator.pool for role in explored), "they compete from now on"


def test_a_pending_hybrid_is_assigned_first(catalog):
    coordinator = EvolutionaryRoleCoordinator(2, rng=0, catalog=catalog)
    coordinator.assign_role(0)
    first, second = coordinator.queue_hybrid(0, 2), coordinator.queue_hybrid(1, 3)
    assert coordinator.assign_role(8) == first
    assert coordinator.assign_role(9) == second
    assert (first.origin, first.parents) == ("hybrid", (0, 2))
    assert not coordinator.pending
    coordinator.record_agent_performance(8, 0.9, True)
    coordinator.end_game()
    assert catalog.roles[first.id].games == 1
    assert set(coordinator.agent_assignments) == {0}, "newborns' roles end with the game"


def test_the_best_half_survives_and_the_rest_is_retired_not_deleted(catalog):
    coordinator = EvolutionaryRoleCoordinator(8, 1, 0, catalog=catalog, config=POOL_16)
    pool = list(coordinator.pool)
    play_game(coordinator)
    order = sorted(pool, key=lambda i: (-catalog.roles[i].fitness, -catalog.roles[i].games, i))
    assert set(order[:8]) <= set(coordinator.pool)
    assert len(coordinator.pool) == 16
    retired = set(pool) - set(coordinator.pool)
    assert retired == set(order[8:])
    assert all(catalog.roles[i].retired == 1 for i in retired)
    assert [role.id for role in catalog.roles] == list(range(len(catalog.roles)))


def test_the_performance_of_an_agent_counts_at_once_and_a_game_once_per_role(catalog):
    coordinator = EvolutionaryRoleCoordinator(2, rng=0, catalog=catalog)
    coordinator.assign_team([0, 0])
    coordinator.record_agent_performance(0, 0.4, False)
    assert (catalog.roles[0].fitness, catalog.roles[0].games) == (0.4, 1)
    coordinator.record_agent_performance(1, 0.9, True)
    assert catalog.roles[0].fitness == pytest.approx(0.5)
    assert (catalog.roles[0].games, catalog.roles[0].wins) == (2, 1)
    coordinator.score_game([AgentScore(1, 0.2, False), AgentScore(1, 0.4, True)])
    assert catalog.roles[1].fitness == pytest.approx(0.3)
    assert (catalog.roles[1].games, catalog.roles[1].wins) == (1, 1)


def test_a_behavior_that_did_not_act_is_used_but_not_scored(catalog):
    coordinator = EvolutionaryRoleCoordinator(1, rng=0, catalog=catalog)
    coordinator.assign_team([0])
    deposit, mine, find, explore = catalog.roles[0].behavior_ids
    coordinator.record_agent_performance(0, 0.6, acted={mine: 7, explore: 3})
    records = [catalog.behaviors[i] for i in (deposit, mine, find, explore)]
    assert [b.uses for b in records] == [1, 1, 1, 1]
    assert [b.games for b in records] == [0, 1, 0, 1]
    assert [b.fitness for b in records] == [0.0, 0.6, 0.0, 0.6]


def test_roles_with_high_scores_spread_and_their_names_are_locked(catalog):
    coordinator = evolve(catalog, seed=1, generations=15, config=POOL_16)
    pool = [catalog.roles[i] for i in coordinator.pool]
    mine = catalog.behavior_id("mine_resource")
    assert sum(mine in role.behavior_ids for role in pool) >= 12
    assert any(role.locked_name for role in pool)
    weights = [b.fitness for b in catalog.behaviors]
    assert max(weights) - min(weights) > 0.1, "behaviors differ in fitness"


def test_invalid_arguments_raise_settings_errors(catalog):
    with pytest.raises(
        SettingsError,
        match=r"^EvolutionaryRoleCoordinator.games_per_generation must be an integer of at least 1, not 0\.$",
    ):
        EvolutionaryRoleCoordinator(8, 0, 0, catalog=catalog)
    coordinator = EvolutionaryRoleCoordinator(8, rng=0, catalog=catalog)
    with pytest.raises(SettingsError, match=r"^Agent 3 has no role yet; call assign_role first\.$"):
        coordinator.record_agent_performance(3, 0.5, True)
