"""Resume equals never stopped, for runs that are really killed."""

import gzip
import multiprocessing
import os
import random
import signal
import time

import pytest

from kinfolk.core.settings import validate_settings
from kinfolk.store.run import create_run, open_run
from kinfolk.store.run_job import run_and_store
from kinfolk.testing.contracts.job import JobContract
from kinfolk.testing.probe.job import ProbeJob, probe_job

FOUR = [
    "kin://probe-python",
    "kin://probe-large-memory",
    "kin://probe-gru",
    "kin://probe-population",
]


class TestTheProbeJob(JobContract):
    @pytest.fixture
    def start(self):
        settings = ProbeJob(episodes=2, every=20)
        return lambda resume: probe_job(settings, None, resume)


def write_slowly(folder, settings):
    for _ in run_and_store(open_run(folder), lambda snapshot: probe_job(settings, None, snapshot)):
        time.sleep(0.004)


def kill_and_resume(folder, settings, rng):
    """Start the run again and again, kill each try with -9 at a random moment; count the kills."""
    # Forked, so that a try starts in milliseconds; the run itself is the real thing.
    context, kills = multiprocessing.get_context("fork"), 0
    while open_run(folder).status != "done":
        child = context.Process(target=write_slowly, args=(folder, settings))
        child.start()
        # The whole takes half a second, so three tries never end it; later ones get longer.
        child.join(rng.uniform(0.0, 0.1) * max(1, kills - 2))
        if child.exitcode is None:
            os.kill(child.pid, signal.SIGKILL)
            kills += 1
        child.join()
        assert child.exitcode in (0, -signal.SIGKILL)
    return kills


@pytest.mark.parametrize("uri", FOUR)
def test_a_run_killed_at_random_moments_resumes_to_the_same_bytes(tmp_path, uri):
    settings = validate_settings(ProbeJob, {"uri": uri, "episodes": 3, "worlds": 2, "every": 7})
    whole = create_run(tmp_path / "whole", "probe", settings.model_dump())
    list(run_and_store(whole, lambda snapshot: probe_job(settings, None, snapshot)))
    killed = create_run(tmp_path / "killed", "probe", settings.model_dump())
    kills = kill_and_resume(killed.folder, settings, random.Random(uri))
    assert kills >= 3
    packed = [run.folder / "events.jsonl.gz" for run in (whole, killed)]
    assert gzip.decompress(packed[0].read_bytes()).count(b"\n") > 60
    assert packed[0].read_bytes() == packed[1].read_bytes()
    assert not list(killed.folder.rglob(".*")), "no temporary file is left at the end"
