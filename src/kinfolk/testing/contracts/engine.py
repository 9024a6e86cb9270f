"""Contract tests of engines: subclass `EngineContract` and give it a fixture `engine`."""

from __future__ import annotations

import itertools
import os
import signal
import time
from multiprocessing import parent_process

import pytest

from kinfolk.core.errors import SettingsError
from kinfolk.engines.base import Engine, ObjectRef


def square(number: int) -> int:
    """Square a number: the simplest task."""
    return number * number


def sleep_if_early(number: int) -> int:
    """Return a number, after a pause for the first items, so that later ones finish earlier."""
    time.sleep(0.05 if number < 2 else 0.0)
    return number


def raise_for_three(number: int) -> int:
    """Return a number, but raise an error for 3."""
    if number == 3:
        raise SettingsError("Three is refused.")
    return number


def add_shared_sum(item: tuple[int, ObjectRef[list[int]]]) -> int:
    """Add the sum of a shared list to a number."""
    number, numbers = item
    return number + sum(numbers.get())


def kill_worker_once(item: tuple[int, str]) -> int:
    """Return a number; at number 4, kill the worker process the first time.

    Args:
        item: The number, and the path of a folder that is created to mark the first time.
    """
    number, marker = item
    if number == 4 and not os.path.exists(marker):
        os.mkdir(marker)
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def kill_worker_always(number: int) -> int:
    """Kill the worker process that runs this task; the task is thus never finished.

    In an engine without worker processes, return the number instead.
    """
    if parent_process() is not None or "RAY_RAYLET_PID" in os.environ:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


class EngineContract:
    """Tests of what `kinfolk.engines.base.Engine` promises."""

    @pytest.fixture
    def engine(self) -> Engine:
        """Return the engine under test; the fixture closes it."""
        raise NotImplementedError

    def test_results_come_in_the_order_of_the_items(self, engine: Engine) -> None:
        assert list(engine.map(sleep_if_early, range(12))) == list(range(12))

    def test_map_can_be_called_again(self, engine: Engine) -> None:
        assert list(engine.map(square, [1, 2])) == [1, 4]
        assert list(engine.map(square, [])) == []
        assert list(engine.map(square, [3])) == [9]

    def test_items_are_consumed_lazily(self, engine: Engine) -> None:
        results = engine.map(square, itertools.count())
        assert list(itertools.islice(results, 5)) == [0, 1, 4, 9, 16]

    def test_an_error_of_a_task_is_raised_by_its_result(self, engine: Engine) -> None:
        results = engine.map(raise_for_three, range(5))
        assert [next(results) for _ in range(3)] == [0, 1, 2]
        with pytest.raises(SettingsError, match=r"^Three is refused\.$"):
            next(results)
        assert list(engine.map(square, [2])) == [4], "an error leaves the engine usable"

    def test_shared_values_reach_every_task(self, engine: Engine) -> None:
        shared = engine.share([1, 2, 3])
        assert list(engine.map(add_shared_sum, [(i, shared) for i in range(4)])) == [6, 7, 8, 9]

    def test_close_may_be_called_twice(self, engine: Engine) -> None:
        engine.close()
        engine.close()
