"""Defects measured in the original implementation do not occur in this one."""

from role_helpers import evolve, make_catalog, play_game

from kinfolk.core.random import seed_key
from kinfolk.roles.catalog import map_role_to_vibe
from kinfolk.roles.coordinator import EvolutionaryRoleCoordinator
from kinfolk.roles.generations import breed_from_survivors
from kinfolk.roles.model import EvolutionConfig
from kinfolk.roles.operators import mutate_role, recombine_roles

CONFIG = EvolutionConfig()


def test_a_sampled_role_is_added_in_every_generation_if_its_chance_is_1():
    always = EvolutionConfig(sampling_chance=1.0, exploration_chance=0.0)
    coordinator = evolve(make_catalog(), 0, 5, games=1, config=always)
    sampled = [r for r in coordinator.catalog.roles if r.origin == "sampled" and r.generation]
    assert [role.generation for role in sampled] == [1, 2, 3, 4, 5]


def test_recombination_keeps_the_limits(catalog):
    left, right = catalog.roles[0], catalog.roles[1]
    for seed in range(300):
        child = catalog.add_role(recombine_roles(left, right, seed_key(seed), CONFIG))
        left, right = right, child
        assert len(child.tiers) <= 4
        assert len(child.behavior_ids) <= 12


def test_recombination_duplicates_no_behavior(catalog):
    for seed in range(200):
        # Both hold `explore`, and the scrambler and the aligner `get_hearts`.
        child = recombine_roles(catalog.roles[2], catalog.roles[3], seed_key(seed), CONFIG)
        assert len(set(child.behavior_ids)) == len(child.behavior_ids)


def test_a_role_of_common_behaviors_has_a_vibe_and_is_kept(catalog, role_of):
    common = catalog.add_role(role_of("explore / recharge"))
    assert map_role_to_vibe(catalog, common) == "default"
    coordinator = EvolutionaryRoleCoordinator(1, rng=0, catalog=catalog, pool=[common.id])
    assert {coordinator.assign_role(0, step).id for step in range(50)} == {common.id}


def test_the_pool_can_grow_beyond_the_seeded_roles(catalog):
    config = EvolutionConfig(generated_role_count=16)
    assert len(EvolutionaryRoleCoordinator(8, rng=0, catalog=catalog, config=config).pool) == 16


def test_the_fitness_of_behaviors_is_recorded(catalog):
    coordinator = EvolutionaryRoleCoordinator(8, rng=0, catalog=catalog)
    play_game(coordinator)
    played = {i for a in range(8) for i in coordinator.assign_role(a).behavior_ids}
    assert played
    assert all(catalog.behaviors[i].games > 0 for i in played)


def test_a_mutation_of_a_child_does_not_change_its_parent(catalog):
    always = EvolutionConfig(mutation_rate=1.0)
    parent = catalog.roles[0]
    before = [tier.behavior_ids for tier in parent.tiers]
    child = catalog.add_role(recombine_roles(parent, catalog.roles[1], seed_key(0), CONFIG))
    inherited = child.tiers
    for seed in range(20):
        mutate_role(child, catalog, seed_key(seed), always)
    assert [tier.behavior_ids for tier in catalog.roles[0].tiers] == before
    assert catalog.roles[child.id].tiers == inherited


def test_the_two_parents_are_different_roles(catalog):
    for seed in range(200):
        parents = breed_from_survivors(catalog, [0, 1], seed_key(seed), CONFIG).parents
        assert len(set(parents)) == len(parents)


def test_hooks_are_bound_to_no_agent(catalog):
    coordinator = EvolutionaryRoleCoordinator(8, rng=0, catalog=catalog)
    for agent in range(8):
        for behavior in coordinator.get_role_behaviors(agent):
            assert behavior.act is catalog.behaviors[behavior.id].act, "a function of the state"


def test_the_seed_determines_the_evolution():
    runs = [evolve(make_catalog(), seed, 3).catalog for seed in (5, 5, 6)]
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]
