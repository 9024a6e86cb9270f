"""Files of a run that somebody removed: an error that names them, never other results in silence."""

from pathlib import Path

import pytest

from kinfolk.cli.app import main

EVALUATION = ["eval", "--set", "max_ticks=5", "--episodes", "2", "--slot", "all=kin://random"]


def run(capsys, *words):
    with pytest.raises(SystemExit) as left:
        main(list(words))
    said = capsys.readouterr()
    return left.value.code, said.out + said.err


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("words", [["export", "metrics", "runs/one"], ["plot", "runs/one"]])
def test_a_run_without_its_events_is_damaged(capsys, words):
    assert run(capsys, *EVALUATION, "--out", "runs/one")[0] == 0
    Path("runs/one/events.jsonl.gz").unlink()
    code, said = run(capsys, *words)
    assert code == 1
    assert "runs/one is damaged: it has neither events.jsonl nor events.jsonl.gz." in said


def test_a_run_that_has_just_begun_has_no_events():
    from kinfolk.store.run import create_run

    begun = create_run(Path("runs/new"), "evaluate", {})
    assert list(begun.events()) == []


@pytest.mark.train
@pytest.mark.parametrize(("version", "every"), [("", "0"), ("@best", "1")])
def test_a_removed_best_policy_is_not_replaced_by_the_newest(capsys, version, every):
    training = ["train", "--world", "probe", "--steps", "600", "--evaluation.every", every]
    assert run(capsys, *training, "--out", "runs/net")[0] == 0
    [best] = Path("runs/net/policies").glob("*/best.safetensors")
    best.unlink()
    playing = ["eval", "--set", "max_ticks=5", "--episodes", "1"]
    code, said = run(capsys, *playing, "--slot", f"all=run:runs/net{version}")
    assert code == 1
    assert "best.safetensors is missing, the best policy, of step " in said
    assert run(capsys, *playing, "--slot", "all=run:runs/net@latest")[0] == 0
