"""The command line as its users meet it: real processes, whole sentences, exit codes."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from kinfolk.cli.app import main
from kinfolk.testing.processes import children_of, gone_within

KINFOLK = [sys.executable, "-m", "kinfolk"]


def kinfolk(*words, cwd=None, **env):
    return subprocess.run(
        [*KINFOLK, *words], cwd=cwd, env={**os.environ, **env}, capture_output=True, text=True
    )


def test_help_imports_nothing_heavy():
    script = (
        "import sys\nfrom kinfolk.cli.app import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit as left:\n    assert left.code == 0\n"
        "print(sorted({'torch', 'numba', 'numpy', 'ray', 'pydantic', 'rich', 'scipy'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("command", [["worlds"], ["policies"], ["doctor"]])
def test_lists_come_as_text_and_as_one_json_document(command):
    text, document = kinfolk(*command), kinfolk(*command, "--json")
    assert (text.returncode, document.returncode) == (0, 0)
    assert text.stdout.strip()
    assert json.loads(document.stdout)


def test_the_probe_is_listed():
    [probe] = [w for w in json.loads(kinfolk("worlds", "--json").stdout) if w["name"] == "probe"]
    assert probe["about"] == "a ring of grazers and hunters; tiny, for tests and first steps"


SENTENCES = [
    (["eval", "--set", "grwoth=1"], 2, "Probe has no setting 'grwoth'. Did you mean 'growth'? Known: cells, rows, "
     "grazers, hunters, max_ticks, start_energy, meal, bite, birth_energy, birth_cost, max_age, growth."),
    (["eval", "--set", "cells=many"], 2, "Probe.cells must be a whole number, not 'many'."),
    (["eval", "--set", "cells"], 2, "A setting is given as key=value, not 'cells'."),
    (["eval", "--world", "savana"], 2, "No world is named 'savana'."),
    (["eval", "--slot", "all=kin://randm"], 2, "No policy is named 'randm'. Did you mean 'random'?"),
    (["eval", "--slot", "all=random"], 2,
     "'random' is not a policy. Write kin://NAME or class:package.module.Class, each with ?key=value (weights=FILE)."),
    (["eval", "--slot", "all"], 2, "--slot is written NAME=VALUE, not 'all'."),
    (["eval", "--slot", "a=kin://noop", "--slot", "a=kin://noop"], 2, "--slot gives 'a' twice."),
    (["eval", "--slot", "all=class:no_such.Policy"], 2,
     "'no_such.Policy' cannot be imported: there is no module no_such."),
    (["eval", "--slot", "all=kin://noop?depth=3"], 2,
     "kinfolk.policies.simple:Noop cannot be made so: Noop.__init__() got an unexpected keyword argument 'depth'."),
    (["eval", "--map", "grazer=herd"], 2, "The slot map names no known slot 'herd'. Known: all."),
    (["eval", "--episodes", "0"], 2, "Evaluate.episodes must be at least 1, not 0."),
    (["eval", "--engine", "procesess"], 2,
     "No engine is named 'procesess'. Did you mean 'processes'? Known: local, processes."),
    (["eval", "--engine", "processes", "--jobs", "0"], 2, "The number of jobs must be at least 1, not 0."),
    (["eval", "--config", "none.toml"], 2, "There is no file none.toml."),
    (["eval", "--resume", "runs/none"], 2, "There is no run runs/none. Known: none."),
    (["play", "--world", "prob"], 2, "No world is named 'prob'. Did you mean 'probe'?"),
    (["bench", "engnes"], 2, "There is no benchmark 'engnes'. Did you mean 'engines'? Known: engines."),
    (["wrlds"], 2, "There is no command 'wrlds'. Did you mean 'worlds'?"),
    (["worlds", "--jsn"], 2, "No such option: --jsn"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "code", "sentence"), SENTENCES, ids=lambda x: str(x)[:40])
def test_wrong_use_gets_a_sentence_and_leaves_nothing(
    words, code, sentence, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as left:
        main(words)
    assert left.value.code == code
    said = capsys.readouterr()
    assert said.out == ""
    whole = sentence.endswith(".") and "named '" not in sentence and "command" not in sentence
    # A list of what is known may grow; everything else is compared to the last letter.
    assert said.err == f"{sentence}\n" if whole else said.err.startswith(sentence)
    assert list(tmp_path.iterdir()) == [], "nothing was written"


def test_a_damaged_run_is_the_things_fault_not_the_users(tmp_path):
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "settings.json").write_text("{")
    done = kinfolk("eval", "--resume", "bad", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr == (
        "bad/settings.json is damaged: Expecting property name enclosed in double quotes: "
        "line 1 column 2 (char 1).\n"
    )


def test_debug_shows_where():
    done = kinfolk("eval", "--world", "savana", "--debug")
    assert "Traceback" in done.stderr
    assert "UnknownNameError" in done.stderr


def test_an_evaluation_is_kept_and_listed_and_resuming_a_done_one_prints_it_again(tmp_path):
    words = ["--slot", "all=kin://probe-plain", "--episodes", "30", "--seed", "7", "--json"]
    done = kinfolk("eval", *words, "--out", "runs/mine", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["run"] == "runs/mine"
    assert document["summary"]["episodes"] == 30
    assert document["settings"]["seed"] == 7
    again = kinfolk("eval", "--resume", "runs/mine", "--json", cwd=tmp_path)
    assert json.loads(again.stdout)["summary"] == document["summary"]
    [listed] = json.loads(kinfolk("runs", "--json", cwd=tmp_path).stdout)
    assert (listed["name"], listed["status"], listed["job"]) == ("mine", "done", "evaluate")
    table = kinfolk("runs", cwd=tmp_path).stdout
    assert "mine" in table
    assert "done" in table


def test_settings_come_from_a_file_and_flags_go_before_it(tmp_path):
    (tmp_path / "a.toml").write_text(
        'episodes = 6\nseed = 3\n[slots]\nall = "kin://noop"\n[world_settings]\nmax_ticks = 9\n'
    )
    done = kinfolk("eval", "--config", "a.toml", "--seed", "4", "--json", cwd=tmp_path)
    settings = json.loads(done.stdout)["settings"]
    assert (settings["episodes"], settings["seed"], settings["world_settings"]) == (
        6,
        4,
        {"max_ticks": 9},
    )


def test_a_game_can_be_played(tmp_path):
    done = kinfolk("play", "--slot", "all=kin://probe-plain", "--seed", "3", cwd=tmp_path)
    assert done.returncode == 0
    assert "probe: game 3, " in done.stdout
    document = json.loads(
        kinfolk("play", "--slot", "all=kin://probe-plain", "--seed", "3", "--json").stdout
    )
    births = sum(h["kind"] == "birth" for h in document["happenings"])
    assert births == document["result"]["counters"]["births"] > 0


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
def test_ctrl_c_stops_at_once_and_leaves_a_run_that_can_go_on(tmp_path):
    words = [
        "eval",
        "--slot",
        "all=kin://probe-plain",
        "--episodes",
        "2500",
        "--engine",
        "processes",
    ]
    running = subprocess.Popen(
        [*KINFOLK, *words, "--out", "mine"], cwd=tmp_path, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
        # A shell that starts us in the background has us ignore SIGINT; a terminal does not.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    end = time.monotonic() + 60
    while not list(tmp_path.glob("mine/checkpoints/*")) and time.monotonic() < end:
        time.sleep(0.02)
    workers = children_of(running.pid)
    assert len(workers) >= 2
    os.killpg(running.pid, signal.SIGINT)
    _, said = running.communicate(timeout=20)
    assert running.returncode == 130
    assert said.splitlines()[-2:] == [
        "Stopped; go on with: kinfolk eval --resume mine",
        "Interrupted.",
    ]
    assert gone_within(5, workers)
    assert not list(tmp_path.rglob(".*")), "nothing is half-written"
    done = kinfolk("eval", "--resume", "mine", "--json", cwd=tmp_path)
    whole = kinfolk(*words, "--out", "whole", "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["summary"] == json.loads(whole.stdout)["summary"]
    packed = [(tmp_path / name / "events.jsonl.gz").read_bytes() for name in ("mine", "whole")]
    assert packed[0] == packed[1]


def test_a_reader_that_leaves_early_is_no_error():
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m kinfolk policies | head -n 1"],
        capture_output=True,
        text=True,
    )
    assert done.stdout == "Policies\n"
    assert done.stderr == ""


def test_the_benchmark_of_engines_reports_what_it_says(tmp_path):
    report = json.loads(kinfolk("bench", "engines", "--json", cwd=tmp_path).stdout)["engines"]
    assert [row["worlds"] for row in report["loop"]] == [1, 64, 4096]
    assert all(0 < row["loop_us_per_tick"] < row["whole_us_per_tick"] for row in report["loop"])
    assert report["tasks"]["ratio"] > 0
