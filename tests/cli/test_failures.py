"""What the command line says of policies that fail, run in this process: the kernels are warm."""

import json
import shlex
from contextlib import closing
from pathlib import Path

import jsonschema
import pytest

import kinfolk as kf
from kinfolk.cli.app import main
from kinfolk.core.settings import validate_settings
from kinfolk.engines.base import LocalEngine
from kinfolk.evaluation.export import COMPARISON_SCHEMA, RESULT_SCHEMA
from kinfolk.evaluation.failures import describe_failures, merge_failure_counts
from kinfolk.store.run import create_run, open_run
from kinfolk.store.run_job import run_and_store

POLICIES = """
import numpy as np; from kinfolk.policies.base import MemoryField, NoopPolicy


class Broken(NoopPolicy):
    def act_async(self, observations, rows, memory, keys):
        raise ValueError("boom")


class Nonsense(NoopPolicy):
    def act_wait(self):
        return self._actions + 99


class Sometimes(NoopPolicy):
    def reset_agents(self, rows, memory, keys):
        # In the second of three episodes. Its key
        # tells: what a class remembers does not
        # reach the next game.
        if keys[0] % 7 == 0:
            raise ValueError("boom")


class Unmade(NoopPolicy):
    def __init__(self, spec):
        raise ValueError("no weights")


class Painter(NoopPolicy):
    def act_async(self, observations, rows, memory, keys):
        raise type("\\x1b[2JCleared", (Exception,), {})("\\x1b[31mred \\u202etxt.exe\\r" + 9999 * "x")


class Shouter(NoopPolicy):
    def reset_agents(self, rows, memory, keys):
        raise KeyError("[red]<b>bold</b>[/red]\\n:smile: \\x9b2J\\u2066\\x00" + 1_000_000 * "y")


class Unreadable(NoopPolicy):
    def act_async(self, observations, rows, memory, keys):
        class Mute(Exception):
            def __str__(self):
                raise RuntimeError

        raise Mute


class Late(NoopPolicy):
    @property
    def memory_layout(self):
        return {"steps": MemoryField((), "int64")}

    def plan(self):
        return np.stack([])

    def act_async(self, observations, rows, memory, keys):
        memory["steps"][rows.memory_index] += 1
        if (memory["steps"][rows.memory_index] == 3).any():
            self.plan()
        super().act_async(observations, rows, memory, keys)


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
    agent = ", agent 0" if isolate == "agent" else ""
    lines = [
        f"Slot 'all', played by {mine}.Broken, never acted: it failed in all of 3 episodes. The first "
        f"failure:",
        f"  episode 0, tick 0{agent}: act_async raised ValueError: boom",
        f'    {mine}.py:7 in act_async: raise ValueError("boom")',
        "All failures with their tracebacks: kinfolk export metrics 'my run' --table failures",
        "probe: 3 episodes of seed 0, length 4.0 (4.0 to 4.0) ticks",
    ]
    assert (code, said.out.splitlines()[:5]) == (1, lines), "the results are shown all the same"
    assert said.err.splitlines()[-1] == (
        "Slot 'all' failed in every episode: the exit code is 1, and the results are stored all the "
        "same."
    )
    code, said = run(capsys, "eval", "--resume", "my run")
    assert (code, said.out.splitlines()[:5]) == (1, lines)


def test_the_document_and_python_say_the_same(capsys, mine):
    code, said = evaluate(capsys, mine, "Broken", "--json")
    assert code == 1
    assert f"Slot 'all', played by {mine}.Broken, never acted: it failed in all of 3" in said.err
    document = json.loads(said.out)
    jsonschema.validate(document, RESULT_SCHEMA)
    failed = document["summary"]["failed_slots"]
    last_frame = f'{mine}.py:7 in act_async: raise ValueError("boom")'
    assert failed["all"]["first"].pop("traceback").splitlines()[-1] == last_frame
    assert [f["uri"] for f in document["failures"]] == 3 * [f"{mine}.Broken"]
    assert failed == {
        "all": {
            "failures": 3,
            "episodes": 3,
            "never_acted": 3,
            "causes": {"raised": 3},
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


@pytest.mark.parametrize("engine", ["local", pytest.param("processes", marks=pytest.mark.more)])
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
        f"Slot 'all', played by {mine}.Nonsense, never acted: it failed in all of 3 episodes. None of "
        f"its actions was valid: whole numbers [agents, spec.n_heads], each below the number of "
        f"choices of its head."
    )


def test_a_policy_that_fails_in_some_episodes_is_told_and_the_command_succeeds(capsys, mine):
    code, said = evaluate(capsys, mine, "Sometimes", "--isolate", "agent")
    assert code == 0
    assert said.out.splitlines()[:3] == [
        f"Slot 'all', played by {mine}.Sometimes, failed in 1 of 3 episodes. The first failure:",
        "  episode 1, tick 0, agent 0: reset_agents raised ValueError: boom",
        f'    {mine}.py:21 in reset_agents: raise ValueError("boom")',
    ]
    assert "every episode" not in said.err


def test_a_policy_that_fails_late_in_every_episode_makes_the_exit_code_1(capsys, mine):
    code, said = evaluate(capsys, mine, "Late")
    assert code == 1
    assert said.out.splitlines()[:3] == [
        f"Slot 'all', played by {mine}.Late, failed in all of 3 episodes. The first failure:",
        "  episode 0, tick 2: act_async raised ValueError: need at least one array to stack",
        f"    {mine}.py:54 in plan: return np.stack([])",
    ]
    assert said.out.splitlines()[3].startswith("    raised in shape_base.py:")
    assert said.err.splitlines()[-1].startswith("Slot 'all' failed in every episode: the exit code")


def test_a_seat_of_a_team_is_named_and_the_others_are_not(capsys, mine):
    code, said = run(
        capsys, "eval", "--set", "max_ticks=4", "--episodes", "2", "--slot", "herd=kin://noop",
        "--slot", f"pack=class:{mine}.Broken", "--map", "grazer=herd", "--map", "hunter=pack",
    )  # fmt: skip
    assert code == 1
    assert said.out.startswith(f"Slot 'pack', played by {mine}.Broken, never acted: it failed in")
    assert "Slot 'herd'" not in said.out + said.err


def test_compare_names_a_policy_that_never_acted(capsys, mine):
    uri = f"class:{mine}.Broken"
    everybody = ["--map", "grazer=candidate", "--map", "hunter=candidate"]
    code, said = run(capsys, "compare", "kin://noop", uri, *RULES, *everybody, "--episodes", "3")
    assert code == 1
    assert said.out.splitlines()[:3] == [
        f"Slot 'candidate', played by {uri}, never acted: it failed in all of 3 episodes. The first "
        f"failure:",
        "  episode 0, tick 0: act_async raised ValueError: boom",
        f'    {mine}.py:7 in act_async: raise ValueError("boom")',
    ]
    assert said.err.splitlines()[-1] == (
        f"{uri} in slot 'candidate' failed in every episode: the exit code is 1, and the results are "
        f"stored all the same."
    )


def test_a_round_robin_names_each_policy_that_failed_with_counts_and_its_first_failure(
    capsys, mine
):
    broken, late = f"class:{mine}.Broken", f"class:{mine}.Late"
    words = ["compare", "kin://noop", broken, late, "--round-robin", "--episodes", "2"]
    words += ["--set", "max_ticks=4", "--out", "tournament"]
    code, said = run(capsys, *words)
    assert code == 1
    lines = said.out.splitlines()
    assert lines[:4] == [
        f"{broken} never acted: it failed in all of 8 episodes. The first failure:",
        "  game 0 against kin://noop, tick 0: act_async raised ValueError: boom",
        f'    {mine}.py:7 in act_async: raise ValueError("boom")',
        f"{late} failed in all of 8 episodes. The first failure:",
    ]
    assert said.err.count("failed in every game: the exit code is 1") == 2
    code, said = run(capsys, "compare", "--resume", "tournament", "--json")
    document = json.loads(said.out)
    jsonschema.validate(document, COMPARISON_SCHEMA)
    assert (code, document["failures"], document["failed_slots"][0]) == (1, [0, 8, 8], {})
    counts = document["failed_slots"][1]["policy"]
    assert (counts["never_acted"], counts["episodes"], counts["failures"]) == (8, 8, 8)
    against = [(r["uri"], r["opponent"], r["mirrored"]) for r in document["failure_records"]]
    assert against.count((broken, late, True)) == against.count((late, broken, False)) == 2
    exported = run(capsys, "export", "metrics", "tournament", "--table", "failures")[1].out
    assert exported.splitlines()[0] == (
        "episode,slot,policy,agent,tick,cause,message,traceback,restarted,location,uri,opponent,mirrored"
    )
    assert exported.count(f",False,{mine}.py:7 in act_async,{broken},kin://noop,False\n") == 2


def test_a_comparison_of_teams_names_the_team_the_slot_and_the_seat_of_others(capsys, mine):
    good, bad = "herd=kin://noop;pack=kin://noop", f"herd=kin://noop;pack=class:{mine}.Late"
    words = ["compare", good, bad, "--set", "max_ticks=4", "--episodes", "2", "--out", "teams"]
    words += ["--map", "grazer=herd", "--map", "hunter=pack"]
    code, said = run(capsys, *words, "--json")
    assert code == 1
    assert (
        said.err.count(f"In the episodes of {bad}:\nSlot 'pack', played by class:{mine}.Late") == 1
    )
    document = json.loads(said.out)
    jsonschema.validate(document, COMPARISON_SCHEMA)
    assert [(r["candidate"], r["uri"], r["slot"]) for r in document["failure_records"]] == 2 * [
        (bad, f"class:{mine}.Late", "pack")
    ]
    exported = run(capsys, "export", "metrics", "teams", "--table", "failures")[1].out
    assert exported.splitlines()[0].endswith("traceback,restarted,location,candidate,uri")
    words = ("export", "metrics", "teams", "--table", "failures", "--out", "failures.parquet")
    assert run(capsys, *words)[1].err == (
        "failures.parquet would hold csv: add --format parquet, or rename it.\n"
    )
    code, said = run(capsys, "export", "metrics", "teams")
    assert (code, said.err) == (2, "teams is a run of compare, not of `kinfolk eval`.\n")


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
    first, source = said.out.splitlines()[1:3]
    assert "act_async raised \\x1b[2JCleared: \\x1b[31mred \\u202etxt.exe\\rxxx" in first
    assert first.endswith("xxx...")
    assert source.startswith(f"    {mine}.py:31 in act_async: raise type(")
    assert len(first) < 1300
    kept = json.loads(run(capsys, "eval", "--resume", "my run", "--json")[1].out)
    for failure in kept["failures"]:
        assert failure["message"].isprintable()
        assert failure["traceback"].replace("\n", "").isprintable()
    code, said = run(capsys, "play", *RULES, "--slot", f"all=class:{mine}.Painter")
    assert said.err.removesuffix("\n").isprintable()


@pytest.mark.parametrize("isolate", ["none", "slot"])
def test_markup_controls_and_a_megabyte_of_text_are_shown_as_text_and_cut(capsys, mine, isolate):
    words = ["compare", "kin://noop", f"class:{mine}.Shouter", *RULES, "--episodes", "2"]
    words += ["--map", "grazer=candidate", "--map", "hunter=candidate", "--isolate", isolate]
    code, said = run(capsys, *words, "--out", "loud")
    assert code == 1
    raised = r"reset_agents raised KeyError: '[red]<b>bold</b>[/red]\n:smile: \x9b2J\u2066\x00yyy"
    assert said.out.splitlines()[1].startswith(f"  episode 0, tick 0: {raised}")
    for text in (
        said.out,
        said.err,
        run(capsys, "export", "metrics", "loud", "--table", "failures")[1].out,
    ):
        assert len(text) < 10_000
        assert text.replace("\n", "").isprintable()


def test_an_error_that_cannot_be_read_is_named_by_its_class(capsys, mine):
    code, said = evaluate(capsys, mine, "Unreadable")
    assert code == 1
    assert said.out.splitlines()[1:3] == [
        "  episode 0, tick 0: act_async raised Mute",
        f"    {mine}.py:45 in act_async: raise Mute",
    ]


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


def test_the_progress_of_a_resumed_run_counts_no_failure_twice(capsys, mine):
    slots = {"all": f"class:{mine}.Broken"}
    settings = validate_settings(kf.jobs.Evaluate, {"slots": slots, "episodes": 4, "chunk_size": 2})
    run_folder = create_run(Path("stopped"), "evaluate", settings.model_dump())
    stream = run_and_store(
        run_folder, lambda resume: kf.jobs.evaluate(settings, LocalEngine(), resume)
    )
    with closing(stream):  # an episode further than the checkpoint of the first chunk
        for event in stream:
            if event.kind == "episode_played" and event.step == 2:
                break
    assert sum(e["kind"] == "episode_played" for e in open_run(Path("stopped")).events()) == 3
    code, said = run(capsys, "eval", "--resume", "stopped", "--engine", "local", "--trust")
    assert code == 1
    assert said.err.splitlines()[-2] == "Episodes: 4 of 4, failures of policies so far: 4"


def test_a_group_that_a_map_leaves_out_is_pointed_out_and_out_keeps_the_game(
    capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    words = ["play", "--set", "max_ticks=4", "--slot", "h=kin://random", "--map", "hunter=h"]
    code, said = run(capsys, *words, "--out", "mine")
    assert code == 0
    warning, *progress = said.err.splitlines()
    assert warning == "Slot 'h' plays grazer too: no --map grazer=SLOT was given."
    assert progress[-1] == "Ticks: 4 of 4"
    assert said.out.endswith("Watch it again: kinfolk view mine\n")
    assert open_run(Path("mine")).config["job"] == "play"
    code, said = run(capsys, "plot", "mine")
    assert said.err.startswith("A run of play has no figure; runs of these jobs have: evaluate, ")
    code, said = run(capsys, "export", "gif", "mina")
    assert (code, said.err) == (2, "There is no run mina. Did you mean 'mine'? Known: mine.\n")


def test_failures_are_counted_by_their_causes():
    first = {
        "episode": 0,
        "slot": "a",
        "agent": -1,
        "tick": 3,
        "cause": "raised",
        "message": "boom.",
    }
    counts = {"failures": 3, "episodes": 2, "never_acted": 0, "causes": {"raised": 1, "timeout": 2}}
    [message] = describe_failures({"a": {**counts, "first": first}}, 4, {"a": "kin://x"})
    assert message.splitlines()[0] == (
        "Slot 'a', played by kin://x, failed in 2 of 4 episodes (3 failures: 1 raised an error, "
        "2 took too long). The first failure:"
    )
    merged = merge_failure_counts(
        {"a": {**counts, "first": first}}, {"a": {**counts, "first": None}}
    )
    assert merged["a"]["causes"] == {"raised": 2, "timeout": 4}
