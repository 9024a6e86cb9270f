"""Guards and parameters of roles in play: they decide what agents do, tick by tick."""

import numpy as np
import pytest
from cogs_harness import Cogs

from kinfolk.play.task import Observer, RolloutTask, WorldRef, run_task
from kinfolk.policies.build import ResolvedPolicy
from kinfolk.policies.scripted.cogsguard import columns as col
from kinfolk.policies.scripted.cogsguard.behaviors.reasons import GUARDED, reason_text
from kinfolk.policies.scripted.cogsguard.catalog import PARAMETER_RANGES, cogs_catalog
from kinfolk.policies.scripted.cogsguard.guards import GUARD_FACTS, read_fact
from kinfolk.policies.scripted.cogsguard.memory import BehaviorParams
from kinfolk.policies.scripted.cogsguard.role_policy import RolePolicy
from kinfolk.roles.model import RoleDef, RoleTier, TierGuard, TierSelection
from kinfolk.roles.program import role_from_tables, role_tables
from kinfolk.worlds.cogsguard import codes

MAP = "\n".join(["." * 90, "." * 40 + "H....@" + "." * 44, "." * 90])  # too wide to know at once


def guarded_role(catalog, *tiers, **fields):
    """Return a role of tiers (guard text or None, behavior names)."""
    made = []
    for text, names in tiers:
        guard = None
        if text:
            fact, relation, threshold = text.split()
            guard = TierGuard(fact, relation, int(threshold))
        made.append(RoleTier(catalog.behavior_ids(names), guard=guard))
    return RoleDef(tuple(made), **fields)


def play_role(role, text=MAP, **settings):
    """Return a scene whose agents play a role."""
    cogs = Cogs(text, **settings)
    catalog = cogs.policy.catalog
    cogs.policy.tables = role_tables([role(catalog) if callable(role) else role], catalog)
    for array in cogs.memory.values():
        array[:] = 0
    cogs.policy.reset_agents(cogs.batch, cogs.memory, cogs.batch.uid)
    return cogs


def read(cogs, name):
    """Return the value of a fact of guards for the first agent."""
    number = [fact.name for fact in GUARD_FACTS].index(name)
    return read_fact(cogs.agent_memory, 0, number)


def test_a_tier_runs_only_while_its_guard_holds():
    def role(catalog):
        return guarded_role(
            catalog, ("elapsed >= 50", ["explore"]), (None, ["recharge", "explore"])
        )

    def waits(catalog):
        return guarded_role(catalog, ("elapsed >= 50", ["explore"]))

    cogs = play_role(waits, max_steps=20)
    assert cogs.play(10) == ["noop"] * 10, "nothing else is in the program"
    assert cogs.active_behavior is None
    later = cogs.play(5)
    assert set(later) != {"noop"}
    assert cogs.active_behavior == "explore"


def test_an_active_behavior_stops_when_its_guard_no_longer_holds():
    def role(catalog):
        return guarded_role(catalog, ("elapsed < 50", ["explore"]))

    cogs = play_role(role, max_steps=20)
    moves = cogs.play(15)
    assert set(moves[:9]) != {"noop"}
    assert moves[10:] == ["noop"] * 5


def test_roles_with_opposite_guards_switch():
    def role(catalog):
        return guarded_role(
            catalog, ("elapsed < 50", ["find_extractor"]), ("elapsed >= 50", ["explore"])
        )

    cogs = play_role(role, max_steps=20)
    cogs.play(5)
    assert cogs.active_behavior == "find_extractor"
    cogs.play(8)
    assert cogs.active_behavior == "explore"


def test_an_explanation_names_the_guard():
    def role(catalog):
        return guarded_role(catalog, ("hearts >= 1", ["mine_resource"]), (None, ["explore"]))

    cogs = play_role(role)
    cogs.policy.enable_explanations(True)
    cogs.play(2)
    schema, explained = cogs.policy.explanation_schema, cogs.policy.last_explanation()
    considered, outcome = explained.considered[0], explained.outcome[0]
    assert schema.behaviors[considered[0]] == "mine_resource"
    assert schema.outcomes[outcome[0]] == f"cannot start: {reason_text(GUARDED)}"
    assert schema.outcomes[outcome[1]] == "acts"


def test_the_facts_of_guards_are_those_of_the_agent():
    cogs = play_role(lambda catalog: guarded_role(catalog, (None, ["explore"])), max_steps=400)
    cogs.play(3)
    state = cogs.memory["state"][0]
    assert read(cogs, "hp") == state[codes.HP]
    assert read(cogs, "hearts") == 0
    state[codes.HEARTS] = 3
    state[codes.FIRST_CARGO : codes.FIRST_CARGO + 4] = (1, 2, 0, 4)
    assert (read(cogs, "hearts"), read(cogs, "cargo"), read(cogs, "night")) == (3, 7, 0)
    state[col.TICK] = 150
    assert (read(cogs, "night"), read(cogs, "elapsed")) == (1, 37)
    state[col.JUNCTION_COUNTS : col.JUNCTION_COUNTS + 4] = (5, 4, 2, 1)
    junctions = [read(cogs, f"{owner}_junctions") for owner in ("neutral", "own", "enemy")]
    assert junctions == [5, 4, 3]


def test_a_role_sets_the_parameters_of_its_own_agents():
    def role(catalog):
        return guarded_role(catalog, (None, ["get_hearts"]), parameters=(("hearts_wanted", 5),))

    cogs = play_role(role)
    assert cogs.state(col.HEARTS_WANTED) == 5
    assert cogs.state(col.RETRY_DELAY) == BehaviorParams().retry_delay, "not set: the default"
    other = play_role(lambda catalog: guarded_role(catalog, (None, ["get_hearts"])))
    assert other.state(col.HEARTS_WANTED) == 2


def test_ticks_are_counted_for_the_behavior_that_acted():
    cogs = play_role(lambda catalog: guarded_role(catalog, (None, ["explore"])))
    cogs.play(6)
    acted = cogs.memory["acted"][0]
    catalog = cogs.policy.catalog
    assert acted[catalog.behavior_id("explore")] == 5, "the last one is counted in the next tick"
    assert acted.sum() == 5


class TickByTick(Observer):
    """Reads every tick, so that ticks are not played in one kernel."""

    def before_step(self):
        pass

    def finish(self):
        return self.loop.memory[0]["acted"].copy()


class AtTheEnd(Observer):
    """Reads nothing before the end."""

    def finish(self):
        return self.loop.memory[0]["acted"].copy()


def test_guards_and_parameters_play_alike_tick_by_tick_and_in_one_kernel():
    catalog = cogs_catalog()
    role = guarded_role(
        catalog, ("elapsed < 30", ["find_extractor"]), ("hearts < 1", ["get_hearts"]),
        ("night >= 1", ["recharge"]), (None, ["align_junction", "discover_junctions"]),
        parameters=(("hearts_wanted", 1), ("rival_cost", 3)),
    )  # fmt: skip
    tables = role_tables([role], catalog)._asdict()
    policy = ResolvedPolicy(f"{RolePolicy.__module__}:RolePolicy", {}, tables)
    world = WorldRef("cogsguard", "arena", {"max_steps": 250})
    observed = [
        run_task(RolloutTask(world, {"cogs": policy}, 3, range(2), observer=observer))
        for observer in (TickByTick, AtTheEnd)
    ]
    assert (observed[0].observed == observed[1].observed).all()
    assert observed[0].counters.keys() == observed[1].counters.keys()
    for name, counts in observed[0].counters.items():
        assert (counts == observed[1].counters[name]).all(), name
    ticks = observed[1].observed.sum(axis=0)
    acted = {catalog.behaviors[i].name for i in np.flatnonzero(ticks)}
    assert {"find_extractor", "discover_junctions"} <= acted


def test_genes_survive_the_way_into_tables_and_back():
    catalog = cogs_catalog()
    tiers = (
        RoleTier((1, 2), (0.5, 4.0), TierSelection.WEIGHTED, TierGuard("night", ">=", 1)),
        RoleTier((0,), guard=TierGuard("cargo", "<", 17)),
        RoleTier((5, 6), selection=TierSelection.SHUFFLE),
    )
    role = RoleDef(tiers, parameters=(("hearts_wanted", 4), ("cargo_percent", 70)))
    tables = role_tables([catalog.roles[0], role], catalog)
    assert role_from_tables(tables, 1, catalog).genome == role.genome
    assert role_from_tables(tables, 0, catalog).genome == catalog.roles[0].genome


def test_every_parameter_of_the_game_has_a_range_around_its_default_and_a_behavior_that_reads_it():
    fields = list(BehaviorParams.model_fields)[: col.N_GAME_PARAMETERS]
    assert sorted(PARAMETER_RANGES) == sorted(fields)
    parameters = {parameter.name: parameter for parameter in cogs_catalog().parameters}
    assert sorted(parameters) == sorted(fields)
    for name, (low, high) in PARAMETER_RANGES.items():
        assert low <= parameters[name].default <= high
        BehaviorParams(**{name: low})
        BehaviorParams(**{name: high})


@pytest.mark.parametrize("percent", [50, 100])
def test_a_miner_brings_its_cargo_home_from_the_percentage_on_that_its_role_sets(percent):
    cogs = Cogs(
        "H@c......", program=["deposit_resource"], params={"cargo_percent": percent}
    ).observe()
    state = cogs.memory["state"][0]
    state[codes.FIRST_CARGO] = 2  # of 4 without gear
    np.testing.assert_equal(state[col.CARGO_PERCENT], percent)
    reason = "yes" if percent == 50 else "the cargo is not full and there is more to mine"
    assert cogs.start("deposit_resource") == reason
