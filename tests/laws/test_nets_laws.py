"""Kernels of nets give un-compiled exactly what they give compiled."""

import os
import subprocess
import sys

import pytest

SCRIPT = """
import hashlib
import numpy as np
from kinfolk.core.random import seed_key
from kinfolk.nets.dynamic.nets import DynamicNets
from kinfolk.nets.dynamic.forward import NodeState
from kinfolk.nets.static import RecurrentStaticNets

digest = hashlib.sha256()
static = RecurrentStaticNets(3, 5, 2, (4,), key=seed_key(1), self_adaptive=True)
static.mutate(seed_key(2))
x = np.random.default_rng(0).standard_normal((6, 5)).astype(np.float32)
states = [np.zeros((6, 4), dtype=np.float32)]
for _ in range(3):
    out, states = static.run_rows(np.arange(6) % 3, x, states)
    digest.update(out.tobytes() + states[0].tobytes())
digest.update(static.flat.tobytes() + static.sigmas.tobytes())
nets = DynamicNets(6, 3, 2, key=seed_key(3))
for step in range(25):
    nets.mutate(seed_key(step + 4), n_elites=1)
for array in nets.to_arrays().values():
    digest.update(np.ascontiguousarray(array).tobytes())
rows = np.arange(12, dtype=np.int64)
state = NodeState(*(part.reshape(12, -1) for part in nets.initial_memory(2)))
for step in range(8):
    given = np.random.default_rng(step).standard_normal((12, 3))
    said = nets.run_rows(rows // 2, rows, given, state, True)
    digest.update(said.tobytes() + state.z.tobytes() + state.m2.tobytes())
print(digest.hexdigest())
"""


def digest(**env):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env={**os.environ, **env}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.more
def test_compiled_equals_uncompiled():
    assert digest() == digest(NUMBA_DISABLE_JIT="1")
