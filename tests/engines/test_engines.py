import multiprocessing
import os
import signal
import subprocess
import sys

import pytest

from kinfolk.core.errors import EngineError, SettingsError, UsageError
from kinfolk.engines import ENGINES, make_engine, opened_engine
from kinfolk.engines.base import LocalEngine
from kinfolk.engines.processes import ProcessEngine
from kinfolk.engines.ray_cluster import RayEngine
from kinfolk.testing.contracts.engine import (
    EngineContract,
    kill_worker_always,
    kill_worker_once,
    square,
)
from kinfolk.testing.inspection import is_alive, wait_for_exit


class TestEveryEngine(EngineContract):
    @pytest.fixture(params=["local", "processes"])  # ray: see test_ray.py
    def engine(self, request):
        engine = make_engine(request.param)
        yield engine
        engine.close()


def test_every_registered_engine_is_tested():
    assert set(ENGINES) == {"local", "processes", "ray"}


def test_an_engine_that_runs_on_this_machine_takes_no_address():
    with pytest.raises(UsageError) as refused:
        make_engine("processes", 2, "10.0.0.1:6379")
    assert str(refused.value) == (
        "The engine processes runs on this machine and takes no address; ray does."
    )


@pytest.fixture
def processes():
    engine = ProcessEngine(2)
    yield engine
    engine.close()


def test_tasks_of_a_lost_worker_run_again(processes, tmp_path):
    items = [(number, str(tmp_path / "lost")) for number in range(10)]
    assert list(processes.map(kill_worker_once, items)) == list(range(10))
    assert (tmp_path / "lost").exists(), "no worker was lost, so nothing was shown"


def test_a_task_that_always_loses_its_worker_is_given_up(processes):
    with pytest.raises(EngineError) as failed:
        list(processes.map(kill_worker_always, [7]))
    assert (
        str(failed.value)
        == "kill_worker_always lost its worker 3 times and was given up; its item was 7."
    )
    assert list(processes.map(square, [3])) == [9]


def test_closing_leaves_no_process_and_no_shared_memory(processes):
    handle = processes.share(list(range(1000)))
    list(processes.map(square, range(4)))
    workers = [child.pid for child in multiprocessing.active_children()]
    assert len(workers) >= 1
    processes.close()
    assert not any(map(is_alive, workers))
    with pytest.raises(FileNotFoundError):
        handle.get()


@pytest.mark.parametrize(
    ("arguments", "engine_class", "jobs"),
    [
        ((), LocalEngine, 1),
        ((None, 1), LocalEngine, 1),
        ((None, 4), ProcessEngine, 4),
        (("processes",), ProcessEngine, 2),
        (("processes", 1), ProcessEngine, 1),
        ((None, 3, "10.0.0.1:6379"), RayEngine, 3),
    ],
)
def test_more_than_one_job_means_processes(arguments, engine_class, jobs):
    engine = make_engine(*arguments)
    assert isinstance(engine, engine_class)
    assert engine.jobs == jobs


def test_the_engine_local_refuses_more_than_one_job():
    with pytest.raises(SettingsError, match=r"^The engine local runs one task at a time, not 4\. "):
        make_engine("local", 4)


def test_an_engine_that_the_caller_made_stays_open_and_keeps_its_jobs(processes):
    with opened_engine(processes, None) as engine:
        assert list(engine.map(square, [3])) == [9]
    assert list(processes.map(square, [4])) == [16]
    with pytest.raises(SettingsError, match="The engine was made for 2 jobs, not 4"):
        opened_engine(processes, 4).__enter__()
    with pytest.raises(SettingsError, match="not <class 'int'>"):
        opened_engine(int, None).__enter__()


def test_zero_jobs_are_refused():
    with pytest.raises(SettingsError) as refused:
        ProcessEngine(0)
    assert str(refused.value) == "The number of jobs must be at least 1, not 0."


ORPHANS = """
import multiprocessing, time
from kinfolk.engines.processes import ProcessEngine
from kinfolk.engines.ray_cluster import RayEngine
from kinfolk.testing.contracts.engine import square
if __name__ == "__main__":
    engine = ProcessEngine(2)
    list(engine.map(square, range(8)))
    print(*(c.pid for c in multiprocessing.active_children()), flush=True)
    time.sleep(60)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
def test_workers_do_not_outlive_a_parent_that_is_killed(tmp_path):
    script = tmp_path / "parent.py"
    script.write_text(ORPHANS)
    parent = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True)
    workers = [int(pid) for pid in parent.stdout.readline().split()]
    assert len(workers) == 2
    assert all(map(is_alive, workers))
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    assert wait_for_exit(30, workers)


SCRIPT = """
import kinfolk as kf

print("the script runs")
kf.evaluate(slots={"all": "kin://noop"}, episodes=20, engine="processes", jobs=2, out="run")
"""


@pytest.mark.more
def test_a_script_without_a_main_guard_is_told_so_once(tmp_path, root):
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(root / "src")},
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        "kinfolk.core.errors.EngineError: Worker processes import the script that starts them, and "
        "this one starts engines when it is imported. Put what the script does under "
        "`if __name__ == '__main__':`, or use engine='local'."
    )
    assert done.stderr.count("Traceback") == 1
    assert not (tmp_path / "run").exists()
