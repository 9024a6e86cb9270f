"""Roles sampled from a pool, hybrids born in play, and online evolution."""

import re
from typing import ClassVar

import numpy as np
import pytest

from kinfolk.core.errors import SettingsError
from kinfolk.jobs.evolve_roles.online import evolve_online
from kinfolk.play.loop import EpisodeLoop
from kinfolk.play.slots import LoadedSlot, build_slot_assignment
from kinfolk.policies.build import build_policy
from kinfolk.policies.resolve import resolve
from kinfolk.policies.role_domain import role_tables_in_memory
from kinfolk.policies.scripted.cogsguard.evolved_roles import (
    EXPLORED,
    HYBRID,
    OnlineRolePolicy,
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
        return "kin://roles?evolution=1&miner=1"


@pytest.fixture(scope="module")
def spec():
    return build_world("cogsguard", SMALL, 1, "tutorial").spec


@pytest.mark.parametrize("flag", ["evolution=1", "evolutionary=TRUE", "evolve=Yes", "evolution=on"])
def test_the_flags_of_the_earlier_system_enable_evolution(spec, flag):
    assert type(build_policy(resolve(f"kin://roles?{flag}&miner=1"), spec)) is SampledRolePolicy
    assert type(build_policy(resolve(f"metta://policy/role_py?{flag}"), spec)) is SampledRolePolicy


def test_without_a_flag_the_roles_are_fixed(spec):
    assert type(build_policy(resolve("kin://roles?miner=1&evolution=0"), spec)) is RoleCountPolicy
    assert type(build_policy(resolve("kin://roles?evolve=1&learn=on"), spec)) is OnlineRolePolicy


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
    policy, loop = build_loop("kin://roles?evolution=1&scout=2&exploration_chance=0", SMALL, 40)
    loop.tick()
    roles = loop.memory[0]["role"].reshape(40, 3)
    assert (roles[:, :2] == policy.catalog.role("BaseScout").id).all()
    assert len(set(roles[:, 2].tolist())) > 8, "the pool has sixteen"
    assert set(roles[:, 2].tolist()) <= set(policy.pool)


def test_eight_percent_of_agents_explore_new_roles():
    _, loop = build_loop("kin://roles?evolution=1", {**SMALL, "agents": 8}, 200)
    loop.tick()
    share = (loop.memory[0]["role"] == EXPLORED).mean()
    assert 0.06 <= share <= 0.10  # 1,600 draws, three deviations
    tables = role_tables_in_memory(loop.memory[0])
    for index in np.flatnonzero(loop.memory[0]["role"] == EXPLORED)[:5]:
        role = role_from_tables(tables, index)
        program = loop.memory[0]["program"][index]
        assert sorted(program[program >= 0].tolist()) == sorted(role.behavior_ids)


def test_a_newborn_plays_the_hybrid_of_its_parents_roles():
    policy, loop = build_loop("kin://roles?evolution=1&miner=6", TEMPLE, 4)
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
    uri = f"kin://roles?evolution=1&exploration_chance=0&history={tmp_path}/h.json"
    _, loop = build_loop(uri, {**SMALL, "agents": 8}, 60)
    loop.tick()
    share = (loop.memory[0]["role"] == 0).mean()
    assert 0.68 <= share <= 0.82, "0.9 of 1.2"
    assert str(tmp_path) not in str(resolve(uri).settings), "the text is passed on, not the path"


def test_online_evolution_updates_the_pool_between_games():
    uri = "kin://roles?evolution=1&learn=1&games_per_generation=2&miner=7"
    games = list(evolve_online(5, 3, uri, preset="tutorial", world_settings=TEMPLE))
    assert [game.generation for game in games] == [0, 1, 1, 2, 2]
    assert any(len(game.roles) > 8 for game in games), "newborns have roles too"
    assert all(0.0 <= score <= 1.0 for game in games for score in game.scores.values())
    assert games == list(evolve_online(5, 3, uri, preset="tutorial", world_settings=TEMPLE))


def test_online_evolution_is_refused_in_evaluations_and_a_frozen_pool_does_not_change():
    uri = "kin://roles?evolution=1&learn=1"
    _, loop = build_loop(uri, SMALL, 2)
    message = "kin://roles?learn=1 learns from one game at a time, and is not for evaluations."
    with pytest.raises(SettingsError, match=f"^{re.escape(message)}$"):
        loop.tick()
    policy, loop = build_loop("kin://roles?evolution=1", SMALL, 2)
    before = policy.catalog.copy()
    while not loop.is_done:
        loop.tick()
    assert policy.catalog == before
