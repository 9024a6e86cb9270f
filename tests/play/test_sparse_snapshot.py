"""Packed snapshots give back what was there, and nothing that was not."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as some

from kinfolk.core.errors import ContractError
from kinfolk.play.loop import pack_sparse, unpack_sparse

ROWS = some.arrays(np.int32, (6, 3), elements=st.integers(-2, 2))


@given(was=ROWS, left=ROWS)
@settings(max_examples=100, deadline=None)
def test_unpacking_gives_what_was_packed_whatever_lay_there(was, left):
    into = {"memory/a/map": left.copy(), "row_state/slot": left.copy()}
    unpack_sparse(pack_sparse({"memory/a/map": was, "row_state/slot": was}), into)
    assert np.array_equal(into["memory/a/map"], was)
    assert np.array_equal(into["row_state/slot"], was)


def test_places_without_memory_are_not_sent():
    whole = np.zeros((1000, 50), dtype=np.int32)
    whole[[3, 700]] = 1
    packed = pack_sparse({"memory/a/map": whole})
    assert packed["memory/a/map"].shape == (2, 50)
    assert packed["memory/a/map@rows"].tolist() == [3, 700]


def test_what_was_packed_is_a_copy():
    whole = np.ones((2, 2))
    packed = pack_sparse({"memory/a/map": whole, "row_state/slot": whole})
    whole[...] = 9
    assert packed["memory/a/map"].max() == packed["row_state/slot"].max() == 1


@pytest.mark.parametrize("shape", [(1, 2), (3, 1)])
def test_other_shapes_are_refused(shape):
    packed = pack_sparse({"memory/a/map": np.ones((3, 2))})
    with pytest.raises(ContractError) as refused:
        unpack_sparse(packed, {"memory/a/map": np.zeros(shape)})
    assert str(refused.value) == (f"The snapshot does not fit: 'memory/a/map' should be {shape}.")
