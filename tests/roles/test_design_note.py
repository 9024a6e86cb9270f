"""The interface of the design note on role evolution, used as the note shows it."""

import random

import numpy as np
import pytest

import kinfolk as kf
from kinfolk import (
    BehaviorDef,
    BehaviorSource,
    EvolutionaryRoleCoordinator,
    EvolutionConfig,
    RoleCatalog,
    RoleDef,
    RoleTier,
    TierSelection,
)
from kinfolk.core.errors import SettingsError
from kinfolk.policies.scripted.cogsguard.catalog import build_cogsguard_behavior_hooks
from kinfolk.roles.coordinator import _always_false, _always_true
from kinfolk.roles.smart_coordinator import choose_role_vibe

BEHAVIORS = {
    "explore": BehaviorSource.COMMON,
    "recharge": BehaviorSource.COMMON,
    "mine_resource": BehaviorSource.MINER,
    "deposit_resource": BehaviorSource.MINER,
    "find_extractor": BehaviorSource.MINER,
    "discover_stations": BehaviorSource.SCOUT,
    "discover_extractors": BehaviorSource.SCOUT,
    "discover_junctions": BehaviorSource.SCOUT,
    "get_hearts": BehaviorSource.ALIGNER,
    "get_influence": BehaviorSource.ALIGNER,
    "align_junction": BehaviorSource.ALIGNER,
    "scramble_junction": BehaviorSource.SCRAMBLER,
    "find_enemy_junction": BehaviorSource.SCRAMBLER,
}
ROLES = {
    "BaseMiner": [["deposit_resource"], ["mine_resource"], ["find_extractor"], ["explore"]],
    "BaseScout": [
        ["discover_stations"],
        ["discover_extractors"],
        ["discover_junctions"],
        ["explore"],
    ],
    "BaseAligner": [["get_hearts", "get_influence"], ["align_junction"], ["explore"]],
    "BaseScrambler": [["get_hearts"], ["find_enemy_junction"], ["scramble_junction"], ["explore"]],
}


def always(state):
    return True


def never(state):
    return False


def test_a_coordinator_needs_only_the_number_of_agents():
    coordinator = EvolutionaryRoleCoordinator(8)
    catalog = coordinator.catalog
    assert {b.name: b.source for b in catalog.behaviors} == BEHAVIORS
    names = [b.name for b in catalog.behaviors]
    for role in catalog.roles[:4]:
        assert [[names[i] for i in tier.behavior_ids] for tier in role.tiers] == ROLES[role.name]
    assert (coordinator.num_agents, coordinator.games_per_generation) == (8, 10)
    assert coordinator.catalog is not EvolutionaryRoleCoordinator(8).catalog


def play(coordinator, games):
    """Run the game loop of the note; return the vibes of the first game."""
    vibes = []
    for game in range(games):
        for agent_id in range(coordinator.num_agents):
            role = coordinator.assign_role(agent_id, 0)
            vibe = coordinator.choose_vibe(agent_id, 0)
            behaviors = coordinator.get_role_behaviors(agent_id)
            assert {b.id for b in behaviors} == set(role.behavior_ids)
            vibes += [vibe] if game == 0 else []
            coordinator.record_agent_performance(agent_id, (agent_id + 1) / 8, True)
        coordinator.end_game(True)
    return vibes


def test_the_game_loop_of_the_note_advances_a_generation_every_so_many_games():
    coordinator = EvolutionaryRoleCoordinator(
        num_agents=8, games_per_generation=3, rng=random.Random(7)
    )
    vibes = play(coordinator, 2)
    assert set(vibes) <= {"miner", "scout", "aligner", "scrambler", "default"}
    assert (coordinator.generation, coordinator.games_this_generation) == (0, 2)
    assert len(coordinator.assignments) == 8
    play(coordinator, 1)
    assert (coordinator.generation, coordinator.games_this_generation) == (1, 0)
    assert coordinator.assignments == {}
    assert {role.origin for role in coordinator.catalog.roles} >= {"manual", "sampled", "mutated"}


@pytest.mark.parametrize(
    "make",
    [lambda: random.Random(7), lambda: np.random.default_rng(7), lambda: 7, lambda: np.int64(7)],
    ids=["random.Random", "numpy Generator", "int", "numpy int"],
)
def test_an_equal_rng_gives_an_equal_history(make):
    histories = []
    for _ in range(2):
        coordinator = EvolutionaryRoleCoordinator(8, games_per_generation=2, rng=make())
        histories.append((coordinator.seed, play(coordinator, 4), coordinator.catalog.roles))
    assert histories[0] == histories[1]


def test_an_integer_is_the_seed_itself_and_without_one_a_seed_is_drawn():
    assert EvolutionaryRoleCoordinator(8, rng=5).seed == 5
    assert EvolutionaryRoleCoordinator(8, seed=5).seed == 5
    by_rng, by_seed = EvolutionaryRoleCoordinator(8, rng=5), EvolutionaryRoleCoordinator(8, seed=5)
    assert by_rng.catalog.roles == by_seed.catalog.roles
    drawn = {EvolutionaryRoleCoordinator(8).seed for _ in range(3)}
    assert len(drawn) == 3
    assert all(0 <= seed < 2**32 for seed in drawn)
    shared = random.Random(1)
    first, second = (EvolutionaryRoleCoordinator(8, rng=shared) for _ in range(2))
    assert first.seed != second.seed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"rng": "seven"},
            "rng must be a random.Random, a numpy Generator, a whole number or None, not 'seven'.",
        ),
        ({"rng": 1, "seed": 2}, "EvolutionaryRoleCoordinator takes seed or rng, not both."),
        (
            {"catalog": 10},
            "EvolutionaryRoleCoordinator.catalog must be a RoleCatalog, not 10. "
            "Give games_per_generation and rng by name.",
        ),
        ({"num_agents": 0}, "EvolutionaryRoleCoordinator.num_agents must be at least 1, not 0."),
    ],
)
def test_invalid_arguments_of_a_coordinator_raise_settings_errors(arguments, message):
    with pytest.raises(SettingsError) as error:
        EvolutionaryRoleCoordinator(**{"num_agents": 8, **arguments})
    assert str(error.value) == message


def test_fitness_and_locked_names_follow_the_note():
    coordinator = EvolutionaryRoleCoordinator(1, rng=3)
    role = coordinator.assign_role(0)
    seen = []
    for score in (0.5, 1.0, 1.0, 1.0):
        coordinator.record_agent_performance(0, score)
        coordinator.end_game()
        now = coordinator.catalog.roles[role.id]
        seen.append((round(now.fitness, 4), now.games, now.wins, now.locked_name))
    assert seen == [
        (0.5, 1, 0, False),
        (0.6, 2, 0, False),
        (0.68, 3, 0, False),
        (0.744, 4, 0, True),
    ]


def test_a_new_behavior_is_registered_as_in_section_7_and_sampled():
    coordinator = EvolutionaryRoleCoordinator(8, rng=0)
    before = coordinator.catalog.next_role_id
    new = coordinator.catalog.add_behavior(
        name="new_behavior_name",
        source=BehaviorSource.MINER,
        can_start=always,
        act=always,
        should_terminate=never,
        interruptible=True,
    )
    assert (new, coordinator.catalog.behaviors[new].name) == (13, "new_behavior_name")
    rng = random.Random(0)
    sampled = [kf.sample_role(coordinator.catalog, rng) for _ in range(50)]
    assert any(new in role.behavior_ids for role in sampled)
    assert coordinator.catalog.next_role_id == before, "sampling registers nothing"


class NoteCoordinator(EvolutionaryRoleCoordinator):
    """Registers a behavior and a role as section 7 of the note describes."""

    def _seed_default_behaviors(self):
        super()._seed_default_behaviors()
        self.catalog.add_behavior(
            name="new_behavior_name",
            source=BehaviorSource.MINER,
            can_start=_always_true,
            act=self._behavior_act("new_behavior_name"),
            should_terminate=_always_false,
            interruptible=True,
        )

    def _seed_initial_roles(self):
        super()._seed_initial_roles()
        new = self.catalog.behavior_id("new_behavior_name")
        self.catalog.add_role(RoleDef([RoleTier([new]), RoleTier([0])], name="BaseNew"))


def test_the_hook_recipe_of_section_7_works_as_written():
    coordinator = NoteCoordinator(8, rng=random.Random(3))
    catalog = coordinator.catalog
    assert [role.name for role in catalog.roles[:5]] == [*ROLES, "BaseNew"]
    new = catalog.behaviors[catalog.behavior_id("new_behavior_name")]
    assert new.act("state") is None, "no hook is bound yet"
    coordinator.behavior_hooks = {
        **build_cogsguard_behavior_hooks(),
        "new_behavior_name": lambda state: ("new", state),
    }
    assert new.act("state") == ("new", "state")
    assert (new.can_start("state"), new.should_terminate("state")) == (True, False)
    assert set(build_cogsguard_behavior_hooks()) == set(BEHAVIORS)
    play(coordinator, 10)
    bred = [
        role for role in catalog.roles if new.id in role.behavior_ids and role.name != "BaseNew"
    ]
    assert bred, "the evolution system includes the new behavior by itself"


def test_without_evolution_the_smart_coordinator_is_the_fallback():
    smart = kf.SmartRoleCoordinator(8)
    chosen = [choose_role_vibe(agent, 0, None, smart) for agent in range(8)]
    assert sorted(chosen) == sorted(["miner"] * 3 + ["aligner"] * 2 + ["scrambler"] * 2 + ["scout"])
    assert [choose_role_vibe(agent, 5, None, smart) for agent in range(8)] == chosen
    coordinator = EvolutionaryRoleCoordinator(8, rng=1)
    by_evolution = [choose_role_vibe(agent, 0, coordinator, smart) for agent in range(8)]
    assert by_evolution == [coordinator.choose_vibe(agent, 0) for agent in range(8)]
    with pytest.raises(SettingsError, match=r"^SmartRoleCoordinator.num_agents must be at least 1"):
        kf.SmartRoleCoordinator(0)


def test_cut_points_lie_before_between_and_after_the_tiers_of_both_parents():
    coordinator = EvolutionaryRoleCoordinator(8, rng=0)
    miner, scout, *_ = coordinator.catalog.roles
    children = [kf.recombine_roles(miner, scout, random.Random(i)) for i in range(600)]
    from_left = {sum(tier in miner.tiers[:3] for tier in child.tiers) for child in children}
    from_right = {sum(tier in scout.tiers[:3] for tier in child.tiers) for child in children}
    assert from_left == {0, 1, 2, 3}, "all first tiers of the left parent, or none"
    assert from_right == {0, 1, 2, 3}
    assert any(child.tiers == scout.tiers for child in children), "a copy, which is not drawn again"
    assert all(child.tiers for child in children)


def test_no_behavior_beyond_the_notes_operators_is_used_by_default():
    coordinator = EvolutionaryRoleCoordinator(8, games_per_generation=2, rng=5)
    play(coordinator, 20)
    for role in coordinator.catalog.roles:
        assert role.parameters == ()
        assert all(tier.guard is None and tier.weights is None for tier in role.tiers)


def test_the_operators_accept_a_generator_or_none():
    coordinator = EvolutionaryRoleCoordinator(8, rng=0)
    catalog, (miner, scout, *_) = coordinator.catalog, coordinator.catalog.roles

    def made(rng):
        child = kf.recombine_roles(miner, scout, rng)
        return (
            kf.sample_role(catalog, rng),
            child,
            kf.mutate_role(catalog, child, rng),
            kf.inject_behavior(catalog, child, rng),
            kf.materialize_role_behaviors(catalog, child, rng),
            kf.pick_role_id_weighted(catalog, [0, 1, 2, 3], rng),
        )

    assert made(random.Random(4)) == made(random.Random(4))
    assert made(random.Random(4)) != made(random.Random(5))
    assert made(np.random.default_rng(4)) == made(np.random.default_rng(4))
    sampled, child, mutated, injected, _, picked = made(None)
    origins = [role.origin for role in (sampled, child, mutated)]
    assert origins == ["sampled", "recombined", "mutated"]
    assert set(child.tiers) <= {*miner.tiers, *scout.tiers}
    assert len(injected.tiers[0].behavior_ids) == len(child.tiers[0].behavior_ids) + 1
    assert picked in (0, 1, 2, 3)
    names = [b.name for b in kf.materialize_role_behaviors(catalog, miner)]
    assert names == ["deposit_resource", "mine_resource", "find_extractor", "explore"]
    assert kf.map_role_to_vibe(catalog, miner) == "miner"
    locked = kf.record_role_score(catalog, miner.id, 0.7, True)
    assert (locked.fitness, locked.games, locked.wins, locked.locked_name) == (0.7, 1, 1, True)
    assert kf.lock_role_name_if_fit(locked) == locked


def test_the_data_model_is_constructed_as_in_section_1():
    catalog = RoleCatalog()
    for name in ("mine_resource", "explore"):
        catalog.add_behavior(
            name=name,
            source=BehaviorSource.COMMON,
            can_start=always,
            act=always,
            should_terminate=never,
        )
    tier = RoleTier(behavior_ids=[0, 1], weights=[], selection=TierSelection.SHUFFLE)
    weighted = RoleTier([1], weights=[2.0], selection=TierSelection.WEIGHTED)
    assert (tier.weights, weighted.weights) == (None, (2.0,))
    assert sorted(kf.resolve_tier_order(tier)) == [0, 1]
    role = catalog.add_role(RoleDef(id=-1, name="Mine", tiers=[tier], origin="manual"))
    assert (role.id, role.name, role.locked_name) == (0, "Mine", False)
    assert (role.fitness, role.games, role.wins) == (0.0, 0, 0)
    assert (catalog.next_role_id, catalog.next_name_id) == (1, 1)
    one = BehaviorDef(0, "explore", BehaviorSource.COMMON, always, always, never, True)
    assert (one.fitness, one.games, one.uses) == (0.0, 0, 0)


def test_the_configuration_has_the_defaults_of_the_note():
    config = EvolutionConfig()
    assert (config.min_tiers, config.max_tiers) == (2, 4)
    assert (config.min_tier_size, config.max_tier_size) == (1, 3)
    assert (config.mutation_rate, config.lock_fitness_threshold) == (0.15, 0.7)
    assert (config.max_behaviors_per_role, config.fitness_alpha) == (12, 0.2)


def test_every_name_of_the_note_is_exported_by_kinfolk():
    assert set(kf.__all__) >= {
        "BehaviorDef", "BehaviorSource", "EvolutionConfig", "EvolutionaryRoleCoordinator",
        "RoleCatalog", "RoleDef", "RoleTier", "TierSelection", "inject_behavior",
        "lock_role_name_if_fit", "map_role_to_vibe", "materialize_role_behaviors", "mutate_role",
        "pick_role_id_weighted", "recombine_roles", "record_role_score", "resolve_tier_order",
        "sample_role",
    }  # fmt: skip
    assert all(hasattr(kf, name) for name in kf.__all__)
