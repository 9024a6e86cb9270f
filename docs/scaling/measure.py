"""Measure what a task costs on a two-node Ray cluster on this machine, and write constants.json beside this.

    python docs/scaling/measure.py

Seconds of the driver are processor seconds, which other processes of the machine do not change; the others
are wall-clock seconds, the least of three repetitions.
"""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

os.environ |= {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_raylet_start_wait_time_s": "300",
}  # read at import

import ray
from ray.cluster_utils import Cluster

from kinfolk.engines.ray_cluster import RayEngine

CONSTANTS = Path(__file__).with_name("constants.json")
N_TASKS, MEGABYTES, REPEATS = 300, 8, 3


def do_nothing(number: int) -> int:
    """Return the number of a task."""
    return number


def weigh(data: Any) -> int:
    """Return the size of what a task received."""
    return len(data)


def work(seconds: float) -> float:
    """Take a while."""
    time.sleep(seconds)
    return seconds


def measure(run: Callable[[], Any]) -> dict[str, float]:
    """Return the least wall-clock and processor seconds of the driver over some repetitions."""
    wall, cpu = [], []
    for _ in range(REPEATS):
        start, start_cpu = time.perf_counter(), time.process_time()
        run()
        wall.append(time.perf_counter() - start)
        cpu.append(time.process_time() - start_cpu)
    return {"wall": min(wall), "driver": min(cpu)}


def measure_lost_node(cluster: Cluster, engine: RayEngine) -> tuple[float, float]:
    """Return how long twelve tasks of a second take, and by how much the loss of a node delays them."""
    tasks = [1.0] * 12
    start = time.perf_counter()
    list(engine.map(work, tasks))
    undisturbed = time.perf_counter() - start
    start = time.perf_counter()
    for number, _ in enumerate(engine.map(work, tasks)):
        if number == 2:
            cluster.remove_node(cluster.list_all_nodes()[-1], allow_graceful=False)
            cluster.add_node(num_cpus=1, object_store_memory=200 * 2**20)
    return undisturbed, time.perf_counter() - start - undisturbed


def main() -> None:
    """Start a cluster, measure, and write the constants."""
    start = time.perf_counter()
    quick = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 500,
             "health_check_failure_threshold": 10}  # fmt: skip
    options = {"num_cpus": 1, "include_dashboard": False, "object_store_memory": 200 * 2**20,
               "_system_config": quick}  # fmt: skip
    cluster = Cluster(initialize_head=True, head_node_args=options)
    cluster.add_node(num_cpus=1, object_store_memory=200 * 2**20)
    ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
    engine = RayEngine(2)
    list(engine.map(do_nothing, range(4)))
    start_up = time.perf_counter() - start
    remote = ray.remote(do_nothing)
    single = measure(lambda: ray.get([remote.remote(i) for i in range(N_TASKS)]))
    batched = measure(lambda: list(engine.map(do_nothing, range(10 * N_TASKS))))
    data = np.zeros(MEGABYTES * 2**20, dtype=np.uint8)
    remote_weigh = ray.remote(weigh)
    transfer = measure(lambda: [ray.get(remote_weigh.remote(data)) for _ in range(10)])
    # A new engine: the last one has learned from small tasks to send many in one call.
    twelve, lost = measure_lost_node(cluster, RayEngine(2))
    constants = {
        "start_up_seconds": start_up,
        "task_wall_seconds": single["wall"] / N_TASKS,
        "task_driver_seconds": single["driver"] / N_TASKS,
        "batched_task_wall_seconds": batched["wall"] / (10 * N_TASKS),
        "batched_task_driver_seconds": batched["driver"] / (10 * N_TASKS),
        "megabyte_wall_seconds": transfer["wall"] / (10 * MEGABYTES),
        "megabyte_driver_seconds": transfer["driver"] / (10 * MEGABYTES),
        "lost_node_seconds": lost,
        "twelve_tasks_seconds": twelve,
        "load": os.getloadavg()[0],
        "cores": os.cpu_count(),
    }
    engine.close()
    ray.shutdown()
    cluster.shutdown()
    CONSTANTS.write_text(
        json.dumps({k: round(v, 6) for k, v in constants.items()}, indent=1) + "\n"
    )


if __name__ == "__main__":
    main()
