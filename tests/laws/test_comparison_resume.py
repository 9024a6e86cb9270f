"""A killed comparison and a killed round robin resume to the same bytes as if never stopped."""

import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time

import pytest

from kinfolk.core.settings import validate_settings
from kinfolk.engines.base import LocalEngine
from kinfolk.jobs.compare import Compare, compare_policies
from kinfolk.jobs.round_robin import RoundRobin, round_robin
from kinfolk.store.run import create_run, open_run
from kinfolk.store.run_job import run_and_store

FAILING = """
from kinfolk.policies.base import NoopPolicy


class Failing(NoopPolicy):
    def act_async(self, observations, rows, memory, keys):
        if int(keys[0]) % 8 == 3:
            raise ValueError("boom")
        super().act_async(observations, rows, memory, keys)
"""
COMMON = {"chunk_size": 2, "replays": 2, "world_settings": {"max_ticks": 12}, "seed": 5}
EVERYBODY = {"grazer": "candidate", "hunter": "candidate"}
JOBS = {
    "compare": (Compare, compare_policies, {"agent_slot_map": EVERYBODY, "episodes": 12}),
    "round_robin": (RoundRobin, round_robin, {"episodes": 6}),
}


def write_slowly(folder, job, settings):
    run = open_run(folder)
    for _ in run_and_store(run, lambda snapshot: job(settings, LocalEngine(), snapshot)):
        time.sleep(0.004)


def read_results(folder):
    """Return the bytes of the events and of each replay."""
    files = [folder / "events.jsonl.gz", *sorted((folder / "replays").iterdir())]
    return {path.name: path.read_bytes() for path in files}


@pytest.mark.parametrize("name", list(JOBS))
def test_a_run_killed_at_random_moments_resumes_to_the_same_bytes(tmp_path, own_module, name):
    model, job, more = JOBS[name]
    policies = ["kin://random", f"class:{own_module(FAILING)}.Failing", "kin://probe-python"]
    settings = validate_settings(model, {"policies": policies, **COMMON, **more})
    for folder in ("whole", "killed"):
        create_run(tmp_path / folder, name, settings.model_dump())
    write_slowly(tmp_path / "whole", job, settings)
    rng, kills = random.Random(name), 0
    context = multiprocessing.get_context("fork")  # starts in milliseconds; the run is the real one
    while open_run(tmp_path / "killed").status != "done":
        child = context.Process(target=write_slowly, args=(tmp_path / "killed", job, settings))
        child.start()
        child.join(rng.uniform(0.0, 0.12) * max(1, kills - 2))
        if child.exitcode is None:
            os.kill(child.pid, signal.SIGKILL)
            kills += 1
        child.join()
        assert child.exitcode in (0, -signal.SIGKILL)
    assert kills >= 3
    whole = read_results(tmp_path / "whole")
    assert read_results(tmp_path / "killed") == whole
    assert len(whole) == 1 + {"compare": 2 * 3, "round_robin": 2 * 3 * 2}[name]
    last = list(open_run(tmp_path / "whole").events())[-1]
    assert last["failures"][0] == 0 < last["failures"][1], "failures are counted across kills too"


@pytest.mark.more
@pytest.mark.parametrize("mode", ["compare", "round_robin"])
def test_the_command_is_killed_and_resumed(tmp_path, own_module, root, mode):
    uri = f"class:{own_module(FAILING)}.Failing"
    command = [sys.executable, "-c", "from kinfolk.cli.app import main; main()", "compare"]
    words = ["kin://random", uri, "--episodes", "16", "--chunk-size", "1", "--replay", "1"]
    words += ["--engine", "processes", "--isolate", "agent", "--seed", "5", "--set", "max_ticks=12"]
    if mode == "round_robin":
        words += ["--round-robin"]
    else:
        words += ["--map", "grazer=candidate", "--map", "hunter=candidate"]
    options = {"cwd": tmp_path, "env": {**os.environ, "PYTHONPATH": str(root / "src")}}
    done = subprocess.run([*command, *words, "--out", "whole"], capture_output=True, **options)
    assert done.returncode == 1, "with a process per agent, some agent fails in every episode"
    rng, tries, kills = random.Random(mode), [*words, "--out", "killed"], 0
    while True:
        process = subprocess.Popen([*command, *tries], stderr=subprocess.PIPE, **options)
        try:
            process.wait(rng.uniform(1.5, 3.0) + 0.5 * kills)
        except subprocess.TimeoutExpired:
            process.kill()
            kills += 1
        process.stderr.close()
        if process.wait() == done.returncode:
            break
        assert process.returncode == -signal.SIGKILL
        tries = tries if not (tmp_path / "killed").exists() else ["--resume", "killed", "--trust"]
    assert kills >= 1
    assert read_results(tmp_path / "killed") == read_results(tmp_path / "whole")
