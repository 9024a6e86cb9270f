"""`kinfolk study`: lists plans, checks them, and refuses what does not fit together."""

import json

import pytest

from kinfolk.cli.app import main
from kinfolk.jobs.studies.plan import read_plan_text


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


def test_a_plan_is_printed_byte_by_byte(capsys):
    code, said = run(capsys, "study", "stag_hunt", "--show")
    assert code == 0, said.err
    assert said.out == read_plan_text("stag_hunt")[1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--quick"], "Which study? Give the name of a plan; kinfolk study lists them."),
        (["--show"], "Which study? Give the name of a plan; kinfolk study lists them."),
        (
            ["stag_hunt", "--show", "--json"],
            "--show prints a plan. Give its name or file, and no --check or --json.",
        ),
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


BREAKING = """
from kinfolk.core.errors import UsageError

class BreakingLog:
    def __init__(self, *_):
        raise UsageError("The log breaks.")
"""


def write_plan(folder, before, after):
    """Write the plan of `kinfolk new study` with one change."""
    main_words = ["new", "study", "mine", "--folder", str(folder)]
    with pytest.raises(SystemExit):
        main(main_words)
    path = folder / "mine.toml"
    text = path.read_text()
    assert text.count(before) == 1
    path.write_text(text.replace(before, after))


def test_a_plan_that_cannot_run_is_refused_before_it_has_a_folder(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_plan(tmp_path, "kin://random", "kin://randm")
    said_of_plan = "mine.toml, stages.play, condition '0.1': No policy is named 'randm'. Did you mean 'random'?"
    for words in (["--check"], ["--quick", "--out", "runs/mine"]):
        capsys.readouterr()
        code, said = run(capsys, "study", "mine.toml", *words)
        assert code == 2
        assert said.err.startswith(said_of_plan)
    assert not (tmp_path / "runs" / "mine").exists()


def test_a_study_whose_first_run_fails_names_it_and_leaves_no_folder(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "breaking_log.py").write_text(BREAKING)
    write_plan(tmp_path, "seconds = 0.2 ", 'logs = ["breaking_log:BreakingLog"]\nseconds = 0.2 ')
    capsys.readouterr()
    words = ["mine.toml", "--quick", "--engine", "local", "--out", "runs/mine", "--trust"]
    code, said = run(capsys, "study", *words)
    assert code == 2
    assert said.err.splitlines()[-1] == (
        "mine.toml, stages.play, condition '0.1', seed 0: The log breaks."
    )
    assert not (tmp_path / "runs" / "mine").exists()
