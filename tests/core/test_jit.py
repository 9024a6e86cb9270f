import os
import shutil
import subprocess
import sys

import numpy as np

from kinfolk.core import jit

SCRIPT = """
import numpy as np
from kinfolk.testing.probe.world import Probe, ProbeWorld
world = ProbeWorld(Probe())
world.reset(np.array([5]))
print(world._state.cell.tolist())
"""


def run(package, cache):
    env = {**os.environ, "PYTHONPATH": str(package), "KINFOLK_CACHE": str(cache)}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=env, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_editing_a_callee_in_another_file_is_noticed_at_the_next_start(tmp_path, root):
    package, cache = tmp_path / "src", tmp_path / "cache"
    shutil.copytree(root / "src" / "kinfolk", package / "kinfolk")
    first = run(package, cache)
    assert run(package, cache) == first
    # `reset` in rules.py calls `randint` in core/random.py; numba alone would not look there.
    callee = package / "kinfolk" / "core" / "random.py"
    text = callee.read_text()
    assert text.count("return (bits(key, index) * high) >> 32") == 1
    callee.write_text(
        text.replace("return (bits(key, index) * high) >> 32", "return bits(key, index + 1) % high")
    )
    second = run(package, cache)
    assert second != first
    callee.write_text(text)
    assert run(package, cache) == first


def test_the_cache_is_named_by_kernel_sources_and_what_they_import(root):
    sources = jit.find_kernel_sources(root / "src" / "kinfolk", "kinfolk")
    names = {str(path.relative_to(root / "src" / "kinfolk")) for path in sources}
    assert {"core/jit.py", "core/random.py", "play/assignment.py", "policies/base.py"} <= names
    assert "testing/probe/state.py" in names, "constants that kernels freeze count too"
    assert not any(name.startswith(("cli/", "jobs/", "store/", "engines/")) for name in names)


def test_a_kernel_divides_by_zero_as_numpy_does():
    @jit.kernel
    def ratio(a, b):
        return a / b

    assert np.isnan(ratio(0.0, 0.0))
