"""Whole games on the arena: every seeded role contributes in its own way."""

import numpy as np
import pytest

from kinfolk.evaluation.rollout import evaluation_task, run_evaluation
from kinfolk.play.task import WorldRef
from kinfolk.policies.build import ResolvedPolicy
from kinfolk.policies.resolve import resolve
from kinfolk.policies.scripted.cogsguard.catalog import cogs_catalog
from kinfolk.roles.model import RoleDef, RoleTier
from kinfolk.roles.program import role_tables

SEEDED = "kin://roles?miner=3&scout=1&aligner=2&scrambler=2"
EPISODES = 6


def mean_counters(uri, preset="arena", episodes=EPISODES, **settings):
    """Return the counters, averaged over some games; each team is played once."""
    key = (str(uri), preset, episodes, str(settings))
    if key not in _PLAYED:
        slots = {"cogs": resolve(uri) if isinstance(uri, str) else uri}
        ref = WorldRef("cogsguard", preset, settings)
        results = run_evaluation(evaluation_task(ref, slots, 7, range(episodes))).episodes
        names = results[0].counters
        _PLAYED[key] = {n: float(np.mean([r.counters[n] for r in results])) for n in names}
    return _PLAYED[key]


_PLAYED: dict = {}


def test_the_seeded_team_holds_junctions_and_every_role_contributes():
    counters = mean_counters(SEEDED)
    assert counters["junction_ticks_team_0"] > 3000  # the goal was 1,000
    assert counters["hearts_made"] > 5
    assert counters["deposited"] > 500
    assert counters["aligned"] > 5
    assert counters["scrambled"] > 1


def test_random_agents_hold_less_than_one_percent_of_the_seeded_team():
    random_score = mean_counters("kin://random")["junction_ticks_team_0"]
    assert random_score < 0.01 * mean_counters(SEEDED)["junction_ticks_team_0"]


def test_the_adaptive_baseline_holds_junctions():
    counters = mean_counters("kin://smart")
    assert counters["junction_ticks_team_0"] > 3000
    assert min(counters["aligned"], counters["deposited"], counters["hearts_made"]) > 5


def test_the_seeded_team_plays_edition_a():
    counters = mean_counters(SEEDED, "edition_a")
    assert counters["junction_ticks_team_0"] > 3000
    assert min(counters["aligned"], counters["scrambled"]) > 1


def mined(counters):
    return sum(counters[f"{e}_mined"] for e in ("carbon", "oxygen", "germanium", "silicon"))


@pytest.mark.parametrize(
    ("work", "role"),
    [("mined", "miner"), ("explored", "scout"), ("aligned", "aligner"), ("scrambled", "scrambler")],
)
def test_each_role_alone_does_most_of_its_own_work(work, role):
    """Teams of one role; clips that spread fast give scramblers something to do."""
    short = {"clips_align_from": 20, "clips_align_every": 20, "max_steps": 250}
    counters = {
        name: mean_counters(f"kin://role/{name}", episodes=8, **short)
        for name in ("miner", "scout", "aligner", "scrambler")
    }
    done = {n: mined(c) if work == "mined" else c[work] for n, c in counters.items()}
    others = [value for name, value in done.items() if name != role]
    assert done[role] > 1.1 * max(others)
    assert done[role] > 0


def with_tiers(*tiers):
    """Return a policy with one role of these tiers."""
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
    counters = mean_counters(SEEDED, "temple", episodes=2, max_steps=400, store_hearts=20)
    assert counters["births_team_0"] > 0
