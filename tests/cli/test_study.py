"""`kinfolk study`: lists plans, checks them, and refuses what does not fit together."""

import json

import pytest

from kinfolk.cli.app import main


def run(capsys, *words):
    with pytest.raises(SystemExit) as left:
        main(list(words))
    return left.value.code, capsys.readouterr()


def test_without_a_name_all_plans_are_listed_with_question_and_time(capsys):
    code, said = run(capsys, "study")
    assert code == 0, said.err
    assert "stag_hunt: When do joiners beat free riders?" in said.out
    assert "6 hypotheses, 20 seeds, 260 runs; about " in said.out
    listed = json.loads(run(capsys, "study", "--json")[1].out)["studies"]
    assert [entry["name"] for entry in listed][-1] == "stag_hunt"
    assert listed[-1]["quick_seconds"] < 60 <= listed[-1]["seconds"]


def test_a_plan_is_checked_without_running_anything(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, said = run(capsys, "new", "study", "mine", "--folder", ".")
    assert code == 0, said.err
    code, said = run(capsys, "study", "mine.toml", "--check", "--jobs", "1")
    assert code == 0, said.err
    assert said.out.startswith("The plan mine is valid. SHA-256 ")
    assert said.out.endswith("24 runs (24 of play); about 15 s with --jobs 1.\n")
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--quick"], "Which study? Give the name of a plan; kinfolk study lists them."),
        (["--check"], "Which study? Give the name of a plan; kinfolk study lists them."),
        (["stag_hnut"], "There is no study 'stag_hnut'. Did you mean 'stag_hunt'?"),
        (["nowhere.toml"], "There is no file nowhere.toml."),
        (["--resume", "runs/none"], "There is no run runs/none."),
    ],
)
def test_what_does_not_fit_is_refused(words, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, said = run(capsys, "study", *words)
    assert code == 2
    assert said.err.startswith(message)
