import numpy as np
import pytest

from kinfolk.core.errors import UnknownNameError
from kinfolk.nets import heads

OUT = np.array([[1.0, 3.0, 3.0, -2.0, 0.5], [0.0, -1.0, 4.0, 2.0, 9.0]], dtype=np.float32)


def test_argmax_takes_the_first_of_equals_in_every_part():
    assert heads.decode_actions("argmax", OUT, [3, 2], None).tolist() == [[1, 1], [2, 1]]


def test_sampling_follows_the_probabilities():
    out = np.tile(np.log([[0.2, 0.5, 0.3]]), (10_000, 1))
    chance = np.random.default_rng(0).random((10_000, 1))
    drawn = heads.decode_actions("softmax_sample", out, [3], chance)[:, 0]
    assert np.allclose(np.bincount(drawn) / 10_000, [0.2, 0.5, 0.3], atol=0.02)
    assert heads.softmax_sample(np.zeros((1, 3)), np.array([0.999999999])).tolist() == [2]


def test_continuous_outputs_become_ordered_choices():
    out = np.array([[-9.0], [0.0], [9.0], [0.5]])
    assert heads.decode_actions("tanh", out, [5], None)[:, 0].tolist() == [0, 2, 4, 3]
    assert heads.decode_actions("raw", out, [5], None)[:, 0].tolist() == [0, 2, 4, 3]


def test_an_unknown_head_is_named():
    with pytest.raises(
        UnknownNameError, match=r"^No output head is named 'argmin'. Did you mean 'argmax'\?"
    ):
        heads.count_outputs("argmin", [2])
