"""The command line as its users meet it: whole sentences, exit codes, real processes where they matter."""

import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import chdir, redirect_stderr, redirect_stdout

import jsonschema
import pytest

from kinfolk.cli.app import main
from kinfolk.core.errors import UnknownNameError
from kinfolk.evaluation.export import RESULT_SCHEMA
from kinfolk.store.run import open_run
from kinfolk.store.settings_file import write_run_settings
from kinfolk.testing.inspection import children_of, wait_for_exit

KINFOLK = [sys.executable, "-m", "kinfolk"]


def kinfolk(*words, cwd="."):
    """Run a command in this process, which saves seconds of imports."""
    out, err = io.StringIO(), io.StringIO()
    exits = pytest.raises(SystemExit)
    with chdir(cwd), redirect_stdout(out), redirect_stderr(err), exits as left:
        main(list(words))
    return subprocess.CompletedProcess(words, left.value.code, out.getvalue(), err.getvalue())


def kinfolk_process(*words, cwd=None):
    """Run a command in a process of its own."""
    return subprocess.run([*KINFOLK, *words], cwd=cwd, capture_output=True, text=True)


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
     "'random' is not a policy. Did you mean 'kin://random'?"),
    (["eval", "--slot", "all=by chance"], 2,
     "'by chance' is not a policy. Write kin://NAME or class:package.module.Class, each with ?key=value (weights=FILE), file:POLICY.safetensors, file:POLICY.py[:Class] or run:RUN[/SLOT][@best|@latest|@STEP]."),
    (["eval", "--slot", "hunter"], 2,
     "--slot is written NAME=VALUE, not 'hunter'. Did you mean: --slot all=kin://hunter"),
    (["eval", "--slot", "kin://hunter"], 2,
     "--slot is written NAME=VALUE, not 'kin://hunter'. Did you mean: --slot all=kin://hunter"),
    (["eval", "--slot", "=kin://random"], 2,
     "--slot is written NAME=VALUE, not '=kin://random'. Did you mean: --slot all=kin://random"),
    (["explain", "--world", "savanna"], 2,
     "Without --slot kinfolk explain plays kin://smart, which plays cogsguard, not savanna. Name a "
     "policy for savanna that explains its actions: --slot all=URI"),
    (["compare", "kin://noop", "kin://random", "--round-robin", "--metric", "nonsense"], 2,
     "--round-robin takes no --metric: its policies play all slots in turn and are rated by return "
     "per life. Leave out either."),
    (["compare", "kin://noop", "kin://random", "--round-robin", "--map", "grazer=a", "--slot", "a=kin://noop"], 2,
     "--round-robin takes no --slot and no --map: its policies play all slots in turn and are rated by "
     "return per life. Leave out either."),
    (["compare", "kin://noop", "kin://random", "--map", "grazer=candidate"], 2,
     "World probe has the group hunter too, and no --map says who plays it. Give --map "
     "hunter=candidate, or for somebody else --slot others=kin://random --map hunter=others."),
    (["compare", "kin://noop", "kin://random", "--map", "grazer=candidate", "--slot", "pack=kin://noop"], 2,
     "World probe has the group hunter too, and no --map says who plays it. Give --map "
     "hunter=candidate, or for somebody else --map hunter=pack."),
    (["compare", "kin://noop", "kin://random", "--map", "grasser=candidate"], 2,
     "World probe has no group 'grasser'. Did you mean 'grazer'?"),
    (["eval", "--slot", "a=none.py"], 2, "'none.py' is not a policy. There is no file none.py."),
    (["eval", "--slot", "a=class:mine"], 2,
     "'class:mine' is not an import path. Write class:package.module.Class."),
    (["eval", "savanna"], 2,
     "kinfolk eval takes no argument 'savanna'. Did you mean: kinfolk eval --world savanna"),
    (["play", "--seed", "3", "cogsguard"], 2,
     "kinfolk play takes no argument 'cogsguard'. Did you mean: kinfolk play --seed 3 --world cogsguard"),
    (["eval", "kin://hunter", "--episodes", "2"], 2,
     "kinfolk eval takes no argument 'kin://hunter'. Did you mean: kinfolk eval --slot all=kin://hunter --episodes 2"),
    (["eval", "mine.toml"], 2,
     "kinfolk eval takes no argument 'mine.toml'. Did you mean: kinfolk eval --config mine.toml"),
    (["eval", "thing"], 2, "kinfolk eval takes no argument 'thing'. Its options: kinfolk eval --help"),
    pytest.param(["train", "savanna"], 2,
     "There is no file savanna; kinfolk train takes a file of settings. Did you mean: kinfolk train --world savanna",
     marks=pytest.mark.train),
    pytest.param(["train", "none.toml"], 2, "There is no file none.toml.", marks=pytest.mark.train),
    (["evolve", "--generations", "5"], 2,
     "kinfolk evolve needs a command behind it: roles or nets. Did you mean: "
     "kinfolk evolve roles --generations 5, or kinfolk evolve nets --generations 5"),
    (["evolve", "--trigger", "temple"], 2,
     "kinfolk evolve needs a command behind it: roles or nets. Did you mean: kinfolk evolve roles --trigger temple"),
    (["evolve"], 2, "kinfolk evolve needs a command behind it: roles or nets."),
    (["evolve", "net"], 2, "There is no command 'kinfolk evolve net'. Did you mean 'nets'? Known: roles, nets."),
    (["evolve", "nets", "CartPole-v1"], 2,
     "kinfolk evolve nets takes no argument 'CartPole-v1'. Did you mean: kinfolk evolve nets --task gym:CartPole-v1"),
    (["eval", "--world", "Pendulum-v1"], 2, "No world is named 'Pendulum-v1'. Did you mean 'gym:Pendulum-v1'?"),
    (["eval", "--world", "gym:CartPole"], 2, "Gymnasium has no task 'CartPole'. Did you mean 'CartPole-v1'?"),
    (["eval", "--world", "savanna", "--map", "predator=main"], 2,
     "World savanna has no group 'predator'. Did you mean 'type_1_predator'? Known: type_1_predator, type_1_prey."),
    (["compare", "a.py", "b.py"], 2, "'a.py' is not a policy. There is no file a.py."),
    (["view", "none"], 2, "There is no run none. Known: none."),
    (["eval", "--slot", "all"], 2, "--slot is written NAME=VALUE, not 'all'."),
    (["eval", "--slot", "a=kin://noop", "--slot", "a=kin://noop"], 2, "--slot gives 'a' twice."),
    (["eval", "--slot", "all=class:no_such.Policy"], 2,
     "'no_such.Policy' cannot be imported: there is no module no_such."),
    (["eval", "--slot", "all=kin://noop?depth=3"], 2,
     "NoopPolicy has no setting 'depth'. Known: none."),
    (["eval", "--map", "grazer=herd"], 2,
     "The slot map names no known slot 'herd'. Known: main. To add it, say who plays it: --slot herd=POLICY."),
    (["eval", "--episodes", "0"], 2, "Evaluate.episodes must be at least 1, not 0."),
    (["eval", "--engine", "procesess"], 2,
     "No engine is named 'procesess'. Did you mean 'processes'? Known: local, processes, ray."),
    (["eval", "--engine", "processes", "--jobs", "0"], 2, "The number of jobs must be at least 1, not 0."),
    (["eval", "--jobs", "-2"], 2, "The number of jobs must be at least 1, not -2."),
    (["eval", "--parallel-policy", "--isolate", "slot"], 2,
     "--parallel-policy is short for --isolate agent; it does not go with --isolate slot."),
    (["eval", "--isolate", "cell"], 2, "Evaluate.isolate must be 'none', 'slot' or 'agent', not 'cell'."),
    (["eval", "--sandbox", "--isolate", "none"], 2,
     "The sandbox restricts worker processes, and slot 'main' has none: isolate must be 'slot' or 'agent'."),
    (["eval", "--step-timeout", "0"], 2, "Evaluate.step_timeout must be greater than 0.0, not 0."),
    (["eval", "--on-failure", "weep"], 2,
     "Evaluate.on_failure must be 'noop', 'restart' or 'abort', not 'weep'."),
    (["eval", "--max-processes", "0"], 2, "Evaluate.max_processes must be at least 1, not 0."),
    (["eval", "--engine", "local", "--address", "1.2.3.4:5"], 2,
     "The engine local runs on this machine and takes no address; ray does."),
    (["eval", "--isolate", "slot", "--slot", "a=class:no_such.Policy"], 2,
     "'no_such.Policy' cannot be imported: there is no module no_such."),
    (["compare", "kin://noop"], 2, "Compare.policies needs at least 2 entries; it has 1. For example: kinfolk "
     "compare kin://smart kin://random --world cogsguard --episodes 20"),
    (["eval", "--config", "none.toml"], 2, "There is no file none.toml."),
    (["eval", "--resume", "runs/none"], 2, "There is no run runs/none. Known: none."),
    (["eval", "--resume", "runs/none", "--episodes", "9"], 2,
     "--resume continues with the run's own settings; give no others with it."),
    (["play", "--world", "prob"], 2, "No world is named 'prob'. Did you mean 'probe'?"),
    (["bench", "engnes"], 2, "There is no benchmark 'engnes'. Did you mean 'engines'?"),
    (["eval", "--world", "savanna", "--preset", "shared_pry_r2"], 2,
     "World savanna has no preset 'shared_pry_r2'. Did you mean 'shared_prey_r2'?"),
    (["eval", "--world", "savanna", "--set", "grid_sise=9"], 2,
     "Savanna has no setting 'grid_sise'. Did you mean 'grid_size'?"),
    (["eval", "--world", "savanna", "--set", "initial_energy_prey=-1"], 2,
     "Savanna.initial_energy_prey must be greater than 0.0, not -1."),
    (["eval", "--world", "savanna", "--set", "grid_size=5"], 2,
     "Savanna.grid_size 5 leaves 25 free cells, and 30 founders and 100 grass patches need 130."),
    (["replay-trace", "none.json.gz"], 2, "There is no file none.json.gz."),
    (["wrlds"], 2, "There is no command 'wrlds'. Did you mean 'worlds'?"),
    (["worlds", "--jsn"], 2, "kinfolk worlds has no option --jsn. Did you mean: kinfolk worlds --json"),
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
    # A machine on which nothing was compiled yet may say so first.
    heard = said.err.removeprefix("Compiling kernels, once; this takes some seconds.\n")
    open_ended = sentence.endswith("?") or "No world" in sentence
    # A list of what is known may grow; everything else is compared to the last letter.
    assert heard.startswith(sentence) if open_ended else heard == f"{sentence}\n"
    assert list(tmp_path.iterdir()) == [], "nothing was written"


SOURCE = """
raise RuntimeError("This must be read, not imported.")
class Table: ...
class Mine(MultiAgentPolicy): ...
class Agent(AgentPolicy): ...
"""


@pytest.mark.parametrize(
    ("policy", "sentence"),
    [
        ("mine.py", "'mine.py' is not a policy. Did you mean 'class:mine.Mine'?"),
        ("./mine.py:Mine", "'./mine.py:Mine' is not a policy. Did you mean 'class:mine.Mine'?"),
        ("./mine.py:Mime",
         "'./mine.py:Mime' is not a policy. mine.py has no class Mime. Did you mean 'Mine'? Known: Mine."),
        ("sub/two.py",
         "'sub/two.py' is not a policy. sub/two.py has several classes; write one of class:sub.two.A, class:sub.two.B."),
        ("broken.py", "'broken.py' is not a policy. broken.py is not valid Python: line 1, invalid syntax."),
        ("empty.py", "'empty.py' is not a policy. empty.py holds no class; a policy is a class."),
        ("class:mine", "'class:mine' is not an import path. Did you mean 'class:mine.Mine'?"),
        ("class:mine.py", "'class:mine.py' is not an import path. Did you mean 'class:mine.Mine'?"),
        ("mine.Mine", "'mine.Mine' is not a policy. Did you mean 'class:mine.Mine'?"),
        ("runs/old", "'runs/old' is not a policy. Did you mean 'run:runs/old'?"),
        ("net.safetensors", "'net.safetensors' is not a policy. Did you mean 'file:net.safetensors'?"),
    ],
)  # fmt: skip
def test_a_file_in_place_of_a_policy_is_read_and_its_classes_named(
    policy, sentence, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("sub", "runs/old"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "mine.py").write_text(SOURCE)
    (tmp_path / "sub" / "two.py").write_text("class A: ...\nclass B: ...\nclass _C: ...\n")
    (tmp_path / "broken.py").write_text("class :\n")
    (tmp_path / "empty.py").write_text("x = 1\n")
    (tmp_path / "runs" / "old" / "settings.json").write_text("{}")
    with pytest.raises(SystemExit) as left:
        main(["eval", "--slot", f"a={policy}"])
    assert left.value.code == 2
    assert capsys.readouterr().err == f"{sentence}\n"


@pytest.mark.train
def test_a_mistyped_file_or_run_is_corrected_by_what_is_there(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lesson.toml").write_text("")
    (tmp_path / "runs" / "first").mkdir(parents=True)
    (tmp_path / "runs" / "first" / "settings.json").write_text("{}")
    for words, sentence in (
        (["train", "leson.toml"],
         "There is no file leson.toml. Did you mean 'lesson.toml'? Known: lesson.toml."),
        (["view", "first"], "There is no run first. Did you mean 'runs/first'? Known: runs/first."),
    ):  # fmt: skip
        with pytest.raises(SystemExit) as left:
            main(words)
        assert (left.value.code, capsys.readouterr().err) == (2, f"{sentence}\n")


def test_a_damaged_run_is_the_things_fault_not_the_users(tmp_path):
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "settings.json").write_text("{")
    done = kinfolk("eval", "--resume", "bad", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr == (
        "bad/settings.json is damaged: Expecting property name enclosed in double quotes: "
        "line 1 column 2 (char 1). A run cannot be used without its settings: start it again.\n"
    )


def test_debug_shows_where():
    with pytest.raises(UnknownNameError, match=r"^No world is named 'savana'\."):
        main(["eval", "--world", "savana", "--debug"])


def test_an_evaluation_is_kept_and_listed_and_resuming_a_done_one_prints_it_again(tmp_path):
    words = ["--slot", "all=kin://probe-python", "--episodes", "30", "--seed", "7", "--json"]
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
    done = kinfolk("play", "--slot", "all=kin://probe-python", "--seed", "3", cwd=tmp_path)
    assert done.returncode == 0
    assert "probe: game 3, " in done.stdout
    document = json.loads(
        kinfolk("play", "--slot", "all=kin://probe-python", "--seed", "3", "--json").stdout
    )
    births = sum(h["kind"] == "birth" for h in document["events"])
    assert births == document["result"]["counters"]["births"] > 0


def test_a_game_that_is_recorded_shows_its_progress(tmp_path):
    words = (
        "play",
        "--slot",
        "all=kin://noop",
        "--set",
        "max_ticks=8",
        "--record",
        "--out",
        "game",
    )
    done = kinfolk(*words, cwd=tmp_path)
    assert re.findall(r"^Ticks: \d+ of 8", done.stderr, re.M) == [
        "Ticks: 2 of 8", "Ticks: 4 of 8", "Ticks: 6 of 8", "Ticks: 8 of 8",
    ]  # fmt: skip
    assert "Ticks" not in kinfolk("--quiet", *words[:-1], "again", cwd=tmp_path).stderr


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
@pytest.mark.more
def test_ctrl_c_stops_at_once_and_leaves_a_run_that_can_go_on(tmp_path):
    words = [
        *("eval", "--slot", "z=kin://probe-python", "--slot", "a=kin://probe-python"),
        *("--map", "hunter=a", "--episodes", "240", "--engine", "processes"),
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
        "Stopped; resume with: kinfolk eval --resume mine",
        "Interrupted.",
    ]
    assert wait_for_exit(30, workers)
    assert not list(tmp_path.rglob(".*")), "nothing is half-written"
    done = kinfolk_process("eval", "--resume", "mine", "--json", cwd=tmp_path)
    whole = kinfolk(*words, "--out", "whole", "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["summary"] == json.loads(whole.stdout)["summary"]
    for path in (tmp_path / "whole").rglob("*"):
        # Clocks stand apart, and so does the command, which names the folder.
        if path.is_file() and path.name not in ("timings.jsonl", "command.txt"):
            twin = tmp_path / "mine" / path.relative_to(tmp_path / "whole")
            assert path.read_bytes() == twin.read_bytes(), path


def test_a_reader_that_leaves_early_is_no_error():
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m kinfolk policies | head -n 1"],
        capture_output=True,
        text=True,
    )
    assert done.stdout == "Policies\n"
    assert done.stderr == ""


@pytest.mark.more
def test_the_benchmark_of_engines_reports_what_it_says(monkeypatch, capsys):
    monkeypatch.setattr("kinfolk.bench.engines.LOOP_WORLD_COUNTS", (1, 64))
    monkeypatch.setattr("kinfolk.bench.engines.TASKS", 4)
    with pytest.raises(SystemExit):
        main(["bench", "engines", "--json"])
    report = json.loads(capsys.readouterr().out)["engines"]
    assert [row["worlds"] for row in report["loop"]] == [1, 64]
    assert all(0 < row["loop_us_per_tick"] < row["whole_us_per_tick"] for row in report["loop"])
    assert report["tasks"]["ratio"] > 0


@pytest.fixture(scope="module")
def family_run(tmp_path_factory):
    """A short savanna run; nobody changes it."""
    tmp_path = tmp_path_factory.mktemp("family")
    words = ["eval", "--world", "savanna", "--set", "max_steps=40", "--slot", "all=kin://random"]
    done = kinfolk(*words, "--episodes", "3", "--out", "mine", "--plot", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    return tmp_path, done.stdout


def test_an_evaluation_shows_its_measures_and_populations(family_run):
    shown = family_run[1]
    assert "mean_prey_alive" in shown
    assert "type_1_prey alive, over the " in shown
    assert "█" in shown


def test_a_phylogeny_comes_out_as_csv_and_newick(family_run):
    folder, _ = family_run
    table = kinfolk("export", "phylogeny", "mine", "--episode", "2", cwd=folder).stdout.splitlines()
    assert table[0] == "id,ancestor_list,origin_time,destruction_time,taxon_label,cause,agent_id"
    assert table[1].startswith("0,[NONE],0,")
    assert len(table) > 31
    done = kinfolk(
        "export", "phylogeny", "mine", "--format", "newick", "--out", "tree.nwk", cwd=folder
    )
    assert done.stderr.endswith(" agents are in tree.nwk.\n")
    assert (folder / "tree.nwk").read_text().count(";") == 30, "a tree per founder"


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["mine", "--episode", "9"], 2, "mine has no episode 9."),
        (["mine", "--format", "xml"], 2, "--format must be csv or newick, not 'xml'."),
        (["none"], 2, "There is no run none. Known: mine."),
    ],
)
def test_a_phylogeny_that_is_not_there(family_run, words, code, sentence):
    done = kinfolk("export", "phylogeny", *words, cwd=family_run[0])
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr == f"{sentence}\n"


def test_a_run_whose_policy_has_changed_since_gives_no_phylogeny(family_run, tmp_path):
    folder = shutil.copytree(family_run[0], tmp_path / "copy")
    settings = json.dumps(open_run(folder / "mine").config["settings"])
    changed = json.loads(settings.replace("kin://random", "kin://noop"))
    write_run_settings(folder / "mine", "evaluate", changed)
    done = kinfolk("export", "phylogeny", "mine", cwd=folder)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "Episode 0 of mine ends otherwise now than it did: a policy has changed since.\n"
    )


def test_presets_are_listed_with_a_line_each():
    found = json.loads(kinfolk("presets", "--world", "savanna", "--json").stdout)
    assert json.loads(kinfolk("presets", "savanna", "--json").stdout) == found
    assert {"shared_prey_r1", "shared_prey_r2", "lineage_documented"} <= {
        p["preset"] for p in found
    }
    assert all(p["about"] for p in found)
    assert "savanna kick_back" in kinfolk("presets").stdout


def test_a_slot_that_plays_nobody_is_pointed_out(tmp_path):
    done = kinfolk("play", "--slot", "a=kin://noop", "--slot", "b=kin://noop", cwd=tmp_path)
    assert done.returncode == 0
    assert "Slot 'b' plays nobody: no --map GROUP=b was given.\n" in done.stderr


def test_a_class_in_the_folder_one_works_in_is_found(tmp_path):
    (tmp_path / "my_policies.py").write_text(
        "from kinfolk.policies.base import NoopPolicy\nclass Mine(NoopPolicy):\n    pass\n"
    )
    done = kinfolk_process("eval", "--slot", "all=class:my_policies.Mine", "--episodes", "4",
                   "--engine", "processes", "--json", cwd=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_a_policy_that_fails_is_told_of_while_it_plays_and_at_the_end(tmp_path):
    (tmp_path / "my_policies.py").write_text(
        "from kinfolk.policies.base import NoopPolicy\n"
        "class Mine(NoopPolicy):\n    def act_async(self, *arguments):\n        raise ValueError('no idea')\n"
    )
    words = ["--slot", "good=kin://noop", "--slot", "bad=class:my_policies.Mine", "--map", "hunter=bad",
             "--episodes", "4", "--isolate", "slot", "--sandbox"]  # fmt: skip
    done = kinfolk_process("eval", *words, "--out", "mine", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith(
        "Slot 'bad', played by my_policies.Mine, never acted: it failed in all of 4 episodes. The first "
        "failure:\n"
        "  episode 0, tick 0: act_async raised ValueError: no idea\n"
        "    my_policies.py:4 in act_async: raise ValueError('no idea')\n"
    )
    assert "Sandbox: " in done.stderr, "what is enforced is said before the start"
    assert re.search(
        r"Episodes: 2 of 4, about .* left, failures of policies so far: 2", done.stderr
    )
    document = json.loads(kinfolk("eval", "--resume", "mine", "--json", cwd=tmp_path).stdout)
    jsonschema.validate(document, RESULT_SCHEMA)
    assert document["sandbox"]["requested"] is True
    assert [f["episode"] for f in document["failures"]] == [0, 1, 2, 3]
    words = ["export", "metrics", "mine", "--table", "failures"]
    table = kinfolk_process(*words, cwd=tmp_path).stdout  # bytes go past Python's streams
    assert table.splitlines()[1].startswith("0,bad,my_policies.Mine,-1,0,raised,")


def test_the_document_of_an_evaluation_keeps_to_its_schema(family_run):
    folder, _ = family_run
    done = kinfolk("eval", "--resume", "mine", "--json", cwd=folder)
    document = json.loads(done.stdout)
    jsonschema.validate(document, RESULT_SCHEMA)
    assert document["sandbox"]["not_enforced"], "without --sandbox that is said too"
    assert document["timings"]["seconds"] > 0


def test_comparing_says_who_is_better_and_how_sure(tmp_path):
    words = ["compare", "kin://probe-python", "kin://random", "--episodes", "30"]
    words += ["--map", "grazer=candidate", "--map", "hunter=candidate"]
    done = kinfolk(*words, "--out", "a", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "kin://probe-python is better than kin://random: by " in done.stdout
    found = json.loads(kinfolk(*words, "--out", "b", "--json", cwd=tmp_path).stdout)
    assert (found["schema"], found["version"]) == ("kinfolk.comparison", 4)
    assert found["pairs"]["0 1"][2] == "first"
    assert (found["pairs"]["0 1"][0][3], found["means"][0][3]) == (30, 30), "n"


@pytest.fixture
def here(tmp_path, monkeypatch, capsys):
    """A command in an empty folder, in this process: its exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)

    def run(*words):
        with pytest.raises(SystemExit) as left:
            main(list(words))
        said = capsys.readouterr()
        return left.value.code, said.out, said.err

    return run


def test_one_episode_has_no_interval_in_table_and_document(here):
    words = ["eval", "--slot", "all=kin://noop", "--episodes", "1", "--out", "a"]
    assert "(no interval)" in here(*words)[1]
    found = json.loads(here("eval", "--resume", "a", "--json")[1])["summary"]
    assert found["returns"]["all"][1:] == [None, None, 1]


def test_comparing_in_a_world_with_several_groups_asks_for_a_map(here, tmp_path):
    words = ["compare", "kin://hunter", "kin://random", "--world", "savanna", "--episodes", "4"]
    code, out, err = here(*words)
    assert (code, out) == (2, "")
    assert err == (
        "World savanna has the groups type_1_predator, type_1_prey, and without --map every policy "
        "would play all of them. Say which it plays, and who plays the others: kinfolk compare "
        "kin://hunter kin://random --world savanna --slot others=kin://random "
        "--map type_1_predator=candidate --map type_1_prey=others\n"
    )
    assert here(*words, "--slot", "herd=kin://grazer")[2].endswith(
        "kinfolk compare kin://hunter kin://random --world savanna --slot herd=kin://grazer "
        "--map type_1_predator=candidate --map type_1_prey=herd\n"
    )
    team = ["compare", "a=kin://noop;b=kin://noop", "a=kin://random;b=kin://noop"]
    assert here(*team)[2].endswith(
        "kinfolk compare 'a=kin://noop;b=kin://noop' 'a=kin://random;b=kin://noop' --world probe "
        "--map grazer=a --map hunter=b\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_comparison_is_not_resumed_by_the_command_of_evaluations(here):
    words = ["compare", "kin://noop", "kin://random", "--round-robin", "--episodes", "1"]
    assert here(*words, "--out", "met")[0] == 0
    code, _, err = here("eval", "--resume", "met")
    assert (code, err) == (2, "met is a run of round_robin; its own command resumes it.\n")


@pytest.mark.train
def test_a_run_of_another_kind_is_not_gone_on_with(tmp_path):
    kept = kinfolk("eval", "--episodes", "1", "--out", "judged", cwd=tmp_path)
    assert kept.returncode == 0
    refused = kinfolk("train", "--resume", "judged", cwd=tmp_path)
    assert (refused.returncode, refused.stderr) == (
        2,
        "judged is a run of evaluate; its own command resumes it.\n",
    )


def test_metrics_that_apply_to_no_episode_are_none_in_the_table_and_null_in_the_document(here):
    words = ["eval", "--world", "savanna", "--set", "max_steps=400", "--episodes", "2"]
    words += ["--slot", "all=kin://noop", "--out", "idle"]
    code, out, err = here(*words)
    assert code == 0, err
    [row] = [line for line in out.splitlines() if "cooperative_meal_fraction_full" in line]
    assert row.split()[-2:] == ["none", "0"]
    document = json.loads(here("eval", "--resume", "idle", "--json")[1])
    jsonschema.validate(document, RESULT_SCHEMA)
    found = document["summary"]["metrics"]
    assert found["cooperative_meal_fraction_full_length_episodes"] is None
    assert found["total_prey_all_episodes"][3] == 2
