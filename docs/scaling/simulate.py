"""Simulate jobs on a large Ray cluster with the constants that measure.py found.

    python docs/scaling/simulate.py

The driver is one process that submits batches and takes their results in order, as `RayEngine.map` does: at
most two batches per worker are out. Workers take the next batch when they are free. A stage, such as a round
of a Swiss tournament, begins when the one before has ended.
"""

import heapq
import json
from collections import deque
from dataclasses import dataclass
from pathlib import Path

import numpy as np

CONSTANTS = json.loads(Path(__file__).with_name("constants.json").read_text())
BATCHES_PER_WORKER = 2


@dataclass(frozen=True)
class Work:
    """A job: stages of tasks, each of which waits for the one before.

    Attributes:
        stages: Number of tasks of each stage.
        seconds: Mean duration of a task.
        spread: Standard deviation of the logarithm of durations.
        batch: Tasks per remote call.
        megabytes: Size of the result of a task.
        losses_per_node_hour: How often a node is lost.
    """

    stages: tuple[int, ...]
    seconds: float
    spread: float = 0.5
    batch: int = 1
    megabytes: float = 0.01
    losses_per_node_hour: float = 0.0


@dataclass(frozen=True)
class Outcome:
    """What a simulation found."""

    seconds: float  # of the whole job
    efficiency: float  # share of the workers' time in which they worked
    driver_load: float  # share of the driver's time in which it was busy
    driver_megabytes: float  # most that lay in the driver: results out of order


def simulate(work: Work, n_nodes: int, workers_per_node: int = 2, seed: int = 0) -> Outcome:
    """Simulate a job.

    Args:
        work: The job.
        n_nodes: Number of nodes.
        workers_per_node: Tasks that a node runs at once.
        seed: Seed of durations and losses.
    """
    rng = np.random.default_rng(seed)
    n_workers = n_nodes * workers_per_node
    call = CONSTANTS["task_driver_seconds"] / 2  # half of it for submitting, half for the result
    now = CONSTANTS["start_up_seconds"]
    busy_driver = busy_workers = 0.0
    most_waiting = 0
    for n_tasks in work.stages:
        durations = deque(_draw_batches(work, n_tasks, rng))
        free = [now] * n_workers
        heapq.heapify(free)
        out: deque[float] = deque()  # when each submitted batch ends, in order
        while durations or out:
            while durations and len(out) < BATCHES_PER_WORKER * n_workers:
                now += call
                busy_driver += call
                start, duration = max(now, heapq.heappop(free)), durations.popleft()
                heapq.heappush(free, start + duration)
                out.append(start + duration)
                busy_workers += duration
            most_waiting = max(most_waiting, sum(end <= now for end in out))
            now = max(now, out.popleft())
            cost = call + work.batch * work.megabytes * CONSTANTS["megabyte_driver_seconds"]
            now += cost
            busy_driver += cost
    memory = most_waiting * work.batch * work.megabytes
    return Outcome(now, busy_workers / (n_workers * now), busy_driver / now, memory)


def _draw_batches(work: Work, n_tasks: int, rng: np.random.Generator) -> list[float]:
    """Return the durations of the batches of a stage; one that loses its node runs again."""
    durations = rng.lognormal(-0.5 * work.spread**2, work.spread, n_tasks) * work.seconds
    batches = np.add.reduceat(durations, np.arange(0, n_tasks, work.batch))
    overhead = CONSTANTS["task_wall_seconds"]
    lost = rng.random(len(batches)) < batches / 3600 * work.losses_per_node_hour
    again = lost * (0.5 * batches + CONSTANTS["lost_node_seconds"])
    return (batches + again + overhead).tolist()


CASES = {
    "12 tasks of 1 s on 2 workers": (Work((12,), 1.0, spread=0.0), 2, 1),
    "tournament of 10,000, Swiss, 15 rounds; a pairing per call": (Work((5000,) * 15, 4.0), 100, 2),
    "the same, a game per call": (Work((20000,) * 15, 1.0), 100, 2),
    "the same, four pairings per call": (Work((5000,) * 15, 4.0, batch=4), 100, 2),
    "the same, with a replay of 0.2 MB each": (Work((5000,) * 15, 4.0, megabytes=0.2), 100, 2),
    "the same, a node lost each hour": (Work((5000,) * 15, 4.0, losses_per_node_hour=0.01), 100, 2),
    "the same on 1 node": (Work((5000,) * 15, 4.0), 1, 2),
    "role evolution, 50 generations of 24 teams": (Work((48, 48, 48) * 50, 0.5), 100, 2),
    "role evolution, 50 generations of 960 teams": (Work((1920, 960, 960) * 50, 0.5), 100, 2),
    "the same, 4 games per call": (Work((1920, 960, 960) * 50, 0.5, batch=4), 100, 2),
}


def main() -> None:
    """Print a table of all cases."""
    print("| job | hours | workers busy | driver busy | waiting results |")
    print("|---|---|---|---|---|")
    for name, (work, n_nodes, workers) in CASES.items():
        found = simulate(work, n_nodes, workers)
        print(
            f"| {name} | {found.seconds / 3600:.3g} | {found.efficiency:.0%} | {found.driver_load:.1%} "
            f"| {found.driver_megabytes:.2g} MB |"
        )


if __name__ == "__main__":
    main()
