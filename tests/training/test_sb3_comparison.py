"""Default settings beside those of Stable-Baselines3, and the script that compares them."""

import os
from importlib.util import find_spec
from pathlib import Path

import pytest
import sb3_comparison
from sb3_comparison import TASKS, Run, compare, complete_runs, load_runs, missing_runs

# Runs are kept here, so that a comparison that was stopped continues; remove it to start anew.
RESULTS = Path(os.environ.get("KINFOLK_SB3_RESULTS", "runs/sb3_comparison.jsonl"))


def make_run(library, seed, returns, seconds=10.0, task="CartPole-v1"):
    rows = 10_000
    step = rows // len(returns)
    episodes = [((i + 1) * step, value) for i, value in enumerate(returns)]
    return Run(library, task, seed, rows, seconds, episodes)


def test_the_final_return_is_that_of_the_last_fifth_and_the_threshold_is_met_by_a_running_mean():
    run = make_run("sb3", 0, [0.0] * 40 + [500.0] * 160)
    assert run.final_return == 500.0
    # 95 % of the last 100 episodes have 500 after episode 135; before 100 episodes, of all so far.
    assert run.rows_to_threshold == 135 * 50
    assert make_run("sb3", 0, [480.0] * 50).rows_to_threshold == 20 * 200, "of at least 20 episodes"
    assert make_run("sb3", 0, [100.0] * 50).rows_to_threshold is None


def test_worse_beyond_chance_is_told_from_worse_by_chance():
    good, bad = [100.0, 101.0, 102.0, 103.0, 104.0], [90.0, 91.0, 92.0, 93.0, 94.0]

    def p_value(ours, theirs):
        runs = [make_run("kinfolk", i, [v] * 10, seconds=5.0) for i, v in enumerate(ours)]
        runs += [make_run("sb3", i, [v] * 10) for i, v in enumerate(theirs)]
        return compare(runs, "CartPole-v1")["p_worse"], compare(runs, "CartPole-v1")["speedup"]

    assert p_value(bad, good) == (pytest.approx(1 / 252), 2.0)  # one of all ways to divide ten
    assert p_value(good, bad)[0] == 1.0
    assert p_value([500.0] * 5, [500.0] * 5)[0] == 1.0
    assert p_value([99.0, *good[1:]], good)[0] > 0.3


def test_only_runs_that_are_missing_are_run(tmp_path, monkeypatch):
    path = tmp_path / "results.jsonl"
    started = []

    def start(words, check):
        started.append(words[-3:])
        run = make_run(words[-3], int(words[-1]), [1.0] * 10, task=words[-2])
        with path.open("a") as file:
            file.write(sb3_comparison.json.dumps(run._asdict()) + "\n")
        if len(started) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(sb3_comparison.subprocess, "run", start)
    with pytest.raises(KeyboardInterrupt):
        complete_runs(path)
    assert len(complete_runs(path)) == 2 * 5 * len(TASKS)
    assert len(started) == len({tuple(words) for words in started})
    assert list(missing_runs(path)) == []
    assert load_runs(path)[0].task == "CartPole-v1"


@pytest.mark.slow
@pytest.mark.timeout(6 * 3600)
@pytest.mark.skipif(
    find_spec("stable_baselines3") is None or find_spec("Box2D") is None,
    reason="needs Stable-Baselines3 and Box2D: pip install 'kinfolk[slow]'",
)
def test_defaults_are_not_worse_than_stable_baselines3_and_cost_less_processor_time():
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    runs = complete_runs(RESULTS)
    results = {task: compare(runs, task) for task in TASKS}
    assert {task: r["p_worse"] for task, r in results.items() if r["p_worse"] < 0.05} == {}
    assert {task: r["speedup"] for task, r in results.items() if r["speedup"] < 1.0} == {}
