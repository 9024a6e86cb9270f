"""`kinfolk scenarios` and `kinfolk eval --scenario` as a stranger types them."""

import json

import pytest

from kinfolk.cli.app import main

OWN = """
[scenarios.mine]
about = "a hunter among random hunters"
world = "probe"
world_settings = { max_ticks = 10 }
mode = "visitor"
players = { grazer = { idle = 5 }, hunter = { focal = 1, random = 2 } }
seed = 7
floor = 1.0
ceiling = 3.0
"""


def run(capsys, *words):
    with pytest.raises(SystemExit) as left:
        main(list(words))
    return left.value.code, capsys.readouterr()


@pytest.fixture
def own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.toml").write_text(OWN)
    return tmp_path


def test_scenarios_are_listed_with_those_that_are_held_out_below(capsys):
    code, said = run(capsys, "scenarios", "--world", "cogsguard")
    assert code == 0
    first, second = said.out.split("Held-out scenarios, for final figures")
    assert "[cogsguard, visitor: 3 cogs with miner] three join five that only mine" in first
    assert "cogs_with_others_evolved" in second


def test_own_scenarios_are_evaluated_and_leave_a_table_and_a_picture(own, capsys):
    words = ["eval", "--scenario", "all", "--scenario-file", "own.toml", "--slot", "all=kin://noop"]
    code, said = run(capsys, *words, "--episodes", "2", "--out", "done", "--json")
    assert code == 0
    document = json.loads(said.out)
    assert document["schema"] == "kinfolk.scenarios"
    [row] = document["summary"]["scenarios"]
    assert row[:4] == ["mine", "probe", "visitor", False]
    assert (own / "done" / "scenarios.csv").read_text().startswith("name,world,mode,held_out,")
    code, said = run(capsys, "eval", "--resume", "done")
    assert code == 0
    assert "Scores: 0 is the floor, 1 the ceiling" in said.out
    code, _ = run(capsys, "plot", "done", "--out", "scores.svg")
    assert code == 0
    assert (own / "scores.svg").stat().st_size > 1000


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--world", "savanna"],
            "A scenario has its own world. Leave them out, or write a scenario of your own for "
            "--scenario-file.\n",
        ),
        (
            ["--slot", "hunterr=kin://noop"],
            "Policy 'hunterr' plays no focal agent of the chosen scenarios. Did you mean 'hunter'? "
            "Known: all, probe, hunter.\n",
        ),
    ],
)
def test_wrong_use_is_an_error_that_says_what_is_right(own, capsys, words, message):
    base = ["eval", "--scenario", "all", "--scenario-file", "own.toml"]
    slot = [] if "--slot" in words else ["--slot", "all=kin://noop"]
    code, said = run(capsys, *base, *slot, *words)
    assert (code, said.err) == (2, message)
    assert not (own / "runs").exists()
