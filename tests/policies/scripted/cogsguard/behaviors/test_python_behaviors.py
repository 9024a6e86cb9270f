"""A behavior in plain Python that fails is named, with its function, file and line."""

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
def mine(own_module):
    return own_module(MODULE)


def run(capsys, *words):
    with pytest.raises(SystemExit) as left:
        main(list(words))
    return left.value.code, capsys.readouterr()


def slot(mine, function):
    return ["--slot", f"cogs=kin://roles?catalog={mine}.{function}&Sleeper=4"]


@pytest.mark.parametrize("function", list(HOOKS))
def test_evaluations_name_behavior_function_file_and_line(capsys, mine, function):
    hook, tick = HOOKS[function]
    what = f"BehaviorError: behavior 'nap', {hook} raised KeyError: 'nothing' ({mine}.py:7 in fail)"
    words = [*SMALL, *slot(mine, function)]
    _, said = run(capsys, "eval", *words, "--episodes", "1")
    first = f"The first failure, in episode 0: Slot 'cogs', tick {tick}: act_async raised {what}."
    assert first in said.out.splitlines()[0]
    code, said = run(capsys, "play", *words)
    assert (code, said.err) == (1, f"Slot 'cogs' failed in act_async: {what}\n")
    code, said = run(capsys, "explain", *words, "--tick", "2")
    assert (code, said.err) == (1, f"Slot 'cogs', tick {tick}: act_async raised {what}.\n")


@pytest.mark.more
@pytest.mark.parametrize("function", list(HOOKS))
def test_isolated_agents_name_them_too(capsys, mine, function):
    hook, tick = HOOKS[function]
    words = [*SMALL, *slot(mine, function), "--episodes", "1", "--isolate", "agent"]
    _, said = run(capsys, "eval", *words)
    assert said.out.splitlines()[0].endswith(
        f"The first failure, in episode 0: Slot 'cogs', agent 0, tick {tick}: act_async raised "
        f"BehaviorError: behavior 'nap', {hook} raised KeyError: 'nothing' ({mine}.py:7 in fail)."
    )


def test_an_answer_that_is_no_move_is_named_where_the_function_stands(capsys, mine):
    code, said = run(capsys, "play", *SMALL, *slot(mine, "north"))
    assert code == 1
    assert said.err.startswith(
        f"Slot 'cogs' failed in act_async: BehaviorError: behavior 'nap', act ({mine}.py:32) returned "
        f"'north'; a move (a whole number) or None was asked for"
    )


def test_evolution_names_them_too(capsys, mine):
    code, said = run(
        capsys, "evolve", "roles", "--catalog", f"{mine}.act", *SMALL, "--generations", "1",
        "--games-per-generation", "48", "--engine", "local", "--judge-games", "2", "--out", "evolved",
    )  # fmt: skip
    assert code == 1
    assert f"behavior 'nap', act raised KeyError: 'nothing' ({mine}.py:7 in fail)" in said.err
