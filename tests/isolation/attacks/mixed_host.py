"""A host that plays episodes between an honest slot and a hostile one, with births and deaths."""

import json
import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from kinfolk.evaluation.rollout import Isolation, evaluation_task, run_evaluation  # noqa: E402
from kinfolk.isolation.failures import IsolationSettings  # noqa: E402
from kinfolk.isolation.worker_pool import closing_pools  # noqa: E402
from kinfolk.play.task import WorldRef  # noqa: E402
from kinfolk.policies.resolve import resolve  # noqa: E402

# Short lives: agents are born, die and their rows are used again.
RULES = {"grazers": 4, "hunters": 3, "rows": 10, "max_ticks": 14, "max_age": 8, "start_energy": 30}
LIMITS = {
    "step_timeout": 1.0, "start_timeout": 30.0, "memory_limit": 512, "process_limit": 6, "disk_limit": 16,
    "sandbox": True,
}  # fmt: skip
EPISODES_PER_TASK = 10


def main() -> None:
    """Play the episodes that the settings ask for, and write a summary as JSON."""
    settings = json.loads(sys.argv[1])
    targets = {"mark": settings["mark"], "ipc_key": settings["ipc_key"]}
    slots = {
        "hostile": resolve("class:hostile.mixed.Mixed", {"targets": targets}, trusted=False),
        "honest": resolve("kin://probe-python"),
    }
    slot_map = {"grazer": "honest", "hunter": "hostile"}
    isolation = Isolation("agent", IsolationSettings(**LIMITS))
    failures, n_played, n_lives = [], 0, 0
    with closing_pools():
        for first in range(0, settings["n_episodes"], EPISODES_PER_TASK):
            chunk = range(first, min(first + EPISODES_PER_TASK, settings["n_episodes"]))
            world = WorldRef("probe", settings=RULES)
            task = evaluation_task(world, slots, settings["seed"], chunk, slot_map, isolation)
            if first == 0:
                say("playing")
            played = run_evaluation(task).episodes
            failures += [failure for result in played for failure in result.failures]
            n_played += len(played)
            n_lives += sum(sum(result.lives.values()) for result in played)
    say(json.dumps({
        "pid": os.getpid(),
        "episodes": n_played,
        "named": sorted({failure.slot for failure in failures}),
        "causes": sorted({failure.cause for failure in failures}),
        "births": n_lives - n_played * (RULES["grazers"] + RULES["hunters"]),
    }))  # fmt: skip


def say(text: str) -> None:
    """Write a line to the test that has started this process."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
