"""Does it matter whether one is paid for one's descendants? Train with and without, and look.

    python examples/kin_study.py --steps 2000000 --seeds 3 --episodes 20

Predators and prey of `lineage_documented` learn with its lineage rewards, and without; each
training has a seed of its own. The policies then play episodes that nobody trained on, and what
kin do there is measured. A study that was stopped goes on where it was.
"""

import argparse
from pathlib import Path
from typing import NamedTuple

import numpy as np

import kinfolk as kf
from kinfolk.cli.formatting import print_table
from kinfolk.core.settings import validate_settings
from kinfolk.evaluation.formatting import format_estimate
from kinfolk.evaluation.rollout import evaluation_task
from kinfolk.evaluation.savanna import kin_metrics
from kinfolk.evaluation.statistics import estimate_mean
from kinfolk.play.task import WorldRef
from kinfolk.policies.resolve import resolve
from kinfolk.store.run import create_run, open_run
from kinfolk.store.run_job import run_and_store

PRESET = "lineage_documented"
NONE = {"type_1_predator": 0.0, "type_1_prey": 0.0}
SLOT_MAP = {"type_1_predator": "predators", "type_1_prey": "prey"}
UNSEEN = 77_000_000  # the seed of the episodes that are looked at


class Trial(NamedTuple):
    paid: bool
    seed: int
    steps: int
    episodes: int
    folder: Path


def rules(paid: bool) -> dict:
    return {"observation": "compact"} | ({} if paid else {"lineage_reward_coeff": NONE})


def settings_of(trial: Trial) -> dict:
    return {
        "world": "savanna",
        "preset": PRESET,
        "world_settings": rules(trial.paid),
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
    """Train, unless that was done before, and return the mean of each measure."""
    settings = validate_settings(kf.jobs.Train, settings_of(trial))
    folder = trial.folder
    run = (
        open_run(folder) if folder.exists() else create_run(folder, "train", settings.model_dump())
    )
    if run.status != "done":
        engine = kf.make_engine("local")
        for _ in run_and_store(run, lambda snapshot: kf.jobs.train(settings, engine, snapshot)):
            pass
    policies = {name: resolve(f"run:{folder}/{name}@latest") for name in ("predators", "prey")}
    world = WorldRef("savanna", PRESET, rules(trial.paid))
    task = evaluation_task(world, policies, UNSEEN, range(trial.episodes), SLOT_MAP)
    seen = [kin_metrics(task, episode) for episode in range(trial.episodes)]
    known = {name: [one[name] for one in seen if not np.isnan(one[name])] for name in seen[0]}
    return {name: float(np.mean(v)) if v else np.nan for name, v in known.items()}


def told(values: np.ndarray) -> str:
    """The mean over seeds with its 95 % interval."""
    return "none seen" if np.isnan(values).any() else format_estimate(estimate_mean(values))


def study(steps: int, seeds: int, episodes: int, out: Path, jobs: int = 2) -> list[tuple]:
    """A row per measure: its name, without pay, with pay, and the difference."""
    trials = [
        Trial(paid, seed, steps, episodes, out / f"{'paid' if paid else 'unpaid'}-{seed}")
        for seed in range(seeds)
        for paid in (False, True)
    ]
    engine = kf.make_engine("processes" if jobs > 1 else "local", jobs)
    try:
        found = list(engine.map(run_trial, trials))
    finally:
        engine.close()
    rows = []
    for name in found[0]:
        unpaid, paid = (np.array([one[name] for one in found[side::2]]) for side in (0, 1))
        rows.append((name, told(unpaid), told(paid), told(paid - unpaid)))
    return rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=2_000_000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--episodes", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("runs/kin-study"))
    asked = parser.parse_args()
    print_table(
        f"{asked.seeds} trainings of {asked.steps:,} steps each, {asked.episodes} unseen episodes",
        ("measure", "without pay", "with pay", "difference"),
        study(asked.steps, asked.seeds, asked.episodes, asked.out, asked.jobs),
    )
