"""Whole games on the arena: the seeded roles really play, each in its own way."""

import numpy as np
import pytest

from kinfolk.evaluation.rollout import evaluation_task, run_evaluation
from kinfolk.play.task import WorldRef
from kinfolk.policies.resolve import ResolvedPolicy, resolve
from kinfolk.policies.scripted.cogsguard.catalog import cogs_catalog
from kinfolk.roles.model import RoleDef, RoleTier
from kinfolk.roles.program import role_tables

SEEDED = "kin://roles?miner=3&scout=1&aligner=2&scrambler=2"
EPISODES = 6


def mean_counters(uri, preset="arena", episodes=EPISODES, **settings):
    """What was counted, on average over some games; it is worked out once per line-up."""
    key = (str(uri), preset, episodes, str(settings))
    if key not in _PLAYED:
        slots = {"cogs": resolve(uri) if isinstance(uri, str) else uri}
        ref = WorldRef("cogsguard", preset, settings)
        results = run_evaluation(evaluation_task(ref, slots, 7, range(episodes))).episodes
        names = results[0].counters
        _PLAYED[key] = {n: float(np.mean([r.counters[n] for r in results])) for n in names}
    return _PLAYED[key]


_PLAYED: dict = {}


def test_the_seeded_line_up_holds_junctions_and_every_role_does_its_deed():
    found = mean_counters(SEEDED)
    assert found["junction_ticks_team_0"] > 3000  # what was asked for is 1,000
    assert found["hearts_made"] > 5
    assert found["deposited"] > 500
    assert found["aligned"] > 5
    assert found["scrambled"] > 1


def test_random_agents_hold_less_than_one_percent_of_that():
    chance = mean_counters("kin://random")["junction_ticks_team_0"]
    assert chance < 0.01 * mean_counters(SEEDED)["junction_ticks_team_0"]


def test_the_smart_baseline_holds_junctions_too():
    found = mean_counters("kin://smart")
    assert found["junction_ticks_team_0"] > 3000
    assert min(found["aligned"], found["deposited"], found["hearts_made"]) > 5


def test_edition_a_is_played_too():
    found = mean_counters(SEEDED, "edition_a")
    assert found["junction_ticks_team_0"] > 3000
    assert min(found["aligned"], found["scrambled"]) > 1


def mined(found):
    return sum(found[f"{e}_mined"] for e in ("carbon", "oxygen", "germanium", "silicon"))


@pytest.mark.parametrize(
    ("deed", "role"),
    [("mined", "miner"), ("explored", "scout"), ("aligned", "aligner"), ("scrambled", "scrambler")],
)
def test_each_role_alone_does_most_of_its_own_deed(deed, role):
    """Teams of one role; clips that spread fast give scramblers something to do."""
    short = {"clips_align_from": 20, "clips_align_every": 20, "max_steps": 250}
    found = {
        name: mean_counters(f"kin://role/{name}", episodes=8, **short)
        for name in ("miner", "scout", "aligner", "scrambler")
    }
    done = {n: mined(c) if deed == "mined" else c[deed] for n, c in found.items()}
    others = [value for name, value in done.items() if name != role]
    assert done[role] > 1.1 * max(others)
    assert done[role] > 0


def with_tiers(*tiers):
    """A policy whose four roles are the seeded ones, but for the miner's tiers."""
    catalog = cogs_catalog()
    made = RoleDef(tuple(RoleTier(catalog.behavior_ids(tier)) for tier in tiers), name="Other")
    tables = role_tables([made])
    return ResolvedPolicy(
        "kinfolk.policies.scripted.cogsguard.role_policy:RolePolicy",
        {},
        tables._asdict(),
    )


def test_the_order_of_tiers_decides_what_is_done():
    first = mean_counters(
        with_tiers(["mine_resource"], ["deposit_resource"], ["explore"]), episodes=2
    )
    last = mean_counters(
        with_tiers(["explore"], ["deposit_resource"], ["mine_resource"]), episodes=2
    )
    assert mined(first) > 500
    assert mined(last) == 0
    assert last["explored"] > 1.5 * first["explored"]


def test_newborns_of_the_temple_play_the_role_of_a_parent():
    found = mean_counters(SEEDED, "temple", episodes=2, max_steps=400, store_hearts=20)
    assert found["births_team_0"] > 0
