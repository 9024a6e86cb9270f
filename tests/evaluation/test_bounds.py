"""Bounds on processes, and what happens where there are none to be had."""

import os
import subprocess
import sys

import pytest

from kinfolk.core.errors import EngineError
from kinfolk.evaluation import sandbox
from kinfolk.evaluation.care import Care
from kinfolk.evaluation.match import Match, play_timed
from kinfolk.evaluation.nursery import NoMoreProcessesError, Nursery
from kinfolk.evaluation.pool import close_pools
from kinfolk.policies.resolve import resolve

RULES = {"grazers": 3, "hunters": 2, "rows": 5, "max_ticks": 8, "max_age": 99, "start_energy": 99}


def match(isolate, **care):
    slots = {"main": resolve("kin://probe-plain")}
    return Match(
        "probe", RULES, slots, 5, 0, 2, None, None, isolate, Care(step_timeout=20.0, **care)
    )


@pytest.fixture(scope="module")
def plain():
    return play_timed(match("none")).reports


def test_agents_for_which_there_are_no_processes_share_one(plain):
    played = play_timed(match("agent", max_processes=3))
    assert played.reports == plain
    assert played.timing.warnings == (
        "All 3 processes of --max-processes are in use. Slot 'main' gets one process for the slot.",
    )
    assert played.timing.slots["main"].processes == 1


def test_where_the_system_makes_no_process_policies_play_here(plain, monkeypatch):
    close_pools()

    def refuse(self):
        raise NoMoreProcessesError("No process could be made for policies: no room.")

    monkeypatch.setattr(Nursery, "_start", refuse)
    played = play_timed(match("slot"))
    assert played.reports == plain
    assert played.timing.warnings == (
        "No process could be made for policies: no room. Slot 'main' gets no process of its own.",
    )
    for care in ({"strict": True}, {"sandbox": True}):
        with pytest.raises(EngineError) as refused:
            play_timed(match("slot", **care))
        assert str(refused.value) == (
            "No process could be made for policies: no room. Nothing less is done under --strict or "
            "--sandbox."
        )
    close_pools()


LIMITED = """
import os, resource
from kinfolk.evaluation.nursery import NoMoreProcessesError, Nursery
resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
os.setuid(65534)
try:
    Nursery()._start()
except NoMoreProcessesError as error:
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
        played = play_timed(match("slot"))
    finally:
        for handle in opened:
            os.close(handle)
        close_pools()
    assert played.reports == plain
    assert played.timing.slots["main"].processes == 1


def test_what_a_machine_cannot_enforce_is_named(monkeypatch):
    monkeypatch.setattr(sandbox.landlock, "is_there", lambda: False)
    monkeypatch.setattr(sandbox.seccomp, "is_there", lambda: False)
    assert sandbox.enforced() == []
    assert sandbox.missing() == [
        "no network, no signals to or tracing of other processes",
        "files outside a scratch folder cannot be written",
    ]
