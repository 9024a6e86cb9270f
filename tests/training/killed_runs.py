"""Runs that are killed with -9 at random moments, and must end in the same bytes as others."""

import hashlib
import multiprocessing
import os
import random
import signal
import time

from kinfolk.engines.base import LocalEngine
from kinfolk.store.run import create_run, open_run
from kinfolk.store.run_job import run_and_store


def write_slowly(folder, job, settings):
    for _ in run_and_store(
        open_run(folder), lambda snapshot: job(settings, LocalEngine(), snapshot)
    ):
        time.sleep(0.01)


def kill_until_done(folder, job, settings, chance, most):
    """Start the run again and again and kill it with -9 at random moments, at most so often."""
    context, kills = multiprocessing.get_context("fork"), 0
    while open_run(folder).status != "done":
        child = context.Process(target=write_slowly, args=(folder, job, settings))
        child.start()
        child.join(chance.uniform(0.05, 0.6) if kills < most else None)
        if child.exitcode is None:
            os.kill(child.pid, signal.SIGKILL)
            kills += 1
        child.join()
        assert child.exitcode in (0, -signal.SIGKILL)
    return kills


def files_of(run):
    return {
        path.relative_to(run.folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(run.folder.rglob("*"))
        if path.is_file() and path.name not in ("lock", "timings.jsonl")
    }


def prove_resuming(tmp_path, name, job, settings, most):
    """Return how often a run was killed that ends in the same bytes as one never stopped."""
    whole = create_run(tmp_path / "whole", name, settings.model_dump())
    list(run_and_store(whole, lambda snapshot: job(settings, LocalEngine(), snapshot)))
    killed = create_run(tmp_path / "killed", name, settings.model_dump())
    kills = kill_until_done(killed.folder, job, settings, random.Random(3), most)
    assert files_of(whole) == files_of(killed)
    return kills
