"""Shared buffers of several workers: what the host writes at an index, that worker reads."""

import os
import random

import numpy as np
import pytest

from kinfolk.isolation.shared_buffers import (
    REQUEST_ID,
    BufferLayout,
    SharedBuffer,
    SharedBufferArray,
    create_anonymous_memory,
)
from kinfolk.isolation.worker import draw_request_id

LAYOUT = BufferLayout(capacity=2, row_bytes=5000, n_heads=3)  # larger than a page


@pytest.fixture
def workers():
    fds = [create_anonymous_memory(sum(LAYOUT.part_sizes)) for _ in range(3)]
    buffers = [SharedBuffer(LAYOUT, fd) for fd in fds]
    yield list(zip(fds, buffers, strict=True))
    for fd, buffer in zip(fds, buffers, strict=True):
        buffer.close()
        os.close(fd)


def test_what_is_written_at_an_index_reaches_its_worker_and_no_other(workers):
    array = SharedBufferArray(LAYOUT, n_buffers=3)
    for index, (fd, _) in enumerate(workers):
        array.attach(index, fd)
    array.header[:, REQUEST_ID] = [7, 8, 9]
    array.rows[1] = 4
    array.observations[:, 1, -1] = [1, 2, 3]
    workers[2][1].actions[:] = 6
    assert [buffer.header[REQUEST_ID] for _, buffer in workers] == [7, 8, 9]
    assert [int(buffer.rows.sum()) for _, buffer in workers] == [0, 4 * 22, 0]
    assert [int(buffer.observations[1, -1]) for _, buffer in workers] == [1, 2, 3]
    assert array.actions.sum(axis=(1, 2)).tolist() == [0, 0, 36]
    array.close()
    array.close()


def test_attaching_another_buffer_leaves_the_first_unchanged(workers):
    array = SharedBufferArray(LAYOUT, n_buffers=1)
    (first, before), (second, after), _ = workers
    array.attach(0, first)
    array.header[0, REQUEST_ID] = 5
    array.attach(0, second)
    array.header[0, REQUEST_ID] = 6
    assert (before.header[REQUEST_ID], after.header[REQUEST_ID]) == (5, 6)
    array.close()


def test_an_invalid_descriptor_is_refused_by_the_system():
    array = SharedBufferArray(LAYOUT, n_buffers=1)
    with pytest.raises(OSError, match="Bad file descriptor"):
        array.attach(0, 999_999)
    assert np.all(array.header == 0)
    array.close()


def test_request_ids_cannot_be_foreseen_from_the_state_of_the_random_module():
    drawn = []
    for _ in range(2):
        random.seed(7)
        drawn.append([draw_request_id() for _ in range(600)])
    assert len({*drawn[0], *drawn[1]}) == 1200
    assert all(0 <= number < 2**62 for number in drawn[0])
