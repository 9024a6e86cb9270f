"""Roles that evolve between episodes, a frozen pool, and hybrids born in play."""

from typing import ClassVar

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.core.errors import SettingsError
from kinfolk.play.loop import EpisodeLoop
from kinfolk.play.slots import LoadedSlot, build_slot_assignment
from kinfolk.policies.build import build_policy
from kinfolk.policies.resolve import resolve
from kinfolk.policies.role_domain import role_tables_in_memory
from kinfolk.policies.scripted.cogsguard.evolved_roles import (
    EXPLORED,
    HYBRID,
    EvolvingRolePolicy,
    SampledRolePolicy,
    is_on,
)
from kinfolk.policies.scripted.cogsguard.teams import RoleCountPolicy
from kinfolk.roles.operators import make_hybrid
from kinfolk.roles.program import role_from_tables
from kinfolk.testing.contracts.policy import PolicyContract
from kinfolk.worlds import build_world as build_world

SMALL = {"max_steps": 40, "agents": 3}
# Eight miners come back to the hub again and again, and some of them at once.
TEMPLE = {
    "max_steps": 200,
    "agents": 8,
    "temple": True,
    "temple_cap": 12,
    "temple_cooldown": 5,
    "store_hearts": 60,
}


class TestSampledRoles(PolicyContract):
    world = "cogsguard"
    world_settings: ClassVar = {"map": "tutorial", "agents": 3, "max_steps": 40}

    @pytest.fixture
    def uri(self):
        return "kin://roles?evolution=1&learn=0&miner=1"


@pytest.fixture(scope="module")
def spec():
    return build_world("cogsguard", SMALL, 1, "tutorial").spec


@pytest.mark.parametrize("flag", ["evolution=1", "evolutionary=TRUE", "evolve=Yes", "evolution=on"])
def test_the_flags_of_the_earlier_system_enable_evolution(spec, flag):
    for uri in (f"kin://roles?{flag}&miner=1", f"metta://policy/role_py?{flag}&learn=1"):
        policy = build_policy(resolve(uri), spec)
        assert type(policy) is EvolvingRolePolicy
        assert type(policy.coordinator) is kf.EvolutionaryRoleCoordinator
    frozen = build_policy(resolve(f"metta://policy/role_py?{flag}&learn=0"), spec)
    assert type(frozen) is SampledRolePolicy


def test_without_a_flag_the_roles_are_fixed(spec):
    assert type(build_policy(resolve("kin://roles?miner=1&evolution=0"), spec)) is RoleCountPolicy


def test_wrong_flags_and_counts_are_refused(spec):
    with pytest.raises(
        SettingsError, match=r"^learn=1 needs evolution=1: only a pool that evolves"
    ):
        build_policy(resolve("kin://roles?learn=1"), spec)
    with pytest.raises(SettingsError, match=r"^evolve must be one of 1, true, .* not 'maybe'\.$"):
        is_on("evolve", "maybe")
    with pytest.raises(SettingsError, match=r"^The roles are for 4 agents; a team has 3\."):
        build_policy(resolve("kin://roles?evolution=1&miner=4"), spec)


def build_loop(uri, settings, worlds=1, seed=0):
    world = build_world("cogsguard", settings, worlds, "tutorial")
    policy = build_policy(resolve(uri), world.spec)
    table = build_slot_assignment(world.spec, ["all"])
    return policy, EpisodeLoop(world, [LoadedSlot("all", policy)], table, seed, range(worlds))


def test_counts_fix_the_first_agents_and_the_rest_are_sampled_from_the_pool():
    policy, loop = build_loop(
        "kin://roles?evolution=1&learn=0&scout=2&generated_role_count=16", SMALL, 40
    )
    loop.tick()
    roles = loop.memory[0]["role"].reshape(40, 3)
    assert (roles[:, :2] == policy.catalog.role("BaseScout").id).all()
    assert len(set(roles[:, 2].tolist())) > 8, "the pool has sixteen"
    assert set(roles[:, 2].tolist()) <= set(policy.pool)


def test_eight_percent_of_agents_explore_new_roles():
    uri = "kin://roles?evolution=1&learn=0&exploration_chance=0.08"
    _, loop = build_loop(uri, {**SMALL, "agents": 8}, 200)
    loop.tick()
    share = (loop.memory[0]["role"] == EXPLORED).mean()
    assert 0.06 <= share <= 0.10  # 1,600 draws, three deviations
    tables = role_tables_in_memory(loop.memory[0])
    for index in np.flatnonzero(loop.memory[0]["role"] == EXPLORED)[:5]:
        role = role_from_tables(tables, index)
        program = loop.memory[0]["program"][index]
        assert sorted(program[program >= 0].tolist()) == sorted(role.behavior_ids)


def test_a_newborn_plays_the_hybrid_of_its_parents_roles():
    policy, loop = build_loop("kin://roles?evolution=1&learn=0&miner=6", TEMPLE, 4)
    while not loop.is_done:
        loop.tick()
    columns, memory = loop.world.columns, loop.memory[0]
    tables = role_tables_in_memory(memory)
    rows, born = loop.world.spec.rows, np.flatnonzero(memory["role"] == HYBRID)
    assert len(born) >= 4
    for index in born.tolist():
        first = index - index % rows
        left, right = (role_from_tables(tables, first + int(r)) for r in columns.parent_rows[index])
        key = int(loop.row_state.key[index])
        hybrid = make_hybrid(policy.catalog, left, right, key, policy.evolution)
        assert role_from_tables(tables, index).tiers == hybrid.tiers
        program = memory["program"][index]
        assert sorted(program[program >= 0].tolist()) == sorted(hybrid.behavior_ids)


def test_the_pool_of_a_history_is_sampled_by_fitness(tmp_path):
    from kinfolk.policies.scripted.cogsguard.catalog import cogs_catalog
    from kinfolk.roles.fitness import record_role_score
    from kinfolk.roles.history import HistoryWriter
    from kinfolk.roles.model import EvolutionConfig

    catalog = cogs_catalog()
    for role, score in enumerate((0.9, 0.1, 0.1, 0.1)):
        record_role_score(catalog, role, score, True, EvolutionConfig())
    text = HistoryWriter().format(catalog, generation=0, seed=0, games=1)
    (tmp_path / "h.json").write_text(text)
    uri = f"kin://roles?evolution=1&learn=0&history={tmp_path}/h.json"
    _, loop = build_loop(uri, {**SMALL, "agents": 8}, 60)
    loop.tick()
    share = (loop.memory[0]["role"] == 0).mean()
    assert 0.68 <= share <= 0.82, "0.9 of 1.2"
    assert str(tmp_path) not in str(resolve(uri).settings), "the text is passed on, not the path"


def evaluate(uri, settings=SMALL, **options):
    return kf.evaluate(
        "cogsguard", preset="tutorial", world_settings=settings, slots={"cogs": uri}, **options
    )


EVOLVING = "kin://roles?evolution=1&games_per_generation=2"


def test_an_evaluation_evolves_roles_in_the_order_of_its_episodes(tmp_path):
    whole = evaluate(EVOLVING, episodes=6)
    assert whole == evaluate(EVOLVING, episodes=6, chunk_size=2), "and forgets between evaluations"
    assert whole.notes[-1].startswith("Slot 'cogs' learned from every episode, so these are means")
    frozen = evaluate("kin://roles?evolution=1&learn=0", episodes=6)
    assert not [note for note in frozen.notes if "learned" in note]
    coordinator = kf.EvolutionaryRoleCoordinator(3, 2, 0)
    own = evaluate(lambda spec: kf.CogsguardPolicy(spec, coordinator=coordinator), episodes=6)
    assert own == whole
    assert (coordinator.games, coordinator.generation) == (6, 3)
    assert sum(role.own_games for role in coordinator.catalog.roles) == 3 * 6
    behaviors = coordinator.catalog.behaviors
    assert all(behavior.games <= behavior.uses for behavior in behaviors)
    assert any(behavior.games < behavior.uses for behavior in behaviors)


def test_a_history_is_kept_across_evaluations(tmp_path):
    file = tmp_path / "roles.json"
    evaluate(EVOLVING + f"&history={file}", episodes=3)
    assert kf.EvolutionaryRoleCoordinator.load(file).games == 3
    evaluate(f"kin://roles?evolution=1&history={file}", episodes=2)
    later = kf.EvolutionaryRoleCoordinator.load(file)
    assert (later.games, later.generation, later.games_this_generation) == (5, 2, 1)
    with pytest.raises(SettingsError, match=r"roles.json has its own settings: leave seed out\.$"):
        evaluate(f"kin://roles?evolution=1&seed=4&history={file}", episodes=1)


def test_newborns_play_hybrids_that_are_scored_too():
    coordinator = kf.EvolutionaryRoleCoordinator(8, 10, 3)
    policy = lambda spec: kf.CogsguardPolicy(spec, coordinator=coordinator, miner=7)  # noqa: E731
    result = evaluate(policy, TEMPLE, episodes=2)
    assert result.failures == 0
    hybrids = [role for role in coordinator.catalog.roles if role.origin == "hybrid"]
    assert len(hybrids) >= 2
    assert all(role.own_games == 1 and role.parents for role in hybrids)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"engine": "processes", "jobs": 2},
            "which have to be played in order: use jobs=1, not 2.",
        ),
        ({"isolate": "slot"}, "it does in the process that plays: isolate must be 'none'."),
        ({"replays": 1}, "and a replay would play an episode twice: replays must be 0."),
    ],
)
def test_an_evaluation_that_cannot_play_in_order_is_refused(options, message):
    with pytest.raises(SettingsError) as error:
        evaluate(EVOLVING, episodes=3, **options)
    assert message in str(error.value)
    assert str(error.value).startswith("The policy of slot 'cogs' learns between episodes")


def test_other_jobs_refuse_a_policy_that_learns_and_a_frozen_pool_does_not_change():
    with pytest.raises(SettingsError, match=r"&learn=0 plays evolved roles without learning\.$"):
        kf.compare(EVOLVING, "kin://smart", world="cogsguard", preset="tutorial", episodes=2)
    _, loop = build_loop(EVOLVING, SMALL, 2)
    with pytest.raises(SettingsError, match=r"^Roles that evolve are played one game at a time"):
        loop.tick()
    policy, loop = build_loop("kin://roles?evolution=1&learn=0", SMALL, 2)
    before = policy.catalog.copy()
    while not loop.is_done:
        loop.tick()
    assert policy.catalog == before


def test_a_coordinator_by_import_path_and_contradictions(spec):
    path = "kinfolk.roles.coordinator.EvolutionaryRoleCoordinator"
    policy = build_policy(resolve(f"kin://roles?coordinator={path}&seed=5"), spec)
    assert (policy.coordinator.seed, policy.coordinator.num_agents) == (5, 3)
    for settings, message in (
        ({"evolution": 0, "coordinator": path}, r"^A coordinator evolves roles: leave evolution=0"),
        ({"coordinator": "kinfolk.roles.model.RoleDef"}, r"^coordinator must be an Evolutionary"),
        ({"coordinator": policy.coordinator, "seed": 1}, r"has its own settings: leave seed out"),
    ):
        with pytest.raises(SettingsError, match=message):
            kf.CogsguardPolicy(spec, **settings)


def test_what_was_learned_survives_a_failure_of_a_behavior():
    coordinator = kf.EvolutionaryRoleCoordinator(3, 10, 0)

    def fail(state):
        if coordinator.games == 1:
            raise ValueError("broken")

    coordinator.behavior_hooks = {"explore": fail}
    result = evaluate(lambda spec: kf.CogsguardPolicy(spec, coordinator=coordinator), episodes=3)
    assert result.failures >= 1
    assert coordinator.games == 1, "an episode in which the policy failed is not learned from"
