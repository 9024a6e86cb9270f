"""Do lineage rewards change what agents learn? Train with and without them, and compare kin metrics.

    python examples/kin_study.py --steps 2000000 --seeds 3 --episodes 20

Predators and prey of the preset `lineage_published` are trained with its lineage rewards and without
them, once per seed. The policies then play unseen episodes, in which the kin metrics are measured. An
interrupted study resumes where it stopped; finished trainings are not repeated.
"""

import argparse
from pathlib import Path
from typing import NamedTuple

import numpy as np

import kinfolk as kf
from kinfolk.core.settings import validate_settings
from kinfolk.evaluation.formatting import format_estimate
from kinfolk.evaluation.rollout import evaluation_task
from kinfolk.evaluation.statistics import estimate_mean
from kinfolk.evaluation.trajectory import replay_episode
from kinfolk.play.task import WorldRef
from kinfolk.policies.resolve import resolve
from kinfolk.store.run import create_run, open_run
from kinfolk.store.run_job import run_and_store
from kinfolk.worlds.savanna.kin_metrics import KinLog

PRESET = "lineage_published"
NO_LINEAGE_REWARD = {"type_1_predator": 0.0, "type_1_prey": 0.0}
SLOT_MAP = {"type_1_predator": "predators", "type_1_prey": "prey"}
EVALUATION_SEED = 77_000_000  # its episodes are not used in training
HEADINGS = ("metric", "without lineage reward", "with lineage reward", "difference")


class Trial(NamedTuple):
    """One training and its evaluation."""

    lineage_reward: bool  # whether descendants are rewarded
    seed: int  # of the training
    steps: int  # rows to train on
    episodes: int  # unseen episodes to evaluate
    folder: Path  # of the run


def world_settings(lineage_reward: bool) -> dict:
    """Return the rules that differ from the preset."""
    changes = {} if lineage_reward else {"lineage_reward_coeff": NO_LINEAGE_REWARD}
    return {"observation": "compact"} | changes


def training_settings(trial: Trial) -> dict:
    """Return the settings of `kinfolk train` for a trial."""
    return {
        "world": "savanna",
        "preset": PRESET,
        "world_settings": world_settings(trial.lineage_reward),
        "slots": {
            "predators": {"policy_uri": "kin://mlp", "learning_rate": 1.5e-3},
            "prey": "kin://mlp",
        },
        "agent_slot_map": SLOT_MAP,
        "seed": trial.seed,
        "steps": trial.steps,
        "worlds": 32,
        "score": "length",
        "checkpoint_every": 20,
        "ppo": {
            "n_epochs": 2, "minibatch_size": 2048, "min_minibatches": 16, "learning_rate": 5e-4,
            "reward_scale": 0.1, "ent_coef": 0.005, "bootstrap_early_ends": False,
        },
    }  # fmt: skip


def run_trial(trial: Trial) -> dict[str, float]:
    """Train unless the run is finished, evaluate, and return the mean of each kin metric."""
    settings = validate_settings(kf.jobs.Train, training_settings(trial))
    folder = trial.folder
    run = (
        open_run(folder) if folder.exists() else create_run(folder, "train", settings.model_dump())
    )
    if run.status != "done":
        engine = kf.make_engine("local")
        for _ in run_and_store(run, lambda snapshot: kf.jobs.train(settings, engine, snapshot)):
            pass
    policies = {slot: resolve(f"run:{folder}/{slot}@latest") for slot in ("predators", "prey")}
    world = WorldRef("savanna", PRESET, world_settings(trial.lineage_reward))
    task = evaluation_task(world, policies, EVALUATION_SEED, range(trial.episodes), SLOT_MAP)
    logs = (replay_episode(task, episode, KinLog)[1] for episode in range(trial.episodes))
    by_episode = [log.compute_metrics() for log in logs]
    means = {}
    for metric in by_episode[0]:
        values = [metrics[metric] for metrics in by_episode if not np.isnan(metrics[metric])]
        means[metric] = float(np.mean(values)) if values else np.nan
    return means


def format_mean(values: np.ndarray) -> str:
    """Return the mean over seeds with its 95 % confidence interval."""
    return "no values" if np.isnan(values).any() else format_estimate(estimate_mean(values))


def study(steps: int, seeds: int, episodes: int, out: Path, jobs: int = 2) -> list[tuple]:
    """Run all trials and compare them.

    Args:
        steps: Rows to train on, per training.
        seeds: Number of trainings with and without lineage rewards each.
        episodes: Unseen episodes that each trial is evaluated on.
        out: Folder for the runs.
        jobs: Trials that run in parallel.

    Returns:
        A row per metric: its name, the mean without and with lineage rewards, and the mean of the
        differences, paired by seed.
    """
    trials = [
        Trial(reward, seed, steps, episodes, out / f"{'with' if reward else 'without'}-{seed}")
        for seed in range(seeds)
        for reward in (False, True)
    ]
    engine = kf.make_engine(jobs=jobs)
    try:
        results = list(engine.map(run_trial, trials))
    finally:
        engine.close()
    rows = []
    for metric in results[0]:
        without, with_reward = (
            np.array([means[metric] for means in results[start::2]]) for start in (0, 1)
        )
        means = (without, with_reward, with_reward - without)
        rows.append((metric, *map(format_mean, means)))
    return rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=2_000_000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--episodes", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("runs/kin-study"))
    args = parser.parse_args()
    table = study(args.steps, args.seeds, args.episodes, args.out, args.jobs)
    print(f"{args.seeds} trainings of {args.steps:,} steps each, {args.episodes} unseen episodes")
    for row in (HEADINGS, *table):
        print("".join(f"{cell:<37}" if i == 0 else f"{cell:<26}" for i, cell in enumerate(row)))
