"""Guests' memory side by side: what is written at a seat is what the guest there reads."""

import os

import numpy as np
import pytest

from kinfolk.isolation.shared_buffers import (
    REQUEST_ID,
    BufferLayout,
    SharedBuffer,
    SharedBufferArray,
    create_anonymous_memory,
)

SHAPE = BufferLayout(capacity=2, row_bytes=5000, n_heads=3)  # larger than a page


@pytest.fixture
def guests():
    handles = [create_anonymous_memory(sum(SHAPE.part_sizes)) for _ in range(3)]
    wires = [SharedBuffer(SHAPE, handle) for handle in handles]
    yield list(zip(handles, wires, strict=True))
    for handle, wire in zip(handles, wires, strict=True):
        wire.close()
        os.close(handle)


def test_what_is_written_at_a_seat_reaches_its_guest_and_no_other(guests):
    table = SharedBufferArray(SHAPE, n_buffers=3)
    for seat, (handle, _) in enumerate(guests):
        table.attach(seat, handle)
    table.header[:, REQUEST_ID] = [7, 8, 9]
    table.rows[1] = 4
    table.observations[:, 1, -1] = [1, 2, 3]
    guests[2][1].actions[:] = 6
    assert [wire.header[REQUEST_ID] for _, wire in guests] == [7, 8, 9]
    assert [int(wire.rows.sum()) for _, wire in guests] == [0, 4 * 22, 0]
    assert [int(wire.observations[1, -1]) for _, wire in guests] == [1, 2, 3]
    assert table.actions.sum(axis=(1, 2)).tolist() == [0, 0, 36]
    table.close()
    table.close()


def test_a_seat_can_be_taken_by_another_and_the_first_is_left_alone(guests):
    table = SharedBufferArray(SHAPE, n_buffers=1)
    (first, before), (second, after), _ = guests
    table.attach(0, first)
    table.header[0, REQUEST_ID] = 5
    table.attach(0, second)
    table.header[0, REQUEST_ID] = 6
    assert (before.header[REQUEST_ID], after.header[REQUEST_ID]) == (5, 6)
    table.close()


def test_a_handle_that_is_none_is_refused_by_the_system():
    table = SharedBufferArray(SHAPE, n_buffers=1)
    with pytest.raises(OSError, match="Bad file descriptor"):
        table.attach(0, 999_999)
    assert np.all(table.header == 0)
    table.close()
