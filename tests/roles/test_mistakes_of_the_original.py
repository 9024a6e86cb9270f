"""Each mistake measured in the original, by its name. `run_options` is tested with execution."""

from role_scenes import evolve, make_catalog, play_game

from kinfolk.core.random import seed_key
from kinfolk.roles.catalog import map_role_to_vibe
from kinfolk.roles.config import EvolutionConfig
from kinfolk.roles.coordinator import EvolutionaryRoleCoordinator
from kinfolk.roles.generations import breed_from_survivors
from kinfolk.roles.operators import mutate_role, recombine_roles

CONFIG = EvolutionConfig()


def test_the_injection_of_a_sampled_role_never_fires():
    always = EvolutionConfig(sampling_chance=1.0, exploration_chance=0.0)
    coordinator = evolve(make_catalog(), 0, 5, games=1, config=always)
    sampled = [r for r in coordinator.catalog.roles if r.origin == "sampled" and r.generation]
    assert [role.generation for role in sampled] == [1, 2, 3, 4, 5]


def test_recombination_ignores_the_caps_and_reaches_98_tiers(catalog):
    left, right = catalog.roles[0], catalog.roles[1]
    for seed in range(300):
        child = catalog.add_role(recombine_roles(left, right, seed_key(seed), CONFIG))
        left, right = right, child
        assert len(child.tiers) <= 4
        assert len(child.behavior_ids) <= 12


def test_48_percent_of_roles_hold_duplicate_behaviours(catalog):
    for seed in range(200):
        # Both hold `explore`, and the scrambler and the aligner `get_hearts`.
        child = recombine_roles(catalog.roles[2], catalog.roles[3], seed_key(seed), CONFIG)
        assert len(set(child.behavior_ids)) == len(child.behavior_ids)


def test_11_percent_of_roles_map_to_no_role_and_the_agent_draws_again_each_step(catalog, write):
    common = catalog.add_role(write("explore / recharge"))
    assert map_role_to_vibe(catalog, common) == "default"
    never = EvolutionConfig(exploration_chance=0.0)
    coordinator = EvolutionaryRoleCoordinator(1, catalog, config=never, pool=[common.id], seed=0)
    assert {coordinator.assign_role(0, step).id for step in range(50)} == {common.id}


def test_the_population_stays_at_4(catalog):
    assert len(EvolutionaryRoleCoordinator(8, catalog, seed=0).pool) == 16


def test_behaviour_fitness_is_never_recorded(catalog):
    coordinator = EvolutionaryRoleCoordinator(8, catalog, seed=0)
    play_game(coordinator)
    played = {i for a in range(8) for i in coordinator.assign_role(a).behavior_ids}
    assert played
    assert all(catalog.behaviors[i].games == 1 for i in played)


def test_tiers_are_shared_between_parent_and_child_so_that_a_mutation_changes_both(catalog):
    always = EvolutionConfig(mutation_rate=1.0)
    parent = catalog.roles[0]
    before = [tier.behavior_ids for tier in parent.tiers]
    child = catalog.add_role(recombine_roles(parent, catalog.roles[1], seed_key(0), CONFIG))
    inherited = child.tiers
    for seed in range(20):
        mutate_role(catalog, child, seed_key(seed), always)
    assert [tier.behavior_ids for tier in catalog.roles[0].tiers] == before
    assert catalog.roles[child.id].tiers == inherited


def test_the_two_parents_may_be_the_same_role(catalog):
    for seed in range(200):
        parents = breed_from_survivors(catalog, [0, 1], seed_key(seed), CONFIG).parents
        assert len(set(parents)) == len(parents)


def test_hooks_are_bound_to_the_first_agent_only(catalog):
    coordinator = EvolutionaryRoleCoordinator(8, catalog, seed=0)
    for agent in range(8):
        for behavior in coordinator.get_role_behaviors(agent):
            assert behavior.act is catalog.behaviors[behavior.id].act, "a function of the state"


def test_the_rng_is_not_seeded():
    runs = [evolve(make_catalog(), seed, 3).catalog for seed in (5, 5, 6)]
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]
