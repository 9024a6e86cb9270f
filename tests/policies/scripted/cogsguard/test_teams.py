"""Team policies by URI: which agent plays which role, and which URIs are refused."""

import numpy as np
import pytest

from kinfolk.core.errors import KinfolkError
from kinfolk.core.settings import validate_settings
from kinfolk.policies.base import AgentBatch, allocate_memory
from kinfolk.policies.build import build_policy
from kinfolk.policies.resolve import resolve
from kinfolk.policies.scripted.cogsguard.behaviors.reasons import explain_step, make_schema
from kinfolk.policies.scripted.cogsguard.catalog import cogs_catalog
from kinfolk.policies.scripted.cogsguard.role_policy import RolePolicy
from kinfolk.policies.scripted.cogsguard.teams import RoleCountPolicy
from kinfolk.roles.model import RoleDef, RoleTier, TierSelection
from kinfolk.roles.program import role_tables
from kinfolk.testing.probe.state import Probe
from kinfolk.testing.probe.world import ProbeWorld
from kinfolk.worlds.cogsguard.codes import VIBES
from kinfolk.worlds.cogsguard.settings import Cogsguard
from kinfolk.worlds.cogsguard.spec import make_spec

SPEC = make_spec(validate_settings(Cogsguard, {"agents": 6, "teams": 2}))


def reset(policy, uids, keys=None, members=None, parents=None, memory=None):
    """Return the memory after these agents were reset, each in the row of its uid."""
    uid = np.array(uids, dtype=np.int64)
    no_parents = np.full((len(uid), 2), -1, dtype=np.int64)
    parent_rows = no_parents if parents is None else np.array(parents, dtype=np.int64)
    member = uid * 0 if members is None else np.array(members)
    batch = AgentBatch(uid, uid * 0, uid, uid, uid // 6, member, no_parents, parent_rows)
    memory = allocate_memory(policy.memory_layout, 40) if memory is None else memory
    policy.reset_agents(batch, memory, uid if keys is None else np.array(keys))
    return memory


def names(policy, memory, place):
    program = memory["program"][place]
    return [policy.catalog.behaviors[i].name for i in program.tolist() if i >= 0]


def test_counts_fill_every_team_in_their_order_and_the_rest_get_roles_that_it_lacks():
    policy = build_policy(resolve("kin://roles?miner=2&aligner=1"), SPEC)
    memory = reset(policy, range(12))
    assert memory["role"][:12].tolist() == [0, 0, 2, 3, 1, 2] * 2
    assert names(policy, memory, 2) == ["get_hearts", "get_influence", "align_junction", "explore"]
    shown = [VIBES[v] for v in memory["vibe"][:4]]
    assert shown == ["miner", "miner", "aligner", "scrambler"]


def test_roles_of_loaded_tables_have_their_own_names():
    """A regression: four loaded roles once got the names of the four seeded ones, in their order."""
    policy = build_policy(resolve("kin://roles?miner=1"), SPEC)
    known = policy.catalog
    hearts, explore = known.behavior_ids(["get_hearts", "explore"])
    shuffled = RoleTier((hearts, explore), None, TierSelection.SHUFFLE)
    seldom = RoleDef((shuffled, RoleTier(known.behavior_ids(["recharge"]))))
    tables = role_tables(
        [
            known.role("BaseAligner"),
            seldom,
            RoleDef((RoleTier((explore,)),)),
            known.role("BaseScout"),
        ]
    )
    assert policy.explanation_schema.facts["role"][:4] == (
        "BaseMiner",
        "BaseScout",
        "BaseAligner",
        "BaseScrambler",
    )
    policy.load(tables._asdict())
    assert policy.explanation_schema.facts["role"] == (
        "BaseAligner",
        "get_hearts | explore / recharge",
        "explore",
        "BaseScout",
        "explored",
        "hybrid",
        "smart",
    )


def test_a_table_row_without_behaviors_is_named_idle():
    policy = build_policy(resolve("kin://roles?miner=1"), SPEC)
    tables = role_tables([policy.catalog.role("BaseScout")])
    nothing = role_tables([policy.catalog.role("BaseMiner")])
    nothing.behaviors[:] = -1
    both = {n: np.concatenate([a, nothing._asdict()[n]]) for n, a in tables._asdict().items()}
    policy.load(both)
    assert policy.explanation_schema.facts["role"][:2] == ("BaseScout", "idle")


def test_roles_outside_the_tables_have_names():
    trace, program = np.zeros((4, 12)), np.full((4, 12), -1)
    explanation = explain_step(trace, program, np.array([1, -1, -2, -3]), np.arange(4), 2, 13)
    names = make_schema(["explore"], ["BaseMiner", "BaseScout"]).facts["role"]
    roles = [names[i] for i in explanation.facts["role"].tolist()]
    assert roles == ["BaseScout", "smart", "hybrid", "explored"]


def test_the_uri_of_the_earlier_system_is_an_alias():
    assert resolve("metta://policy/role_py?miner=4") == resolve("kin://roles?miner=4")


def test_all_agents_can_play_one_role_or_one_behavior():
    policy = build_policy(resolve("kin://role/BaseScout"), SPEC)
    assert names(policy, reset(policy, [3]), 3)[0] == "discover_stations"
    policy = build_policy(resolve("kin://behavior/recharge"), SPEC)
    assert names(policy, reset(policy, [3]), 3) == ["recharge"]


def test_a_newborn_takes_the_role_of_one_of_its_parents():
    policy = build_policy(resolve("kin://roles?miner=1&aligner=1"), SPEC)
    memory = reset(policy, range(6))
    got = set()
    for key in range(20):
        reset(policy, [30], keys=[key], parents=[[0, 1]], memory=memory)
        got.add(int(memory["role"][30]))
    assert got == {0, 2}


def test_shuffled_tiers_are_sampled_from_the_key_of_each_life():
    catalog = cogs_catalog()
    ids = catalog.behavior_ids(["explore", "recharge", "mine_resource", "get_hearts"])
    catalog.add_role(RoleDef((RoleTier(ids, selection=TierSelection.SHUFFLE),), name="Any"))
    policy = RoleCountPolicy(SPEC, catalog, Any=6)
    memory = reset(policy, range(6), keys=[11, 12, 13, 14, 15, 11])
    drawn = [tuple(names(policy, memory, place)) for place in range(6)]
    assert drawn[0] == drawn[5]
    assert len(set(drawn)) > 2
    assert all(set(program) == set(drawn[0]) for program in drawn)


def test_loaded_tables_are_played_by_member():
    policy = RolePolicy(SPEC)
    catalog = cogs_catalog()
    roles = [RoleDef((RoleTier((i,)),)) for i in range(13)]
    policy.load(role_tables(roles)._asdict())
    memory = reset(policy, range(6), members=[12, 0, 3, 3, 1, 5])
    assert names(policy, memory, 0) == ["find_enemy_junction"]
    assert names(policy, memory, 4) == ["recharge"]
    assert len(catalog.roles) == 4


@pytest.mark.parametrize(
    ("uri", "message"),
    [
        (
            "kin://roles?miner=5&scout=2",
            "The roles are for 7 agents; a team has 6. Use fewer, or set agents.",
        ),
        ("kin://roles?minner=5", "No role is named 'minner'. Did you mean 'miner'?"),
        (
            "kin://roles?miner=-1",
            "The number of agents with role miner must be an integer of at least 0, not -1.",
        ),
        ("kin://role/BaseMinor", "No role is named 'BaseMinor'. Did you mean 'BaseMiner'?"),
        ("kin://behavior/exploar", "No behavior is named 'exploar'. Did you mean 'explore'?"),
        ("kin://roles?home_margin=-2", "BehaviorParams.home_margin must be at least 0, not -2."),
        ("kin://rolles", "No policy is named 'rolles'. Did you mean 'roles'?"),
        (
            "kin://roles?catalog=kinfolk.core.random.root_of",
            "The module kinfolk.core.random has no root_of.",
        ),
        (
            "kin://roles?catalog=kinfolk.policies.scripted.cogsguard.catalog.cogs_catlog",
            "The module kinfolk.policies.scripted.cogsguard.catalog has no cogs_catlog. "
            "Did you mean 'cogs_catalog'?",
        ),
    ],
)
def test_a_wrong_team_uri_is_refused_with_the_reason(uri, message):
    with pytest.raises(KinfolkError) as caught:
        build_policy(resolve(uri), SPEC)
    assert str(caught.value).startswith(message)


def test_role_policies_refuse_other_worlds():
    spec = ProbeWorld(Probe(), 1).spec
    with pytest.raises(
        KinfolkError, match=r"This policy plays cogsguard; probe has other observations."
    ):
        build_policy(resolve("kin://smart"), spec)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.pop("mode"), "Role tables need the array 'mode', which is missing."),
        (
            lambda t: t.update(tier=t["tier"][:, :3]),
            r"The array 'tier' of role tables must be \(4, 12\), not \(4, 3\).",
        ),
        (
            lambda t: t["behaviors"].__setitem__((0, 0), 13),
            "Role tables name behavior 13; there are 13.",
        ),
    ],
)
def test_damaged_tables_are_refused(change, message):
    tables = {k: v.copy() for k, v in role_tables(cogs_catalog().roles)._asdict().items()}
    change(tables)
    with pytest.raises(KinfolkError, match=message):
        RolePolicy(SPEC).load(tables)


def test_a_member_without_a_role_is_refused():
    with pytest.raises(
        KinfolkError, match=r"An agent was assigned member 9; the tables have 4 roles."
    ):
        reset(RolePolicy(SPEC), [0], members=[9])
