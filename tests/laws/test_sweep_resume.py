"""A sweep of trainings that is killed with -9 and resumed equals one that was never stopped."""

import os
import signal
import subprocess
import sys
import time

import pytest

SWEEP = ["sweep", "train", "--world", "probe", "--worlds", "1", "--steps", "700", "--vary",
         "ppo.learning_rate=0.001,0.003,0.01", "--seeds", "2"]  # fmt: skip
FILES = ("table.csv", "summary.csv", "curves.csv", "events.jsonl.gz")


def kinfolk(folder, *words):
    """Start a command in a process of its own."""
    command = [sys.executable, "-m", "kinfolk", "-q", *words]
    return subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE)


def finish(process, seconds=600):
    _, errors = process.communicate(timeout=seconds)
    assert process.returncode == 0, errors.decode()


def count_events(run):
    log = run / "events.jsonl"
    return log.read_bytes().count(b"\n") if log.exists() else 0


def kill_after(process, run, n_events):
    """Kill a command with -9 as soon as its run has some events; return how many it has then."""
    deadline = time.monotonic() + 600
    while count_events(run) < n_events and process.poll() is None:
        assert time.monotonic() < deadline, "the sweep came to no result"
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)
    return count_events(run)


def check_killed_sweep(folder, *engine):
    finish(kinfolk(folder, *SWEEP, "--out", "whole"))
    killed = kinfolk(folder, *SWEEP, "--out", "killed", *engine)
    n_events = kill_after(killed, folder / "killed", 2)
    assert 2 <= n_events < 6, "it was killed in the middle of its six trainings"
    assert not (folder / "killed" / "events.jsonl.gz").exists()
    finish(kinfolk(folder, "sweep", "train", "--resume", "killed", *engine))
    for name in FILES:
        assert (folder / "killed" / name).read_bytes() == (folder / "whole" / name).read_bytes(), (
            name
        )
    rows = (folder / "killed" / "curves.csv").read_text().splitlines()
    assert rows[0].startswith("ppo.learning_rate,seed,step,")
    assert len(rows) > 1 + 6, "every training has several updates"


@pytest.mark.more
@pytest.mark.timeout(1800)
@pytest.mark.train
def test_three_by_two_trainings_on_two_processes_that_are_killed_resume_to_the_same_bytes(tmp_path):
    check_killed_sweep(tmp_path, "--engine", "processes", "--jobs", "2")


@pytest.mark.more
@pytest.mark.timeout(1800)
@pytest.mark.train
def test_three_by_two_trainings_on_ray_that_are_killed_resume_to_the_same_bytes(tmp_path):
    pytest.importorskip("ray", reason="the extra ray is not installed")
    check_killed_sweep(tmp_path, "--engine", "ray", "--jobs", "2")


@pytest.mark.more
@pytest.mark.timeout(1800)
def test_a_search_that_is_killed_resumes_to_the_same_bytes(tmp_path):
    pytest.importorskip("optuna", reason="the extra search is not installed")
    search = ["sweep", "eval", "--set", "max_age=30", "--episodes", "200", "--search",
              "max_ticks=20:200", "--trials", "12", "--metric", "ticks"]  # fmt: skip
    finish(kinfolk(tmp_path, *search, "--out", "whole"))
    killed = kinfolk(tmp_path, *search, "--out", "killed", "--engine", "processes")
    assert kill_after(killed, tmp_path / "killed", 6) < 12
    finish(kinfolk(tmp_path, "sweep", "eval", "--resume", "killed"))
    for name in ("table.csv", "summary.csv", "events.jsonl.gz"):
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
