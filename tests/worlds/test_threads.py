"""Threads that share the work of a kernel."""

import threading

import pytest

from kinfolk.worlds.threads import ThreadTeam


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_each_item_is_done_once_and_results_are_in_the_order_of_items(threads):
    seen = []

    def task(item, thread):
        seen.append(item)
        assert 0 <= thread < threads
        return item * item

    team = ThreadTeam(threads)
    assert team.run_each(20, task) == [item * item for item in range(20)]
    assert sorted(seen) == list(range(20))
    assert team.run_each(0, task) == []


def test_a_thread_that_starts_late_holds_nobody_up():
    team, is_over = ThreadTeam(2), threading.Event()
    team.run(2, lambda first, last, thread: thread and team._pool.submit(is_over.wait))
    done_by = team.run_each(6, lambda item, thread: thread)  # its thread is busy until it is over
    is_over.set()
    assert done_by == [0] * 6


@pytest.mark.parametrize("failing", [0, 1])
def test_an_error_in_a_task_is_raised_to_the_caller(failing):
    team, barrier = ThreadTeam(2), threading.Barrier(2)

    def task(item, thread):
        barrier.wait(timeout=60)
        if thread == failing:
            raise ValueError(f"thread {thread}")

    with pytest.raises(ValueError, match=f"^thread {failing}$"):
        team.run_each(2, task)
