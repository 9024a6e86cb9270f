"""The design note on role evolution (000): a test for each of its 43 statements, by its own names."""

import random
import subprocess
import sys
from collections import Counter
from dataclasses import fields

import numpy as np
import pytest

import kinfolk as kf
from kinfolk import (
    BehaviorSource,
    EvolutionaryRoleCoordinator,
    EvolutionConfig,
    RoleCatalog,
    RoleDef,
    RoleTier,
    TierSelection,
)
from kinfolk.core.errors import SettingsError
from kinfolk.core.settings import validate_settings
from kinfolk.policies.build import build_policy
from kinfolk.policies.resolve import resolve
from kinfolk.roles.coordinator import _always_false, _always_true
from kinfolk.roles.fitness import behavior_weight, role_weight
from kinfolk.roles.operators import make_hybrid
from kinfolk.worlds import build_world

BEHAVIORS = {
    "explore": "COMMON", "recharge": "COMMON",
    "mine_resource": "MINER", "deposit_resource": "MINER", "find_extractor": "MINER",
    "discover_stations": "SCOUT", "discover_extractors": "SCOUT", "discover_junctions": "SCOUT",
    "get_hearts": "ALIGNER", "get_influence": "ALIGNER", "align_junction": "ALIGNER",
    "scramble_junction": "SCRAMBLER", "find_enemy_junction": "SCRAMBLER",
}  # fmt: skip
ROLES = {
    "BaseMiner": [["deposit_resource"], ["mine_resource"], ["find_extractor"], ["explore"]],
    "BaseScout": [
        ["discover_stations"], ["discover_extractors"], ["discover_junctions"], ["explore"],
    ],
    "BaseAligner": [["get_hearts", "get_influence"], ["align_junction"], ["explore"]],
    "BaseScrambler": [["get_hearts"], ["find_enemy_junction"], ["scramble_junction"], ["explore"]],
}  # fmt: skip
NOTE_URI = "metta://policy/role_py?evolution=1&miner=4&scrambler=2"
SMALL = {"max_steps": 60, "agents": 8}


def evaluate(policy, episodes=1, settings=SMALL, preset="tutorial", **options):
    """Play CogsGuard with one policy."""
    return kf.evaluate(
        "cogsguard", preset=preset, world_settings=settings, slots={"cogs": policy},
        episodes=episodes, **options,
    )  # fmt: skip


def policy_of(coordinator, **counts):
    """Return a slot that plays by a coordinator."""
    return lambda spec: kf.CogsguardPolicy(spec, coordinator=coordinator, **counts)


def play_catalog(catalog, role, **options):
    """Play a game in which all agents have one role of a catalog."""
    from kinfolk.policies.scripted.cogsguard.teams import SingleRolePolicy

    return evaluate(lambda spec: SingleRolePolicy(spec, role, catalog), **options)


@pytest.fixture
def coordinator():
    return EvolutionaryRoleCoordinator(8, 10, random.Random(7))


@pytest.fixture
def spec():
    return build_world("cogsguard", SMALL, 1, "tutorial").spec


def test_01_a_catalog_holds_behaviors_roles_and_the_next_ids(coordinator):
    """RoleCatalog: behaviors, roles, next_role_id, next_name_id."""
    catalog = coordinator.catalog
    assert (len(catalog.behaviors), len(catalog.roles)) == (13, 4)
    assert (catalog.next_role_id, catalog.next_name_id) == (4, 1)
    added = catalog.add_role(kf.sample_role(catalog, 0))
    assert (added.id, catalog.next_role_id, catalog.next_name_id) == (4, 5, 2)


def test_02_uses_count_the_roles_that_were_played_and_games_the_scores(coordinator):
    """BehaviorDef: id, name, source, can_start, act, should_terminate, interruptible, fitness, games, uses."""
    names = ["id", "name", "source", "can_start", "act", "should_terminate", "interruptible"]
    assert [f.name for f in fields(kf.BehaviorDef)][:10] == [*names, "fitness", "games", "uses"]
    coordinator.assign_team([0])
    mine, explore = coordinator.catalog.behavior_ids(["mine_resource", "explore"])
    coordinator.record_agent_performance(0, 0.6, acted={mine: 9})
    coordinator.record_agent_performance(0, 0.1, acted={mine: 4, explore: 1})
    behaviors = coordinator.catalog.behaviors
    assert [(behaviors[i].games, behaviors[i].uses) for i in (mine, explore)] == [(2, 2), (1, 2)]
    assert behaviors[mine].fitness == pytest.approx(0.5)


def test_03_the_hooks_of_the_thirteen_take_a_state(coordinator):
    """can_start(state) -> bool, act(state) -> Action, should_terminate(state) -> bool."""
    seen = []
    catalog = coordinator.catalog

    def ask_all(state):
        assert isinstance(state, kf.AgentView)
        for behavior in catalog.behaviors[:13]:
            answers = (
                behavior.can_start(state),
                behavior.act(state),
                behavior.should_terminate(state),
            )
            seen.append((behavior.name, *answers))
        return coordinator.get_role_behaviors(0)[0].act(state)

    catalog.add_behavior(
        name="asking", source="common", can_start=_always_true, act=ask_all,
        should_terminate=_always_false,
    )  # fmt: skip
    catalog.add_role(RoleDef([RoleTier([13])], name="Asking"))
    assert play_catalog(catalog, "Asking").failures == 0
    assert {name for name, *_ in seen} == set(BEHAVIORS)
    for _, can_start, move, should_terminate in seen:
        assert isinstance(can_start, bool)
        assert isinstance(should_terminate, bool)
        assert move is None or 0 <= move <= 4
    starts = {
        name: {start for seen_name, start, *_ in seen if seen_name == name} for name in BEHAVIORS
    }
    assert starts["explore"] == {True}
    assert starts["discover_stations"] == {False, True}, "the answer depends on the state"


def test_04_behavior_source_is_an_enum_and_catalogs_take_other_sources(coordinator):
    """BehaviorSource: MINER | SCOUT | ALIGNER | SCRAMBLER | COMMON."""
    names = ["MINER", "SCOUT", "ALIGNER", "SCRAMBLER", "COMMON"]
    assert [source.name for source in BehaviorSource] == names
    with pytest.raises(ValueError, match="nonsense"):
        BehaviorSource("nonsense")
    hooks = {"can_start": _always_true, "act": _always_true, "should_terminate": _always_false}
    behaviors = coordinator.catalog.behaviors
    assert behaviors[2].source is BehaviorSource.MINER
    new = coordinator.catalog.add_behavior(name="heal", source="healer", **hooks)
    assert behaviors[new].source == "healer"
    new = coordinator.catalog.add_behavior(name="dig", source="miner", **hooks)
    assert behaviors[new].source is BehaviorSource.MINER


def test_05_a_role_has_name_tiers_origin_lock_fitness_games_and_wins():
    """RoleDef: id, name, tiers, origin, locked_name, fitness, games, wins."""
    role = RoleDef(id=3, name="Mine", tiers=[RoleTier([0])], origin="manual")
    assert (role.id, role.name, role.origin, role.locked_name) == (3, "Mine", "manual", False)
    assert (role.fitness, role.games, role.wins) == (0.0, 0, 0)
    assert role.tiers == (RoleTier((0,)),)


def test_06_tiers_are_fixed_shuffled_or_weighted():
    """RoleTier: behavior_ids, weights, selection: FIXED | SHUFFLE | WEIGHTED."""
    rng = random.Random(0)
    assert kf.resolve_tier_order(RoleTier([4, 2, 7]), rng) == (4, 2, 7)
    shuffled = RoleTier([4, 2, 7], selection=TierSelection.SHUFFLE)
    orders = Counter(kf.resolve_tier_order(shuffled, rng) for _ in range(3000))
    assert len(orders) == 6
    assert all(400 <= count <= 600 for count in orders.values())
    weighted = RoleTier([4, 2], weights=[1.0, 3.0], selection=TierSelection.WEIGHTED)
    first = [kf.resolve_tier_order(weighted, rng)[0] for _ in range(3000)]
    assert first.count(2) / 3000 == pytest.approx(0.75, abs=0.03)


def test_07_the_coordinator_seeds_thirteen_behaviors(coordinator):
    """Default behaviors (seeded by coordinator): the table of names and sources."""
    assert {b.name: b.source.name for b in coordinator.catalog.behaviors} == BEHAVIORS


def test_08_the_coordinator_seeds_four_roles(coordinator):
    """Default roles (seeded by coordinator): the table of tiers."""
    catalog = coordinator.catalog
    for role in catalog.roles:
        tiers = [[catalog.behaviors[i].name for i in tier.behavior_ids] for tier in role.tiers]
        assert tiers == ROLES[role.name]
        assert role.origin == "manual"


def test_09_the_population_is_the_four_base_roles(coordinator):
    """_seed_initial_roles() (4 base roles)."""
    assert [role.name for role in coordinator.catalog.roles] == list(ROLES)
    assert coordinator.pool == [0, 1, 2, 3]
    larger = EvolutionaryRoleCoordinator(8, rng=0, config=EvolutionConfig(generated_role_count=16))
    assert len(larger.pool) == 16, "an option"


def run_games(coordinator, games):
    """Run the game loop of the note with scores by agent; return the vibes of each game."""
    vibes = []
    for _ in range(games):
        for agent_id in range(coordinator.num_agents):
            coordinator.assign_role(agent_id, 0)
            vibes.append(coordinator.choose_vibe(agent_id, 0))
            coordinator.record_agent_performance(agent_id, (agent_id + 1) / 8, True)
        coordinator.end_game(True)
    return vibes


@pytest.mark.parametrize(
    "make", [lambda: random.Random(7), lambda: np.random.default_rng(7), lambda: 7]
)
def test_10_an_equal_rng_gives_an_equal_history(make):
    """EvolutionaryRoleCoordinator: num_agents, games_per_generation, rng for reproducibility."""
    histories = []
    for _ in range(2):
        made = EvolutionaryRoleCoordinator(num_agents=8, games_per_generation=2, rng=make())
        histories.append((made.seed, run_games(made, 6), made.catalog.roles))
    assert histories[0] == histories[1]
    assert EvolutionaryRoleCoordinator(8).games_per_generation == 10


def test_11_the_fields_come_in_the_order_of_the_note():
    """num_agents (required), games_per_generation 10, rng None."""
    made = EvolutionaryRoleCoordinator(8, 5, random.Random(0))
    assert (made.num_agents, made.games_per_generation) == (8, 5)
    assert made.seed == EvolutionaryRoleCoordinator(8, rng=random.Random(0)).seed


def test_12_agents_have_a_role_a_vibe_and_behaviors(coordinator):
    """assign_role(agent_id, step), choose_vibe(agent_id, step), get_role_behaviors(agent_id)."""
    role = coordinator.assign_role(3, 0)
    assert coordinator.assign_role(3, 50) is role
    vibe = role.name.removeprefix("Base").lower()
    assert coordinator.choose_vibe(3, 0) == vibe
    behaviors = coordinator.get_role_behaviors(3)
    assert [behavior.id for behavior in behaviors] == list(role.behavior_ids)


def test_13_performance_updates_the_moving_average_at_once_and_per_agent(coordinator):
    """record_agent_performance(agent_id, score, won) -> record_role_score() -> EMA update."""
    coordinator.assign_team([0, 0, 0, 0])
    seen = []
    for agent, score in enumerate((1.0, 0.0, 0.0, 0.0)):
        coordinator.record_agent_performance(agent, score, score > 0)
        role = coordinator.catalog.roles[0]
        seen.append((round(role.fitness, 6), role.games, role.wins))
    assert seen == [(1.0, 1, 1), (0.8, 2, 1), (0.64, 3, 1), (0.512, 4, 1)]
    coordinator.record_agent_performance(0, 12.5, True)
    assert coordinator.catalog.roles[0].fitness == pytest.approx(0.512 * 0.8 + 2.5)


def test_14_a_generation_ends_after_so_many_games():
    """end_game(won): games_this_generation++; if games >= games_per_generation: _evolve_generation()."""
    made = EvolutionaryRoleCoordinator(2, 10, 1)
    began = []
    for _ in range(25):
        run_games(made, 1)
        began.append((made.generation, made.games_this_generation))
    assert began == [(n // 10, n % 10) for n in range(1, 26)]
    assert (made.games, made.wins) == (25, 25)


def test_15_a_generation_can_be_evolved_at_once(coordinator):
    """_evolve_generation(): generation++."""
    coordinator._evolve_generation()
    assert coordinator.generation == 1
    assert len(coordinator.pool) == 4
    assert len(coordinator.catalog.roles) == 6


def give_fitness(coordinator, fitness):
    """Record one score for each role of the pool."""
    for role, score in zip(coordinator.pool, fitness, strict=True):
        kf.record_role_score(coordinator.catalog, role, score)


def test_16_the_better_half_survives():
    """The bottom 50% are culled."""
    for seed in range(30):
        made = EvolutionaryRoleCoordinator(8, rng=seed)
        fitness = random.Random(seed).sample([0.1, 0.2, 0.6, 0.9], 4)
        give_fitness(made, fitness)
        made._evolve_generation()
        best = {role for role in range(4) if fitness[role] >= 0.6}
        assert {role for role in made.pool if role < 4} == best
        assert all(made.catalog.roles[r].retired == 1 for r in set(range(4)) - best)


def test_17_every_offspring_is_recombined_from_two_parents_and_mutated():
    """select 2 parents (fitness-weighted), recombine_roles(parent1, parent2), mutate_role(child)."""
    children = []
    for seed in range(200):
        made = EvolutionaryRoleCoordinator(8, rng=seed)
        give_fitness(made, [0.9, 0.8, 0.1, 0.1])
        made._evolve_generation()
        children += made.catalog.roles[4:]
    bred = [child for child in children if child.origin != "sampled"]
    assert len(bred) >= 360
    assert {child.parents for child in bred} == {(0, 1), (1, 0)}
    assert {child.origin for child in bred} == {"recombined", "mutated"}


def test_18_one_generation_in_ten_gets_a_sampled_role():
    """10% chance: sample_role() for diversity."""
    made = EvolutionaryRoleCoordinator(8, rng=3)
    for _ in range(400):
        made._evolve_generation()
    sampled = [role for role in made.catalog.roles if role.origin == "sampled"]
    assert len(sampled) / 400 == pytest.approx(0.10, abs=0.045)
    assert len(made.pool) == 4


def test_19_assignments_are_cleared_at_the_boundary():
    """clear agent_assignments."""
    made = EvolutionaryRoleCoordinator(3, 2, 0)
    run_games(made, 1)
    assert set(made.agent_assignments) == {0, 1, 2}
    run_games(made, 1)
    assert made.agent_assignments == {}


def test_20_fitness_is_a_moving_average(coordinator):
    """if games == 1: fitness = score; else fitness * (1 - alpha) + score * alpha."""
    catalog = coordinator.catalog
    assert kf.record_role_score(catalog, 0, 0.8).fitness == 0.8
    assert kf.record_role_score(catalog, 0, 0.3).fitness == pytest.approx(0.70)
    kf.record_behavior_score(catalog, 5, 0.8)
    assert kf.record_behavior_score(catalog, 5, 0.3).fitness == pytest.approx(0.70)
    half = EvolutionConfig(fitness_alpha=0.5)
    assert kf.record_role_score(catalog, 0, 0.1, config=half).fitness == pytest.approx(0.4)


def test_21_selection_weights(coordinator):
    """Behavior: no games 1.0, else max(0.1, fitness); role: no games 0.1, else max(0.1, fitness)."""
    catalog = coordinator.catalog
    assert (behavior_weight(catalog.behaviors[0]), role_weight(catalog.roles[0])) == (1.0, 0.1)
    kf.record_role_score(catalog, 0, 0.9)
    kf.record_role_score(catalog, 1, 0.05)
    assert [role_weight(role) for role in catalog.roles[:2]] == [0.9, 0.1]
    assert behavior_weight(kf.record_behavior_score(catalog, 0, 0.05)) == 0.1
    rng = random.Random(0)
    picks = [kf.pick_role_id_weighted(catalog, [0, 1], rng) for _ in range(3000)]
    assert picks.count(0) / 3000 == pytest.approx(0.9, abs=0.02)


def test_22_a_fit_role_keeps_its_name(coordinator):
    """Name locking at lock_fitness_threshold 0.7; preserves identity across mutations."""
    catalog = coordinator.catalog
    assert not kf.record_role_score(catalog, 1, 0.69999).locked_name
    locked = kf.record_role_score(catalog, 0, 0.7)
    assert locked.locked_name
    assert kf.lock_role_name_if_fit(locked) == locked
    assert kf.record_role_score(catalog, 0, 0.0).locked_name
    assert kf.mutate_role(catalog.roles[0], catalog).name == "BaseMiner'2"


def test_23_roles_are_sampled_within_limits_by_fitness(coordinator):
    """sample_role: 2-4 tiers of 1-3 behaviors, at most 12, 50/50 FIXED vs SHUFFLE, origin sampled."""
    rng = random.Random(1)
    roles = [kf.sample_role(coordinator.catalog, rng) for _ in range(2000)]
    assert {len(role.tiers) for role in roles} == {2, 3, 4}
    tiers = [tier for role in roles for tier in role.tiers]
    assert {len(tier.behavior_ids) for tier in tiers} == {1, 2, 3}
    shuffled = sum(tier.selection == TierSelection.SHUFFLE for tier in tiers)
    assert shuffled / len(tiers) == pytest.approx(0.5, abs=0.03)
    assert all(role.origin == "sampled" and len(role.behavior_ids) <= 12 for role in roles)
    for behavior in range(13):
        kf.record_behavior_score(coordinator.catalog, behavior, 1.0 if behavior == 4 else 0.1)
    roles = [kf.sample_role(coordinator.catalog, rng) for _ in range(2000)]
    first = [role.behavior_ids[0] for role in roles]
    assert first.count(4) / 2000 == pytest.approx(1.0 / 2.2, abs=0.04)


def test_24_a_child_has_the_left_tiers_of_one_parent_and_the_right_of_the_other(coordinator):
    """recombine_roles: parent1.tiers[:cut_left] + parent2.tiers[cut_right:], at least one tier."""
    miner, scout, *_ = coordinator.catalog.roles
    rng = random.Random(2)
    children = [kf.recombine_roles(miner, scout, rng) for _ in range(1000)]
    possible = set()
    for left in range(5):
        for right in range(5):
            joined = [*miner.tiers[:left], *scout.tiers[right:]] or [miner.tiers[0]]
            ids = list(dict.fromkeys(i for tier in joined for i in tier.behavior_ids))
            possible.add(tuple(ids[:4]))  # no behavior twice, at most four tiers
    assert {child.behavior_ids for child in children} == possible
    assert {(child.origin, child.parents) for child in children} == {("recombined", (0, 1))}


def test_25_a_mutation_replaces_behaviors_and_flips_modes(coordinator):
    """mutate_role(child): rate 0.15 per tier, 0.075 flips; preserves fitness, games and wins."""
    for score in (0.9, 0.4):
        kf.record_role_score(coordinator.catalog, 0, score, True)
    child = coordinator.catalog.roles[0]
    rng = random.Random(3)
    mutants = [kf.mutate_role(child, rng=rng) for _ in range(3000)]
    pairs = [(old, new) for m in mutants for old, new in zip(child.tiers, m.tiers, strict=True)]
    replaced = sum(old.behavior_ids != new.behavior_ids for old, new in pairs)
    flipped = sum(old.selection != new.selection for old, new in pairs)
    assert replaced / len(pairs) == pytest.approx(0.15, abs=0.012)
    assert flipped / len(pairs) == pytest.approx(0.075, abs=0.01)
    assert kf.mutate_role(child).origin == "mutated"
    records = {(m.fitness, m.games, m.wins) for m in mutants}
    assert records == {(child.fitness, 2, 2)}


def test_26_roles_become_behaviors_and_vibes(coordinator):
    """materialize_role_behaviors, resolve_tier_order, pick_role_id_weighted, map_role_to_vibe."""
    catalog = coordinator.catalog
    for role in catalog.roles:
        names = [behavior.name for behavior in kf.materialize_role_behaviors(catalog, role)]
        assert names == [name for tier in ROLES[role.name] for name in tier]
        assert kf.map_role_to_vibe(catalog, role) == role.name.removeprefix("Base").lower()
    assert (
        kf.resolve_tier_order(catalog.roles[2].tiers[0]) == catalog.roles[2].tiers[0].behavior_ids
    )
    assert kf.pick_role_id_weighted(catalog, [2]) == 2


def test_27_the_configuration_has_the_defaults_of_the_note():
    """EvolutionConfig fields: the table of defaults."""
    config = EvolutionConfig()
    assert (config.min_tiers, config.max_tiers) == (2, 4)
    assert (config.min_tier_size, config.max_tier_size) == (1, 3)
    assert (config.mutation_rate, config.lock_fitness_threshold) == (0.15, 0.7)
    assert (config.max_behaviors_per_role, config.fitness_alpha) == (12, 0.2)


def test_28_three_flags_and_four_values_enable_evolution(spec):
    """evolution=1, evolutionary=1, evolve=1; 1, true, yes, on, case-insensitive."""
    for flag in ("evolution", "evolutionary", "evolve"):
        for value in ("1", "true", "yes", "on", "TRUE", "Yes", "oN"):
            settings = resolve(f"metta://policy/role_py?{flag}={value}").settings
            assert kf.CogsguardPolicy.learns(settings)
        for value in ("0", "false", "No", "off"):
            settings = resolve(f"metta://policy/role_py?{flag}={value}").settings
            assert not kf.CogsguardPolicy.learns(settings)
    with pytest.raises(SettingsError, match=r"^evolve must be one of"):
        kf.CogsguardPolicy(spec, evolve="maybe")


def test_29_counts_of_the_uri_fix_the_first_agents(spec):
    """metta://policy/role_py?evolution=1&miner=4&scrambler=2."""
    coordinator = EvolutionaryRoleCoordinator(8, 10, 0)
    evaluate(policy_of(coordinator, miner=4, scrambler=2))
    names = [coordinator.assign_role(agent).name for agent in range(8)]
    assert names[:6] == ["BaseMiner"] * 4 + ["BaseScrambler"] * 2
    assert set(names[6:]) <= set(ROLES)
    assert evaluate(NOTE_URI).failures == 0


def test_30_the_flag_creates_a_coordinator(spec):
    """If any evolution flag is truthy, an EvolutionaryRoleCoordinator is created."""
    policy = build_policy(resolve(NOTE_URI), spec)
    assert type(policy.coordinator) is EvolutionaryRoleCoordinator
    assert (policy.coordinator.num_agents, policy.coordinator.games_per_generation) == (8, 10)
    assert policy.coordinator.pool == [0, 1, 2, 3]
    assert set(policy.coordinator.behavior_hooks) == set(BEHAVIORS), "wired from the game's hooks"


def test_31_play_records_performance_and_ends_games(monkeypatch):
    """Gap: record_agent_performance() and end_game() are never called from the policy."""
    calls = Counter()
    for name in ("record_agent_performance", "end_game"):
        original = getattr(EvolutionaryRoleCoordinator, name)

        def spy(self, *args, _name=name, _original=original):
            calls[_name] += 1
            return _original(self, *args)

        monkeypatch.setattr(EvolutionaryRoleCoordinator, name, spy)
    result = evaluate(NOTE_URI, episodes=3)
    assert calls == {"record_agent_performance": 24, "end_game": 3}
    assert any("learned from every episode" in note for note in result.notes)


def test_32_the_uri_of_the_note_evolves_from_episode_to_episode():
    """The note's URI evolves in the online loop; results depend on nothing but the episodes."""
    coordinator = EvolutionaryRoleCoordinator(8, 2, 0)
    own = evaluate(policy_of(coordinator, miner=4, scrambler=2), episodes=6)
    assert (coordinator.generation, coordinator.games) == (3, 6)
    assert len(coordinator.catalog.roles) == 4 + 3 * 2
    uri = f"{NOTE_URI}&games_per_generation=2"
    assert evaluate(uri, episodes=6, chunk_size=1) == own
    with pytest.raises(SettingsError, match="use jobs=1, not 2"):
        evaluate(uri, episodes=4, engine="processes", jobs=2)


def test_33_evolved_roles_drive_behavior(coordinator):
    """Gap: evolved roles don't drive behavior; order must change actions."""
    catalog = coordinator.catalog
    orders = {
        "First": ["deposit_resource", "mine_resource", "find_extractor"],
        "Last": ["find_extractor", "explore", "mine_resource", "deposit_resource"],
    }
    deposited = {}
    for name, behaviors in orders.items():
        tiers = [RoleTier([i]) for i in catalog.behavior_ids(behaviors)]
        role = catalog.add_role(RoleDef(tiers, name=name))
        assert kf.map_role_to_vibe(catalog, role) == "miner"
        result = play_catalog(catalog, name, settings={"max_steps": 200, "agents": 4})
        deposited[name] = result.metrics["elements_deposited"].mean
    assert deposited["First"] > 2 * deposited["Last"]


def run_two(interruptible):
    """Play a low behavior that a higher one may interrupt every third tick; return who acted."""
    acted = []
    catalog = EvolutionaryRoleCoordinator(1).catalog

    def act(name):
        def remember(state):
            acted.append(name)
            return 0

        return remember

    catalog.add_behavior(
        name="high", source="common", can_start=lambda state: state.tick % 3 == 0, act=act("H"),
        should_terminate=lambda state: state.tick % 3 != 0,
    )  # fmt: skip
    catalog.add_behavior(
        name="low", source="common", can_start=lambda state: True, act=act("L"),
        should_terminate=lambda state: state.tick == 9, interruptible=interruptible,
    )  # fmt: skip
    catalog.add_role(RoleDef([RoleTier([13]), RoleTier([14])], name="Two"))
    play_catalog(catalog, "Two", settings={"max_steps": 12, "agents": 1})
    return "".join(acted)


def test_34_a_higher_behavior_interrupts_a_lower_one_if_it_may():
    """Option lists with priority-based preemption; interruptible."""
    assert run_two(interruptible=True) == "HLLHLLHLLHLL"
    assert run_two(interruptible=False) == "HLLLLLLLLHLL"


def test_35_a_history_file_is_kept_across_processes(tmp_path):
    """Gap: no persistence; role_history.json for continuity across runs."""
    file = tmp_path / "role_history.json"
    uri = f"{NOTE_URI}&games_per_generation=4&history={file}"
    evaluate(uri, episodes=3)
    script = f"""
import kinfolk as kf
kf.evaluate("cogsguard", preset="tutorial", world_settings={SMALL!r}, episodes=2,
            slots={{"cogs": "{NOTE_URI}&history={file}"}})
"""
    subprocess.run([sys.executable, "-c", script], check=True)
    later = EvolutionaryRoleCoordinator.load(file)
    assert (later.games, later.generation, later.games_this_generation) == (5, 1, 1)
    assert sum(role.own_games for role in later.catalog.roles) == 8 * 5


def test_36_coordinators_and_catalogs_are_saved_and_loaded(tmp_path):
    """Persistence of the RoleCatalog of one's own."""
    made = EvolutionaryRoleCoordinator(8, 3, 5)
    run_games(made, 4)
    made.save(tmp_path / "roles.json")
    again = EvolutionaryRoleCoordinator.load(tmp_path / "roles.json")
    assert (again.generation, again.games, again.games_this_generation) == (1, 4, 1)
    assert (again.pool, again.agent_assignments) == (made.pool, made.agent_assignments)
    assert run_games(again, 5) == run_games(made, 5)
    assert again.catalog.roles == made.catalog.roles
    made.catalog.save(tmp_path / "catalog.json")
    catalog = EvolutionaryRoleCoordinator(1).catalog
    catalog.load(tmp_path / "catalog.json")
    assert catalog.roles == made.catalog.roles
    assert [b.fitness for b in catalog.behaviors] == [b.fitness for b in made.catalog.behaviors]


def test_37_a_behavior_is_injected_into_a_third_of_hybrids(coordinator):
    """injectBehavior: 35% chance to inject an extra behavior into the first tier of a hybrid."""
    catalog, config = coordinator.catalog, EvolutionConfig(role_mutation_chance=0.0)
    aligner = catalog.role("BaseAligner")
    injected = 0
    for key in range(2000):
        child = make_hybrid(catalog, aligner, aligner, key, config)
        injected += child.tiers[0] != aligner.tiers[0]
        assert child.tiers[1:] == aligner.tiers[1:]
    assert injected / 2000 == pytest.approx(0.35, abs=0.035)
    longer = kf.inject_behavior(aligner)
    assert longer.tiers[0].behavior_ids[:2] == aligner.tiers[0].behavior_ids
    assert len(longer.tiers[0].behavior_ids) == 3


def test_38_the_temple_queues_hybrids_for_newborns(coordinator):
    """processTempleHybridRequests; ScriptedRoleExplorationChance 0.08, ScriptedRoleMutationChance 0.25."""
    first, second = coordinator.queue_hybrid(0, 2), coordinator.queue_hybrid(1, 3)
    assert (coordinator.assign_role(8), coordinator.assign_role(9)) == (first, second)
    assert (first.origin, first.parents, second.parents) == ("hybrid", (0, 2), (1, 3))
    config = EvolutionConfig()
    assert (config.role_mutation_chance, config.injection_chance) == (0.25, 0.35)
    exploring = EvolutionaryRoleCoordinator(
        2000, rng=0, config=EvolutionConfig(exploration_chance=0.08)
    )
    for agent in range(2000):
        exploring.assign_role(agent)
    explored = sum(role.origin == "explore" for role in exploring.catalog.roles)
    assert explored / 2000 == pytest.approx(0.08, abs=0.02)


def test_39_a_new_behavior_is_registered_sampled_and_played():
    """catalog.add_behavior(name=, source=, can_start=, act=, should_terminate=, interruptible=)."""
    coordinator = EvolutionaryRoleCoordinator(8, 1, 0)
    calls = []
    new = coordinator.catalog.add_behavior(
        name="new_behavior_name",
        source=BehaviorSource.MINER,
        can_start=_always_true,
        act=lambda state: calls.append(state.tick),
        should_terminate=_always_false,
        interruptible=True,
    )
    rng = random.Random(0)
    sampled = [kf.sample_role(coordinator.catalog, rng) for _ in range(50)]
    assert any(new in role.behavior_ids for role in sampled)
    role = coordinator.catalog.add_role(RoleDef([RoleTier([new]), RoleTier([0])], name="New"))
    coordinator.revive([role.id])
    coordinator.assign_team([role.id] * 8)
    result = evaluate(policy_of(coordinator))
    assert result.failures == 0
    assert len(calls) >= 8 * 60, "it cannot act, so it is asked in every tick, and explore acts"
    explore = coordinator.catalog.behaviors[0]
    assert (explore.games, coordinator.catalog.behaviors[new].uses) == (8, 8)


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
        self.catalog.add_role(RoleDef([RoleTier([new])], name="BaseNew"))


def test_40_section_7_works_as_written_and_is_played():
    """act=self._behavior_act("new_behavior_name"), hooked in build_cogsguard_behavior_hooks()."""
    coordinator = NoteCoordinator(8, 10, random.Random(0))
    hooks = kf.build_cogsguard_behavior_hooks()
    assert set(hooks) == set(BEHAVIORS)
    states = []

    def do_new_thing(state):
        move = coordinator._behavior_act("mine_resource")(state)
        states.append((state["hp"], move))
        return move if move is not None else hooks["explore"](state)

    new = coordinator.catalog.behaviors[13]
    with pytest.raises(SettingsError, match="'new_behavior_name' has no hook"):
        new.act(None)
    coordinator.behavior_hooks = {**hooks, "new_behavior_name": do_new_thing}
    coordinator.assign_team([coordinator.catalog.role("BaseNew").id] * 8)
    result = evaluate(policy_of(coordinator))
    assert result.failures == 0
    assert len(states) == 8 * 60
    assert any(move is not None for _, move in states)
    assert coordinator.catalog.behaviors[13].games == 8
    own = evaluate(policy_of(NoteCoordinator(8, 10, 0)), episodes=3)
    assert own.failures > 0, "without its hook the new behavior fails, and says so"
    assert "has no hook" in own.failure_messages[0]


def test_41_without_the_flag_the_smart_coordinator_chooses(spec):
    """Otherwise: falls back to SmartRoleCoordinator.choose_role()."""
    smart = kf.SmartRoleCoordinator(8)
    chosen = [smart.choose_role(agent, 0) for agent in range(8)]
    expected = {"miner": 3, "aligner": 2, "scrambler": 2, "scout": 1}
    assert Counter(chosen) == expected
    names = [role.name for role in EvolutionaryRoleCoordinator(1).catalog.roles]
    policy = build_policy(resolve("metta://policy/role_py"), spec)
    assert [names[role] for role in policy._team_roles] == [f"Base{c.title()}" for c in chosen]
    policy = build_policy(resolve("metta://policy/role_py?miner=2&scrambler=2"), spec)
    counts = Counter(names[role].removeprefix("Base").lower() for role in policy._team_roles)
    assert counts == expected


def test_42_the_loop_of_the_note_holds_junctions():
    """The game loop, also as `--live`; docs/roles.md says what it reaches, and how it ends."""
    held = []
    for seed in range(3):
        coordinator = EvolutionaryRoleCoordinator(8, 5, seed)
        result = evaluate(
            policy_of(coordinator), episodes=10, preset=None, settings={"max_steps": 300}, seed=seed
        )
        held.append(result.metrics["junction_ticks_held"].mean)
    assert np.mean(held) > 200, "the seeded team holds about 560"
    settings = validate_settings(kf.jobs.EvolveRoles, {"live": True})
    assert settings.config == EvolutionConfig()
    changed = validate_settings(
        kf.jobs.EvolveRoles, {"live": True, "evolution": {"exploration_chance": 0.08}}
    )
    assert changed.config == EvolutionConfig(exploration_chance=0.08), "no setting is overwritten"


def test_43_every_name_of_the_note_is_exported_by_kinfolk():
    """The names that the note lists are importable from kinfolk."""
    names = {
        "BehaviorDef", "BehaviorSource", "CogsguardPolicy", "EvolutionConfig",
        "EvolutionaryRoleCoordinator", "RoleCatalog", "RoleDef", "RoleTier", "SmartRoleCoordinator",
        "TierSelection", "build_cogsguard_behavior_hooks", "inject_behavior", "lock_role_name_if_fit",
        "map_role_to_vibe", "materialize_role_behaviors", "mutate_role", "pick_role_id_weighted",
        "recombine_roles", "record_behavior_score", "record_role_score", "resolve_tier_order",
        "sample_role",
    }  # fmt: skip
    assert names <= set(kf.__all__)
    assert all(callable(getattr(kf, name)) for name in names)
    assert isinstance(RoleCatalog(), kf.RoleCatalog)
