"""Failures of any agents at any tick: the result names exactly those agents and ticks.

Episodes are compared with ones in which the same agents act as noop without failing, which shows that
the actions of the others reached the right agents.
"""

from itertools import combinations

import pytest

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
    "hang": ("timeout", "{} timed out after {} s"),
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
    timeout = (
        game.observer.settings.start_timeout if tick == 0 else game.observer.settings.step_timeout
    )
    description = what.format("act_async", f"{timeout:g}")
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
        check(scene, agents, tick, on_failure, isolate, "hang", step_timeout=0.5)
    if on_failure == "noop":  # the first action has the timeout of the start
        check(scene, (2,), 0, on_failure, isolate, "hang", step_timeout=0.5, start_timeout=3.0)
