"""Compare the default settings of kinfolk with those of Stable-Baselines3, on the same rows.

    python tests/training/sb3_comparison.py --out comparison.jsonl    # every run that is missing
    python tests/training/sb3_comparison.py --out comparison.jsonl --table

Each run (library, task, seed) is a process of its own with one torch thread, and one line of the file,
so that a comparison that was stopped continues where it was. Nothing is set but the task, the number
of rows and the seed. Processor seconds are those of the training alone, without imports, so that other
work on the machine matters little.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import permutation_test

LIBRARIES = ("kinfolk", "sb3")
SEEDS = tuple(range(5))
# Rows to learn from, and the mean return from which a task counts as solved: those of Gymnasium's
# registry where it names one, else what the RL Baselines3 Zoo reports for tuned PPO.
TASKS = {
    "CartPole-v1": (100_000, 475.0),
    "Acrobot-v1": (100_000, -100.0),
    "LunarLander-v3": (200_000, 200.0),
    "Pendulum-v1": (100_000, -200.0),
    "MountainCarContinuous-v0": (60_000, 90.0),
}
FINAL_SHARE = 0.2  # of the rows, whose episodes are the final return
WINDOW, MIN_EPISODES = 100, 20  # episodes of the running mean that meets the threshold


class Run(NamedTuple):
    """One training."""

    library: str
    task: str
    seed: int
    rows: int
    processor_seconds: float
    episodes: list[tuple[int, float]]  # rows learnt from when it was over, and its return

    @property
    def final_return(self) -> float:
        """Mean return of the episodes that ended in the last part of the training."""
        start = self.rows * (1.0 - FINAL_SHARE)
        return float(np.mean([value for row, value in self.episodes if row > start]))

    @property
    def rows_to_threshold(self) -> int | None:
        """Rows after which the mean of the last episodes first met the threshold."""
        threshold, returns = TASKS[self.task][1], [value for _, value in self.episodes]
        for i in range(MIN_EPISODES, len(returns) + 1):
            if np.mean(returns[max(0, i - WINDOW) : i]) >= threshold:
                return self.episodes[i - 1][0]
        return None


def train_kinfolk(task: str, seed: int) -> Run:
    """Train with kinfolk's defaults."""
    import kinfolk as kf

    episodes, start = [], time.process_time()
    with kf.Trainer(f"gym:{task}", steps=TASKS[task][0], seed=seed) as trainer:
        while trainer.state.steps < trainer.settings.steps:
            rollout = trainer.collect()
            trainer.learn(rollout)
            episodes += [(trainer.state.steps, e.returns["main"]) for e in rollout.episodes]
        rows = trainer.state.steps
    return Run("kinfolk", task, seed, rows, time.process_time() - start, episodes)


def train_sb3(task: str, seed: int) -> Run:
    """Train with the defaults of Stable-Baselines3."""
    from stable_baselines3 import PPO
    from stable_baselines3.common.callbacks import BaseCallback

    episodes = []

    class Log(BaseCallback):  # type: ignore[misc]
        """Collects the episodes that end."""

        def _on_step(self) -> bool:
            ended = [info["episode"]["r"] for info in self.locals["infos"] if "episode" in info]
            episodes.extend((self.num_timesteps, float(value)) for value in ended)
            return True

    start = time.process_time()
    model = PPO("MlpPolicy", task, seed=seed, device="cpu")
    model.learn(TASKS[task][0], callback=Log())
    rows = int(model.num_timesteps)
    return Run("sb3", task, seed, rows, time.process_time() - start, episodes)


TRAINERS: dict[str, Callable[[str, int], Run]] = {"kinfolk": train_kinfolk, "sb3": train_sb3}


def load_runs(path: Path) -> list[Run]:
    """Return the runs that a file holds."""
    lines = path.read_text().splitlines() if path.exists() else []
    return [Run(**json.loads(line)) for line in lines]


def missing_runs(path: Path, libraries: tuple[str, ...] = LIBRARIES) -> Iterator[tuple[Any, ...]]:
    """Yield library, task and seed of every run that the file does not hold, seed after seed."""
    found = {run[:3] for run in load_runs(path)}
    for seed in SEEDS:
        for task in TASKS:
            for library in libraries:
                if (library, task, seed) not in found:
                    yield library, task, seed


def complete_runs(path: Path) -> list[Run]:
    """Run what is missing, each in a process of its own, and return all runs."""
    for run in missing_runs(path):
        words = [sys.executable, __file__, "--out", str(path), "--only", *map(str, run)]
        subprocess.run(words, check=True)
    return load_runs(path)


def worse_p_value(ours: list[float], theirs: list[float]) -> float:
    """Return the p-value that ours are lower by chance, from all ways to divide the seeds."""
    if set(ours) == set(theirs):
        return 1.0

    def difference(a: Any, b: Any, axis: int) -> Any:
        return np.mean(a, axis=axis) - np.mean(b, axis=axis)

    test = permutation_test((ours, theirs), difference, vectorized=True, alternative="less")
    return float(test.pvalue)


def compare(runs: list[Run], task: str) -> dict[str, Any]:
    """Return the results of both libraries on a task, and whether ours are worse or slower."""
    by_library = {name: [r for r in runs if r[:2] == (name, task)] for name in LIBRARIES}
    returns = {name: [run.final_return for run in found] for name, found in by_library.items()}
    seconds = {n: [run.processor_seconds for run in found] for n, found in by_library.items()}
    return {
        "returns": returns,
        "seconds": seconds,
        "rows_to_threshold": {n: [r.rows_to_threshold for r in f] for n, f in by_library.items()},
        "p_worse": worse_p_value(returns["kinfolk"], returns["sb3"]),
        "speedup": float(np.mean(seconds["sb3"]) / np.mean(seconds["kinfolk"])),
    }


def print_table(runs: list[Run]) -> None:
    """Print the comparison as a Markdown table, of as many runs as there are."""
    import kinfolk as kf

    print("| task, rows | library | final return, mean (95 %) | by seed | rows to the threshold "
          "| processor seconds |\n|---|---|---|---|---|---|")  # fmt: skip
    for task, (rows, threshold) in TASKS.items():
        found = {name: [r for r in runs if r[:2] == (name, task)] for name in LIBRARIES}
        for library, part in found.items():
            if not part:
                continue
            returns = [run.final_return for run in part]
            mean = kf.stats.mean_interval(returns)
            ends = "" if mean.low is None else f" ({mean.low:.1f} to {mean.high:.1f})"
            solved = [f"{r:,}" if r else "never" for r in (run.rows_to_threshold for run in part)]
            seconds = [run.processor_seconds for run in part]
            print(f"| {task}, {rows:,} | {library} | {mean.mean:.1f}{ends} | "
                  f"{', '.join(f'{value:.1f}' for value in returns)} | "
                  f"{threshold:g}: {', '.join(solved)} | {min(seconds):.0f} to {max(seconds):.0f} "
                  f"|")  # fmt: skip
        if all(len(part) > 1 for part in found.values()):
            result = compare(runs, task)
            print(f"| | | permutation test, ours lower: p = {result['p_worse']:.3f} | | "
                  f"| {result['speedup']:.2f} times |")  # fmt: skip


def main() -> None:
    """Run what is missing, or one run, or print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="File of results, a line per run.")
    parser.add_argument("--only", nargs=3, metavar=("LIBRARY", "TASK", "SEED"), help="One run.")
    parser.add_argument("--table", action="store_true", help="Print the results.")
    arguments = parser.parse_args()
    if arguments.table:
        print_table(load_runs(arguments.out))
    elif arguments.only:
        import torch

        torch.set_num_threads(1)
        library, task, seed = arguments.only
        run = TRAINERS[library](task, int(seed))
        with arguments.out.open("a") as file:
            file.write(json.dumps(run._asdict()) + "\n")
    else:
        complete_runs(arguments.out)


if __name__ == "__main__":
    main()
