"""Failures of behaviors in plain Python are reported with behavior, function, file and line."""

import pytest

from kinfolk.cli.app import main

MODULE = """
from kinfolk.policies.scripted.cogsguard.catalog import cogs_catalog
from kinfolk.roles.model import RoleDef, RoleTier


def fail(agent):
    return {}["nothing"]


def catalog(**hooks):
    known = cogs_catalog()
    sound = {"can_start": lambda agent: True, "act": lambda agent: 1,
             "should_terminate": lambda agent: False}
    known.add_behavior(name="nap", source="common", **{**sound, **hooks})
    known.add_role(RoleDef((RoleTier(known.behavior_ids(["nap"])),), name="Sleeper"))
    return known


def start():
    return catalog(can_start=fail)


def act():
    return catalog(act=fail)


def end():
    return catalog(should_terminate=fail)


def north():
    return catalog(act=lambda agent: "north")
"""
SMALL = [
    "--set", 'map_text="J..c....\\n.@@..H.C\\n.@@.A.M.\\n...o...J"', "--set", "agents=4",
    "--set", "max_steps=4", "--set", "area_radius=3", "--world", "cogsguard",
]  # fmt: skip
HOOKS = {"start": ("can_start", 0), "act": ("act", 0), "end": ("should_terminate", 1)}


@pytest.fixture
def module(own_module):
    return own_module(MODULE)


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as exit_info:
        main(list(arguments))
    return exit_info.value.code, capsys.readouterr()


def slot(module, function):
    return ["--slot", f"cogs=kin://roles?catalog={module}.{function}&Sleeper=4"]


def check_first_failure(text, place, hook, module):
    what, where = text.splitlines()[1:3]
    error = f"BehaviorError: behavior 'nap', {hook} raised KeyError: 'nothing'"
    assert what == f"  episode 0, {place}: act_async raised {error}"
    assert where.startswith(f"    {module}.py:7 in fail: ")


@pytest.mark.parametrize("function", list(HOOKS))
def test_evaluations_report_behavior_function_file_and_line(capsys, module, function):
    hook, tick = HOOKS[function]
    error = (
        f"BehaviorError: behavior 'nap', {hook} raised KeyError: 'nothing' ({module}.py:7 in fail)"
    )
    arguments = [*SMALL, *slot(module, function)]
    _, output = run(capsys, "eval", *arguments, "--episodes", "1")
    check_first_failure(output.out, f"tick {tick}", hook, module)
    code, output = run(capsys, "play", *arguments)
    assert (code, output.err) == (1, f"Slot 'cogs' failed in act_async: {error}\n")
    code, output = run(capsys, "explain", *arguments, "--tick", "2")
    assert (code, output.err) == (1, f"Slot 'cogs', tick {tick}: act_async raised {error}.\n")


@pytest.mark.more
@pytest.mark.parametrize("function", list(HOOKS))
def test_isolated_agents_report_behavior_function_file_and_line(capsys, module, function):
    hook, tick = HOOKS[function]
    arguments = [*SMALL, *slot(module, function), "--episodes", "1", "--isolate", "agent"]
    _, output = run(capsys, "eval", *arguments)
    check_first_failure(output.out, f"tick {tick}, agent 0", hook, module)


def test_a_result_that_is_no_move_is_reported_with_the_function(capsys, module):
    code, output = run(capsys, "play", *SMALL, *slot(module, "north"))
    assert code == 1
    assert output.err.startswith(
        f"Slot 'cogs' failed in act_async: BehaviorError: behavior 'nap', act ({module}.py:32) returned "
        f"'north'; it must return a move (an integer) or None"
    )


def test_evolution_reports_behavior_function_file_and_line(capsys, module):
    code, output = run(
        capsys, "evolve", "roles", "--catalog", f"{module}.act", *SMALL, "--generations", "1",
        "--racing", "2", "--engine", "local", "--eval-games", "2", "--out", "evolved",
    )  # fmt: skip
    assert code == 1
    assert f"behavior 'nap', act raised KeyError: 'nothing' ({module}.py:7 in fail)" in output.err
