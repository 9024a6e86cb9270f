"""What the command line says of policies that fail, run in this process: the kernels are warm."""

import json
import shlex

import jsonschema
import pytest

import kinfolk as kf
from kinfolk.cli.app import main
from kinfolk.evaluation.export import RESULT_SCHEMA

POLICIES = """
from kinfolk.policies.base import NoopPolicy


class Broken(NoopPolicy):
    def act_async(self, observations, rows, memory, keys):
        raise ValueError("boom")


class Nonsense(NoopPolicy):
    def act_wait(self):
        return self._actions + 99


class Sometimes(NoopPolicy):
    calls = 0

    def reset_agents(self, rows, memory, keys):
        Sometimes.calls += 1
        if Sometimes.calls == 2:
            raise ValueError("boom")


class Unmade(NoopPolicy):
    def __init__(self, spec):
        raise ValueError("no weights")


class Painter(NoopPolicy):
    def act_async(self, observations, rows, memory, keys):
        raise type("\\x1b[2JCleared", (Exception,), {})("\\x1b[31mred \\u202etxt.exe\\r" + 9999 * "x")


class Unreadable(NoopPolicy):
    def act_async(self, observations, rows, memory, keys):
        class Mute(Exception):
            def __str__(self):
                raise RuntimeError

        raise Mute


class Talker(NoopPolicy):
    def __init__(self, spec):
        super().__init__(spec)
        print("made")

    def act_async(self, observations, rows, memory, keys):
        import os

        print("asked")
        os.write(1, b"asked of the system\\n")
        super().act_async(observations, rows, memory, keys)
"""
RULES = ["--set", "grazers=1", "--set", "hunters=0", "--set", "max_ticks=4", "--set", "rows=2"]


@pytest.fixture
def mine(own_module):
    return own_module(POLICIES)


def run(capsys, *words):
    with pytest.raises(SystemExit) as left:
        main(list(words))
    return left.value.code, capsys.readouterr()


def evaluate(capsys, mine, kind, *words, episodes=3):
    uri = f"class:{mine}.{kind}"
    return run(
        capsys, "eval", *RULES, "--episodes", str(episodes), "--slot", f"all={uri}",
        "--out", "my run", *words,
    )  # fmt: skip


@pytest.mark.parametrize("isolate", ["none", "slot", "agent"])
def test_a_policy_that_never_acted_is_told_above_the_table_with_its_line(capsys, mine, isolate):
    code, said = evaluate(capsys, mine, "Broken", "--isolate", isolate)
    who = "Slot 'all', agent 0" if isolate == "agent" else "Slot 'all'"
    assert code == 1
    assert said.out.splitlines()[0] == (
        f"Slot 'all' never acted: its policy failed in all of 3 episodes. The first failure, in "
        f"episode 0: {who}, tick 0: act_async raised ValueError: boom ({mine}.py:7 in act_async)."
    )
    assert "probe: 3 episodes of seed 0" in said.out, "the results are shown all the same"
    code, said = run(capsys, "eval", "--resume", "my run")
    assert (code, said.out.splitlines()[0][:25]) == (1, "Slot 'all' never acted: i")


def test_the_document_and_python_say_the_same(capsys, mine):
    code, said = evaluate(capsys, mine, "Broken", "--json")
    assert code == 1
    assert said.err.splitlines()[-1].startswith("Slot 'all' never acted: its policy failed in all")
    document = json.loads(said.out)
    jsonschema.validate(document, RESULT_SCHEMA)
    failed = document["summary"]["failed_slots"]
    assert failed["all"]["first"].pop("traceback").endswith(f"{mine}.py:7 in act_async")
    assert failed == {
        "all": {
            "failures": 3,
            "episodes": 3,
            "never_acted": 3,
            "first": {
                "episode": 0,
                "slot": "all",
                "policy": f"{mine}.Broken",
                "agent": -1,
                "tick": 0,
                "cause": "raised",
                "message": "Slot 'all', tick 0: act_async raised ValueError: boom.",
                "restarted": False,
                "location": f"{mine}.py:7 in act_async",
            },
        }
    }
    rules = {"grazers": 1, "hunters": 0, "max_ticks": 4, "rows": 2}
    found = kf.evaluate(slots={"all": f"class:{mine}.Broken"}, episodes=3, world_settings=rules)
    assert found.failed_slots["all"]["never_acted"] == 3


@pytest.mark.parametrize("engine", ["local", "processes"])
def test_what_a_policy_prints_is_kept_out_of_the_document(capfd, mine, engine):
    uri = f"class:{mine}.Talker"
    code, said = evaluate(capfd, mine, "Talker", "--json", "--engine", engine)
    assert (code, json.loads(said.out)["summary"]["episodes"]) == (0, 3)
    assert "asked\n" in said.err
    assert "asked of the system\n" in said.err
    words = ["compare", "kin://noop", uri, *RULES, "--map", "grazer=candidate"]
    words += ["--map", "hunter=candidate", "--episodes", "2", "--engine", engine]
    code, said = run(capfd, *words, "--json")
    assert (code, json.loads(said.out)["policies"]) == (0, ["kin://noop", uri])
    code, said = run(capfd, "play", *RULES, "--slot", f"all={uri}", "--json")
    assert (code, json.loads(said.out)["result"]["ticks"]) == (0, 4)


def test_answers_that_are_never_actions_are_a_failure_too(capsys, mine):
    code, said = evaluate(capsys, mine, "Nonsense")
    assert code == 1
    assert said.out.splitlines()[0] == (
        "Slot 'all' never acted: its policy failed in all of 3 episodes. None of its actions was "
        "valid: whole numbers [agents, spec.n_heads], each below the number of choices of its head."
    )


def test_a_policy_that_fails_in_some_episodes_is_told_and_the_command_succeeds(capsys, mine):
    code, said = evaluate(capsys, mine, "Sometimes", "--isolate", "agent")
    assert code == 0
    assert said.out.splitlines()[0] == (
        f"Slot 'all' failed in 1 of 3 episodes. The first failure, in episode 1: Slot 'all', agent 0, "
        f"tick 0: reset_agents raised ValueError: boom ({mine}.py:21 in reset_agents)."
    )


def test_compare_names_a_policy_that_never_acted(capsys, mine):
    uri = f"class:{mine}.Broken"
    everybody = ["--map", "grazer=candidate", "--map", "hunter=candidate"]
    code, said = run(capsys, "compare", "kin://noop", uri, *RULES, *everybody, "--episodes", "3")
    assert code == 1
    assert said.out.splitlines()[:2] == [
        f"{uri}:",
        f"Slot 'candidate' never acted: its policy failed in all of 3 episodes. The first failure, in "
        f"episode 0: Slot 'candidate', tick 0: act_async raised ValueError: boom ({mine}.py:7 in act_async).",
    ]
    code, said = run(
        capsys, "compare", "kin://noop", uri, "--round-robin", "--episodes", "2", "--json",
        "--set", "max_ticks=4",
    )  # fmt: skip
    assert code == 1
    failed = json.loads(said.out)["failed_slots"]
    assert failed[0] == {}
    assert (failed[1]["policy"]["never_acted"], failed[1]["policy"]["episodes"]) == (4, 4)


def test_play_names_file_and_line(capsys, mine):
    code, said = run(capsys, "play", *RULES, "--slot", f"all=class:{mine}.Broken")
    assert code == 1
    assert (
        said.err == f"Slot 'all' failed in act_async: ValueError: boom ({mine}.py:7 in act_async)\n"
    )


@pytest.mark.parametrize("command", ["play", "eval"])
def test_a_policy_that_cannot_be_made_is_named_with_file_and_line(capsys, mine, command):
    code, said = run(capsys, command, *RULES, "--slot", f"all=class:{mine}.Unmade")
    assert code == 1
    assert said.err == (
        f"{mine}.Unmade could not be made: ValueError: no weights ({mine}.py:26 in __init__).\n"
    )


def test_a_module_that_cannot_be_read_is_named_with_file_and_line(capsys, mine, tmp_path):
    (tmp_path / f"un{mine}.py").write_text("x = 1\nclass Policy(:\n    pass\n")
    code, said = run(capsys, "play", "--slot", f"all=class:un{mine}.Policy")
    assert code == 2
    assert said.err.startswith(f"'un{mine}.Policy' cannot be imported: SyntaxError: invalid syntax")
    assert said.err.endswith(f"(un{mine}.py:2).\n")


@pytest.mark.parametrize("isolate", ["none", "agent"])
def test_escape_codes_of_a_policy_are_shown_and_not_obeyed(capsys, mine, isolate):
    code, said = evaluate(capsys, mine, "Painter", "--isolate", isolate)
    assert code == 1
    first = said.out.splitlines()[0]
    assert "act_async raised \\x1b[2JCleared: \\x1b[31mred \\u202etxt.exe\\rxxx" in first
    assert first.endswith(f"xxx... ({mine}.py:31 in act_async).")
    assert len(first) < 1300
    kept = json.loads(run(capsys, "eval", "--resume", "my run", "--json")[1].out)
    for failure in kept["failures"]:
        assert failure["message"].isprintable()
        assert failure["traceback"].replace("\n", "").isprintable()
    code, said = run(capsys, "play", *RULES, "--slot", f"all=class:{mine}.Painter")
    assert said.err.removesuffix("\n").isprintable()


def test_an_error_that_cannot_be_read_is_named_by_its_class(capsys, mine):
    code, said = evaluate(capsys, mine, "Unreadable")
    assert code == 1
    assert f"Slot 'all', tick 0: act_async raised Mute ({mine}.py:40 in act_async)." in said.out


def test_names_of_slots_are_shown_as_they_are(capsys, mine):
    code, said = run(
        capsys, "eval", *RULES, "--episodes", "2", "--slot", "[bold]:smile:=kin://noop"
    )
    assert code == 0
    assert "[bold]:smile:" in said.out


def test_commands_that_are_printed_can_be_pasted(capsys, mine):
    folder = "it's a run; $HOME"
    code, said = run(
        capsys, "eval", *RULES, "--episodes", "2", "--replay", "1", "--out", folder,
        "--slot", "all=kin://noop",
    )  # fmt: skip
    assert code == 0
    told = said.out.splitlines()[-1]
    assert shlex.split(told.removeprefix("Watch it: ")) == ["kinfolk", "view", folder]
