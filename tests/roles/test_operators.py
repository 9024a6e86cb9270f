from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinfolk.core.errors import SettingsError
from kinfolk.core.random import seed_key
from kinfolk.core.settings import validate_settings
from kinfolk.roles.catalog import RoleCatalog
from kinfolk.roles.fitness import record_behavior_score
from kinfolk.roles.model import EvolutionConfig, RoleDef, RoleTier, TierSelection
from kinfolk.roles.operators import (
    draw_hybrid_operators,
    enforce_caps,
    inject_behavior,
    make_hybrid,
    mutate_role,
    recombine_roles,
    sample_role,
)
from kinfolk.roles.variation import breed_child

CONFIG = EvolutionConfig()
ALWAYS = EvolutionConfig(mutation_rate=1.0)


def assert_in_caps(role, config):
    sizes = [len(tier.behavior_ids) for tier in role.tiers]
    assert 1 <= len(sizes) <= config.max_tiers
    assert all(1 <= size <= config.max_tier_size for size in sizes)
    assert sum(sizes) <= config.max_behaviors_per_role
    assert len(set(role.behavior_ids)) == len(role.behavior_ids)


def test_a_sampled_role_has_two_to_four_tiers_of_one_to_three_behaviors(catalog):
    roles = [sample_role(catalog, seed_key(seed), CONFIG) for seed in range(600)]
    tiers = Counter(len(role.tiers) for role in roles)
    assert set(tiers) == {2, 3, 4}
    assert all(150 <= n <= 250 for n in tiers.values()), "each a third of the time"
    sizes = Counter(len(t.behavior_ids) for role in roles for t in role.tiers)
    assert set(sizes) == {1, 2, 3}
    modes = Counter(t.selection for role in roles for t in role.tiers)
    share = modes[TierSelection.SHUFFLE] / sum(modes.values())
    assert 0.45 <= share <= 0.55
    assert {role.origin for role in roles} == {"sampled"}


def test_fit_behaviors_are_sampled_more_often(catalog):
    for behavior in range(13):
        score = 1.0 if behavior == 4 else 0.0
        record_behavior_score(catalog, behavior, score, CONFIG)
    counts = Counter(
        i for seed in range(400) for i in sample_role(catalog, seed_key(seed), CONFIG).behavior_ids
    )
    assert counts[4] > 1.5 * max(n for i, n in counts.items() if i != 4)


def test_a_child_has_the_first_tiers_of_one_parent_and_the_last_of_the_other(catalog):
    miner, scout = catalog.roles[:2]
    seen = set()
    for seed in range(200):
        child = recombine_roles(miner, scout, seed_key(seed), CONFIG)
        seen.add(tuple(catalog.behaviors[i].name for i in child.behavior_ids))
        assert (child.games, child.fitness, child.parents) == (0, 0.0, (0, 1))
    assert ("deposit_resource", "discover_extractors", "discover_junctions", "explore") in seen
    # One tier of the miner, none of the scout; and the fifth tier is dropped from the end.
    assert ("deposit_resource",) in seen
    assert (
        "deposit_resource",
        "discover_stations",
        "discover_extractors",
        "discover_junctions",
    ) in seen


def test_repeated_behaviors_and_empty_tiers_are_removed():
    tiers = [RoleTier((1, 2)), RoleTier((2,)), RoleTier((3, 1, 4), (1.0, 2.0, 3.0), 2)]
    kept = enforce_caps(tiers, CONFIG)
    assert kept == (RoleTier((1, 2)), RoleTier((3, 4), (1.0, 3.0), TierSelection.WEIGHTED))


def test_recombining_a_role_with_itself_raises_an_error(catalog):
    with pytest.raises(
        SettingsError, match=r"^Two different parents are needed; both are 'BaseMiner'\.$"
    ):
        recombine_roles(catalog.roles[0], catalog.roles[0], seed_key(0), CONFIG)


def test_a_mutation_replaces_one_behavior_per_tier_by_an_unused_one(catalog):
    miner = catalog.roles[0]
    for seed in range(50):
        child = mutate_role(miner, catalog, seed_key(seed), ALWAYS)
        for old, new in zip(miner.tiers, child.tiers, strict=True):
            assert set(new.behavior_ids).isdisjoint(old.behavior_ids)
        assert_in_caps(child, ALWAYS)


def test_mutations_happen_at_their_rates(catalog):
    miner = catalog.roles[0]
    replaced = flipped = 0
    for seed in range(1500):
        child = mutate_role(miner, catalog, seed_key(seed), CONFIG)
        for old, new in zip(miner.tiers, child.tiers, strict=True):
            replaced += old.behavior_ids != new.behavior_ids
            flipped += old.selection != new.selection
    assert 0.135 <= replaced / 6000 <= 0.165  # 15 %, three deviations
    assert 0.063 <= flipped / 6000 <= 0.087  # half of it


def test_a_mutation_keeps_fitness_games_and_wins_and_does_not_change_its_parent(catalog):
    parent = catalog.add_role(
        RoleDef(catalog.roles[0].tiers, fitness=0.4, games=9, wins=3), generation=2
    )
    before = parent.tiers
    child = mutate_role(parent, catalog, seed_key(1), ALWAYS)
    assert (child.fitness, child.games, child.wins) == (0.4, 9, 3)
    assert (child.origin, child.parents, child.id) == ("mutated", (4,), -1)
    assert catalog.roles[4].tiers == before != child.tiers


def test_a_role_with_all_behaviors_is_not_changed_by_mutation_or_injection():
    small = RoleCatalog()
    for name in "ab":
        small.add_behavior(name=name, source="x", can_start=len, act=len, should_terminate=len)
    role = small.add_role(RoleDef((RoleTier((0,)), RoleTier((1,)))))
    assert mutate_role(role, small, seed_key(0), ALWAYS).behavior_ids == (0, 1)
    assert inject_behavior(role, small, seed_key(0), CONFIG) == role


def test_injection_adds_to_the_first_tier_or_replaces_its_last(catalog, role_of):
    role = inject_behavior(role_of("explore / recharge"), catalog, seed_key(3), CONFIG)
    assert len(role.tiers[0].behavior_ids) == 2
    assert role.tiers[0].behavior_ids[0] == catalog.behavior_id("explore")
    full = role_of("explore + recharge + get_hearts / mine_resource")
    changed = inject_behavior(full, catalog, seed_key(3), CONFIG)
    assert changed.tiers[0].behavior_ids[:2] == full.tiers[0].behavior_ids[:2]
    assert changed.tiers[0].behavior_ids[2] not in full.behavior_ids
    assert changed.tiers[1] == full.tiers[1]


def test_hybrids_are_mutated_a_quarter_and_injected_a_third_of_the_time(catalog):
    luck = [draw_hybrid_operators(seed_key(seed), CONFIG) for seed in range(3000)]
    assert 0.226 <= sum(m for m, _ in luck) / 3000 <= 0.274  # 25 %, three deviations
    assert 0.324 <= sum(i for _, i in luck) / 3000 <= 0.376  # 35 %
    both = sum(m and i for m, i in luck) / 3000
    assert 0.072 <= both <= 0.103, "one does not bring the other"
    for seed in range(200):
        hybrid = make_hybrid(catalog, catalog.roles[0], catalog.roles[2], seed_key(seed), CONFIG)
        assert (hybrid.origin, hybrid.parents) == ("hybrid", (0, 2))
        assert_in_caps(hybrid, CONFIG)


def test_the_hybrid_of_a_role_with_itself_starts_as_a_copy(catalog):
    never = EvolutionConfig(role_mutation_chance=0.0, injection_chance=0.0)
    miner = catalog.roles[0]
    child = make_hybrid(catalog, miner, miner, seed_key(1), never)
    assert (child.tiers, child.parents, child.origin) == (miner.tiers, (0,), "hybrid")


caps = st.builds(
    EvolutionConfig,
    min_tiers=st.integers(1, 2),
    max_tiers=st.integers(2, 6),
    min_tier_size=st.integers(1, 2),
    max_tier_size=st.integers(2, 5),
    max_behaviors_per_role=st.integers(1, 12),
    mutation_rate=st.sampled_from([0.15, 1.0]),
    reorder_chance=st.sampled_from([0.0, 1.0]),
    insertion_chance=st.sampled_from([0.0, 1.0]),
    deletion_chance=st.sampled_from([0.0, 1.0]),
    switch_chance=st.sampled_from([0.0, 0.5]),
)


@settings(max_examples=60, deadline=None)
@given(config=caps, seeds=st.lists(st.integers(0, 2**31), min_size=4, max_size=12))
def test_any_limits_hold_through_any_sequence_of_operators(config, seeds):
    catalog = RoleCatalog()
    for i in range(7):
        catalog.add_behavior(name=f"d{i}", source="x", can_start=len, act=len, should_terminate=len)
    pool = [catalog.add_role(sample_role(catalog, seed_key(s), config)) for s in seeds[:2]]
    for at, seed in enumerate(seeds):
        one, other = pool[-1], pool[-2]
        key = seed_key(seed)
        made = (
            recombine_roles(one, other, key, config),
            mutate_role(one, catalog, key, config),
            inject_behavior(one, catalog, key, config),
            make_hybrid(catalog, one, other, key, config),
            breed_child(catalog, one, other, key, config),
        )
        for role in made:
            assert_in_caps(role, config)
        pool.append(catalog.add_role(made[at % 5]))


def test_contradicting_limits_raise_an_error():
    with pytest.raises(
        SettingsError,
        match=r"^EvolutionConfig.min_tiers must be at most max_tiers, which is 2; it is 3\.$",
    ):
        validate_settings(EvolutionConfig, {"min_tiers": 3, "max_tiers": 2})
    with pytest.raises(
        SettingsError,
        match=r"^EvolutionConfig.generated_role_count must be at least 2, not 1\.$",
    ):
        validate_settings(EvolutionConfig, {"generated_role_count": 1})
