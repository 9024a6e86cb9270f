"""Guests' memory side by side: what is written at a seat is what the guest there reads."""

import os

import numpy as np
import pytest

from kinfolk.evaluation.table import Table
from kinfolk.evaluation.wire import QUESTION, Wire, WireShape, anonymous_memory

SHAPE = WireShape(capacity=2, row_bytes=5000, heads=3)  # larger than a page


@pytest.fixture
def guests():
    handles = [anonymous_memory(sum(SHAPE.parts)) for _ in range(3)]
    wires = [Wire(SHAPE, handle) for handle in handles]
    yield list(zip(handles, wires, strict=True))
    for handle, wire in zip(handles, wires, strict=True):
        wire.close()
        os.close(handle)


def test_what_is_written_at_a_seat_reaches_its_guest_and_no_other(guests):
    table = Table(SHAPE, seats=3)
    for seat, (handle, _) in enumerate(guests):
        table.sit(seat, handle)
    table.header[:, QUESTION] = [7, 8, 9]
    table.rows[1] = 4
    table.seen[:, 1, -1] = [1, 2, 3]
    guests[2][1].actions[:] = 6
    assert [wire.header[QUESTION] for _, wire in guests] == [7, 8, 9]
    assert [int(wire.rows.sum()) for _, wire in guests] == [0, 4 * 22, 0]
    assert [int(wire.observations[1, -1]) for _, wire in guests] == [1, 2, 3]
    assert table.actions.sum(axis=(1, 2)).tolist() == [0, 0, 36]
    table.close()
    table.close()


def test_a_seat_can_be_taken_by_another_and_the_first_is_left_alone(guests):
    table = Table(SHAPE, seats=1)
    (first, before), (second, after), _ = guests
    table.sit(0, first)
    table.header[0, QUESTION] = 5
    table.sit(0, second)
    table.header[0, QUESTION] = 6
    assert (before.header[QUESTION], after.header[QUESTION]) == (5, 6)
    table.close()


def test_a_handle_that_is_none_is_refused_by_the_system():
    table = Table(SHAPE, seats=1)
    with pytest.raises(OSError, match="Bad file descriptor"):
        table.sit(0, 999_999)
    assert np.all(table.header == 0)
    table.close()
