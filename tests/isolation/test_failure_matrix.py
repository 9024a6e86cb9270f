"""Failures of any agents at any tick: the result names exactly those agents and ticks.

Episodes are compared with ones in which the same agents act as noop without failing, which shows that
the actions of the others reached the right agents.
"""

from dataclasses import dataclass
from itertools import combinations, count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kinfolk.core.errors import PolicyFailedError
from kinfolk.evaluation.rollout import Isolation, evaluation_task, run_evaluation
from kinfolk.isolation.failures import IsolationSettings
from kinfolk.play.task import WorldRef
from kinfolk.policies.resolve import resolve

TICKS = 10
SAVANNA = {
    "world": "savanna",
    "preset": "shared_prey_r2",
    "world_settings": {
        "grid_size": 40, "manual_wall_positions": [[4, 4]], "initial_num_grass": 1000,
        "n_initial_active_type_1_predator": 2, "n_initial_active_type_1_prey": 2,
        "max_rows": 4, "prey_creation_energy_threshold": 99.0, "max_steps": TICKS,
    },
}  # fmt: skip
COGSGUARD = {
    "world": "cogsguard",
    "preset": "tutorial",
    "world_settings": {"max_steps": TICKS},
}
TEAMS = {"type_1_predator": "pack", "type_1_prey": "herd"}
# Four agents each, which live through all ticks; their uids are 0 to 3.
SCENES = {
    "savanna": (SAVANNA, ("all",) * 4, None),
    "savanna in two slots": (SAVANNA, ("pack", "pack", "herd", "herd"), TEAMS),
    "cogsguard": (COGSGUARD, ("all",) * 4, None),
}
AGENTS = range(4)
SINGLES = [(agent,) for agent in AGENTS]
PAIRS = list(combinations(AGENTS, 2))
RESTARTS = 1
NEVER = TICKS + 1
CAUSES = {
    "raise": ("raised", "{} raised ZeroDivisionError: boom"),
    "hang": ("timeout", "{} timed out {}"),
    "exit": ("exited", "its process exited in {} with code 3"),
    "segfault": ("exited", "its process exited in {} with code -11"),
}


def task(scene, policy, settings, isolate, **limits):
    game, slot_of, slot_map = SCENES[scene]
    resolved = resolve(f"class:bad_policies.{policy}", settings, trusted=isolate == "none")
    slots = dict.fromkeys(slot_of, resolved)
    isolation = IsolationSettings(**{"step_timeout": 20.0, "max_restarts": RESTARTS, **limits})
    ref = WorldRef(game["world"], game["preset"], game["world_settings"])
    return evaluation_task(ref, slots, 3, range(1), slot_map, Isolation(isolate, isolation))


def fails_at(scene, agents, tick, how, isolate, **limits):
    return task(
        scene, "FailsAt", {"agents": list(agents), "tick": tick, "how": how}, isolate, **limits
    )


def ticks_of_failures(tick, on_failure):
    """A restarted policy has lost its count of steps, and fails after as many again."""
    if on_failure != "restart":
        return [tick]
    return [t for t in (tick, 2 * tick + 1) if t < TICKS]


def check(scene, agents, tick, on_failure, isolate, how="raise", **limits):
    game = fails_at(scene, agents, tick, how, isolate, on_failure=on_failure, **limits)
    slot_of, (cause, what) = SCENES[scene][1], CAUSES[how]
    after = "in its first call" if tick == 0 else f"after {game.observer.settings.step_timeout:g} s"
    description = what.format("act_async", after)
    if on_failure == "abort":
        with pytest.raises(PolicyFailedError) as failed:
            run_evaluation(game)
        subject = f"Slot '{slot_of[agents[0]]}'"
        subject += f", agent {agents[0]}" if isolate == "agent" else ""
        description += " (bad_policies.py:52 in misbehave)" if how == "raise" else ""
        assert str(failed.value) == f"{subject}, tick {tick}: {description}."
        return
    [report] = run_evaluation(game).episodes
    ticks = ticks_of_failures(tick, on_failure)
    failed_slots = {slot_of[a] for a in agents}
    if isolate == "agent":
        expected = {(slot_of[a], a, t, cause) for a in agents for t in ticks}
        still = list(agents)
    else:
        expected = {(slot, -1, t, cause) for slot in failed_slots for t in ticks}
        still = [a for a in AGENTS if slot_of[a] in failed_slots]
    failures = [(f.slot, f.agent, f.tick, f.cause) for f in report.failures]
    assert len(failures) == len(expected)
    assert set(failures) == expected
    for failure in report.failures:
        last = on_failure == "noop" or failure.tick != tick
        assert failure.restarted == (not last)
        assert failure.message.endswith(f", tick {failure.tick}: {description}.") or how == "hang"
    ever_after = ticks[-1] if on_failure == "noop" or len(ticks) > RESTARTS else NEVER
    sound = play_still(scene, still, ticks, ever_after)
    silent = {s for s in slot_of if all(a in still for a in AGENTS if slot_of[a] == s)}
    assert set(report.never_acted) == (silent if tick == 0 else set())
    assert vars(report) | {"failures": (), "never_acted": ()} == vars(sound)


def play_still(scene, agents, ticks, ever_after):
    settings = {"agents": agents, "ticks": ticks, "ever_after": ever_after}
    [report] = run_evaluation(task(scene, "StandsStill", settings, "none")).episodes
    assert report.agents["uid"] == list(AGENTS), "nobody is born"
    assert report.agents["ticks"] == [TICKS] * len(AGENTS), "nobody dies"
    return report


@pytest.mark.parametrize("scene", list(SCENES))
def test_acting_as_noop_changes_the_results(zoo, scene):
    results = [vars(play_still(scene, [agent], [], 1)) for agent in AGENTS]
    assert vars(play_still(scene, [], [], NEVER)) not in results


@pytest.mark.parametrize("agents", [(1,), (2,), (1, 2)])
@pytest.mark.parametrize("scene", list(SCENES))
def test_agents_in_the_middle_of_a_batch_may_fail(zoo, scene, agents):
    check(scene, agents, 1, "noop", "agent")


@pytest.mark.more
@pytest.mark.parametrize("tick", [0, 1, 7])
@pytest.mark.parametrize("on_failure", ["noop", "restart", "abort"])
@pytest.mark.parametrize("isolate", ["agent", "slot"])
@pytest.mark.parametrize("scene", list(SCENES))
def test_every_agent_and_every_pair_may_raise(zoo, scene, isolate, on_failure, tick):
    for agents in SINGLES + PAIRS:
        check(scene, agents, tick, on_failure, isolate)


@pytest.mark.more
@pytest.mark.parametrize("on_failure", ["noop", "restart", "abort"])
@pytest.mark.parametrize("isolate", ["agent", "slot"])
@pytest.mark.parametrize("how", ["exit", "segfault"])
@pytest.mark.parametrize("scene", list(SCENES))
def test_processes_of_any_agents_may_exit(zoo, scene, how, isolate, on_failure):
    for agents, tick in [((0,), 0), ((1,), 1), ((3,), 7), ((1, 2), 1), ((0, 3), 7)]:
        check(scene, agents, tick, on_failure, isolate, how)


@pytest.mark.more
@pytest.mark.parametrize("on_failure", ["noop", "restart", "abort"])
@pytest.mark.parametrize("isolate", ["agent", "slot"])
@pytest.mark.parametrize("scene", list(SCENES))
def test_any_agents_may_hang(zoo, scene, isolate, on_failure):
    for agents, tick in [((1,), 1), ((2,), 7), ((1, 2), 1)]:
        check(scene, agents, tick, on_failure, isolate, "hang", step_timeout=1.5)
    if on_failure == "noop":  # the first action has the timeout of the start
        check(scene, (2,), 0, on_failure, isolate, "hang", step_timeout=1.5, start_timeout=6.0)


# From here on, hypothesis draws who fails, when, how and with which settings.
FAR_APART = {  # no agent comes near another, so none can affect what another gets
    "world": "probe",
    "preset": None,
    "world_settings": {
        "cells": 4000, "grazers": 5, "hunters": 0, "rows": 5, "max_ticks": TICKS, "max_age": 99,
        "start_energy": 99,
    },
}  # fmt: skip
GAMES = {"probe": (FAR_APART, 5), "savanna": (SAVANNA, 4), "cogsguard": (COGSGUARD, 4)}
IN_RESET = -1
runs = count()


@dataclass(frozen=True)
class Plan:
    """Which agents fail, and how an evaluation handles it."""

    slots: tuple  # of the agents
    agents: dict  # by uid, the step at which it fails, or `IN_RESET`, and how
    starts: dict  # by slot, how the constructor of its policy fails
    isolate: str
    on_failure: str
    max_restarts: int

    def units(self):
        """Agents that share a process, with their slot."""
        if self.isolate == "agent":
            return [(slot, [uid]) for uid, slot in enumerate(self.slots)]
        names = dict.fromkeys(self.slots)
        return [(n, [uid for uid, slot in enumerate(self.slots) if slot == n]) for n in names]

    def failures_of(self, slot, uids):
        """Ticks, methods and kinds of failures of a process, and the ticks without its actions."""
        plans = [
            (self.agents[uid][0], uid, self.agents[uid][1]) for uid in uids if uid in self.agents
        ]
        first = min(plans, default=None)
        attempts = 1 + (self.max_restarts if self.on_failure == "restart" else 0)
        if slot in self.starts:
            return [(0, "start", self.starts[slot])] * attempts, set(range(TICKS))
        if first is None:
            return [], set()
        step, _, how = first
        if step == IN_RESET:
            return [(0, "reset_agents", how)] * attempts, set(range(TICKS))
        # A restarted policy has lost its count of steps, and fails after as many again.
        ticks = list(range(step, TICKS, step + 1))[:attempts]
        is_last = len(ticks) == attempts
        missing = {*ticks, *(range(ticks[-1], TICKS) if is_last else ())}
        return [(tick, "act_async", how) for tick in ticks], missing


@st.composite
def plans(draw, n_agents, kinds=("raise", "exit", "segfault")):
    slots = draw(st.lists(st.sampled_from("abc"), min_size=n_agents, max_size=n_agents))
    steps = st.tuples(st.integers(IN_RESET, TICKS - 1), st.sampled_from(kinds))
    agents = draw(st.dictionaries(st.sampled_from(range(n_agents)), steps))
    starts = draw(st.dictionaries(st.sampled_from(slots), st.sampled_from(kinds), max_size=1))
    isolate = draw(st.sampled_from(["slot", "agent"]))
    on_failure = draw(st.sampled_from(["noop", "restart", "abort"]))
    max_restarts = draw(st.integers(0, 2)) if on_failure == "restart" else 0
    return Plan(tuple(slots), agents, starts, isolate, on_failure, max_restarts)


def run_plan(name, slots, isolate, policy_settings, **limits):
    game, _ = GAMES[name]
    kind = "FailsByPlan" if isolate != "none" else "NoopByPlan"
    policies = {
        slot: resolve(
            f"class:planned_failures.{kind}", policy_settings[slot], trusted=isolate == "none"
        )
        for slot in dict.fromkeys(slots)
    }
    # A hang in the first action of a process has the timeout of the start.
    limits = IsolationSettings(**{"step_timeout": 20.0, "start_timeout": 20.0, **limits})
    ref = WorldRef(game["world"], game["preset"], game["world_settings"])
    isolation = Isolation(isolate, limits)
    [report] = run_evaluation(
        evaluation_task(ref, policies, 3, range(1), slots, isolation)
    ).episodes
    return report


def check_plan(name, plan, **limits):
    slots = dict.fromkeys(plan.slots)
    by_uid = {str(uid): list(failing) for uid, failing in plan.agents.items()}
    starts = {slot: plan.starts.get(slot, "") for slot in slots}
    failing = {s: {"plan": by_uid, "at_start": starts[s], "run": next(runs)} for s in slots}
    limits |= {"on_failure": plan.on_failure, "max_restarts": plan.max_restarts}
    expected, missing = [], {}
    for slot, uids in plan.units():
        found, ticks = plan.failures_of(slot, uids)
        agent = uids[0] if plan.isolate == "agent" else -1
        for i, (tick, method, how) in enumerate(found):
            restarted = plan.on_failure == "restart" and i < plan.max_restarts
            expected.append((slot, agent, tick, CAUSES[how][0], restarted, method))
        missing |= {str(uid): sorted(ticks) for uid in uids}
    if plan.on_failure == "abort" and expected:
        with pytest.raises(PolicyFailedError) as failed:
            run_plan(name, list(plan.slots), plan.isolate, failing, **limits)
        phases = {"start": 0, "reset_agents": 1, "act_async": 2}
        order = list(slots)
        slot, agent, tick, *_ = min(
            expected,
            key=lambda f: (f[2], f[5] == "act_async", order.index(f[0]), phases[f[5]], f[1]),
        )
        subject = f"Slot '{slot}'" + (f", agent {agent}" if plan.isolate == "agent" else "")
        assert str(failed.value).startswith(f"{subject}, tick {tick}: ")
        return
    report = run_plan(name, list(plan.slots), plan.isolate, failing, **limits)
    failures = [
        (f.slot, f.agent, f.tick, f.cause, f.restarted, method)
        for f in report.failures
        for method in ("start", "reset_agents", "act_async")
        if f" {method} " in f.message
    ]
    assert sorted(failures) == sorted(expected)
    still = {slot: {"plan": missing} for slot in slots}
    sound = run_plan(name, list(plan.slots), "none", still)
    assert vars(report) | {"failures": (), "never_acted": ()} == vars(sound)
    silent = [s for s in slots if all(
        len(missing[str(uid)]) == TICKS for uid, slot in enumerate(plan.slots) if slot == s
    )]  # fmt: skip
    assert list(report.never_acted) == silent
    if name == "probe":
        untouched = run_plan(name, list(plan.slots), "none", {s: {"plan": {}} for s in slots})
        for column, values in untouched.agents.items():
            for uid, value in enumerate(values):
                if not missing[str(uid)]:
                    assert report.agents[column][uid] == value
        assert len(set(untouched.agents["total_reward"])) > 1


DRAWN = {
    "deadline": None, "derandomize": True, "database": None,
    "suppress_health_check": [HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
}  # fmt: skip


@settings(max_examples=25, **DRAWN)
@given(plan=plans(5))
def test_any_agents_may_fail_at_any_tick_in_any_order(zoo, plan):
    check_plan("probe", plan)


@pytest.mark.parametrize("on_failure", ["noop", "restart"])
def test_hangs_of_some_agents_beside_failures_of_others(zoo, on_failure):
    agents = {1: (4, "hang"), 2: (4, "raise"), 3: (2, "exit"), 4: (4, "hang")}
    plan = Plan(("a", "b", "a", "b", "a"), agents, {}, "agent", on_failure, 0)
    check_plan("probe", plan, step_timeout=1.5)


@pytest.mark.parametrize("agents", [{}, {1: (IN_RESET, "raise")}])
def test_a_process_that_does_not_start_is_restarted_as_often_as_the_settings_say(zoo, agents):
    starts = {} if agents else {"a": "raise"}
    check_plan("probe", Plan(("a",) * 5, agents, starts, "agent", "restart", 2))


def test_an_aborted_evaluation_leaves_no_failed_process_to_the_next(zoo):
    failing = {"a": {"plan": {}, "at_start": "raise", "run": next(runs)}}
    for _ in range(2):
        with pytest.raises(PolicyFailedError) as failed:
            run_plan("probe", ["a"] * 5, "agent", failing, on_failure="abort")
        assert str(failed.value).startswith("Slot 'a', agent 0, tick 0: start raised ")


@pytest.mark.more
@settings(max_examples=300, **DRAWN)
@given(plan=plans(5))
def test_three_hundred_plans_of_failures(zoo, plan):
    check_plan("probe", plan)


@pytest.mark.more
@settings(max_examples=40, **DRAWN)
@given(plan=plans(5, kinds=("raise", "hang", "exit", "segfault")))
def test_plans_with_hangs(zoo, plan):
    check_plan("probe", plan, step_timeout=1.5, start_timeout=6.0)


@pytest.mark.more
@pytest.mark.parametrize("name", ["savanna", "cogsguard"])
@settings(max_examples=60, **DRAWN)
@given(plan=plans(4))
def test_plans_of_failures_in_both_worlds(zoo, name, plan):
    check_plan(name, plan)


@pytest.mark.more
@settings(max_examples=25, **DRAWN)
@given(plan=plans(5))
def test_plans_of_failures_in_a_sandbox(zoo, plan):
    check_plan("probe", plan, sandbox=True)
