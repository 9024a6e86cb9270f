import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kinfolk.core import random
from kinfolk.core.jit import kernel

NUMBERS = st.integers(0, 2**63 - 1)


def test_threefry_reproduces_the_test_vectors_of_its_authors():
    # Random123, kat_vectors: threefry2x32 with 13 rounds; counter words, key words, result.
    assert random.threefry_2x32(0, 0, 0, 0) == (0x9D1C5EC6, 0x8BD50731)
    ones = 0xFFFFFFFF
    assert random.threefry_2x32(ones, ones, ones, ones) == (0xFD36D048, 0x2D17272C)
    pi = random.threefry_2x32(0x13198A2E, 0x03707344, 0x243F6A88, 0x85A308D3)
    assert pi == (0xBA3E4725, 0xF27D669E)


@kernel
def _compiled(key, number, index, size, out):
    for i in range(key.shape[0]):
        out[i, 0] = random.fold_in(key[i], number[i])
        out[i, 1] = random.bits(key[i], index)
        out[i, 2] = random.randint(key[i], index, size)
        out[i, 3] = np.int64(random.uniform(key[i], index) * 16777216.0)


def row(key, number, index):
    scaled = random.uniform(key, index) * 16777216.0
    numbers = [
        random.fold_in(key, number),
        random.bits(key, index),
        random.randint(key, index, 1000),
        scaled,
    ]
    return np.stack([np.asarray(x).astype(np.int64) for x in numbers], axis=-1)


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=40), st.integers(0, 2**31 - 1))
def test_kernels_arrays_and_python_draw_the_same_numbers(pairs, index):
    key, number = (np.array(column, dtype=np.int64) for column in zip(*pairs, strict=True))
    compiled = np.zeros((len(pairs), 4), dtype=np.int64)
    _compiled(key, number, index, 1000, compiled)
    assert np.array_equal(compiled, row(key, number, index))
    assert np.array_equal(compiled, np.stack([row(k, n, index) for k, n in pairs]))


def test_tensors_draw_the_same_numbers():
    import torch

    key, number = np.random.default_rng(0).integers(0, 2**63 - 1, (2, 200))
    assert np.array_equal(row(key, number, 7), row(torch.tensor(key), torch.tensor(number), 7))


@given(NUMBERS, NUMBERS)
def test_a_key_is_an_integer_of_63_bits(key, number):
    assert 0 <= random.fold_in(key, number) < 2**63


def test_draws_are_uniformly_distributed():
    draws = random.randint(random.seed_key(1), np.arange(60_000, dtype=np.int64), 6)
    counts = np.bincount(draws, minlength=6)
    # chi-squared with 5 degrees of freedom stays below 20.5 with 99.9 %
    assert ((counts - 10_000) ** 2 / 10_000).sum() < 20.5


def test_uniforms_lie_in_0_to_1_and_are_exact_in_32_bits():
    draws = random.uniform(random.seed_key(2), np.arange(10_000, dtype=np.int64))
    assert draws.min() >= 0.0
    assert draws.max() < 1.0
    assert np.array_equal(draws.astype(np.float32).astype(np.float64), draws)
    assert abs(draws.mean() - 0.5) < 0.01


def test_keys_of_episodes_and_streams_do_not_collide():
    keys = {random.episode_key(seed, episode) for seed in range(50) for episode in range(50)}
    keys |= {random.fold_in(key, stream) for key in set(keys) for stream in (1, 2)}
    assert len(keys) == 3 * 2500
