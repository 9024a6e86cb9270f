"""Bounds on processes, and what happens where there are none to be had."""

import os
import subprocess
import sys

import pytest

from kinfolk.core.errors import EngineError
from kinfolk.evaluation.rollout import Isolation, evaluation_task, run_evaluation
from kinfolk.isolation.forkserver import ForkServerClient, ProcessLimitError
from kinfolk.isolation.sandbox import restrictions
from kinfolk.isolation.settings import IsolationSettings
from kinfolk.isolation.worker_pool import close_pools
from kinfolk.play.task import WorldRef
from kinfolk.policies.resolve import resolve

RULES = {"grazers": 3, "hunters": 2, "rows": 5, "max_ticks": 8, "max_age": 99, "start_energy": 99}


def task(isolate, **care):
    ref, slots = WorldRef("probe", settings=RULES), {"main": resolve("kin://probe-python")}
    isolation = Isolation(isolate, IsolationSettings(step_timeout=20.0, **care))
    return evaluation_task(ref, slots, 5, range(2), isolation=isolation)


@pytest.fixture(scope="module")
def plain():
    return run_evaluation(task("none")).episodes


def test_agents_for_which_there_are_no_processes_share_one(plain):
    played = run_evaluation(task("agent", max_processes=3))
    assert played.episodes == plain
    assert played.observed.warnings == (
        "All 3 processes of --max-processes are in use. Slot 'main' gets one process for the slot.",
    )
    assert played.observed.slots["main"].processes == 1


def test_where_the_system_makes_no_process_policies_play_here(plain, monkeypatch):
    close_pools()

    def refuse(self):
        raise ProcessLimitError("No process could be made for policies: no room.")

    monkeypatch.setattr(ForkServerClient, "_start", refuse)
    played = run_evaluation(task("slot"))
    assert played.episodes == plain
    assert played.observed.warnings == (
        "No process could be made for policies: no room. Slot 'main' gets no process of its own.",
    )
    for care in ({"strict": True}, {"sandbox": True}):
        with pytest.raises(EngineError) as refused:
            run_evaluation(task("slot", **care))
        assert str(refused.value) == (
            "No process could be made for policies: no room. Nothing less is done under --strict or "
            "--sandbox."
        )
    close_pools()


LIMITED = """
import os, resource
from kinfolk.isolation.forkserver import ForkServerClient, ProcessLimitError
resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
os.setuid(65534)
try:
    ForkServerClient()._start()
except ProcessLimitError as error:
    print(error)
"""


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become nobody")
def test_the_systems_own_refusal_is_understood(tmp_path):
    env = {**os.environ, "KINFOLK_CACHE": str(tmp_path), "HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", LIMITED], capture_output=True, text=True, env=env, cwd="/"
    )
    assert (
        done.stdout == "No process could be made for policies: Resource temporarily unavailable.\n"
    ), done.stderr


@pytest.mark.skipif(os.sysconf("SC_OPEN_MAX") < 1200, reason="so many files may not be opened")
def test_a_host_with_more_than_a_thousand_open_files_has_processes_too(plain):
    close_pools()
    opened = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
    try:
        played = run_evaluation(task("slot"))
    finally:
        for handle in opened:
            os.close(handle)
        close_pools()
    assert played.episodes == plain
    assert played.observed.slots["main"].processes == 1


def test_what_a_machine_cannot_enforce_is_named(monkeypatch):
    monkeypatch.setattr(restrictions.landlock, "is_supported", lambda: False)
    monkeypatch.setattr(restrictions.seccomp, "is_supported", lambda: False)
    assert restrictions.list_enforced() == []
    assert restrictions.list_unsupported() == [
        "no network, no signals to or tracing of other processes",
        "files outside a scratch folder cannot be written",
    ]
