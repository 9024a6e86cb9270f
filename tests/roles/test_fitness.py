from dataclasses import replace

import pytest

from kinfolk.core.errors import SettingsError
from kinfolk.core.random import seed_key
from kinfolk.roles.catalog import map_role_to_vibe
from kinfolk.roles.fitness import (
    AgentScore,
    behavior_weight,
    lock_role_name_if_fit,
    pick_role_id_weighted,
    record_behavior_score,
    record_game,
    record_role_score,
    role_weight,
)
from kinfolk.roles.model import EvolutionConfig
from kinfolk.roles.operators import mutate_role

CONFIG = EvolutionConfig()


def test_the_first_game_sets_the_fitness_and_later_ones_move_it_by_a_fifth(catalog):
    record_role_score(catalog, 0, 0.5, True, CONFIG)
    role = record_role_score(catalog, 0, 1.0, False, CONFIG)
    assert (role.fitness, role.games, role.wins) == (pytest.approx(0.6), 2, 1)
    record_behavior_score(catalog, 3, 0.5, CONFIG)
    record_behavior_score(catalog, 3, 1.0, CONFIG)
    behavior = catalog.behaviors[3]
    assert (behavior.fitness, behavior.games, behavior.uses) == (pytest.approx(0.6), 2, 2)


def test_weights_follow_the_specification(catalog):
    role, behavior = catalog.roles[0], catalog.behaviors[0]
    assert (role_weight(role), behavior_weight(behavior)) == (0.1, 1.0)
    assert role_weight(replace(role, games=1, fitness=0.05)) == 0.1
    assert role_weight(replace(role, games=1, fitness=0.8)) == 0.8
    assert behavior_weight(replace(behavior, games=1, fitness=0.0)) == 0.1
    assert behavior_weight(replace(behavior, games=1, fitness=0.3)) == 0.3


def test_roles_are_picked_in_proportion_to_their_fitness(catalog):
    record_role_score(catalog, 0, 0.6, True, CONFIG)
    record_role_score(catalog, 1, 0.2, True, CONFIG)
    picks = [pick_role_id_weighted(catalog, [0, 1, 2], seed_key(s)) for s in range(3000)]
    shares = [picks.count(i) / 3000 for i in (0, 1, 2)]
    assert shares == pytest.approx([6 / 9, 2 / 9, 1 / 9], abs=0.03)
    with pytest.raises(SettingsError, match=r"^A role must be picked from at least one;"):
        pick_role_id_weighted(catalog, [], seed_key(0))


def test_a_score_must_be_finite_and_may_have_any_scale(catalog):
    for bad in (float("inf"), float("nan")):
        with pytest.raises(SettingsError, match=rf"^A score must be a finite number, not {bad}\.$"):
            record_role_score(catalog, 0, bad, False, CONFIG)
    assert catalog.roles[0].games == 0
    record_role_score(catalog, 0, 250.0, True, CONFIG)
    assert record_role_score(catalog, 0, -50.0, False, CONFIG).fitness == pytest.approx(190.0)


def test_a_name_is_locked_at_the_threshold_and_never_unlocked(catalog):
    assert not record_role_score(catalog, 0, 0.69, True, CONFIG).locked_name
    assert record_role_score(catalog, 1, 0.70, True, CONFIG).locked_name
    for _ in range(20):
        fallen = record_role_score(catalog, 1, 0.0, False, CONFIG)
    assert fallen.fitness < 0.01
    assert fallen.locked_name
    assert lock_role_name_if_fit(fallen, 0.7) == fallen
    assert not lock_role_name_if_fit(catalog.roles[2], 0.0).locked_name, "it has not played"


def test_mutations_of_a_locked_role_keep_its_name_with_a_running_number(catalog, role_of):
    always = EvolutionConfig(mutation_rate=1.0)
    first = catalog.add_role(role_of("mine_resource / explore"))
    assert first.name == "Mine_resource-1"
    unlocked = catalog.add_role(mutate_role(first, catalog, seed_key(1), always))
    assert unlocked.name.endswith("-2")
    record_role_score(catalog, first.id, 0.9, True, CONFIG)
    locked = catalog.roles[first.id]
    second = catalog.add_role(mutate_role(locked, catalog, seed_key(2), always))
    third = catalog.add_role(mutate_role(second, catalog, seed_key(3), always))
    assert [second.name, third.name] == ["Mine_resource-1'2", "Mine_resource-1'3"]
    assert second.locked_name
    assert third.locked_name
    again = catalog.add_role(mutate_role(locked, catalog, seed_key(4), always))
    assert again.name == "Mine_resource-1'4"


def test_a_game_counts_once_for_a_role_and_a_behavior_however_many_agents_played_it(catalog):
    miner, scout = 0, 1
    records = [AgentScore(miner, 0.2, True), AgentScore(scout, 0.9, True)]
    record_game(catalog, [*records, AgentScore(miner, 0.4, True)], CONFIG)
    assert catalog.roles[miner].games == 1
    assert catalog.roles[miner].fitness == pytest.approx(0.3)
    assert (catalog.roles[miner].wins, catalog.roles[scout].wins) == (1, 1)
    mine, explore = (
        catalog.behaviors[catalog.behavior_id(n)] for n in ("mine_resource", "explore")
    )
    assert (mine.games, mine.uses, mine.fitness) == (1, 1, pytest.approx(0.3))
    assert (explore.games, explore.fitness) == (1, pytest.approx(0.5)), "all three held it"
    assert catalog.behaviors[catalog.behavior_id("recharge")].uses == 0


def test_the_order_of_agents_has_no_effect(catalog):
    other = catalog.copy()
    records = [AgentScore(i % 3, s, False) for i, s in enumerate((0.1, 0.7, 0.3, 0.9, 0.2, 0.6))]
    record_game(catalog, records, CONFIG)
    record_game(other, records[::-1], CONFIG)
    assert catalog == other


def test_every_role_has_a_vibe(catalog, role_of):
    vibes = [map_role_to_vibe(catalog, role) for role in catalog.roles]
    assert vibes == ["miner", "scout", "aligner", "scrambler"]
    assert map_role_to_vibe(catalog, role_of("explore / recharge")) == "default"
    tie = role_of("scramble_junction / mine_resource / explore")
    assert map_role_to_vibe(catalog, tie) == "scrambler", "of equals the first"
