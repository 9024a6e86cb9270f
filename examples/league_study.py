"""Is a league harder to exploit than plain self-play at equal rows? Train both, exploit both, compare.

    python examples/league_study.py --steps 4000000 --response-steps 1000000 --seeds 3 --out runs/league-study

Predators and prey of the savanna are trained in a league, and by plain self-play (main agents that play each other's
present selves), with the same rows, nets and settings. Of both, the last nets and the Nash mixture of the stored ones are
measured, since a mixture may be harder to exploit whatever trained it. Fresh best responses with one budget tell how
exploitable each is, and cross-play with scripts, with chance and with the nets of another seed gives the worst case on
each side.

The full plan took 19 processor minutes on a shared machine (docs/results/league.md), with best responses of 4 M rows 35 more;
they and cross-play are the more expensive, the longer episodes last. `--quick` took half a processor minute. It may be killed at any time: the same command goes on where it stopped, and does not
repeat what is finished.
"""

import argparse
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import kinfolk as kf
from kinfolk.core.settings import validate_settings
from kinfolk.evaluation.formatting import format_estimate
from kinfolk.evaluation.statistics import estimate_mean
from kinfolk.jobs.exploit.targets import read_targets
from kinfolk.store.run import create_run, open_run
from kinfolk.store.run_job import run_and_store

SIDES = {"predators": ["type_1_predator"], "prey": ["type_1_prey"]}
WORLD = {
    "world": "savanna",
    "preset": "shared_prey_trained",
    "world_settings": {"observation": "compact"},
}
PPO = {
    "n_epochs": 2, "minibatch_size": 2048, "min_minibatches": 16, "learning_rate": 5e-4,
    "reward_scale": 0.1, "ent_coef": 0.005, "bootstrap_early_ends": False,
}  # fmt: skip
ARMS = {
    "league": {"exploiters": 1, "self_play": 0.5, "snapshot_every": 20, "exploiter_updates": 30},
    "self-play": {"exploiters": 0, "self_play": 1.0, "snapshot_every": 30},
}
HELD_OUT = {"predators": {"script": "kin://hunter", "chance": "kin://random"},
            "prey": {"script": "kin://grazer", "chance": "kin://random"}}  # fmt: skip
KINDS = ("last", "mixture")  # the last nets, or the Nash mixture of the stored ones
PAIRS = (("last", "last"), ("mixture", "last"), ("mixture", "mixture"))  # of league and self-play
COLUMNS = (
    *(f"{arm}, {kind}" for arm in ("self-play", "league") for kind in KINDS),
    *(f"league, {first} - self-play, {second}" for first, second in PAIRS),
)


class Plan(NamedTuple):
    """Sizes of the study."""

    steps: int  # rows of each training
    response_steps: int  # rows of each best response
    episodes: int  # held out, against each policy
    out: Path  # folder of the runs


def finish(folder: Path, name: str, job: Any, settings: Any) -> Any:
    """Run a job unless its run is finished, from its last checkpoint, and return the run."""
    run = open_run(folder) if folder.exists() else create_run(folder, name, settings.model_dump())
    if run.status != "done":
        engine = kf.make_engine("local")
        for _ in run_and_store(run, lambda snapshot: job(settings, engine, snapshot)):
            pass
    return open_run(folder)


def train(plan: Plan, arm: str, seed: int) -> Path:
    """Train one arm with one seed, and return its folder."""
    folder = plan.out / f"{arm}-{seed}"
    slots = {"predators": {"policy_uri": "kin://mlp", "learning_rate": 1.5e-3}, "prey": "kin://mlp"}
    settings = validate_settings(kf.jobs.Train, {
        **WORLD, "slots": slots, "agent_slot_map": {g[0]: side for side, g in SIDES.items()},
        "seed": seed, "steps": plan.steps, "worlds": 16, "checkpoint_every": 5, "ppo": PPO,
        "league": True, "matchmaking": {**ARMS[arm], "payoff_games": 2},
    })  # fmt: skip
    finish(folder, "train", kf.jobs.train, settings)
    return folder


def list_policies(folder: Path, kind: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the policies of a training and their weights: its Nash mixture, or the last nets."""
    if kind == "mixture":
        found = read_targets([folder])
        return found["policies"], found["weights"]
    return {side: {"last": f"run:{folder}/{side}@latest"} for side in SIDES}, {}


def measure(plan: Plan, arm: str, kind: str, seed: int, seeds: int) -> dict[str, float]:
    """Return exploitability and worst case on each side.

    Args:
        plan: Sizes of the study.
        arm: League or self-play.
        kind: What of it is measured, the last nets or the mixture.
        seed: Of the training.
        seeds: Trainings of each arm.
    """
    folder = plan.out / f"{arm}-{seed}"
    policies, weights = list_policies(folder, kind)
    settings = validate_settings(kf.jobs.Exploit, {
        **WORLD, "policies": policies, "weights": weights, "sides": SIDES, "net": "kin://mlp",
        "steps": plan.response_steps, "episodes": plan.episodes, "ppo": {**PPO, "learning_rate": 1e-3},
        "seed": 1000 + seed,
    })  # fmt: skip
    run = finish(plan.out / f"exploit-{arm}-{kind}-{seed}", "exploit", kf.jobs.exploit, settings)
    leads = next(e for e in run.events() if e["kind"] == "exploited")["exploitability"]
    values = {f"lead of a best response as {side}": lead[0] for side, lead in leads.items()}
    stranger = (seed + 1) % seeds  # whose nets this training has never met
    rivals = {
        side: {
            **HELD_OUT[side],
            **{
                f"{other} {stranger}": f"run:{plan.out / f'{other}-{stranger}'}/{side}@latest"
                for other in ARMS
            },
        }
        for side in SIDES
    }
    sides = list(SIDES)
    for number, side in enumerate(sides):
        other = sides[1 - number]
        players = {f"own {name}": uri for name, uri in policies[side].items()}
        crossed = validate_settings(kf.jobs.CrossPlay, {
            **WORLD, "sides": SIDES, "policies": {side: players, other: rivals[other]},
            "games": plan.episodes, "isolate": "none", "seed": 5_000_000,
        })  # fmt: skip
        played = finish(
            plan.out / f"worst-{arm}-{kind}-{seed}-{side}", "crossplay", kf.jobs.crossplay, crossed
        )
        last = next(e for e in played.events() if e["kind"] == "crossplay_done")
        table = next(table for table in last["payoffs"] if table[0] == side)
        share = np.array([weights.get(side, {}).get(name, 1.0) for name in policies[side]])
        means = np.array([[cell[0] for cell in row] for row in table[4]])
        values[f"worst score as {side}"] = float((share / share.sum() @ means).min())
    return values


def study(plan: Plan, seeds: int, jobs: int = 2) -> list[tuple[str, ...]]:
    """Train and measure everything, and return a row for each measure.

    Args:
        plan: Sizes of the study.
        seeds: Trainings of each arm.
        jobs: Runs at once.
    """
    trainings = [(arm, seed) for seed in range(seeds) for arm in ARMS]
    trials = [(arm, kind, seed) for arm, seed in trainings for kind in KINDS]
    plan.out.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for trained in [pool.submit(train, plan, *training) for training in trainings]:
            trained.result()
        waiting = [pool.submit(measure, plan, *trial, seeds) for trial in trials]
        found = dict(zip(trials, [future.result() for future in waiting], strict=True))
    rows = []
    for name in found[trials[0]]:
        values = {
            (arm, kind): np.array([found[arm, kind, seed][name] for seed in range(seeds)])
            for arm in ("self-play", "league")
            for kind in KINDS
        }
        gains = [values["league", first] - values["self-play", second] for first, second in PAIRS]
        columns = [*values.values(), *gains]
        rows.append((name, *(format_estimate(estimate_mean(column)) for column in columns)))
    return rows


def main() -> None:
    """Read the command line, run the study and print its table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=4_000_000)
    parser.add_argument("--response-steps", type=int, default=1_000_000)
    parser.add_argument("--episodes", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("runs/league-study"))
    parser.add_argument("--quick", action="store_true", help="60,000 rows, two seeds")
    asked = parser.parse_args()
    plan = Plan(asked.steps, asked.response_steps, asked.episodes, asked.out)
    if asked.quick:
        plan = Plan(60_000, 20_000, 2, asked.out)
    rows = study(plan, 2 if asked.quick else asked.seeds, asked.jobs)
    print("Means over seeds with 95 % intervals of Student's t; scores are returns per life.")
    for name, *estimates in rows:
        print(f"\n{name}")
        for column, estimate in zip(COLUMNS, estimates, strict=True):
            print(f"  {column:45} {estimate}")


if __name__ == "__main__":
    main()
