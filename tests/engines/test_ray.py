"""The Ray engine, on a cluster of two nodes."""

import os
import subprocess
import sys

import pytest

from kinfolk.core.errors import EngineError, SettingsError
from kinfolk.core.settings import validate_settings
from kinfolk.engines import make_engine
from kinfolk.engines.base import LocalEngine
from kinfolk.engines.ray_cluster import RayEngine, ping, run_batch
from kinfolk.jobs.evaluate import EpisodePlayed, Evaluate, evaluate
from kinfolk.testing.contracts.engine import (
    EngineContract,
    kill_worker_always,
    kill_worker_once,
    raise_for_three,
    square,
)
from kinfolk.testing.contracts.job import event_lines
from kinfolk.testing.inspection import children_of, wait_for_exit

pytestmark = pytest.mark.xdist_group("ray")


class TestRay(EngineContract):
    @pytest.fixture
    def engine(self, two_nodes):
        engine = make_engine("ray", 2)
        yield engine
        engine.close()


def test_tasks_of_a_lost_worker_run_again(two_nodes, tmp_path):
    items = [(number, str(tmp_path / "lost")) for number in range(10)]
    assert list(RayEngine(2).map(kill_worker_once, items)) == list(range(10))
    assert (tmp_path / "lost").exists(), "no worker was lost, so nothing was shown"


@pytest.mark.more
def test_a_task_that_always_loses_its_worker_is_given_up(two_nodes):
    engine = RayEngine(2)
    with pytest.raises(EngineError) as failed:
        list(engine.map(kill_worker_always, [7]))
    assert (
        str(failed.value)
        == "kill_worker_always lost its worker 3 times and was given up; its item was 7."
    )
    assert list(engine.map(square, [3])) == [9]


def test_small_tasks_are_sent_in_batches(two_nodes):
    engine = RayEngine(2)
    assert engine._batch_size() == 1, "the duration of a task is unknown yet"
    assert list(engine.map(square, range(300))) == [n * n for n in range(300)]
    assert engine._batch_size() == 64


def test_a_batch_returns_the_results_before_an_error():
    results, error, seconds = run_batch(raise_for_three, [1, 2, 3, 4])
    assert results == [1, 2]
    assert isinstance(error, SettingsError)
    assert seconds >= 0


SETTINGS = {
    "slots": {"g": "kin://probe-python", "h": "kin://random"},
    "agent_slot_map": {"grazer": "g", "hunter": "h"},
    "world_settings": {"max_ticks": 300, "max_age": 200},
    "episodes": 24,
    "chunk_size": 1,
}


@pytest.mark.more
def test_killing_a_node_during_a_run_changes_no_result(two_nodes):
    settings = validate_settings(Evaluate, SETTINGS)
    expected = event_lines(list(evaluate(settings, LocalEngine())))
    node = two_nodes.worker_nodes.copy().pop()
    items, engine = [], RayEngine(2)
    for item in evaluate(settings, engine):
        items.append(item)
        if isinstance(item, EpisodePlayed) and item.step == 3:
            two_nodes.remove_node(node, allow_graceful=False)
    two_nodes.add_node(num_cpus=1, object_store_memory=2**27)
    assert event_lines(items) == expected


ALONE = """
import os, time
from kinfolk.engines.ray_cluster import RayEngine
from kinfolk.testing.contracts.engine import square
if __name__ == "__main__":
    engine = RayEngine(1)
    assert list(engine.map(square, range(3))) == [0, 1, 4]
    print(engine._cluster_folder.folder, flush=True)
    engine.close()
    print("closed", flush=True)
    time.sleep(60)
"""


@pytest.mark.slow
def test_closing_removes_a_cluster_that_was_started_here(tmp_path):
    script = tmp_path / "alone.py"
    script.write_text(ALONE)
    env = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"}
    main = subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, text=True, env=env
    )
    folder = main.stdout.readline().strip()
    started = children_of(main.pid)
    assert started
    assert main.stdout.readline() == "closed\n"
    assert wait_for_exit(30, started)
    assert folder
    assert not os.path.exists(folder)
    main.kill()
    main.wait()
    main.stdout.close()


@pytest.mark.slow
def test_a_cluster_started_here_ends_when_its_driver_is_killed(tmp_path):
    script = tmp_path / "alone.py"
    script.write_text(ALONE.replace("engine.close()", "").replace('"closed"', "''"))
    main = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True)
    main.stdout.readline()
    started = children_of(main.pid)
    main.kill()
    main.wait()
    main.stdout.close()
    assert wait_for_exit(30, started)


@pytest.mark.parametrize("address", ["127.0.0.1:1", "ray://127.0.0.1:1"])
def test_a_missing_cluster_raises_an_error_with_its_address(address):
    with pytest.raises(EngineError) as failed:
        ping(address)
    assert str(failed.value) == f"There is no Ray cluster at {address}: connection refused."
