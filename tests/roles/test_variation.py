"""Operators beyond those of the design note: each changes one kind of gene, and can be switched off."""

from collections import Counter
from dataclasses import replace

import pytest

from kinfolk.core.errors import SettingsError, UnknownNameError
from kinfolk.core.random import seed_key
from kinfolk.roles.catalog import RoleCatalog
from kinfolk.roles.model import (
    BehaviorParameter,
    EvolutionConfig,
    GuardFact,
    RoleDef,
    RoleTier,
    TierGuard,
    TierSelection,
)
from kinfolk.roles.variation import (
    breed_child,
    delete_random_behavior,
    insert_random_behavior,
    mutate_guard,
    mutate_parameter,
    mutate_weights,
    reorder_role,
    switch_roles,
)

CONFIG = EvolutionConfig()
OFF = EvolutionConfig(mutation_rate=0.0, recombination_chance=0.0)


@pytest.fixture
def genes():
    """A catalog whose behaviors have parameters, and that has facts of guards."""
    made = RoleCatalog(facts=(GuardFact("night", 1, 1), GuardFact("hearts", 1, 4)))
    range_of = {
        "eat": BehaviorParameter("hunger", 5, 1, 9),
        "walk": BehaviorParameter("pace", 2, 1, 3),
    }
    for name in ("eat", "walk", "sleep"):
        parameters = [range_of[name]] if name in range_of else []
        made.add_behavior(
            name=name, source="common", can_start=bool, act=bool, should_terminate=bool,
            parameters=parameters,
        )  # fmt: skip
    made.add_role(RoleDef((RoleTier((0, 1)), RoleTier((2,))), name="Eater"))
    made.add_role(
        RoleDef((RoleTier((2,)), RoleTier((1,))), name="Sleeper", parameters=(("pace", 3),))
    )
    return made


def test_a_parameter_of_the_roles_own_behaviors_changes_within_its_range(genes):
    eater, sleeper = genes.roles
    made = [mutate_parameter(eater, genes, seed_key(s), CONFIG).parameters for s in range(300)]
    seen = {pair for parameters in made for pair in parameters}
    assert {name for name, _ in seen} == {"hunger", "pace"}
    assert {value for name, value in seen if name == "hunger"} == set(range(1, 10))
    assert all(len(parameters) == 1 for parameters in made)
    for seed in range(20):
        child = mutate_parameter(sleeper, genes, seed_key(seed), CONFIG)
        assert [name for name, _ in child.parameters] == ["pace"], "it does not eat"
        assert child.tiers == sleeper.tiers


def test_a_guard_is_added_changed_and_removed(genes):
    eater = genes.roles[0]
    first = [mutate_guard(eater, genes, seed_key(s), CONFIG) for s in range(200)]
    guards = {tier.guard for role in first for tier in role.tiers} - {None}
    assert {guard.fact for guard in guards} == {"night", "hearts"}
    assert {guard.relation for guard in guards} == {"<", ">="}
    assert {guard.threshold for guard in guards if guard.fact == "hearts"} == {1, 2, 3, 4}
    assert all(sum(t.guard is not None for t in role.tiers) == 1 for role in first)
    guarded = replace(eater, tiers=(RoleTier((0, 1), guard=TierGuard("hearts", "<", 2)),))
    again = Counter(
        str(mutate_guard(guarded, genes, seed_key(s), CONFIG).tiers[0].guard) for s in range(300)
    )
    assert set(again) == {"None", "hearts >= 2", *(f"hearts < {n}" for n in (1, 2, 3, 4))}
    assert 80 <= again["None"] <= 160


def test_a_tier_of_several_behaviors_becomes_weighted_and_its_weights_change(genes):
    eater = genes.roles[0]
    child = mutate_weights(eater, genes, seed_key(1), CONFIG)
    assert child.tiers[0].selection == TierSelection.WEIGHTED
    assert sorted(child.tiers[0].weights)[0] < sorted(child.tiers[0].weights)[1]
    assert child.tiers[1] == eater.tiers[1]
    for seed in range(200):  # a long walk keeps to the limits
        child = mutate_weights(child, genes, seed_key(seed), CONFIG)
    assert all(0.05 <= weight <= 20.0 for weight in child.tiers[0].weights)
    alone = RoleDef((RoleTier((2,)),))
    assert mutate_weights(alone, genes, seed_key(0), CONFIG).tiers == alone.tiers


def test_a_switching_role_plays_one_parent_under_a_guard_and_else_the_other(genes):
    eater, sleeper = genes.roles
    child = switch_roles(genes, sleeper, eater, seed_key(4), CONFIG)
    assert child.tiers[0].guard is not None
    assert child.tiers[0].behavior_ids == (2,)
    assert child.tiers[-1].guard is None
    assert (child.origin, child.parents, child.games) == ("recombined", (1, 0), 0)
    assert child.parameters == (("pace", 3),)


def test_behaviors_are_inserted_at_any_priority_and_deleted(catalog):
    miner = catalog.role("BaseMiner")
    longer = [insert_random_behavior(miner, catalog, seed_key(s), CONFIG) for s in range(200)]
    assert {len(role.behavior_ids) for role in longer} == {5}
    added = [set(role.behavior_ids) - set(miner.behavior_ids) for role in longer]
    places = {role.behavior_ids.index(new.pop()) for role, new in zip(longer, added, strict=True)}
    assert places == {0, 1, 2, 3, 4}
    shorter = [delete_random_behavior(miner, catalog, seed_key(s), CONFIG) for s in range(50)]
    assert {len(role.behavior_ids) for role in shorter} == {3}
    alone = RoleDef((RoleTier((2,)),))
    assert delete_random_behavior(alone, catalog, seed_key(0), CONFIG).tiers == alone.tiers


@pytest.mark.parametrize(
    ("chance", "changes"),
    [
        ("reorder_chance", lambda old, new: new.behavior_ids != old.behavior_ids),
        ("insertion_chance", lambda old, new: len(new.behavior_ids) > len(old.behavior_ids)),
        ("deletion_chance", lambda old, new: len(new.behavior_ids) < len(old.behavior_ids)),
        ("parameter_rate", lambda old, new: new.parameters != old.parameters),
        ("guard_rate", lambda old, new: any(t.guard for t in new.tiers)),
        ("weight_rate", lambda old, new: any(t.weights for t in new.tiers)),
        ("switch_chance", lambda old, new: new.parents == (0, 1)),
    ],
)
def test_every_operator_is_switched_by_its_own_setting(genes, chance, changes):
    genes.add_behavior(
        name="sing", source="common", can_start=bool, act=bool, should_terminate=bool
    )
    eater, sleeper = genes.roles
    always = OFF.model_copy(update={chance: 1.0})
    on = [breed_child(genes, eater, sleeper, seed_key(s), always) for s in range(30)]
    off = [breed_child(genes, eater, sleeper, seed_key(s), OFF) for s in range(30)]
    assert sum(changes(eater, child) for child in on) >= 15
    assert all(child.genome == eater.genome for child in off)


def test_a_mutation_has_its_parents_record_as_a_prior_and_no_games_of_its_own(genes):
    parent = genes.add_role(replace(genes.roles[0], fitness=0.6, games=9, wins=4, own_games=9))
    for operator in (mutate_parameter, mutate_guard, mutate_weights):
        child = operator(parent, genes, seed_key(3), CONFIG)
        assert (child.fitness, child.games, child.wins, child.own_games) == (0.6, 9, 4, 0)
        assert (child.origin, child.parents, child.id) == ("mutated", (parent.id,), -1)


def test_unknown_genes_and_wrong_ranges_are_refused(genes):
    with pytest.raises(UnknownNameError, match=r"^No parameter is named 'hungr'\. Did you mean"):
        genes.add_role(replace(genes.roles[0], parameters=(("hungr", 2),)))
    tier = RoleTier((0,), guard=TierGuard("heart", "<", 1))
    with pytest.raises(UnknownNameError, match=r"^No fact of guards is named 'heart'\. Did you"):
        genes.add_role(RoleDef((tier,)))
    with pytest.raises(SettingsError, match=r"^A guard's relation must be '<' or '>=', not '='\.$"):
        TierGuard("hearts", "=", 1)
    with pytest.raises(
        SettingsError,
        match=r"^The default of the parameter 'pace' must lie in 1 to 3, not at 7\.$",
    ):
        BehaviorParameter("pace", 7, 1, 3)
    with pytest.raises(SettingsError, match=r"^There is another parameter 'pace'\. Choose another"):
        genes.add_behavior(
            name="run", source="common", can_start=bool, act=bool, should_terminate=bool,
            parameters=[BehaviorParameter("pace", 9, 1, 9)],
        )  # fmt: skip


def test_reordering_moves_one_behavior_and_keeps_the_order_of_the_others(catalog):
    hearts, influence, align = ids = catalog.behavior_ids(
        ["get_hearts", "get_influence", "align_junction"]
    )
    role = catalog.add_role(RoleDef((RoleTier((hearts, influence)), RoleTier((align,)))))
    made = [reorder_role(role, catalog, seed_key(seed), CONFIG) for seed in range(300)]
    assert {child.behavior_ids for child in made} == {
        (align, hearts, influence), (hearts, align, influence),
        (influence, hearts, align), (influence, align, hearts),
    }, "each other order that one move gives: not the one turned round"  # fmt: skip
    assert {len(child.tiers) for child in made} == {1, 2, 3}, "tiers are left, joined and opened"
    assert role.behavior_ids == ids


def test_reordering_never_gives_an_equivalent_role(catalog):
    drawn = RoleDef((RoleTier((1, 2), selection=TierSelection.SHUFFLE),))
    made = [reorder_role(drawn, catalog, seed_key(seed), CONFIG) for seed in range(100)]
    assert {(child.behavior_ids, len(child.tiers)) for child in made} == {((1, 2), 2), ((2, 1), 2)}
    alone = RoleDef((RoleTier((4,)),))
    assert reorder_role(alone, catalog, seed_key(1), CONFIG).tiers == alone.tiers


def test_reordering_moves_weights_with_their_behaviors_and_gives_new_ones_weight_1(catalog):
    weighted = RoleTier((1, 2), (3.0, 5.0), TierSelection.WEIGHTED)
    role = RoleDef((weighted, RoleTier((7,))))
    seen = {reorder_role(role, catalog, seed_key(seed), CONFIG).tiers for seed in range(300)}
    joined = {tiers[0] for tiers in seen if len(tiers) == 1}
    assert RoleTier((7, 1, 2), (1.0, 3.0, 5.0), TierSelection.WEIGHTED) in joined
    assert (RoleTier((2,), (5.0,), TierSelection.WEIGHTED), RoleTier((1, 7))) in seen


def test_a_reordered_role_is_a_mutation_with_the_record_of_its_parent(catalog):
    role = catalog.add_role(
        replace(catalog.roles[0], name="Mine-3", locked_name=True, fitness=0.8, games=9, wins=4)
    )
    child = reorder_role(role, catalog, seed_key(3), CONFIG)
    assert (child.name, child.origin, child.parents) == ("Mine-3'2", "mutated", (role.id,))
    assert (child.fitness, child.games, child.wins, child.id) == (0.8, 9, 4, -1)
    assert sorted(child.behavior_ids) == sorted(role.behavior_ids)
    assert child.tiers != role.tiers
