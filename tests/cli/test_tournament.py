"""`kinfolk tournament` and `crossplay` as a stranger types them: folders, resume, hostile policies."""

import json
import os
import re
import subprocess
import sys
import time
from html import escape

import pytest

from kinfolk.cli.app import main
from kinfolk.cli.commands.tournament import print_matrices
from kinfolk.isolation.sandbox.bubblewrap import explain_unusable

needs_sandbox = pytest.mark.skipif(bool(explain_unusable()), reason=explain_unusable())
SOURCE = """
import numpy as np

from kinfolk.policies.base import NoopPolicy


class Mine(NoopPolicy):
    def act_async(self, observations, batch, memory, keys):
{body}
        super().act_async(observations, batch, memory, keys)
"""
CRASHING = "        if batch.uid[0] >= 0:\n            raise ValueError('boom')"
HOSTILE = """        import os, signal
        for pid in (1, os.getppid()):
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        raise RuntimeError(open("/etc/passwd").read())"""
TEAMS = ["--world", "cogsguard", "--preset", "head_to_head", "--set", "max_steps=12"]
TRUSTED = ["--no-sandbox", "--isolate", "none"]


def run(capsys, *words):
    with pytest.raises(SystemExit) as left:
        main(list(words))
    return left.value.code, capsys.readouterr()


def submit(folder, **bodies):
    folder.mkdir()
    for name, body in bodies.items():
        (folder / f"{name}.py").write_text(SOURCE.format(body=body))


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    submit(tmp_path / "subs", alice="        pass", bob="        pass", crash=CRASHING)
    return tmp_path


def test_a_folder_of_policies_is_played_and_leaves_tables_and_one_page(here, capsys):
    words = ["tournament", "subs", "kin://random", *TEAMS, *TRUSTED, "--engine", "local"]
    code, said = run(capsys, *words, "--games", "2", "--out", "cup")
    assert code == 0, "a policy that fails is a result, not a failure of the command"
    assert "crash never acted: it failed in all of 12 episodes. The first failure:" in said.out
    assert "crash.py:10 in act_async: raise ValueError('boom')" in said.out
    assert re.search(r"^Games: 12 of 12, failures of policies so far: 12$", said.err, re.MULTILINE)
    texts = (
        "Ranked by rating (mu - 3 sigma). Equal scores and shares won share a rank.",
        "Intervals are over seeds (2 seeds): games on one seed are not independent.",
        "crash is disqualified (--max-failure-rate): it failed in 12 of 12 episodes, and never acted in "
        "12.",
        "had the same score: an interval without width says nothing about other games.",
    )
    for text in texts:
        assert text in said.out
    assert said.out.endswith("The run lies in cup; open cup/tournament.html in a browser.\n")
    files = {path.name for path in (here / "cup").iterdir()}
    assert {"leaderboard.csv", "payoffs.csv", "games.csv", "tournament.json"} <= files
    rows = (here / "cup" / "leaderboard.csv").read_text().splitlines()
    assert sorted(row.split(",")[1] for row in rows[1:]) == ["alice", "bob", "crash", "random"]
    assert len(list((here / "cup" / "replays").iterdir())) == 6
    page = (here / "cup" / "tournament.html").read_text()
    assert str(here) not in page
    for text in (*texts, "every game played from every side"):
        assert escape(text) in page
    assert len(re.findall('id="game:', page)) == 6
    code, said = run(capsys, "tournament", "--resume", "cup", "--json")
    document = json.loads(said.out)
    assert (code, document["schema"], len(document["standings"])) == (0, "kinfolk.tournament", 4)
    assert len(document["failure_records"]) == 12
    code, said = run(capsys, "export", "metrics", "cup", "--table", "failures")
    assert said.out.splitlines()[0].startswith("episode,slot,policy,agent,tick,cause,")
    code, said = run(capsys, "rerun", "cup", "--trust")
    assert code == 0, said.err
    code, said = run(capsys, "runs", "--root", ".")
    assert "first of 4: " in said.out


def test_settings_and_policies_may_be_one_file(here, capsys):
    (here / "cup.toml").write_text(
        'world = "savanna"\nsandbox = false\nisolate = "none"\ngames = 1\n'
        "world_settings = {max_steps = 5}\n"
        '[policies.predator]\nhunter = "kin://hunter"\nstill = "kin://noop"\n'
        '[policies.prey]\ngrazer = "kin://grazer"\nalice = "subs/alice.py"\n'
    )
    code, said = run(capsys, "tournament", "cup.toml", "--engine", "local", "--games", "2")
    assert code == 0
    assert "savanna: leaderboard of type_1_predator" in said.out
    assert "Mean score of type_1_prey against type_1_predator" in said.out


def test_columns_of_a_matrix_whose_names_do_not_fit_are_numbered(capsys):
    names = [f"a_policy_with_a_long_name_{i}" for i in range(3)]
    cells = [[None if i == j else (i - j, 0, 0, 2) for j in range(3)] for i in range(3)]
    print_matrices([("", "", names, names, cells)])
    said = capsys.readouterr().out
    assert said.splitlines()[2].split() == ["1", "2", "3"]
    assert said.endswith(
        "Columns: 1 a_policy_with_a_long_name_0, 2 a_policy_with_a_long_name_1, "
        "3 a_policy_with_a_long_name_2.\n"
    )


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["nothing"],
            "nothing holds no policy. A policy is a Python file, a package or a .safetensors file.",
        ),
        (["none"], "'none' is not a policy."),
        (["subs", "alice=kin://noop"], "Two policies are called 'alice': "),
        (["subs", "kin://hunter"], "Policy 'hunter' cannot play cogsguard: "),
        (["kin://noop"], "A game of cogsguard has 2 policies; there is 1."),
        ([], "policies"),
    ],
)
def test_wrong_input_is_refused_in_a_sentence_and_leaves_no_folder(here, capsys, words, sentence):
    (here / "nothing").mkdir()
    code, said = run(capsys, "tournament", *words, *TEAMS, *TRUSTED, "--out", "cup")
    assert (code, (here / "cup").exists()) == (2, False)
    assert sentence in said.err


def test_cross_play_prints_mixtures_and_self_play(here, capsys):
    words = ["crossplay", "kin://noop", "kin://random", "--set", "max_ticks=8", "--games", "2"]
    code, said = run(capsys, *words, "--engine", "local", "--out", "cross")
    assert code == 0
    assert "Which policies matter on side grazer" in said.out
    assert "Self-play and cross-play, mean score over common games" in said.out
    files = {path.name for path in (here / "cross").iterdir()}
    assert {"payoffs.csv", "mixtures.csv", "crossplay.json", "tournament.html"} <= files


@needs_sandbox
@pytest.mark.more
def test_a_hostile_and_a_crashing_policy_are_named_and_harm_nobody(here, capsys):
    words = ["tournament", "subs", "kin://random", *TEAMS, "--games", "1"]
    assert run(capsys, *words, "--out", "fair")[0] == 0
    (here / "subs" / "hostile.py").write_text(SOURCE.format(body=HOSTILE))
    code, said = run(capsys, *words, "--out", "spoilt")
    assert code == 0
    names = re.findall(r"^(\w+) never acted: it failed in all of", said.out, re.MULTILINE)
    assert names == ["crash", "hostile"]
    assert "root:x:0:0" not in said.out, "the sandbox shows no file"
    games = {}
    for cup in ("fair", "spoilt"):
        lines = json.loads((here / cup / "tournament.json").read_text())["games"]
        games[cup] = [
            {name: line[name] for name in line if name != "pairing"}
            for line in lines
            if "hostile" not in (line["first"], line["second"])
        ]
    assert games["spoilt"] == games["fair"]


@pytest.mark.more
def test_a_killed_tournament_resumes_to_the_same_page_but_for_its_date(here, root):
    command = [sys.executable, "-c", "from kinfolk.cli.app import main; main()", "tournament"]
    words = ["subs", "kin://random", *TEAMS, *TRUSTED, "--games", "2", "--chunk-size", "1"]
    options = {"cwd": here, "env": {**os.environ, "PYTHONPATH": str(root / "src")}}
    options |= {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run([*command, *words, "--out", "whole"], check=True, **options)
    kills, checkpoints = 0, here / "killed" / "checkpoints"
    resume = ["--resume", "killed", "--trust"]
    for tries in ([*words, "--out", "killed"], resume, resume):
        before = {path.name for path in checkpoints.glob("*")}
        process = subprocess.Popen([*command, *tries], **options)
        while process.poll() is None:
            # Killed twice, as soon as it has got further than before.
            if kills < 2 and {path.name for path in checkpoints.glob("*.safetensors")} - before:
                process.kill()
                kills += 1
                process.wait()
            time.sleep(0.002)
    assert (process.returncode, kills) == (0, 2)
    pages = {}
    for cup in ("whole", "killed"):
        page = (here / cup / "tournament.html").read_text()
        page = re.sub(rf'"name": "{cup}", "date": "[^"]*"', "", page)
        pages[cup] = re.sub(rf">\d{{4}}-\d\d-\d\d \d\d:\d\d<|Tournament: {cup}<", "", page)
    assert pages["killed"] == pages["whole"]
    for name in ("leaderboard.csv", "payoffs.csv", "games.csv", "tournament.json"):
        assert (here / "killed" / name).read_bytes() == (here / "whole" / name).read_bytes()


def test_what_is_refused_is_listed_everywhere_and_the_others_play(here, capsys):
    (here / "subs" / "__init__.py").write_text(SOURCE.format(body="        pass"))
    (here / "subs" / "crash.py").unlink()
    words = ["tournament", "subs", *TEAMS, *TRUSTED, "--games", "1", "--replay", "0"]
    code, said = run(capsys, *words, "--out", "cup")
    assert code == 0
    reason = "names that begin with __ mean something to Python"
    assert f"__init__.py is refused and does not play: {reason}." in said.err
    assert f"Refused: __init__.py: {reason}." in said.out
    document = json.loads((here / "cup" / "tournament.json").read_text())
    assert document["refused"] == {"__init__.py": reason}
    assert [row["name"] for row in document["leaderboard"]] == ["alice", "bob"]
    assert (
        f"<td>__init__.py</td><td>{reason}</td>" in (here / "cup" / "tournament.html").read_text()
    )
