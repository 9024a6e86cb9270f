"""What every engine promises, as tests: subclass, and give a fixture `engine`."""

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
    """A task."""
    return number * number


def sleep_if_early(number: int) -> int:
    """A task whose first items take longest."""
    time.sleep(0.05 if number < 2 else 0.0)
    return number


def raise_for_three(number: int) -> int:
    """A task that raises for 3."""
    if number == 3:
        raise SettingsError("Three is refused.")
    return number


def add_shared_sum(item: tuple[int, ObjectRef[list[int]]]) -> int:
    """A task that reads a shared value."""
    number, handle = item
    return number + sum(handle.get())


def kill_worker_once(item: tuple[int, str]) -> int:
    """A task that kills its worker the first time; `item` holds a path that remembers."""
    number, marker = item
    if number == 4 and not os.path.exists(marker):
        os.mkdir(marker)
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def kill_worker_always(number: int) -> int:
    """A task no worker survives; harmless where there is no worker."""
    if parent_process() is not None or "RAY_RAYLET_PID" in os.environ:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


class EngineContract:
    """The promises of `kinfolk.engines.base.Engine`."""

    @pytest.fixture
    def engine(self) -> Engine:
        """The engine under test; the fixture closes it."""
        raise NotImplementedError

    def test_results_come_in_the_order_of_the_items(self, engine: Engine) -> None:
        assert list(engine.map(sleep_if_early, range(12))) == list(range(12))

    def test_it_can_be_used_again(self, engine: Engine) -> None:
        assert list(engine.map(square, [1, 2])) == [1, 4]
        assert list(engine.map(square, [])) == []
        assert list(engine.map(square, [3])) == [9]

    def test_items_are_taken_as_they_are_needed(self, engine: Engine) -> None:
        endless = engine.map(square, itertools.count())
        assert list(itertools.islice(endless, 5)) == [0, 1, 4, 9, 16]

    def test_what_a_task_raises_is_raised_here(self, engine: Engine) -> None:
        results = engine.map(raise_for_three, range(5))
        assert [next(results) for _ in range(3)] == [0, 1, 2]
        with pytest.raises(SettingsError, match=r"^Three is refused\.$"):
            next(results)
        assert list(engine.map(square, [2])) == [4], "an error leaves the engine usable"

    def test_shared_values_reach_every_task(self, engine: Engine) -> None:
        handle = engine.share([1, 2, 3])
        assert list(engine.map(add_shared_sum, [(i, handle) for i in range(4)])) == [6, 7, 8, 9]

    def test_it_may_be_closed_twice(self, engine: Engine) -> None:
        engine.close()
        engine.close()
