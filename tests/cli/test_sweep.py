"""`kinfolk sweep`: its files, its messages, and that it resumes to the same bytes."""

import gzip
import json
import shlex

import pytest

from kinfolk.cli.app import main

WORDS = ["sweep", "eval", "--vary", "max_ticks=4,8", "--seeds", "2", "--metric", "ticks",
         "--episodes", "2"]  # fmt: skip


def run(capsys, *words):
    with pytest.raises(SystemExit) as left:
        main(list(words))
    return left.value.code, capsys.readouterr()


def test_a_sweep_prints_n_and_leaves_two_tables_and_its_command(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["kinfolk", *WORDS, "--out", "run"])
    code, said = run(capsys, *WORDS, "--out", "run")
    assert code == 0, said.err
    lines = [line.split() for line in said.out.splitlines()]
    assert said.out.startswith("ticks of eval, 2 seeds; intervals are over seeds\n")
    assert ["max_ticks", "mean", "(95", "%)", "n"] in lines
    assert ["8", "8", "(8", "to", "8)", "2"] in lines
    assert "The tables are run/table.csv and run/summary.csv." in said.out
    folder = tmp_path / "run"
    assert (folder / "summary.csv").read_text() == (
        "max_ticks,metric,mean,low,high,n,over\n"
        "4,ticks,4.0,4.0,4.0,2,seeds\n8,ticks,8.0,8.0,8.0,2,seeds\n"
    )
    assert (folder / "table.csv").read_text().startswith("max_ticks,seed,episode,return,")
    command = shlex.join(["kinfolk", *WORDS, "--out", "run"])
    assert (folder / "command.txt").read_text() == f"{command}\n"
    code, said = run(capsys, "sweep", "eval", "--resume", "run", "--json")
    assert json.loads(said.out)["estimates"] == [[4.0, 4.0, 4.0, 2], [8.0, 8.0, 8.0, 2]]


def test_a_stopped_sweep_is_resumed_to_the_same_bytes(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("whole", "stopped"):
        assert run(capsys, *WORDS, "--out", name)[0] == 0
    folder = tmp_path / "stopped"
    packed = folder / "events.jsonl.gz"
    # As if it had been killed after its second run: the log goes on behind the checkpoint.
    (folder / "events.jsonl").write_bytes(gzip.decompress(packed.read_bytes())[:-7])
    packed.unlink()
    (folder / "table.csv").unlink()
    for checkpoint in sorted((folder / "checkpoints").iterdir())[1:]:
        checkpoint.unlink()
    code, said = run(capsys, "sweep", "eval", "--resume", "stopped")
    assert code == 0, said.err
    for name in ("table.csv", "summary.csv", "events.jsonl.gz"):
        assert (folder / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--vary", "max_ticks"], "--vary is written KEY=V1,V2,..., not 'max_ticks'.\n"),
        (
            ["--vary", "meal=1..3"],
            "--vary lists its values, such as meal=1,2,3; '1..3' is no list.\n",
        ),
        (["--vary", "meal=1", "--vary", "meal=2"], "--vary gives 'meal' twice.\n"),
        (
            ["--seeds", "ten"],
            "--seeds is a number of seeds, such as 10, or a list 3,5,8; not 'ten'.\n",
        ),
        (
            ["--seeds", "1,1"],
            "Seed 1 is given twice, and would count one run as two. Give it once.\n",
        ),
        (["--seed", "4"], "A sweep has seeds; leave out the seed of its job.\n"),
    ],
)
def test_wrong_words_leave_no_folder(capsys, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    assert run(capsys, "sweep", "eval", *words) == (2, ("", message))
    assert list(tmp_path.iterdir()) == []


def test_unknown_settings_metrics_and_policies_leave_no_folder(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for words, message in (
        (
            ["--vary", "max_tick=4"],
            "Neither eval nor world probe has a setting 'max_tick'. Did you ",
        ),
        (["--metric", "tick"], "There is no metric 'tick'. Did you mean 'ticks'? Known: "),
        (["--slot", "all=kin://nop"], "No policy is named 'nop'. Did you mean 'noop'? "),
    ):
        code, said = run(capsys, "sweep", "eval", *words)
        assert (code, said.out) == (2, "")
        assert said.err.startswith(message)
    assert list(tmp_path.iterdir()) == []


def test_resuming_takes_no_settings(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(capsys, *WORDS, "--out", "run")[0] == 0
    code, said = run(capsys, "sweep", "eval", "--resume", "run", "--seeds", "3")
    message = "--resume continues with the run's own settings; give no others with it.\n"
    assert (code, said.err) == (2, message)


def test_a_list_of_settings_and_a_search_are_given_on_the_command_line(
    capsys, tmp_path, monkeypatch
):
    pytest.importorskip("optuna", reason="the extra search is not installed")
    monkeypatch.chdir(tmp_path)
    words = ["sweep", "eval", "--episodes", "1", "--metric", "ticks"]
    cases = ["--case", "max_ticks=4,meal=2", "--case", "max_ticks=8,meal=3"]
    code, said = run(capsys, *words, *cases, "--out", "listed", "--json")
    assert (code, json.loads(said.out)["settings"]) == (
        0,
        [{"max_ticks": 4, "meal": 2}, {"max_ticks": 8, "meal": 3}],
    )
    search = [
        "--search",
        "max_ticks=2:9",
        "--search",
        "meal=2,3",
        "--trials",
        "3",
        "--search-seed",
        "1",
    ]
    code, said = run(capsys, *words, *search, "--out", "searched")
    assert code == 0
    best = [line for line in said.out.splitlines() if line.startswith("Trial ")]
    assert len(best) == 1
    assert " is the best of 3: max_ticks = " in best[0]
    assert (
        run(capsys, *words, "--case", "meal")[1].err
        == "--case is written KEY=V,KEY=V, not 'meal'.\n"
    )
    assert run(capsys, *words, "--search", "meal")[1].err == (
        "--search is written KEY=V1,V2,..., not 'meal'.\n"
    )


def test_weak_intervals_are_named_below_the_table(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = [
        "sweep",
        "eval",
        "--vary",
        "max_ticks=20",
        "--seeds",
        "3",
        "--episodes",
        "1",
        "--out",
        "run",
    ]
    _, said = run(capsys, *words)
    assert (
        "Fewer than 6 values: the interval of max_ticks = 20 holds only for about normally distributed "
        "values."
    ) in said.out
