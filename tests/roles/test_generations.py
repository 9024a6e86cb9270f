"""Invariants of every role created in a hundred generations of twenty seeds."""

import pytest
from role_helpers import evolve, make_catalog

from kinfolk.roles.generations import next_generation
from kinfolk.roles.history import HistoryWriter
from kinfolk.roles.model import EvolutionConfig

# On one worker, or each would evolve the generations again.
pytestmark = pytest.mark.xdist_group("role generations")
SEEDS, GENERATIONS = 20, 100
CONFIG = EvolutionConfig(generated_role_count=16, exploration_chance=0.08, recombination_chance=0.5)


@pytest.fixture(scope="module")
def coordinators():
    # Two games per generation suffice to test the operators and the pool.
    return [
        evolve(make_catalog(), seed, GENERATIONS, games=2, config=CONFIG) for seed in range(SEEDS)
    ]


def every_role(coordinators):
    return [role for c in coordinators for role in c.catalog.roles]


def test_every_role_keeps_the_limits(coordinators):
    roles = every_role(coordinators)
    assert len(roles) > SEEDS * GENERATIONS * 8
    assert not [r for r in roles if len(r.tiers) > CONFIG.max_tiers]
    assert not [r for r in roles if len(r.behavior_ids) > CONFIG.max_behaviors_per_role]
    assert not [
        t for r in roles for t in r.tiers if not 1 <= len(t.behavior_ids) <= CONFIG.max_tier_size
    ]


def test_no_role_contains_a_behavior_twice(coordinators):
    assert not [
        r for r in every_role(coordinators) if len(set(r.behavior_ids)) < len(r.behavior_ids)
    ]


def test_a_role_is_sampled_in_10_percent_of_generations(coordinators):
    made = [r for r in every_role(coordinators) if r.origin == "sampled" and r.generation > 0]
    share = len(made) / (SEEDS * GENERATIONS)
    assert 0.08 <= share <= 0.12, f"{share}; three deviations are 0.02"


def test_the_pool_keeps_its_size(coordinators):
    for coordinator in coordinators:
        # Roles explored in the current generation would be added.
        generations = [coordinator.catalog.roles[i].generation for i in coordinator.pool]
        assert len(generations) == CONFIG.generated_role_count
        assert max(generations) == GENERATIONS


def test_the_fitness_of_every_behavior_is_updated(coordinators):
    for coordinator in coordinators:
        assert all(b.games > 0 and b.uses == b.games for b in coordinator.catalog.behaviors)
        assert len({b.fitness for b in coordinator.catalog.behaviors}) > 6


def test_every_operator_creates_roles(coordinators):
    origins = {role.origin for role in every_role(coordinators)}
    assert origins == {"manual", "sampled", "recombined", "mutated", "explore"}


def test_parents_come_before_their_children_and_two_parents_differ(coordinators):
    for role in every_role(coordinators):
        assert all(parent < role.id for parent in role.parents)
        assert len(set(role.parents)) == len(role.parents)
        assert len(role.parents) == {"recombined": 2, "sampled": 0}.get(
            role.origin, len(role.parents)
        )


def test_the_same_seed_gives_the_same_history_byte_for_byte(coordinators):
    for seed in (0, 7):
        again = evolve(make_catalog(), seed, GENERATIONS, games=2, config=CONFIG)
        one, other = (
            HistoryWriter().format(c.catalog, generation=c.generation, seed=seed, games=c.games)
            for c in (coordinators[seed], again)
        )
        assert one == other


def test_a_generation_is_a_function_of_catalog_pool_and_key():
    made = []
    for _ in range(2):
        catalog = make_catalog()
        made.append((next_generation(catalog, [0, 1, 2, 3], 1, 42, CONFIG), catalog))
    assert made[0] == made[1]
